"""From entries of the state to read models."""

from __future__ import annotations

from holdfast.core import contested
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import TypeVar

    from holdfast.core import codec
    from holdfast.workspace import models

    T = TypeVar("T")

State = dict[str, Any]
TIMES = frozenset(
    [
        "at",
        "closed_at",
        "settled_at",
        "claimed_at",
        "consumed_at",
        "interrupted_at",
        "entered",
        "exited",
        "started",
    ]
)
"""Keys of the state whose values are timestamps."""


def timestamp(text: str) -> datetime:
    """The ``datetime`` of a timestamp in the state."""
    from datetime import datetime

    return datetime.fromisoformat(text)


def build(kind: type[T], entry: State, **more: Any) -> T:
    """A read model from the entry of the state that has its fields."""
    values = dict(more)
    for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]
        if name in values or name not in entry:
            continue
        value = entry[name]
        if name == "rivals":
            value = tuple(closing(rival) for rival in value)
        elif name in TIMES and isinstance(value, str):
            value = timestamp(value)
        elif isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, dict):
            value = copy(value)
        values[name] = value
    return kind(**values)


def copy(value: Any) -> Any:
    """A deep copy of plain JSON."""
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    return [copy(item) for item in value] if isinstance(value, list) else value


def event_models(commit: codec.Commit) -> tuple[models.Event, ...]:
    """The facts of a commit, as they are stored."""
    from holdfast.workspace.models import Event

    at = timestamp(commit.at)
    return tuple(
        Event(
            type=event.type,
            data=event.data,
            version=event.v,
            at=at,
            by=commit.by,
            origin=commit.origin,
            commit=commit.id,
        )
        for event in commit.events
    )


def commit_model(commit: codec.Commit) -> models.Commit:
    """What one command added."""
    from holdfast.workspace.models import Commit

    return Commit(
        id=commit.id,
        at=timestamp(commit.at),
        by=commit.by,
        origin=commit.origin,
        op=commit.op,
        events=event_models(commit),
    )


def closing(rival: State) -> models.Closing:
    from holdfast.workspace.models import Closing

    outcome = rival.get("outcome", rival.get("remedy"))
    at: str = rival["closed_at"] if "closed_at" in rival else rival["settled_at"]
    by: str = rival["closed_by"] if "closed_by" in rival else rival["settled_by"]
    return Closing(outcome=outcome, closed_at=timestamp(at), closed_by=by)


def collection(kind: type[Any], part: State) -> Any:
    """A bounded collection of the state."""
    from holdfast.workspace.models import Collection

    return Collection(
        open=tuple(build(kind, entry) for entry in part["open"].values()),
        recent=tuple(build(kind, entry) for entry in part["closed"]),
        opened=part["opened"],
        closed=part["done"],
    )


def batch(entry: State) -> models.Batch:
    """A batch, with its progress."""
    from holdfast.core import ranges
    from holdfast.workspace import models

    return build(
        models.Batch,
        entry,
        done=ranges.count(entry["done"]),
        done_items=tuple(range(first, last + 1) for first, last in entry["done"]),
        failed=sum(ranges.count(items) for items in entry["failed"].values()),
        running=tuple(
            build(models.BatchClaim, claim, item=int(item)) for item, claim in entry["running"].items()
        ),
        results=tuple(build(models.BatchResult, result) for result in entry["results"]),
        failures=tuple(build(models.BatchFailure, failure) for failure in entry["failures"]),
    )


def git_commits(state: State) -> tuple[models.GitCommit, ...]:
    from holdfast.workspace.models import GitCommit

    return tuple(build(GitCommit, entry) for entry in state["git"]["last"])


def notes(state: State) -> models.Notes:
    from holdfast.workspace.models import Note, Notes

    part = state["notes"]
    return Notes(recent=tuple(build(Note, note) for note in part["last"]), count=part["count"])


def contests(state: State) -> tuple[models.Contested, ...]:
    from holdfast.workspace.models import Contested, Rival

    return tuple(
        Contested(
            name=contest["name"],
            value=copy(contest["value"]),
            rivals=tuple(build(Rival, rival) for rival in contest["rivals"]),
        )
        for contest in contested.contests(state["registers"])
    )


def activity(state: State) -> tuple[models.Activity, ...]:
    from holdfast.workspace.models import Activity

    return tuple(build(Activity, line) for line in state["recent"])


