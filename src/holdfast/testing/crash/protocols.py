"""The ways in which the files engine writes, each as a protocol for the laboratory."""

from __future__ import annotations

import contextlib
import errno

from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.store.protocol import LONG_TAIL
from holdfast.testing.crash.faults import Failure, Faulty
from holdfast.testing.crash.harness import PROJECT, SECOND, STREAM, Bench, Protocol
from holdfast.testing.crash.journal_protocols import JOURNAL_PROTOCOLS, JOURNALS
from holdfast.testing.crash.wrapped import DuringSync, Killed, KilledAt, SameDisk
from holdfast.workspace.snapshot import WorkingSet


def _existing(bench: Bench, commits: int = 3) -> None:
    """A workspace with some history, safely on the disk."""
    store = bench.store()
    for _ in range(commits):
        bench.append(store)
    store.close()
    bench.begin()


def first_append(bench: Bench) -> None:
    store = bench.store()
    bench.append(store)
    bench.append(store)
    store.close()


def append_more(bench: Bench) -> None:
    _existing(bench)
    store = bench.store()
    for _ in range(4):
        bench.append(store)
    store.close()


def large_commits(bench: Bench) -> None:
    store = bench.store()
    for _ in range(4):
        bench.append(store, op=bench.next_op(events=4))
    store.close()


def several_streams(bench: Bench) -> None:
    _existing(bench, 1)
    store = bench.store()
    for stream in (STREAM, SECOND, STREAM, PROJECT, SECOND, "users/kim", STREAM):
        bench.append(store, stream)
    store.close()


def several_openings(bench: Bench) -> None:
    for _ in range(3):
        store = bench.store()
        bench.append(store)
        store.close()


def snapshot_note(bench: Bench) -> None:
    _existing(bench)
    store = bench.store()
    for number in range(3):
        store.put("local/snapshots/kim", b'{"n":%d}' % number * 40)
        bench.append(store)
    store.close()


def view_note(bench: Bench) -> None:
    _existing(bench)
    store = bench.store()
    for number in range(3):
        bench.append(store)
        store.put(f"{STREAM}/state.json", b'{"n":%d}\n' % number * 40)
    store.put(f"{STREAM}/state.json", None)
    store.close()


def _tear(bench: Bench, tail: bytes) -> None:
    """What a killed process leaves: bytes behind the last whole line."""
    bench.torn = tail
    with open(bench.segments()[0], "ab") as file:
        file.write(tail)


