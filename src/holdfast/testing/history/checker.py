"""A linearizability checker: is a history of concurrent calls legal for one atomic register? (G5)

A history has the start, the end and the result of each call. It is legal if the calls can be ordered, each at some
point between its start and its end, so that every result is right. The search is Wing and Gong's with memoisation. A
call whose client died has no end: it may have taken effect at any later time, or never.
"""

from __future__ import annotations

from typing import NamedTuple

OK = "ok"
CONFLICT = "conflict"
UNKNOWN = "unknown"

State = tuple[int, str]
EMPTY: State = (0, "")


class Operation(NamedTuple):
    """One call and its result."""

    client: int
    kind: str
    """append or read."""
    mark: str
    """The commit that an append adds."""
    expect: int | None
    began: int
    ended: int | None
    outcome: str
    version: int = -1
    """The version that an append or a read returned."""
    head: str = ""
    """The mark of the latest commit that a read returned."""


class Verdict(NamedTuple):
    legal: bool
    tried: int
    """The number of configurations that the search visited."""
    stuck_at: str
    """The call that could not be linearized, where the search got furthest."""


class Undecided(Exception):
    """The search reached its limit: the history has too much concurrency."""


class _Entry:
    """The start or the end of a call, in a linked list that the search removes calls from and puts them back into."""

    __slots__ = ("after", "before", "bit", "end", "operation")

    def __init__(self, operation: Operation | None, bit: int) -> None:
        self.operation = operation
        self.bit = bit
        self.end: _Entry | None = None
        self.before: _Entry = self
        self.after: _Entry | None = None


def step(state: State, operation: Operation) -> State | None:
    """The state after a call with this result, or None if the result is wrong in this state."""
    version, _ = state
    if operation.kind == "read":
        return state if state == (operation.version, operation.head) else None
    matches = operation.expect is None or operation.expect == version
    if operation.outcome == CONFLICT:
        return None if matches else state
    if not matches or (operation.outcome == OK and operation.version != version + 1):
        return None
    return version + 1, operation.mark


def _listed(history: list[Operation]) -> _Entry:
    endpoints: list[tuple[int, int, _Entry]] = []
    never = 1 + max([op.ended or op.began for op in history], default=0)
    for index, operation in enumerate(history):
        call, end = _Entry(operation, 1 << index), _Entry(operation, 0)
        call.end = end
        # At the same tick a start sorts before an end, which treats the calls as concurrent.
        endpoints.append((operation.began, 0, call))
        endpoints.append((never if operation.ended is None else operation.ended, 1, end))
    endpoints.sort(key=lambda endpoint: endpoint[:2])
    front = _Entry(None, 0)
    last = front
    for _, _, entry in endpoints:
        last.after, entry.before = entry, last
        last = entry
    return front


def _take_out(call: _Entry) -> None:
    for entry in (call, call.end):
        assert entry is not None
        entry.before.after = entry.after
        if entry.after is not None:
            entry.after.before = entry.before


def _put_back(call: _Entry) -> None:
    for entry in (call.end, call):
        assert entry is not None
        entry.before.after = entry
        if entry.after is not None:
            entry.after.before = entry


def check(history: list[Operation], *, start: State = EMPTY, limit: int = 2_000_000) -> Verdict:
    """Whether the history is legal; raises ``Undecided`` after ``limit`` configurations."""
    front = _listed(history)
    state, placed = start, 0
    tried: set[tuple[int, State]] = set()
    taken: list[tuple[_Entry, State]] = []
    furthest, stuck_at = -1, ""
    entry = front.after
    while entry is not None:
        operation = entry.operation
        assert operation is not None
        if entry.end is not None:
            following = step(state, operation)
            if following is not None and (placed | entry.bit, following) not in tried:
                placed |= entry.bit
                tried.add((placed, following))
                if len(tried) > limit:
                    raise Undecided(f"{limit} configurations visited for {len(history)} calls")
                taken.append((entry, state))
                state = following
                _take_out(entry)
                entry = front.after
            else:
                entry = entry.after
            continue
        if operation.ended is None:
            break  # only calls of dead clients are left, which may never have taken effect
        if len(taken) > furthest:
            furthest, stuck_at = len(taken), f"{operation} at {state}"
        if not taken:
            return Verdict(False, len(tried), stuck_at)
        entry, state = taken.pop()
        placed &= ~entry.bit
        _put_back(entry)
        entry = entry.after
    return Verdict(True, len(tried), "")
