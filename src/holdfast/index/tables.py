"""Which tables entries go to, and their columns.

An entry is what the fold keeps of a decision, a task and so on. A column is set *once*, from the event that adds the
entry; or it is a *text* that a later event sets, of which the fold keeps only the beginning; or it is taken from the
entry as it is *now*.
"""

from __future__ import annotations

from holdfast.typed import Any, Record


class Table(Record):
    """The table of one kind of entry."""

    name: str
    kind: str
    """What a search calls it."""
    adds: str
    """The event that adds an entry."""
    once: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    now: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("open", "closed")
    """The first is assumed if the entry has another one."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("stream", "id", "status", *self.texts, *self.now, *self.once, *COMMON)


COMMON = ("at", "by", "origin", "commit_id")
"""From the commit that adds an entry."""
_CLOSING = ("closed_at", "closed_by")

TABLES = {
    "decision": Table(
        "decisions",
        "decision",
        "decision.made",
        (
            "text",
            "because",
            "action",
            "alternatives",
            "revisit_when",
            "loop",
            "task",
            "risk",
            "supersedes",
            "done_when",
            "recovery",
            "once",
            "anchors",
        ),
        ("outcome",),
        ("choice", "settled_at", "settled_by", "exit_code", "rivals"),
        ("open", "choice", "settled", "failed"),
    ),
    "task": Table(
        "tasks",
        "task",
        "task.added",
        ("title", "depends_on"),
        ("result", "reason"),
        ("blocked_by", "started", *_CLOSING),
        ("pending", "working", "blocked", "done", "skipped"),
    ),
    "plan": Table(
        "plans",
        "plan",
        "plan.proposed",
        ("title",),
        ("text", "reason"),
        ("revision", *_CLOSING),
        ("proposed", "approved", "rejected", "superseded"),
    ),
    "loop": Table(
        "loops",
        "loop",
        "loop.added",
        ("title", "context"),
        ("outcome",),
        ("decision", *_CLOSING),
        ("open", "clarifying", "closed"),
    ),
    "capture": Table(
        "captures",
        "capture",
        "capture.proposed",
        ("kind", "source", "host", "agent", "said"),
        ("text", "because", "reason"),
        ("became", *_CLOSING),
        ("open", "confirmed", "dropped"),
    ),
    "risk": Table("risks", "risk", "risk.added", ("text", "severity"), ("outcome",), _CLOSING),
    "blocker": Table("blockers", "blocker", "blocker.added", ("text",), ("outcome",), _CLOSING),
    "error": Table(
        "errors",
        "error",
        "error.met",
        ("text", "tried", "anchors"),
        ("remedy",),
        _CLOSING,
        ("open", "remedied"),
    ),
    "next": Table("next_actions", "next", "next.added", ("text",), ("outcome",), _CLOSING, ("open", "done")),
    "fact": Table(
        "facts",
        "fact",
        "fact.added",
        ("text", "check", "anchors"),
        ("reason",),
        _CLOSING,
        ("open", "dropped"),
    ),
    "order": Table("orders", "order", "order.given", ("text",), ("reason",), _CLOSING, ("open", "lifted")),
    "backlog": Table(
        "backlog",
        "backlog",
        "backlog.added",
        (),
        ("result",),
        ("title", "priority", "epic", "tags", "depends_on", *_CLOSING),
        ("todo", "doing", "blocked", "done", "dropped"),
    ),
    "batch": Table(
        "batches",
        "batch",
        "batch.created",
        ("title",),
        ("reason",),
        ("total", "done", "failed", "outcome", *_CLOSING),
    ),
    "handoff": Table(
        "handoffs",
        "handoff",
        "handoff.made",
        ("message",),
        (),
        ("claimed_by", "claimed_at", "consumed_by", "consumed_at"),
        ("open", "claimed", "consumed"),
    ),
    "reference": Table(
        "refs", "reference", "reference.added", ("kind", "size", "hash"), (), (), ("open", "dropped")
    ),
    "preference": Table(
        "preferences", "preference", "preference.set", ("value",), (), (), ("open", "dropped")
    ),
}
"""By the noun of their events."""

NUMBERS = frozenset(["revision", "total", "done", "failed", "size", "choice", "exit_code"])
"""Columns that hold whole numbers."""

PARTS = {
    "decision": "decisions",
    "task": "tasks",
    "plan": "plans",
    "loop": "loops",
    "capture": "captures",
    "risk": "risks",
    "blocker": "blockers",
    "error": "errors",
    "next": "next",
    "fact": "facts",
    "order": "orders",
    "backlog": "backlog",
    "batch": "batches",
}
"""The part of the state that holds the open and the closed entries of a noun."""


def replace_sql(table: Table) -> str:
    """Add an entry, or replace one whose id is used again."""
    names = ", ".join(map(quoted, table.columns))
    return f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608


def update_sql(table: Table) -> str:
    """Change an entry. A text that the fold has shortened is given as NULL and stays."""
    texts = [f"{name} = coalesce(?, {name})" for name in map(quoted, table.texts)]
    changes = ["status = ?", *texts, *(f"{name} = ?" for name in map(quoted, table.now))]
    return f"UPDATE {table.name} SET {', '.join(changes)} WHERE stream = ? AND id = ?"  # noqa: S608


def quoted(name: str) -> str:
    return f'"{name}"' if name == "check" else name


def status_of(noun: str, entry: dict[str, Any]) -> str:
    """The status of an entry, as its table has it."""
    table = TABLES[noun]
    found = _STATUSES.get(noun, _closed_or_not)(entry)
    return found if found in table.statuses else table.statuses[0]


def _closed_or_not(entry: dict[str, Any]) -> str:
    return "closed" if entry.get("closed_at") else str(entry.get("status") or "open")


def _decision(entry: dict[str, Any]) -> str:
    if entry.get("settled_at"):
        return "settled" if entry.get("ok") else "failed"
    return "choice" if entry.get("choice") else "open"


def _outcome(entry: dict[str, Any]) -> str:
    return str(entry["outcome"] if entry.get("closed_at") else entry.get("status"))


def _closed_as(word: str) -> Any:
    return lambda entry: word if entry.get("closed_at") else "open"


def _handoff(entry: dict[str, Any]) -> str:
    return "consumed" if entry["consumed_at"] else "claimed" if entry["claimed_at"] else "open"


_STATUSES: dict[str, Any] = {
    "decision": _decision,
    "task": _outcome,
    "plan": _outcome,
    "backlog": _outcome,
    "capture": lambda entry: str(entry.get("outcome") or "open"),
    "error": _closed_as("remedied"),
    "next": _closed_as("done"),
    "fact": _closed_as("dropped"),
    "order": _closed_as("lifted"),
    "handoff": _handoff,
    "reference": lambda entry: entry["status"],
    "preference": lambda entry: entry["status"],
}