def _torn(bench: Bench, kind: str) -> None:
    store = bench.store()
    for _ in range(2):
        bench.append(store)
    store.close()
    with open(bench.segments()[0], "rb") as file:
        line = file.read().splitlines(keepends=True)[-1]
    tails = {
        "half": line[: len(line) // 2],
        "zeros": b"\0" * 300,
        "line": bench.rng.randbytes(80).replace(b"\n", b"x") + b"\n",
        "repeat": line + line[:40],
    }
    _tear(bench, tails[kind])
    bench.begin()


def tail_repair(bench: Bench) -> None:
    _torn(bench, "half")
    store = bench.store()
    bench.append(store)
    bench.append(store)
    store.close()


def tail_repair_zeros(bench: Bench) -> None:
    _torn(bench, "zeros")
    store = bench.store()
    bench.append(store)
    store.close()


def tail_repair_garbage_line(bench: Bench) -> None:
    _torn(bench, "line")
    store = bench.store()
    bench.append(store)
    store.close()


def doctor_fix(bench: Bench) -> None:
    _torn(bench, "half")
    store = bench.store()
    store.check(fix=True)
    bench.append(store)
    store.close()


def new_git_head(bench: Bench) -> None:
    """Every commit of git lets the engine open a new segment."""
    head = bench.git_head()
    _existing(bench, 1)
    for number in range(3):
        durable.replace(bench.fs, head, f"{number:040d}\n".encode(), tag="git", durable=False)
        store = bench.store()
        bench.append(store)
        bench.append(store)
        store.close()


def forget_other(bench: Bench) -> None:
    """Forgetting one stream does nothing to another."""
    store = bench.store()
    for stream in (STREAM, SECOND, STREAM, SECOND):
        bench.append(store, stream)
    store.close()
    bench.begin()
    bench.forgotten.add(SECOND)
    store = bench.store()
    store.forget(SECOND)
    bench.append(store)
    store.close()


def overtaken(bench: Bench) -> None:
    """A second process appends and is acknowledged while the first one still waits for its sync."""

    def meanwhile() -> None:
        other = bench.store()
        bench.append(other)
        other.close()

    first_op = bench.next_op()
    bench.attempted[STREAM] = [first_op]
    store = bench.store(DuringSync(bench.fs, meanwhile))
    bench.append(store, op=first_op)
    bench.append(store)
    store.close()


def overtaken_later(bench: Bench) -> None:
    """The same on a stream that exists."""
    _existing(bench, 2)
    first_op = bench.next_op()
    bench.attempted[STREAM].append(first_op)

    def meanwhile() -> None:
        other = bench.store()
        bench.append(other)
        other.close()

    store = bench.store(DuringSync(bench.fs, meanwhile))
    bench.append(store, op=first_op)
    store.close()


def reader_keeps_snapshot(bench: Bench) -> None:
    """A process has written and not synced yet; another one reads that and keeps a snapshot of it (I6)."""
    store = bench.store()
    bench.append(store, SECOND)
    for _ in range(LONG_TAIL - 1):
        bench.append(store)
    store.close()
    bench.begin()
    op = bench.next_op()
    bench.attempted[STREAM].append(op)

    def meanwhile() -> None:
        other = bench.store()
        WorkingSet(other, STREAM).refresh()
        if other.get(f"local/snapshots/{STREAM.replace('/', '+')}") is None:
            raise AssertionError("the reader kept no snapshot")
        bench.append(other, SECOND)
        other.close()

    store = bench.store(DuringSync(bench.fs, meanwhile))
    bench.append(store, op=op)
    store.close()


def killed_then_cut(
    call: int, *, fresh: bool, retry: bool, awake: bool = False, journals: bool = False
) -> Protocol:
    """A process is killed at one call; its successor goes on and is acknowledged; then the power goes.

    ``awake``: the successor had the stream open all the while, and knows all that came before. ``journals``: both
    have one.
    """

    def run(bench: Bench) -> None:
        bench.journal_policy = JOURNALS if journals else None
        if not fresh:
            _existing(bench, 2)
        other = bench.store() if awake else None
        if other is not None:
            bench.append(other)
        op = bench.next_op()
        dying = KilledAt(bench.fs, call)
        with contextlib.suppress(Killed):
            bench.append(bench.store(dying), op=op)
        if not dying.dead:
            raise LookupError(call)
        store = other or bench.store()
        if retry:
            bench.append(store, op=op)
            bench.uncertain.discard(op)
        else:
            bench.append(store)
        bench.first_step = len(bench.recording.steps)
        bench.append(store)
        store.close()

    kind = "first append" if fresh else "append"
    how = f"{', awake' * awake}{', journals' * journals}"
    return Protocol(f"{kind} killed at call {call}, {'retried' if retry else 'succeeded'}{how}", run)


def failed_sync(call: int, *, fresh: bool, same_store: bool, journals: bool = False) -> Protocol:
    """A sync fails as on Linux, which then calls the lost bytes clean; the caller retries and goes on."""

    def run(bench: Bench) -> None:
        bench.journal_policy = JOURNALS if journals else None
        if not fresh:
            _existing(bench, 2)
        faulty = Faulty(bench.recording)
        faulty.only = frozenset(["sync", "sync_folder"])
        store = bench.store(SameDisk(faulty))
        if journals:
            bench.append(store)  # with a sound disk: from now on it has a journal
        op = bench.next_op()
        faulty.failure = Failure(faulty.calls + call, errno.EIO)
        failed = False
        try:
            bench.append(store, op=op)
        except HoldfastError:
            failed = True
        if not faulty.dealt:
            raise LookupError(call)
        assert failed or "sync_folder" in faulty.dealt[0], "a failed sync was reported as success"
        if not same_store:
            store.close()
            store = bench.store()
        bench.append(store, op=op)
        bench.uncertain.discard(op)
        bench.first_step = len(bench.recording.steps)
        bench.append(store)
        store.close()

    kind = "first append" if fresh else "append"
    who = "same process" if same_store else "next process"
    return Protocol(f"{kind} with sync {call} failing, {who} retries{', journals' * journals}", run)


PROTOCOLS = [
    Protocol(function.__name__.replace("_", " "), function)
    for function in (
        first_append,
        append_more,
        large_commits,
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
