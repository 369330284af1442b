"""The backlog: the project's work items, by priority, with their dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core import collection, contested, short_ids
from holdfast.core.codec import Commit, Event
from holdfast.core.text import EXCERPT, NAME_CAP, checked_text, checked_texts, excerpt, one_line
from holdfast.errors import Refused
from holdfast.typed import Any

EVENTS = {"backlog.added": 1, "backlog.edited": 1, "backlog.started": 1, "backlog.closed": 1}
STEPS: dict[Any, Any] = {}
PRIORITIES = ("critical", "high", "medium", "low")
STATUSES = ("todo", "doing", "blocked")
OUTCOMES = ("done", "dropped")
MOST_TAGS = 20
TAG_CAP = 60
MOST_DEPENDENCIES = 50


def blank() -> dict[str, Any]:
    return {"backlog": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {
        "id": data["id"],
        "title": data["title"],
        "priority": data["priority"],
        "status": STATUSES[0],
        "epic": data["epic"],
        "tags": data["tags"],
        "depends_on": data["depends_on"],
        "edits": {},
    }
    collection.add(state, "backlog", entry, commit)


def _edited(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    item = state["backlog"]["open"].get(data["id"])
    if item is None:
        return
    for field, value in data["set"].items():
        item[field] = value
        contested.put(item["edits"], field, value, data["saw"].get(field, []), commit)


def _started(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    _edited(state, {"id": data["id"], "set": {"status": "doing"}, "saw": {"status": data["saw"]}}, commit)


def _closed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    result = excerpt(data["result"]) if data.get("result") else None
    collection.close(state, "backlog", data["id"], commit, outcome=data["outcome"], result=result)


FOLDS = {
    "backlog.added": _added,
    "backlog.edited": _edited,
    "backlog.started": _started,
    "backlog.closed": _closed,
}
HEADLINES = {
    "backlog.added": lambda data: f"Backlog {data['id']} ({data['priority']}): {one_line(data['title'])}",
    "backlog.edited": lambda data: f"Backlog {data['id']}: changed {', '.join(data['set'])}",
    "backlog.started": lambda data: f"Backlog {data['id']}: started",
    "backlog.closed": lambda data: (
        f"Backlog {data['id']}: {data['outcome']}{': ' + one_line(data['result']) if data.get('result') else ''}"
    ),
}


def rank(item: dict[str, Any]) -> tuple[int, str]:
    """The sort key of an item: by priority, then oldest first."""
    return PRIORITIES.index(item["priority"]), item["commit"]


def ready(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The items that can be started now: not started, not blocked, no open dependency; most urgent first."""
    waiting = state["backlog"]["open"]
    free = [
        item
        for item in waiting.values()
        if item["status"] == "todo" and not any(other in waiting for other in item["depends_on"])
    ]
    return sorted(free, key=rank)


def contests(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Fields of an item that two clones set concurrently."""
    return contested.contests(item["edits"])


def add(
    state: dict[str, Any],
    mint: Callable[[str], str],
    title: str,
    priority: str = "medium",
    epic: str | None = None,
    tags: Iterable[str] = (),
    depends_on: Iterable[str] = (),
) -> list[Event]:
    """Add an item to the backlog."""
    collection.check_room(state, "backlog", "backlog items")
    fields = _checked(
        state, {"title": title, "priority": priority, "epic": epic, "tags": tags, "depends_on": depends_on}
    )
    return [Event("backlog.added", {"id": mint("BL"), **fields})]


def edit(state: dict[str, Any], short_id: str, changes: dict[str, Any]) -> list[Event]:
    """Change fields of an item: title, priority, status, epic, tags, depends_on."""
    item = collection.find(state, "backlog", short_id, "backlog item")
    fields = _checked(state, changes, item)
    contest = {entry["name"] for entry in contests(item)}
    fields = {name: value for name, value in fields.items() if item[name] != value or name in contest}
    if not fields:
        raise Refused(f"{item['id']} has these values already; nothing was written.")
    saw = {name: contested.seen(item["edits"], name) for name in fields}
    return [Event("backlog.edited", {"id": item["id"], "set": fields, "saw": saw})]


def start(state: dict[str, Any], short_id: str) -> list[Event]:
    """Start an item that is ready."""
    item = collection.find(state, "backlog", short_id, "backlog item")
    if item["status"] == "doing":
        raise Refused(f"{item['id']} is started already; nothing was written.")
    waits = [other for other in item["depends_on"] if other in state["backlog"]["open"]]
    if waits or item["status"] == "blocked":
        free = ", ".join(other["id"] for other in ready(state)[:5]) or "nothing"
        why = f"waits for {', '.join(waits)}" if waits else "is blocked"
        raise Refused(f"{item['id']} {why}; nothing was written. Ready now: {free}.")
    return [Event("backlog.started", {"id": item["id"], "saw": contested.seen(item["edits"], "status")})]


def close(
    state: dict[str, Any], short_id: str, result: str | None = None, outcome: str = "done"
) -> list[Event]:
    """Close an item as done or dropped."""
    item = collection.find(state, "backlog", short_id, "backlog item")
    _one_of(outcome, OUTCOMES, "outcome")
    data = {"id": item["id"], "outcome": outcome}
    if result is not None:
        data["result"] = checked_text(result, "result")
    return [Event("backlog.closed", data)]


def _one_of(value: object, allowed: tuple[str, ...], what: str) -> str:
    if value not in allowed:
        raise Refused(
            f"The {what} must be one of {', '.join(allowed)}, not {str(value)[:40]!r}; nothing was written."
        )
    return str(value)


def _checked(
    state: dict[str, Any], given: dict[str, Any], item: dict[str, Any] | None = None
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if name == "title":
            fields[name] = checked_text(value, "title", cap=EXCERPT)
        elif name == "priority":
            fields[name] = _one_of(value, PRIORITIES, "priority")
        elif name == "status":
            fields[name] = _one_of(value, STATUSES, "status")
        elif name == "epic":
            fields[name] = None if value is None else checked_text(value, "epic", cap=NAME_CAP)
        elif name == "tags":
            fields[name] = list(dict.fromkeys(checked_texts(list(value), "tag", cap=TAG_CAP, most=MOST_TAGS)))
        elif name == "depends_on":
            fields[name] = _dependencies(state, list(value), item)
        else:
            raise Refused(f"A backlog item has no {str(name)[:40]!r}; nothing was written.")
    return fields


def _dependencies(state: dict[str, Any], given: list[str], item: dict[str, Any] | None) -> list[str]:
    checked_texts(given, "dependency", cap=NAME_CAP, most=MOST_DEPENDENCIES)
    known = state["backlog"]["open"]
    closed = [entry["id"] for entry in state["backlog"]["closed"]]
    kept = item["depends_on"] if item else []
    everything = list(dict.fromkeys([*known, *closed, *kept]))
    found = [short_ids.resolve(short_ids.whole(state, text), everything, "backlog item") for text in given]
    wanted = list(dict.fromkeys(found))
    if item is not None:
        _refuse_cycle(known, item["id"], wanted)
    return wanted


def _refuse_cycle(known: dict[str, Any], start: str, wanted: list[str]) -> None:
    ahead, seen = list(wanted), set(wanted)
    while ahead:
        current = ahead.pop()
        if current == start:
            raise Refused(f"{start} would depend on itself; nothing was written.")
        for other in known.get(current, {}).get("depends_on", ()):
            if other not in seen:
                seen.add(other)
                ahead.append(other)