def decisions(state: State) -> models.Decisions:
    from holdfast.workspace.models import Decision, Decisions

    part = state["decisions"]
    return Decisions(
        open=tuple(build(Decision, entry) for entry in part["open"].values()),
        recent=tuple(build(Decision, entry) for entry in part["closed"]),
        opened=part["made"],
        closed=part["settled"],
        failed=part["failed"],
        chosen=part["chosen"],
    )


def value(name: str) -> Callable[[State], Any]:
    return lambda state: contested.value(state["registers"], name)


def of(part: str, kind: str) -> Callable[[State], Any]:
    """A part of the state that is one entry or None."""

    def look(state: State) -> Any:
        from holdfast.workspace import models

        entry = state[part]
        return None if entry is None else build(getattr(models, kind), entry)

    return look


def collected(part: str, kind: str) -> Callable[[State], Any]:
    def look(state: State) -> Any:
        from holdfast.workspace import models

        return collection(getattr(models, kind), state[part])

    return look


def phases(state: State) -> models.Phases:
    from holdfast.core import concepts
    from holdfast.workspace.models import Phases, PhaseVisit

    part = state["phases"]
    transitions: Mapping[str, tuple[str, ...]] | None = None
    if part["transitions"] is not None:
        transitions = {name: tuple(after) for name, after in part["transitions"].items()}
    return Phases(
        current=contested.value(state["registers"], "phase"),
        declared=tuple(part["declared"]),
        allowed=tuple(concepts.phase.allowed(state)),
        transitions=transitions,
        history=tuple(build(PhaseVisit, visit) for visit in part["history"]),
        entered=part["entered"],
    )


def task(state: State) -> models.Task | None:
    from holdfast.core import concepts
    from holdfast.workspace.models import Task

    entry = concepts.task.current(state)
    return None if entry is None else build(Task, entry)


def messages(state: State) -> models.Messages:
    from holdfast.workspace.models import Message, Messages, Summary

    part = state["messages"]
    return Messages(
        recent=tuple(build(Message, message) for message in part["recent"]),
        summary=build(Summary, part["summary"]) if part["summary"] else None,
        count=part["count"],
    )


def references(state: State) -> tuple[models.Reference, ...]:
    from holdfast.workspace.models import Reference

    return tuple(build(Reference, entry) for entry in state["references"]["open"].values())


def budget(state: State) -> models.Budget:
    from holdfast.workspace.models import Budget, BudgetItem

    part = state["budget"]
    items = tuple(build(BudgetItem, item, name=name) for name, item in part["items"].items())
    return build(Budget, part, items=items)


def batches(state: State) -> models.Collection[models.Batch]:
    from holdfast.workspace.models import Collection

    part = state["batches"]
    return Collection(
        open=tuple(batch(entry) for entry in part["open"].values()),
        recent=tuple(batch(entry) for entry in part["closed"]),
        opened=part["opened"],
        closed=part["done"],
    )


def legal(state: State) -> models.LegalReviews:
    from holdfast.workspace.models import LegalReview, LegalReviews

    part = state["legal"]
    return LegalReviews(recent=tuple(build(LegalReview, one) for one in part["last"]), count=part["count"])


def compactions(state: State) -> models.Compactions:
    from holdfast.workspace.models import Compaction, Compactions

    part = state["compactions"]
    last = build(Compaction, part["last"]) if part["last"] else None
    return Compactions(last=last, count=part["count"])


def controls(state: State) -> models.Controls:
    from holdfast.workspace.models import Control, Controls

    part = state["controls"]
    return Controls(recent=tuple(build(Control, one) for one in part["last"]), count=part["count"])


def backlog(state: State) -> models.Collection[models.BacklogItem]:
    from holdfast.core import concepts
    from holdfast.workspace.models import BacklogItem, Collection

    part = state["backlog"]
    return Collection(
        open=tuple(
            build(BacklogItem, item) for item in sorted(part["open"].values(), key=concepts.backlog.rank)
        ),
        recent=tuple(build(BacklogItem, item) for item in part["closed"]),
        opened=part["opened"],
        closed=part["done"],
    )


def preferences(state: State) -> Mapping[str, str]:
    from holdfast.core import concepts

    return concepts.preference.all_of(state)
