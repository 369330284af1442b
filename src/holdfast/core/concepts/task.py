"""Tasks: steps of the work, in the order they were added, with dependencies and results.

Started and blocked are separate facts, so that a clone that starts a task does not undo a concurrent block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core import collection, contested
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, checked_texts, excerpt, one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {
    "task.added": 1,
    "task.started": 1,
    "task.turned_to": 1,
    "task.completed": 1,
    "task.skipped": 1,
    "task.blocked": 1,
    "task.unblocked": 1,
}
STEPS: dict[Any, Any] = {}
MOST_BLOCKS = 8
MOST_NEEDS = 50


def blank() -> dict[str, Any]:
    return {"tasks": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {
        "id": data["id"],
        "title": excerpt(data["title"]),
        "status": "pending",
        "result": None,
        "blocked_by": None,
        "depends_on": data.get("depends_on", [])[:MOST_NEEDS],
        "started": None,
        "blocks": [],
    }
    if data.get("host_id"):
        entry["host_id"] = data["host_id"]
    collection.add(state, "tasks", entry, commit)


def _started(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "task", data["id"], data["saw"], commit)
    entry = state["tasks"]["open"].get(data["id"])
    if entry is not None:
        entry["started"] = entry["started"] or commit.at
        _settle_status(entry)


def _turned_to(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "task", data["task"], data["saw"], commit)


def _completed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    result = excerpt(data["result"]) if data.get("result") else None
    collection.close(state, "tasks", data["id"], commit, outcome="done", reason=None, result=result)
    _forget_rivals(state, data["id"])


def _skipped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    reason = excerpt(data["reason"])
    collection.close(state, "tasks", data["id"], commit, outcome="skipped", reason=reason, result=None)
    _forget_rivals(state, data["id"])


def _blocked(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = state["tasks"]["open"].get(data["id"])
    if entry is not None:
        block = {"id": commit.id, "reason": excerpt(data["reason"]), "at": commit.at, "by": commit.by}
        entry["blocks"] = [*entry["blocks"], block][-MOST_BLOCKS:]
        _settle_status(entry)


def _unblocked(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = state["tasks"]["open"].get(data["id"])
    if entry is not None:
        entry["blocks"] = [block for block in entry["blocks"] if block["id"] not in data["saw"]]
        _settle_status(entry)


def _settle_status(entry: dict[str, Any]) -> None:
    blocks = entry["blocks"]
    entry["blocked_by"] = blocks[-1]["reason"] if blocks else None
    entry["status"] = "blocked" if blocks else "working" if entry["started"] else "pending"


def _forget_rivals(state: dict[str, Any], short_id: str) -> None:
    """A closed task can no longer be the current one."""
    register = state["registers"].get("task")
    if register is not None:
        register["rivals"] = [rival for rival in register["rivals"] if rival["value"] != short_id]


FOLDS = {
    "task.added": _added,
    "task.started": _started,
    "task.turned_to": _turned_to,
    "task.completed": _completed,
    "task.skipped": _skipped,
    "task.blocked": _blocked,
    "task.unblocked": _unblocked,
}
HEADLINES = {
    "task.added": lambda data: f"Added {data['id']}: {one_line(data['title'])}",
    "task.started": lambda data: f"Started {data['id']}",
    "task.completed": lambda data: (
        f"Completed {data['id']}{': ' + one_line(data['result']) if data.get('result') else ''}"
    ),
    "task.skipped": lambda data: f"Skipped {data['id']}: {one_line(data['reason'])}",
    "task.blocked": lambda data: f"Blocked {data['id']}: {one_line(data['reason'])}",
    "task.unblocked": lambda data: f"Unblocked {data['id']}",
}


def current(state: dict[str, Any]) -> dict[str, Any] | None:
    """The current task, unless it is closed."""
    entry: dict[str, Any] | None = state["tasks"]["open"].get(contested.value(state["registers"], "task"))
    return entry


def waits_for(state: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    """The open tasks that this one depends on."""
    return [needed for needed in entry["depends_on"] if needed in state["tasks"]["open"]]


def ready(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks that can be started now, in the order they were added."""
    return [
        entry
        for entry in state["tasks"]["open"].values()
        if entry["status"] == "pending" and not waits_for(state, entry)
    ]


