"""The token budget: what is loaded into the context, what it costs, and how full the context may get.

A total, items with token counts that are included or not, and four zones. Crossing from one zone into another is a
separate event. Where the host tells how full the context is, that is what is used; the items are then only a list.
"""

from __future__ import annotations

from holdfast.core import contested
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {
    "budget.set": 1,
    "budget.added": 1,
    "budget.included": 1,
    "budget.excluded": 1,
    "budget.dropped": 1,
    "budget.measured": 1,
    "budget.crossed": 1,
}
STEPS: dict[Any, Any] = {}
ZONES = ("comfortable", "deliberate", "warning", "stop")
LIMITS = (20, 40, 50)
"""Percent of the total at which the second, third and fourth zone begin."""
STRATEGIES = {
    "comfortable": "Plenty of room: explore and load freely.",
    "deliberate": "Load what the task needs, and say why it needs it.",
    "warning": "Load nothing more; look for what can be excluded.",
    "stop": "Exclude something before any further step.",
}
MOST = 200
TOKENS_CAP = 1_000_000_000
STEP = 5
"""Percent of the total by which a measured context must have changed to be recorded."""
TOTAL = "budget total"
"""Name of the register that holds the total and the limits."""


def blank() -> dict[str, Any]:
    return {
        "budget": {
            "total": None,
            "items": {},
            "used": 0,
            "zone": ZONES[0],
            "limits": list(LIMITS),
            "crossed": 0,
            "measured": None,
        }
    }


def zone(used: int, total: int | None, limits: list[int]) -> str:
    """The zone of a budget; an unset one is comfortable."""
    if not total:
        return ZONES[0]
    return ZONES[sum(used * 100 >= limit * total for limit in limits)]


def _register(name: str) -> str:
    return f"budget:{name}"


def total_of(budget: dict[str, Any]) -> int | None:
    """The total that was set, else the window that the host told."""
    measured = budget.get("measured")
    total: int | None = budget["total"] or (measured["window"] if measured else None)
    return total or None


def _used(budget: dict[str, Any], items: dict[str, Any]) -> int:
    measured = budget.get("measured")
    if measured:
        return int(measured["tokens"])
    return sum(item["tokens"] for item in items.values() if item["included"])


def _count(budget: dict[str, Any]) -> None:
    budget["used"] = _used(budget, budget["items"])
    budget["zone"] = zone(budget["used"], total_of(budget), budget["limits"])


