"""The decisions of all streams, from the index."""

from __future__ import annotations

import json

from holdfast.core import anchors
from holdfast.core.concepts.decision import announced_with
from holdfast.core.stream import last_part, owner
from holdfast.typed import TYPE_CHECKING, Any, Record

if TYPE_CHECKING:
    import sqlite3

Entry = dict[str, Any]
_COLUMNS = (
    "id",
    "text",
    "because",
    "action",
    "revisit_when",
    "loop",
    "task",
    "risk",
    "supersedes",
    "superseded_by",
    "at",
    "by",
    "origin",
    "outcome",
    "settled_at",
    "settled_by",
    "exit_code",
    "choice",
)
_OTHERS = (
    "name",
    "status",
    "commit_id",
    "alternatives",
    "anchors",
    "done_when",
    "recovery",
    "once",
    "rivals",
)
_TEXTS = ("text", "because", "action", "outcome", "revisit_when")


class Wanted(Record):
    """Which decisions are wanted; None matches anything."""

    status: str | None = None
    """``unsettled``, ``settled`` (failed ones too), ``failed`` or ``choice``."""
    stream: str | None = None
    by: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None
    """In lower case."""
    once: str | None = None

    def takes(self, entry: Entry) -> bool:
        """Whether a decision is wanted."""
        if self.status is not None and self.status != entry["status"]:
            return self.status == "settled" and entry["status"] == "failed"
        if self.once is not None and entry["once"] != self.once:
            return False
        if self.by is not None and entry["by"] != self.by:
            return False
        if (self.since is not None and entry["at"] < self.since) or (
            self.until is not None and entry["at"] > self.until
        ):
            return False
        said = (*(entry[key] or "" for key in _TEXTS), *entry["alternatives"])
        return self.text is None or any(self.text in text.lower() for text in said)


_STATUSES = {"unsettled": ("open",), "settled": ("settled", "failed")}
"""Statuses of the table by what they are called."""
_SHOWN = {"open": "unsettled"}


def listed(db: sqlite3.Connection, wanted: Wanted, limit: int) -> tuple[list[Entry], dict[str, int]]:
    """The newest decisions that are wanted, and how many there are of each status; ``limit`` 0: all."""
    where, values = _conditions(db, wanted)
    condition = " AND ".join(where) or "1"
    counts = db.execute(
        f"SELECT d.status, count(*) FROM decisions AS d WHERE {condition} GROUP BY d.status",  # noqa: S608
        values,
    )
    found = {_SHOWN.get(status, status): count for status, count in counts}
    names = ", ".join(f"d.{name}" if name != "name" else "streams.name" for name in (*_COLUMNS, *_OTHERS))
    rows = db.execute(
        f"SELECT {names} FROM decisions AS d JOIN streams USING (stream) WHERE {condition} "  # noqa: S608
        "ORDER BY d.commit_id DESC, d.id LIMIT ?",
        (*values, limit or -1),
    )
    return [_entry(row) for row in rows], found


def _conditions(db: sqlite3.Connection, wanted: Wanted) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []

    def add(condition: str, *given: Any) -> None:
        where.append(condition)
        values.extend(given)

    if wanted.status is not None:
        statuses = _STATUSES.get(wanted.status, (wanted.status,))
        add(f"d.status IN ({', '.join('?' * len(statuses))})", *statuses)
    if wanted.stream is not None:
        add("d.stream = (SELECT stream FROM streams WHERE name = ?)", wanted.stream)
    if wanted.once is not None:
        add("d.once = ?", wanted.once)
    if wanted.by is not None:
        add("d.by = ?", wanted.by)
    if wanted.since is not None:
        add("d.at >= ?", wanted.since)
    if wanted.until is not None:
        add("d.at <= ?", wanted.until)
    if wanted.text is not None:
        text = wanted.text
        db.create_function("says", -1, lambda *said: _says(text, said), deterministic=True)
        add(f"says({', '.join(f'd.{name}' for name in _TEXTS)}, d.alternatives)")
    return where, values


def _says(text: str, said: tuple[str | None, ...]) -> bool:
    *texts, alternatives = said
    return any(text in (one or "").lower() for one in (*texts, *_list(alternatives)))


def _list(value: str | None) -> list[Any]:
    found = _parsed(value)
    return found if isinstance(found, list) else []


def _entry(row: tuple[Any, ...]) -> Entry:
    entry = dict(zip((*_COLUMNS, *_OTHERS), row, strict=True))
    stream, status, commit = entry.pop("name"), entry.pop("status"), entry.pop("commit_id")
    done_when = entry.pop("done_when")
    announced = {"recovery": entry.pop("recovery"), "once": entry.pop("once")}
    if done_when is not None:
        announced["done_when"] = _parsed(done_when)
    settled = status in ("settled", "failed")
    return {
        **entry,
        "status": _SHOWN.get(status, status),
        "choice": bool(entry["choice"]),
        "alternatives": _list(entry["alternatives"]),
        "anchors": anchors.stored({"anchors": _list(entry["anchors"])}),
        "ok": status == "settled" if settled else None,
        "commit": commit,
        "rivals": _list(entry["rivals"]),
        **dict.fromkeys(("done_when", "recovery", "once")),
        **announced_with(announced),
        "session": last_part(stream),
        "user": owner(stream),
        "stream": stream,
    }


def _parsed(value: str | None) -> Any:
    """A stored value; None if there is none, or if a commit from elsewhere has a text there that is no JSON."""
    try:
        return json.loads(value) if value else None
    except (ValueError, TypeError):
        return None