def add(
    state: dict[str, Any],
    mint: Callable[[str], str],
    title: str,
    depends_on: Iterable[str] = (),
    host_id: str | None = None,
) -> list[Event]:
    """Append a task; ``host_id`` names it in the task list of an agent host that it was taken from."""
    collection.check_room(state, "tasks", "tasks")
    data: dict[str, Any] = {"id": mint("T"), "title": checked_text(title, "title of the task")}
    needs = checked_texts(list(depends_on), "task to wait for", most=MOST_NEEDS)
    if needs:
        data["depends_on"] = list(
            dict.fromkeys(collection.known(state, "tasks", text, "T", "task") for text in needs)
        )
    if host_id is not None:
        data["host_id"] = checked_text(host_id, "id in the host", cap=NAME_CAP)
    return [Event("task.added", data)]


def start(state: dict[str, Any], short_id: str | None = None) -> list[Event]:
    """Start a task, which makes it the current one; without an id, the next ready one."""
    if short_id is None:
        candidates = ready(state)
        if not candidates:
            raise Refused(
                "No task is ready to be started; nothing was written.",
                hint=Hint(Use("task.list"), " shows why."),
            )
        entry = candidates[0]
    else:
        entry = collection.find(state, "tasks", short_id, "task")
    _check_free(state, entry, "started")
    return [Event("task.started", {"id": entry["id"], "saw": contested.seen(state["registers"], "task")})]


def complete(state: dict[str, Any], short_id: str | None = None, result: str | None = None) -> list[Event]:
    """Complete a task, with its result; the next ready task becomes the current one."""
    entry = _named(state, short_id)
    _check_free(state, entry, "completed")
    data: dict[str, Any] = {"id": entry["id"]}
    if result is not None:
        data["result"] = checked_text(result, "result")
    return [Event("task.completed", data), *_move_on(state, entry)]


def skip(state: dict[str, Any], short_id: str | None, reason: str) -> list[Event]:
    """Skip a task, with a reason; the next ready task becomes the current one."""
    entry = _named(state, short_id)
    data = {"id": entry["id"], "reason": checked_text(reason, "reason")}
    return [Event("task.skipped", data), *_move_on(state, entry)]


def block(state: dict[str, Any], short_id: str | None, reason: str) -> list[Event]:
    """Block a task, with a reason."""
    entry = _named(state, short_id)
    if len(entry["blocks"]) >= MOST_BLOCKS:
        raise Refused(
            f"{entry['id']} is blocked by {MOST_BLOCKS} things already; nothing was written.",
            hint=Hint(Use("task.unblock", id=entry["id"]), " clears them."),
        )
    return [Event("task.blocked", {"id": entry["id"], "reason": checked_text(reason, "reason")})]


def unblock(state: dict[str, Any], short_id: str | None = None) -> list[Event]:
    """Unblock a task."""
    entry = _named(state, short_id)
    if not entry["blocks"]:
        raise Refused(f"{entry['id']} is not blocked; nothing was written.")
    return [Event("task.unblocked", {"id": entry["id"], "saw": [block["id"] for block in entry["blocks"]]})]


def _named(state: dict[str, Any], short_id: str | None) -> dict[str, Any]:
    if short_id is not None:
        return collection.find(state, "tasks", short_id, "task")
    entry = current(state)
    if entry is None:
        raise NotFound("There is no current task.", hint=Hint("Name one, or ", Use("task.start"), "."))
    return entry


def _check_free(state: dict[str, Any], entry: dict[str, Any], verb: str) -> None:
    if entry["blocks"]:
        raise Refused(
            f"{entry['id']} is blocked: {one_line(entry['blocked_by'])}. It cannot be {verb} now.",
            hint=Hint(Use("task.unblock", id=entry["id"]), " when that is resolved."),
        )
    if waiting := waits_for(state, entry):
        raise Refused(
            f"{entry['id']} waits for {', '.join(waiting)}. It cannot be {verb} now.",
            hint="Complete or skip those first.",
        )


def _move_on(state: dict[str, Any], closing: dict[str, Any]) -> list[Event]:
    """The event that starts the next ready task, if the one being closed is the current one."""
    registers = state["registers"]
    if contested.value(registers, "task") != closing["id"]:
        return []
    saw = contested.seen_value(registers, "task")
    others = [entry for entry in state["tasks"]["open"].values() if entry["id"] != closing["id"]]
    free = [entry for entry in others if set(waits_for(state, entry)) <= {closing["id"]}]
    for status in ("pending", "working"):
        for entry in free:
            if entry["status"] == status:
                return [Event("task.started", {"id": entry["id"], "saw": saw})]
    return [Event("task.turned_to", {"task": None, "saw": saw})]