def _set(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    budget = state["budget"]
    budget["total"], budget["limits"] = data["total"], data["limits"]
    shown = f"{data['total']:,} tokens, zones at {'/'.join(map(str, data['limits']))} %"
    contested.put(state["registers"], TOTAL, shown, data["saw"], commit)
    _count(budget)


def _put(
    state: dict[str, Any], name: str, tokens: int, included: bool, saw: list[str], commit: Commit
) -> None:
    state["budget"]["items"][name] = {"tokens": tokens, "included": included}
    shown = f"{tokens:,} tokens, {'included' if included else 'excluded'}"
    contested.put(state["registers"], _register(name), shown, saw, commit)
    _count(state["budget"])


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    _put(state, data["name"], data["tokens"], data["included"], data["saw"], commit)


def _included(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    if item := state["budget"]["items"].get(data["name"]):
        _put(state, data["name"], item["tokens"], True, data["saw"], commit)


def _excluded(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    if item := state["budget"]["items"].get(data["name"]):
        _put(state, data["name"], item["tokens"], False, data["saw"], commit)


def _dropped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    register = state["registers"].get(_register(data["name"]))
    # A count that another clone set concurrently was not seen by the drop: it stays.
    if register is not None and register["id"] in data["saw"]:
        del state["registers"][_register(data["name"])]
        del state["budget"]["items"][data["name"]]
        _count(state["budget"])


def _measured(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    measured = {
        "tokens": data["used"],
        "window": data["window"],
        "model": data.get("model"),
        "at": commit.at,
        "by": commit.by,
    }
    state["budget"]["measured"] = measured if data["used"] else None
    _count(state["budget"])


def _crossed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["budget"]["crossed"] += 1


FOLDS = {
    "budget.set": _set,
    "budget.added": _added,
    "budget.included": _included,
    "budget.excluded": _excluded,
    "budget.dropped": _dropped,
    "budget.measured": _measured,
    "budget.crossed": _crossed,
}
HEADLINES = {
    "budget.set": lambda data: f"Budget set: {data['total']:,} tokens",
    "budget.added": lambda data: f"Budget: {one_line(data['name'])} costs {data['tokens']:,} tokens",
    "budget.included": lambda data: f"Budget: included {one_line(data['name'])}",
    "budget.excluded": lambda data: f"Budget: excluded {one_line(data['name'])}",
    "budget.dropped": lambda data: f"Budget: dropped {one_line(data['name'])}",
    "budget.measured": lambda data: (
        f"Context measured: {data['used']:,} tokens" if data["used"] else "A new context, not measured yet"
    ),
    "budget.crossed": lambda data: (
        f"Budget went from {data['from']} to {data['to']}: {data['used']:,} of {data['total']:,} tokens"
    ),
}


def _with_crossing(
    state: dict[str, Any], event: Event, items: dict[str, Any], total: Any, limits: Any
) -> list[Event]:
    """The event, followed by a crossing if it moves the budget into another zone."""
    budget = state["budget"]
    used = _used(budget, items)
    total = total_of({**budget, "total": total})
    before, after = budget["zone"], zone(used, total, limits)
    if before == after:
        return [event]
    return [event, Event("budget.crossed", {"from": before, "to": after, "used": used, "total": total or 0})]


def _whole(number: object, what: str, least: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= TOKENS_CAP:
        raise Refused(
            f"The {what} must be a whole number from {least} to {TOKENS_CAP:,}; nothing was written."
        )
    return number


def set_total(state: dict[str, Any], total: int, limits: list[int] | None = None) -> list[Event]:
    """Set the total and, optionally, where the zones begin."""
    _whole(total, "total", 1)
    chosen = state["budget"]["limits"] if limits is None else list(limits)
    whole = all(isinstance(limit, int) and not isinstance(limit, bool) for limit in chosen)
    if not whole or len(chosen) != len(LIMITS) or not 0 < chosen[0] < chosen[1] < chosen[2] <= 100:
        raise Refused(
            "The zones need three increasing percentages between 1 and 100; nothing was written.",
            hint="The usual ones are 20,40,50.",
        )
    saw = contested.seen(state["registers"], TOTAL)
    event = Event("budget.set", {"total": total, "limits": chosen, "saw": saw})
    return _with_crossing(state, event, state["budget"]["items"], total, chosen)


def add(state: dict[str, Any], name: str, tokens: int, included: bool = True) -> list[Event]:
    """Add an item; the same name again replaces its count."""
    checked_text(name, "name of the item", cap=NAME_CAP)
    items = state["budget"]["items"]
    if name not in items and len(items) >= MOST:
        raise Refused(
            f"The budget has {MOST:,} items; nothing was written.",
            hint=Hint("Drop items that are no longer loaded: ", Use("budget.drop"), "."),
        )
    item = {"tokens": _whole(tokens, "token count", 0), "included": bool(included)}
    event = Event(
        "budget.added", {"name": name, **item, "saw": contested.seen(state["registers"], _register(name))}
    )
    return _changed(state, event, {**items, name: item})


def measure(state: dict[str, Any], used: int, window: int = 0, model: str | None = None) -> list[Event]:
    """Record how full the context is, as the host tells it; nothing if it is about as full as recorded before.

    ``window`` is the size of the context, 0 if unknown. Recorded are steps of some percent and changes of the zone, so
    that a long conversation leaves a few events and not one per prompt.
    """
    _whole(used, "token count", 1)
    _whole(window, "size of the context", 0)
    budget = state["budget"]
    known = budget.get("measured")
    after = {**budget, "measured": {"tokens": used, "window": window}}
    total = total_of(after)
    changed = zone(used, total, budget["limits"]) != budget["zone"]
    if known and not changed and total and abs(used - known["tokens"]) * 100 < STEP * total:
        return []
    if known and not total and abs(used - known["tokens"]) * 100 < STEP * max(used, known["tokens"]):
        return []
    event = Event("budget.measured", {"used": used, "window": window} | ({"model": model} if model else {}))
    if not changed:
        return [event]
    crossing = {
        "from": budget["zone"],
        "to": zone(used, total, budget["limits"]),
        "used": used,
        "total": total or 0,
    }
    return [event, Event("budget.crossed", crossing)]


def start_over(state: dict[str, Any]) -> list[Event]:
    """Record that the context is a new one, after a compaction or in a new conversation: what was measured no longer
    holds. Nothing if nothing was measured."""
    budget = state["budget"]
    if not budget.get("measured"):
        return []
    after = {**budget, "measured": None}
    used, total = _used(after, budget["items"]), total_of(after)
    crossing = {"from": budget["zone"], "to": zone(used, total, budget["limits"])}
    event = Event("budget.measured", {"used": 0, "window": 0})
    if crossing["from"] == crossing["to"]:
        return [event]
    return [event, Event("budget.crossed", {**crossing, "used": used, "total": total or 0})]


def include(state: dict[str, Any], name: str) -> list[Event]:
    """Count an item towards the used tokens."""
    return _switch(state, name, True)


def exclude(state: dict[str, Any], name: str) -> list[Event]:
    """Keep an item, but do not count it."""
    return _switch(state, name, False)


def _switch(state: dict[str, Any], name: str, included: bool) -> list[Event]:
    item = _known(state, name)
    word = "included" if included else "excluded"
    rivals = state["registers"].get(_register(name), {}).get("rivals")
    if item["included"] == included and not rivals:
        raise Refused(f"{name} is {word} already; nothing was written.")
    event = Event(
        f"budget.{word}", {"name": name, "saw": contested.seen(state["registers"], _register(name))}
    )
    return _changed(state, event, {**state["budget"]["items"], name: {**item, "included": included}})


def drop(state: dict[str, Any], name: str) -> list[Event]:
    """Remove an item."""
    _known(state, name)
    event = Event(
        "budget.dropped", {"name": name, "saw": contested.seen(state["registers"], _register(name))}
    )
    return _changed(
        state, event, {key: item for key, item in state["budget"]["items"].items() if key != name}
    )


def _known(state: dict[str, Any], name: str) -> dict[str, Any]:
    item: dict[str, Any] | None = state["budget"]["items"].get(name)
    if item is None:
        raise NotFound(
            f"The budget has no item {str(name)[:80]}.", hint=Hint(Use("budget.show"), " lists the items.")
        )
    return item


def _changed(state: dict[str, Any], event: Event, items: dict[str, Any]) -> list[Event]:
    return _with_crossing(state, event, items, state["budget"]["total"], state["budget"]["limits"])
