"""The workload of the crash-consistency harness: self-verifying commits, and which of them were acknowledged.

The events of a commit are derived from its operation id alone, so a reader can verify after a crash that each
commit is complete and unchanged without asking the process that wrote it.
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.core.codec import ALONE, GENESIS, Commit, Draft, Event, content_of, decode, rechained
from holdfast.store.protocol import AppendContext, Cursor, Plan, PrebuiltCommit, PreparedCommit, Store

MAX_TEXT = 700
LONG = "long"
"""How the ids of operations begin that have two long texts: one of their own, and one that they all have."""
LONG_TEXT = "zwölf ☃ \u2028 lines\n" * 300


class Acknowledged(NamedTuple):
    """What ``append`` returned to its caller: this commit is durable."""

    stream: str
    op: str
    id: str
    sum: str


class Violation(AssertionError):
    """A store violated a guarantee."""


@functools.cache
def events_of(op: str) -> tuple[Event, ...]:
    """The events that belong to an operation id: one to four, short or long, with awkward text."""
    if op.startswith(LONG):
        return (
            Event("x.part", {"op": op, "part": 0, "of": 2, "text": f"{op} " * 1500}),
            Event("x.part", {"op": op, "part": 1, "of": 2, "text": LONG_TEXT}),
        )
    rng = random.Random(op)
    count = rng.choice((1, 1, 2, 4))
    text = rng.choice(
        ("", "plain", 'quote " and \\ back', "zwölf ☃ \u2028 lines\n", "x" * rng.randrange(MAX_TEXT))
    )
    return tuple(Event("x.part", {"op": op, "part": n, "of": count, "text": text}) for n in range(count))


def append(
    store: Store,
    stream: str,
    op: str,
    *,
    expect: int | None = None,
    cursors: dict[Store, Cursor] | None = None,
    fast_path: bool = False,
) -> Acknowledged:
    """Append the commit of an operation id; return when the store acknowledges it.

    With ``cursors``, each store continues after its own last commit; otherwise it reads the whole stream each time.
    ``fast_path`` appends a prebuilt commit without an operation id.
    """
    draft = Draft(events_of(op), "harness", "tool", None if fast_path else op)
    prepared = PreparedCommit(draft, {}, content_of(draft))

    def plan(context: AppendContext) -> PreparedCommit:
        return prepared

    cursor = cursors.get(store) if cursors is not None else None
    given: Plan = PrebuiltCommit(prepared, plan) if fast_path else plan
    done = store.append(stream, given, cursor=cursor, expect=expect, op=draft.op)
    if cursors is not None and done.cursor is not None:  # otherwise there are unread commits before it
        cursors[store] = done.cursor
    return Acknowledged(stream, op, done.commit.id, done.commit.sum)


def op_of(commit: Commit) -> str:
    """The operation id that a commit is verified by; a commit of the fast path has it in its events only."""
    return commit.op or str(commit.events[0].data.get("op"))


def report(pipe: int, acknowledged: Acknowledged) -> None:
    """Report an acknowledgement to the parent; one short write, so lines of several processes do not interleave."""
    os.write(pipe, json.dumps(acknowledged).encode() + b"\n")


def heard(data: bytes) -> list[Acknowledged]:
    """The acknowledgements read from the pipe; an incomplete last line does not count."""
    return [Acknowledged(*json.loads(line)) for line in data.split(b"\n")[:-1]]


def commit_until_killed(store: Store, stream: str, prefix: str, pipe: int) -> None:
    """Commit and report until killed. Every sixth commit reads the whole stream, which syncs what others wrote; the
    commits in between depend on their own syncs alone. Half of all commits take the fast path."""
    number = 0
    cursors: dict[Store, Cursor] = {}
    while True:
        number += 1
        fast_path = number % 6 > 2
        report(pipe, append(store, stream, f"{prefix}.{number}", cursors=cursors, fast_path=fast_path))
        if not number % 6:
            cursors.clear()


def verify(
    store: Store,
    stream: str,
    acknowledged: Iterable[Acknowledged],
    where: str,
    *,
    faults_allowed: bool = False,
    joined: bool = False,
) -> list[str]:
    """Read a stream and check G1, G2 and G3; return the operation ids found, in order.

    A fault that is not harmless needs manual repair and violates G7, unless ``faults_allowed``. ``joined`` says that
    archiving may have rechained the commits; each checksum must still be right where it stands.
    """
    tail = store.read(stream)
    found: dict[str, Acknowledged] = {}
    order: list[str] = []
    last = ""
    sums = {GENESIS}
    tied: set[str] = set()
    for line in tail.lines:
        commit = decode(bytes(line))
        op = op_of(commit)
        if commit.events != events_of(op):
            raise Violation(f"{where}: {stream} holds a commit that nobody wrote so: {bytes(line)[:300]!r}")
        if op in found:
            raise Violation(f"{where}: {stream} holds {op} twice")
        if commit.id <= last:
            raise Violation(f"{where}: {stream} is out of order at {op}")
        last = commit.id
        if joined and any(rechained(bytes(line), before)[1] == commit.sum for before in sums):
            tied.add(op)
        sums.add(commit.sum)
        found[op] = Acknowledged(stream, op, commit.id, commit.sum)
        order.append(op)
    if tail.version != len(order):
        raise Violation(f"{where}: {stream} says version {tail.version} and has {len(order)} commits")
    for promise in acknowledged:
        if promise.stream != stream:
            continue
        now = found.get(promise.op)
        if now is not None and promise.op in tied and now.sum[:ALONE] == promise.sum[:ALONE]:
            # The line is the same byte for byte, and its sum differs only because another line stands before it.
            now = now._replace(sum=promise.sum)
        if now != promise:
            state = "missing" if now is None else "changed"
            raise Violation(f"{where}: acknowledged commit {promise.op} of {stream} is {state}")
    real = [fault for fault in tail.faults if not fault.harmless]
    if real and not faults_allowed:
        raise Violation(f"{where}: {stream} needs a human: {real}")
    return order
