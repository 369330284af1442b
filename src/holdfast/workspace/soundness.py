"""Whether the saved data of each stream agrees with its log: the snapshot, and the views generated from it.

The log is folded from its first commit and compared with what opening the stream gives. A snapshot is only a cache,
but every command trusts it, so a wrong one must never pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.core import validation
from holdfast.errors import HoldfastError
from holdfast.store import forked
from holdfast.store.faults import ACCEPTED, LOST_COMMITS, REGENERATED, REPEATED_NUMBER, WRONG_STATE
from holdfast.store.protocol import Fault, git_backed
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views.state_json import contract
from holdfast.workspace import publish
from holdfast.workspace.snapshot import WorkingSet

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def check(workspace: Workspace, *, fix: bool = False) -> list[Fault]:
    """Every saved state that differs from its log; with ``fix``, it is rebuilt from the log."""

    def look(streams: list[str]) -> list[Fault]:
        return [
            fault
            for stream in streams
            for fault in (*_check(workspace, stream, fix), *_repeated_numbers(workspace, stream))
        ]

    streams = workspace.store.streams()
    return forked.over_streams("Comparing the state of", streams, look, writes=fix)


_NUMBERED = frozenset(
    [
        *("backlog.added", "blocker.added", "decision.made", "error.met", "fact.added", "handoff.made"),
        *(
            "legal.reviewed",
            "loop.added",
            "next.added",
            "order.given",
            "plan.proposed",
            "risk.added",
            "task.added",
        ),
    ]
)
"""Events that give a number to something new."""


def _repeated_numbers(workspace: Workspace, stream: str) -> list[Fault]:
    """Numbers that several commits gave to something new: no writer does that, two copies of one do."""
    given: dict[str, int] = {}
    try:
        for commit in validation.commits_in(workspace.store.read(stream).lines):
            for event in commit.events:
                if event.type in _NUMBERED:
                    number = str(event.data["id"])
                    given[number] = given.get(number, 0) + 1
    except HoldfastError:
        return []  # the store's own check reports unreadable lines
    return [
        Fault(REPEATED_NUMBER, stream, stream, {"id": number, "commits": count}, harmless=True)
        for number, count in given.items()
        if count > 1
    ]


def _check(workspace: Workspace, stream: str, fix: bool) -> list[Fault]:
    saved, folded = WorkingSet(workspace.store, stream), WorkingSet(workspace.store, stream, from_log=True)
    try:
        saved.refresh()
        folded.refresh_only()
        if saved.version != folded.version:
            saved.refresh()  # a commit arrived between the two reads
            folded.refresh_only()
    except HoldfastError:
        return []  # the store's own check reports unreadable lines
    lost = [fault for fault in saved.faults if fault.kind == LOST_COMMITS]
    if lost and fix:
        restored = restore_lost(workspace, stream, lost)
        if restored:
            saved.refresh()
        left = [fault for fault in saved.faults if fault.kind == LOST_COMMITS]
        saved.rebuild()  # only the snapshot still knows of what is left
        return restored + [fault._replace(done=ACCEPTED) for fault in left]
    if saved.version == folded.version and _agree(saved, folded):
        return lost
    if fix:
        saved.rebuild()
        return [Fault(WRONG_STATE, stream, saved.note, done=REGENERATED, harmless=True)]
    return [*lost, Fault(WRONG_STATE, stream, saved.note), *_wrong_views(workspace, stream, folded.state)]


def restore_lost(workspace: Workspace, stream: str, lost: Iterable[Fault]) -> list[Fault]:
    """Restore segments that lost commits from any version of them that git has."""
    store = git_backed(workspace.store)
    if store is None:
        return []
    found = [store.restore_segment(stream, fault.where) for fault in lost]
    return [fault for fault in found if fault is not None]


def restore_all_lost(workspace: Workspace) -> list[Fault]:
    """``restore_lost`` for every stream whose snapshot knows of lost commits."""
    done: list[Fault] = []
    for stream in workspace.store.streams():
        saved = WorkingSet(workspace.store, stream)
        try:
            saved.refresh_only()
        except HoldfastError:
            continue  # the store's own check reports unreadable lines
        lost = [fault for fault in saved.faults if fault.kind == LOST_COMMITS]
        done += restore_lost(workspace, stream, lost)
    return done


def _agree(saved: WorkingSet, folded: WorkingSet) -> bool:
    if folded.kind == "session" and not _are_same(saved.shown, contract(folded.state)):
        return False
    return _are_same(saved.state, folded.state)


def _are_same(one: Any, other: Any) -> bool:
    """Whether two values are the same as JSON."""
    return bool(one == other or _plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    """The value after a round trip through JSON."""
    return json.loads(json.dumps(value))


def _wrong_views(workspace: Workspace, stream: str, state: dict[str, Any]) -> list[Fault]:
    """Views that show a wrong state: they agree with the snapshot, so no other check reports them."""
    if not stream.startswith("sessions/"):
        return []
    faults = []
    for name in publish.VIEWS:
        found = workspace.store.get(f"{stream}/{name}")
        if found is not None and found != publish.render(name, state):
            faults.append(Fault(WRONG_STATE, stream, f"{stream}/{name}"))
    return faults
