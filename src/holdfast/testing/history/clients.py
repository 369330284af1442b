"""Real processes that use one stream concurrently, and their recorded history.

Clients append with right, stale and no expected versions, and read with a cursor or from the start. The parent stops,
continues and kills them, and starts a successor for each dead one. Every client logs the start and end of each call to
its own file, so that a kill loses nothing of the history.
"""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast.core.codec import Draft, Event, content_of, decode
from holdfast.errors import Conflict, Unavailable, UnknownOutcome
from holdfast.store.protocol import AppendContext, PrebuiltCommit, PreparedCommit, Store
from holdfast.testing.crash.states import remove_tree, scratch_base
from holdfast.testing.history.checker import CONFLICT, OK, UNKNOWN, Operation
from holdfast.testing.processes import kill, spawn

MakeStore = Callable[[], Store]


class Run(NamedTuple):
    """One run of all clients."""

    history: list[Operation]
    kills: int
    stops: int


class _Client:
    """One process's view of the stream."""

    def __init__(self, store: Store, stream: str, call_log: int, seed: str, name: str) -> None:
        self.store = store
        self.stream = stream
        self.call_log = call_log
        self.rng = random.Random(seed)
        self.name = name
        self.cursor: Any = None
        self.version = 0
        self.head = ""

    def note(self, **what: Any) -> None:
        os.write(self.call_log, json.dumps(what).encode() + b"\n")

    def live(self, first: int, count: int) -> None:
        for number in range(first, count):
            if self.rng.random() < 0.4:
                self.read(number)
            else:
                self.append(number)

    def read(self, number: int) -> None:
        self.note(n=number, kind="read", mark="", expect=None, began=time.monotonic_ns())
        tail = self.store.read(self.stream, None if self.rng.random() < 0.3 else self.cursor)
        lines = list(tail.lines)
        ended = time.monotonic_ns()
        if lines:
            self.head = _mark(lines[-1])
        elif tail.restarted:
            self.head = ""
        self.cursor, self.version = tail.cursor, tail.version
        self.note(n=number, ended=ended, outcome=OK, version=tail.version, head=self.head)

    def append(self, number: int) -> None:
        mark = f"{self.name}.{number}"
        expect = self.rng.choice(
            (None, self.version, self.version, max(0, self.version - 1), self.version + 1)
        )
        cursor = self.cursor if self.rng.random() < 0.7 else None
        given = self.rng.random() < 0.4
        op = None if given else mark
        draft = Draft((Event("x.mark", {"mark": mark}),), self.name, "tool", op)
        prepared = PreparedCommit(draft, {}, content_of(draft))

        def look(context: AppendContext) -> PreparedCommit:
            list(context.tail.lines)
            return prepared

        plan = PrebuiltCommit(prepared, look) if given else look
        self.note(n=number, kind="append", mark=mark, expect=expect, began=time.monotonic_ns())
        try:
            done = self.store.append(self.stream, plan, cursor=cursor, expect=expect, op=op)
        except Conflict:
            self.note(n=number, ended=time.monotonic_ns(), outcome=CONFLICT)
        except UnknownOutcome:
            self.note(n=number, ended=None, outcome=UNKNOWN)
        else:
            self.note(n=number, ended=time.monotonic_ns(), outcome=OK, version=done.version)
            self.version = done.version
            self.cursor, self.head = done.cursor, mark


def _mark(line: bytes) -> str:
    return str(decode(bytes(line)).events[0].data["mark"])


def _operations(client: int, call_log: str) -> list[Operation]:
    """The calls in a client's log; a call without a result stays open."""
    calls: dict[int, dict[str, Any]] = {}
    if not os.path.exists(call_log):
        return []  # killed before its first call
    with open(call_log, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                entry = json.loads(line)
                calls.setdefault(entry["n"], {}).update(entry)
    found = []
    for call in calls.values():
        answered = call.get("outcome", UNKNOWN) != UNKNOWN
        if call["kind"] == "read" and not answered:
            continue  # a read without a result carries no information
        found.append(
            Operation(
                client,
                call["kind"],
                call["mark"],
                call["expect"],
                call["began"],
                call["ended"] if answered else None,
                call.get("outcome", UNKNOWN),
                call.get("version", -1),
                call.get("head", ""),
            )
        )
    return found


def run_clients(
    make_store: MakeStore, stream: str, seed: int, *, clients: int = 8, operations: int = 400, kills: int = 5
) -> Run:
    """Let ``clients`` processes make ``operations`` calls in total while being stopped and killed; return the history.

    The last call of the history is a read by the parent, after everybody else has ended.
    """
    rng = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="holdfast-history-", dir=scratch_base())
    # A read whose client was killed is left out; there must be enough calls without it.
    share = -(-(operations + kills) // clients)
    alive: dict[int, int] = {}
    diaries: list[str] = []
    dead = stopped = 0

    def start(first: int) -> None:
        number = len(diaries)
        diaries.append(os.path.join(folder, str(number)))

        def body() -> None:
            call_log = os.open(diaries[number], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            _Client(make_store(), stream, call_log, f"{seed}.{number}", f"c{number}").live(first, share)

        alive[spawn(body)] = number

    try:
        for _ in range(clients):
            start(0)
        while alive:
            _reap(alive)
            time.sleep(rng.random() * 0.006)
            if not alive:
                break
            victim = rng.choice(list(alive))
            if dead < kills and rng.random() < 0.25:
                number = alive.pop(victim)
                kill(victim)
                dead += 1
                calls = _calls_begun(diaries[number])
                if calls < share:
                    start(calls)
            elif rng.random() < 0.4:
                stopped += _pause(victim, rng.random() * 0.01)
        history = [op for number, call_log in enumerate(diaries) for op in _operations(number, call_log)]
        history.append(_last_read(make_store, stream, len(diaries)))
        return Run(history, dead, stopped)
    finally:
        for pid in list(alive):
            kill(pid)
        remove_tree(folder)


def _calls_begun(call_log: str) -> int:
    """How many calls a dead client had started: its successor continues there."""
    if not os.path.exists(call_log):
        return 0
    with open(call_log, "rb") as file:
        numbers = [json.loads(line)["n"] for line in file if line.endswith(b"\n")]
    return max(numbers, default=-1) + 1


def _reap(alive: dict[int, int]) -> None:
    for pid in list(alive):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del alive[pid]
            if status:
                raise Unavailable(f"client {pid} ended with status {status}; its message is above")


def _pause(pid: int, seconds: float) -> int:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)
    return 1


def _last_read(make_store: MakeStore, stream: str, client: int) -> Operation:
    store = make_store()
    try:
        began = time.monotonic_ns()
        tail = store.read(stream)
        lines = list(tail.lines)
        head = _mark(lines[-1]) if lines else ""
        return Operation(client, "read", "", None, began, time.monotonic_ns(), OK, tail.version, head)
    finally:
        store.close()
