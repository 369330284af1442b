"""Write protocols of the files engine, for the crash-consistency harness."""

from __future__ import annotations

import contextlib
import errno
import os

from holdfast.core.long_texts import hash_of
from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.store.protocol import LONG_TAIL
from holdfast.testing.crash.faults import Failure, Faulty
from holdfast.testing.crash.harness import PROJECT, SECOND, STREAM, Fixture, Protocol
from holdfast.testing.crash.journal_protocols import JOURNAL_PROTOCOLS, JOURNALS
from holdfast.testing.crash.workload import LONG_TEXT
from holdfast.testing.crash.wrapped import DuringSync, Killed, KilledAt, SameDisk
from holdfast.workspace.snapshot import WorkingSet


def _existing(fixture: Fixture, commits: int = 3) -> None:
    """A workspace with some durable history."""
    store = fixture.store()
    for _ in range(commits):
        fixture.append(store)
    store.close()
    fixture.begin()


def first_append(fixture: Fixture) -> None:
    store = fixture.store()
    fixture.append(store)
    fixture.append(store)
    store.close()


def append_more(fixture: Fixture) -> None:
    _existing(fixture)
    store = fixture.store()
    for _ in range(4):
        fixture.append(store)
    store.close()


def large_commits(fixture: Fixture) -> None:
    store = fixture.store()
    for _ in range(4):
        fixture.append(store, op=fixture.next_op(events=4))
    store.close()


def long_texts(fixture: Fixture) -> None:
    """Commits whose long texts are files of their own; one of the texts is there before the second commit."""
    _existing(fixture, 1)
    for _ in range(2):
        store = fixture.store()
        fixture.append(store, op=fixture.next_op(long=True))
        fixture.append(store)
        store.close()


def long_texts_first(fixture: Fixture) -> None:
    store = fixture.store()
    fixture.append(store, op=fixture.next_op(long=True))
    fixture.append(store, op=fixture.next_op(long=True), fast_path=True)
    store.close()


def long_text_of_git(fixture: Fixture) -> None:
    """A text is there before its commit, and nobody has synced it: git does not sync what it checks out."""
    _existing(fixture, 1)
    store = fixture.store()
    folder = os.path.join(fixture.root, "events", *STREAM.split("/"), "blobs")
    durable.make_folders(fixture.fs, folder)
    data = LONG_TEXT.encode()
    fd = fixture.fs.open(os.path.join(folder, hash_of(data)), durable.CREATE)
    durable.write_whole(fixture.fs, fd, data)
    fixture.fs.close(fd)
    fixture.append(store, op=fixture.next_op(long=True))
    store.close()


def several_streams(fixture: Fixture) -> None:
    _existing(fixture, 1)
    store = fixture.store()
    for stream in (STREAM, SECOND, STREAM, PROJECT, SECOND, "users/kim", STREAM):
        fixture.append(store, stream)
    store.close()


def several_openings(fixture: Fixture) -> None:
    for _ in range(3):
        store = fixture.store()
        fixture.append(store)
        store.close()


def snapshot_note(fixture: Fixture) -> None:
    _existing(fixture)
    store = fixture.store()
    for number in range(3):
        store.put("local/snapshots/kim", b'{"n":%d}' % number * 40)
        fixture.append(store)
    store.close()


def view_note(fixture: Fixture) -> None:
    _existing(fixture)
    store = fixture.store()
    for number in range(3):
        fixture.append(store)
        store.put(f"{STREAM}/state.json", b'{"n":%d}\n' % number * 40)
    store.put(f"{STREAM}/state.json", None)
    store.close()


def _tear(fixture: Fixture, tail: bytes) -> None:
    """Leave what a killed process leaves: bytes after the last complete line."""
    fixture.torn = tail
    with open(fixture.segments()[0], "ab") as file:
        file.write(tail)


