"""Commits of the project that were made during a session: their ids and subjects, the last few of them."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, one_line
from holdfast.typed import Any, Record

EVENTS = {"git.committed": 1}
STEPS: dict[Any, Any] = {}
KEPT = 12
MOST = 20
"""Commits that one event names; of more, the newest."""


class Made(Record):
    """A commit of the project's repository."""

    sha: str
    subject: str


def blank() -> dict[str, Any]:
    return {"git": {"count": 0, "last": []}}


def _committed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    git = state["git"]
    git["count"] += len(data["commits"])
    common = {"at": commit.at, "by": commit.by, "origin": commit.origin, "commit": commit.id}
    for made in data["commits"][-KEPT:]:
        entry = {"sha": made["sha"], "subject": one_line(made["subject"], NAME_CAP), **common}
        git["last"].append(entry | ({"branch": data["branch"]} if data.get("branch") else {}))
    del git["last"][:-KEPT]


FOLDS = {"git.committed": _committed}
HEADLINES = {
    "git.committed": lambda data: (
        f"Committed {', '.join(one_line(made['sha'], 10) for made in data['commits'][:3])}: "
        f"{one_line(data['commits'][-1]['subject'], 80) if data['commits'] else ''}"
    )
}


def add(state: dict[str, Any], made: Iterable[Made], branch: str = "") -> list[Event]:
    """Link commits that are not linked yet; none if all are."""
    known = {entry["sha"] for entry in state["git"]["last"]}
    new = [one for one in dict.fromkeys(made) if one.sha not in known][-MOST:]
    if not new:
        return []
    commits = [{"sha": one.sha, "subject": one_line(one.subject, NAME_CAP) or "(no subject)"} for one in new]
    data: dict[str, Any] = {"commits": commits}
    if branch:
        data["branch"] = branch[:NAME_CAP]
    return [Event("git.committed", data)]
