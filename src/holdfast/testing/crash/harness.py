"""The crash-consistency harness: record what the files engine does to a disk, cut the power at every point, reopen.

A protocol is one sequence of writes of the engine. Its recording is turned into all legal disk states; each state is
written out, opened by the real engine and checked: acknowledged commits are there and unchanged (G1), commits are
complete (G2), the contents are a prefix of what was written (G3), and work continues without manual repair (G7).
"""

from __future__ import annotations

import itertools
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

from holdfast.fs import posix
from holdfast.fs.port import FileSystem
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.protocol import Cursor, Store
from holdfast.testing.crash.oracle import SEGMENT, WORKSPACE, Opened, check_state, files_engine
from holdfast.testing.crash.recording import Recording
from holdfast.testing.crash.states import DiskState, crash_states, remove_tree, scratch_base, write_out
from holdfast.testing.crash.workload import LONG, Acknowledged, append, events_of, verify
from holdfast.testing.crash.wrapped import SameDisk, SteadyTimes, WithoutSync

STREAM = "sessions/kim/2026-01-15-00000001"
SECOND = "sessions/kim/2026-01-15-00000002"
PROJECT = "project"
FIRST_MS = 1_768_435_200_000
"""The start time of every recording: the states of a protocol are the same in every run."""
SETTLED_MS = FIRST_MS + 100 * 365 * 86_400_000
"""Later than every file of a fixture: see ``settle_folders``."""


class RecordedDisk:
    """The file calls of one run, recorded; syncs for which ``drop`` is true are left out."""

    def __init__(self, top: str, drop: Callable[[str, str], bool] | None) -> None:
        self._top = top
        self._drop = drop
        self.begin(0)

    def begin(self, acknowledged: int) -> None:
        """Record from here on."""
        self.recording = Recording(posix, self._top)
        self.recording.acknowledged = acknowledged
        recorded: FileSystem = self.recording
        inner = WithoutSync(recorded, self._drop) if self._drop else recorded
        self.fs: FileSystem = SameDisk(SteadyTimes(inner))


class Fixture:
    """One recorded run of the engine in a scratch folder."""

    def __init__(self, seed: int = 0, drop: Callable[[Fixture, str, str], bool] | None = None) -> None:
        self.top = tempfile.mkdtemp(prefix="holdfast-fixture-", dir=scratch_base())
        self.rng = random.Random(seed)
        self._disk = RecordedDisk(self.top, (lambda call, path: drop(self, call, path)) if drop else None)
        self.attempted: dict[str, list[str]] = {}
        self.acknowledged: list[Acknowledged] = []
        self.uncertain: set[str] = set()
        """Operations whose append failed: each may be present or not, anywhere."""
        self.forgotten: set[str] = set()
        self.joined = False
        """Archiving rechained the commits: their checksums have changed."""
        self.torn = b""
        """Bytes that a repair must never discard, wherever it moves them."""
        self.journal_policy: JournalPolicy | None = None
        self.cursors: dict[Store, Cursor] | None = None
        """The cursor of each store, in protocols of one stream that continue from it."""
        self.first_step = 0
        self._number = 0
        self._known = 0
        self._ticks = itertools.count(FIRST_MS)

    @property
    def root(self) -> str:
        """The workspace's folder."""
        return os.path.join(self.top, WORKSPACE)

    @property
    def recording(self) -> Recording:
        """What was done to the disk."""
        return self._disk.recording

    @property
    def fs(self) -> FileSystem:
        """The file calls that are recorded."""
        return self._disk.fs

    def begin(self) -> None:
        """Treat everything so far as durable; the recording starts here."""
        self._known = len(self.acknowledged)
        self._disk.begin(self._known)

    def store(self, fs: FileSystem | None = None, journal_policy: JournalPolicy | None = None) -> FilesStore:
        return FilesStore(
            self.root,
            clock=self._ticks.__next__,
            fs=fs or self.fs,
            bits=self.rng.getrandbits,
            journal_policy=journal_policy or self.journal_policy,
        )

    def settle_folders(self) -> None:
        """Set the timestamps of all folders far enough into the past to be trusted, as they usually are: only then does
        a store take its fast paths. Call it before the first store is created."""
        self._ticks = itertools.count(SETTLED_MS)

    def git_head(self) -> str:
        """Create a git directory around the workspace; return the path of its HEAD."""
        git = os.path.join(self.top, ".git")
        os.mkdir(git)
        head = os.path.join(git, "HEAD")
        with open(head, "w") as file:
            file.write("f" * 40 + "\n")
        self.begin()
        return head

    def next_op(self, events: int = 0, *, long: bool = False) -> str:
        """A new operation id; with ``events``, one whose commit has that many; with ``long``, one with long texts."""
        while True:
            self._number += 1
            op = f"{LONG if long else 'op'}{self._number}"
            if not events or len(events_of(op)) == events:
                return op

    def append(
        self,
        store: FilesStore,
        stream: str = STREAM,
        op: str | None = None,
        expect: int | None = None,
        *,
        fast_path: bool = False,
    ) -> None:
        """Append, and record the acknowledgement when the engine gives it."""
        op = op or self.next_op()
        ops = self.attempted.setdefault(stream, [])
        if op not in ops:
            ops.append(op)
        try:
            done = append(store, stream, op, expect=expect, cursors=self.cursors, fast_path=fast_path)
        except BaseException:
            self.uncertain.add(op)
            raise
        self.recording.acknowledge()
        self.acknowledged.append(done)

    def segments(self) -> list[str]:
        """The paths of all segments, for protocols that damage one."""
        found = []
        for folder, _, names in os.walk(self.root):
            found += [os.path.join(folder, name) for name in names if SEGMENT.fullmatch(name)]
        return sorted(found)

    def close(self) -> None:
        remove_tree(self.top)

    def states(self, *, seed: int, limit: int, acknowledged_only: bool = False) -> Iterator[DiskState]:
        for state in crash_states(
            self.recording,
            seed=seed,
            limit=limit,
            first=self.first_step,
            acknowledged_only=acknowledged_only,
        ):
            yield state._replace(acknowledged=max(state.acknowledged, self._known))