def _torn(fixture: Fixture, kind: str) -> None:
    store = fixture.store()
    for _ in range(2):
        fixture.append(store)
    store.close()
    with open(fixture.segments()[0], "rb") as file:
        line = file.read().splitlines(keepends=True)[-1]
    tails = {
        "half": line[: len(line) // 2],
        "zeros": b"\0" * 300,
        "line": fixture.rng.randbytes(80).replace(b"\n", b"x") + b"\n",
        "repeat": line + line[:40],
    }
    _tear(fixture, tails[kind])
    fixture.begin()


def tail_repair(fixture: Fixture) -> None:
    _torn(fixture, "half")
    store = fixture.store()
    fixture.append(store)
    fixture.append(store)
    store.close()


def tail_repair_zeros(fixture: Fixture) -> None:
    _torn(fixture, "zeros")
    store = fixture.store()
    fixture.append(store)
    store.close()


def tail_repair_garbage_line(fixture: Fixture) -> None:
    _torn(fixture, "line")
    store = fixture.store()
    fixture.append(store)
    store.close()


def doctor_fix(fixture: Fixture) -> None:
    _torn(fixture, "half")
    store = fixture.store()
    store.check(fix=True)
    fixture.append(store)
    store.close()


def new_git_head(fixture: Fixture) -> None:
    """Every git commit makes the engine open a new segment."""
    head = fixture.git_head()
    _existing(fixture, 1)
    for number in range(3):
        durable.replace(fixture.fs, head, f"{number:040d}\n".encode(), tag="git", durable=False)
        store = fixture.store()
        fixture.append(store)
        fixture.append(store)
        store.close()


def forget_other(fixture: Fixture) -> None:
    """Forgetting one stream does not affect another."""
    store = fixture.store()
    for stream in (STREAM, SECOND, STREAM, SECOND):
        fixture.append(store, stream)
    store.close()
    fixture.begin()
    fixture.forgotten.add(SECOND)
    store = fixture.store()
    store.forget(SECOND)
    fixture.append(store)
    store.close()


def overtaken(fixture: Fixture) -> None:
    """A second process appends and is acknowledged while the first still waits for its sync."""

    def meanwhile() -> None:
        other = fixture.store()
        fixture.append(other)
        other.close()

    first_op = fixture.next_op()
    fixture.attempted[STREAM] = [first_op]
    store = fixture.store(DuringSync(fixture.fs, meanwhile))
    fixture.append(store, op=first_op)
    fixture.append(store)
    store.close()


def overtaken_later(fixture: Fixture) -> None:
    """The same on an existing stream."""
    _existing(fixture, 2)
    first_op = fixture.next_op()
    fixture.attempted[STREAM].append(first_op)

    def meanwhile() -> None:
        other = fixture.store()
        fixture.append(other)
        other.close()

    store = fixture.store(DuringSync(fixture.fs, meanwhile))
    fixture.append(store, op=first_op)
    store.close()


def reader_keeps_snapshot(fixture: Fixture) -> None:
    """A process has written and not yet synced; another one reads that and stores a snapshot of it (I6)."""
    store = fixture.store()
    fixture.append(store, SECOND)
    for _ in range(LONG_TAIL - 1):
        fixture.append(store)
    store.close()
    fixture.begin()
    op = fixture.next_op()
    fixture.attempted[STREAM].append(op)

    def meanwhile() -> None:
        other = fixture.store()
        WorkingSet(other, STREAM).refresh()
        if other.get(f"local/snapshots/{STREAM.replace('/', '+')}") is None:
            raise AssertionError("the reader kept no snapshot")
        fixture.append(other, SECOND)
        other.close()

    store = fixture.store(DuringSync(fixture.fs, meanwhile))
    fixture.append(store, op=op)
    store.close()


def killed_then_cut(
    call: int,
    *,
    fresh: bool,
    retry: bool,
    awake: bool = False,
    journals: bool = False,
    long: bool = False,
) -> Protocol:
    """A process is killed at one call; its successor continues and is acknowledged; then the power is cut.

    ``awake``: the successor had the stream open all the time and has read everything. ``journals``: both have one.
    """

    def run(fixture: Fixture) -> None:
        fixture.journal_policy = JOURNALS if journals else None
        if not fresh:
            _existing(fixture, 2)
        other = fixture.store() if awake else None
        if other is not None:
            fixture.append(other)
        op = fixture.next_op(long=long)
        dying = KilledAt(fixture.fs, call)
        with contextlib.suppress(Killed):
            fixture.append(fixture.store(dying), op=op)
        if not dying.dead:
            raise LookupError(call)
        store = other or fixture.store()
        if retry:
            fixture.append(store, op=op)
            fixture.uncertain.discard(op)
        else:
            fixture.append(store)
        fixture.first_step = len(fixture.recording.steps)
        fixture.append(store)
        store.close()

    kind = "first append" if fresh else "append"
    how = f"{', awake' * awake}{', journals' * journals}{', long text' * long}"
    return Protocol(f"{kind} killed at call {call}, {'retried' if retry else 'succeeded'}{how}", run)


def failed_sync(
    call: int, *, fresh: bool, same_store: bool, journals: bool = False, long: bool = False
) -> Protocol:
    """A sync fails as on Linux, which then marks the lost pages clean; the caller retries and continues."""

    def run(fixture: Fixture) -> None:
        fixture.journal_policy = JOURNALS if journals else None
        if not fresh:
            _existing(fixture, 2)
        faulty = Faulty(fixture.recording)
        faulty.only = frozenset(["sync", "sync_folder"])
        store = fixture.store(SameDisk(faulty))
        if journals:
            fixture.append(store)  # without a fault: from now on it has a journal
        op = fixture.next_op(long=long)
        faulty.failure = Failure(faulty.calls + call, errno.EIO)
        failed = False
        try:
            fixture.append(store, op=op)
        except HoldfastError:
            failed = True
        if not faulty.dealt:
            raise LookupError(call)
        assert failed or "sync_folder" in faulty.dealt[0], "a failed sync was reported as success"
        if not same_store:
            store.close()
            store = fixture.store()
        fixture.append(store, op=op)
        fixture.uncertain.discard(op)
        fixture.first_step = len(fixture.recording.steps)
        fixture.append(store)
        store.close()

    kind = "first append" if fresh else "append"
    who = "same process" if same_store else "next process"
    return Protocol(
        f"{kind} with sync {call} failing, {who} retries{', journals' * journals}{', long text' * long}", run
    )


PROTOCOLS = [
    Protocol(function.__name__.replace("_", " "), function)
    for function in (
        first_append,
        append_more,
        large_commits,
        long_texts,
        long_texts_first,
        long_text_of_git,
        several_streams,
        several_openings,
        snapshot_note,
        view_note,
        tail_repair,
        tail_repair_zeros,
        tail_repair_garbage_line,
        doctor_fix,
        new_git_head,
        forget_other,
        overtaken,
        overtaken_later,
        reader_keeps_snapshot,
        *JOURNAL_PROTOCOLS,
    )
]