class Protocol(NamedTuple):
    """One sequence of writes of the engine."""

    name: str
    run: Callable[[Fixture], None]


class Checked(NamedTuple):
    """What the check of one protocol covered."""

    states: int
    """Disk states of the first cut."""
    again: int
    """Disk states of a second cut, during the recovery from the first."""
    left: int
    """States after whose recovery the engine still reports garbage after the acknowledged commits."""
    steps: int


def segment_class(fixture: Fixture, call: str, path: str) -> str:
    """The class of a sync, the same in every run: the call, the kind of path, and the kind of change before it."""
    relative = os.path.relpath(path, fixture.top)
    relative = re.sub(r"\d{4}-\d\d-\d\d-[0-9a-z]{8}", "SESSION", relative)
    relative = SEGMENT.sub("SEGMENT", relative)
    relative = re.sub(r"quarantine/.+", "quarantine/KEPT", relative)
    relative = re.sub(r"journals/.+", "journals/JOURNAL", relative)
    relative = re.sub(r"blobs/.+", "blobs/TEXT", relative)
    relative = re.sub(r"\.?seal-key\.tmp-.+", "SEAL-KEY", relative)
    if call == "sync":
        changes = [
            step.kind
            for step in fixture.recording.steps
            if step.path == os.path.relpath(path, fixture.top) and step.kind in ("write", "truncate")
        ]
        return f"sync {relative} after {changes[-1] if changes else 'nothing'}"
    return f"{call} {relative}"


def check_protocol(
    protocol: Protocol,
    *,
    seed: int = 0,
    limit: int = 120,
    again: int = 0,
    acknowledged_only: bool = False,
    most: int | None = None,
    drop: Callable[[Fixture, str, str], bool] | None = None,
    opened: Opened = files_engine,
) -> tuple[Checked, Fixture]:
    """Record a protocol, open every state that a power cut may leave, and cut ``again`` of the recoveries too.

    ``most`` samples that many states, in any order; ``drop`` makes a mutant without some syncs; ``opened`` opens the
    states with another engine than the real one.
    """
    fixture = Fixture(seed, drop)
    place = tempfile.mkdtemp(prefix="holdfast-states-", dir=scratch_base())
    try:
        protocol.run(fixture)
        states = list(fixture.states(seed=seed, limit=limit, acknowledged_only=acknowledged_only))
        rng = random.Random(seed)
        if most is not None:
            states = rng.sample(states, min(most, len(states)))
        twice = set(rng.sample(range(len(states)), min(again, len(states))))
        second = left = 0
        for number, state in enumerate(states):
            top = os.path.join(place, str(number))
            where = f"protocol {protocol.name}, seed {seed}, state {number}: {state.made_by}"
            write_out(state, top)
            try:
                left += bool(check_state(fixture, state, top, where, copied=number % 11 == 10, opened=opened))
            finally:
                remove_tree(top)
            if number in twice:
                second += _cut_again(fixture, state, place, where, seed + number, most)
        return Checked(len(states), second, left, len(fixture.recording.steps)), fixture
    finally:
        fixture.close()
        remove_tree(place)


def _cut_again(
    fixture: Fixture, state: DiskState, place: str, where: str, seed: int, most: int | None = None
) -> int:
    """Cut the power during the recovery from a cut, and check the states that this may leave."""
    second = Fixture(seed)
    try:
        remove_tree(second.top)
        write_out(state, second.top)
        second.attempted = {stream: list(ops) for stream, ops in fixture.attempted.items()}
        second.uncertain, second.forgotten = set(fixture.uncertain), set(fixture.forgotten)
        second.joined = fixture.joined
        second.acknowledged = fixture.acknowledged[: state.acknowledged]
        second.begin()
        store = second.store()
        for stream in list(second.attempted):
            if stream not in second.forgotten:
                found = verify(
                    store, stream, second.acknowledged, where, faults_allowed=True, joined=fixture.joined
                )
                second.attempted[stream] = found
                second.append(store, stream, f"recovery.{stream}")
        store.close()
        count = 0
        states = list(second.states(seed=seed, limit=12))
        if most is not None and len(states) > most // 10:
            states = random.Random(seed).sample(states, most // 10)
        for number, after in enumerate(states):
            top = os.path.join(place, f"again{number}")
            write_out(after, top)
            try:
                check_state(second, after, top, f"{where}; then, in recovery, {after.made_by}")
            finally:
                remove_tree(top)
            count = number + 1
        return count
    finally:
        second.close()


def sync_classes(protocol: Protocol, seed: int = 0) -> list[str]:
    """Every class of sync that a protocol makes."""
    found: dict[str, None] = {}

    def note(fixture: Fixture, call: str, path: str) -> bool:
        found[segment_class(fixture, call, path)] = None
        return False

    fixture = Fixture(seed, note)
    try:
        protocol.run(fixture)
    finally:
        fixture.close()
    return list(itertools.chain(found))
