"""Batches: a list of items, each to be done once, across any number of runs and crashes.

The items themselves stay in the log. The state records exactly which are done, which failed how often and which are
claimed by whom, as ranges of their numbers; it keeps the last few results and failure reasons.

A claim is in the log, written before the item is started: it tells a successor what was in flight. Whether the
claimant is alive is not stored: the next claimant asks the operating system and names the dead claims it found.
Because the rule runs under the stream's lock, no item has two live claimants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from holdfast.core import collection, ranges, short_ids
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, checked_texts, excerpt, one_line
from holdfast.errors import Hint, NotFound, Refused, TooLarge, Use
from holdfast.typed import Any

EVENTS = {
    "batch.created": 1,
    "batch.began": 1,
    "batch.item-claimed": 1,
    "batch.item-done": 1,
    "batch.item-failed": 1,
    "batch.released": 1,
    "batch.retried": 1,
    "batch.closed": 1,
}
STEPS: dict[Any, Any] = {}
MAX_ITEMS = 50_000
MAX_TRIES = 100
ITEM_CAP = 10_000
RESULT_CAP = 256 * 1024
ITEMS_CAP = 3 * 1024 * 1024
LAST = 5


class NothingToClaim(Refused):
    """Every item is done, out of retries, or claimed by a live worker; nothing was written."""


def blank() -> dict[str, Any]:
    return {"batches": collection.blank()}


def _created(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {
        "id": data["id"],
        "title": excerpt(data["title"], 200),
        "total": len(data["items"]),
        "retries": data["retries"],
        "sequence": data["sequence"],
        # An imported list can be partly done.
        "done": [list(part) for part in data.get("done", ())],
        "failed": {},
        "running": {},
        "repeated": 0,
        "runs": 0,
        "command": None,
        "results": [],
        "failures": [],
    }
    collection.add(state, "batches", entry, commit)
    batch = state["batches"]["open"][data["id"]]
    _close_if_all_done(state, batch, commit)


def _began(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    batch = state["batches"]["open"].get(data["id"])
    if batch is not None:
        batch["runs"] += 1
        batch["command"] = [excerpt(word, 200) for word in data["command"][:20]]


def _claimed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    batch = state["batches"]["open"].get(data["id"])
    if batch is not None:
        batch["running"][str(data["item"])] = {"claimant": data["claimant"], "at": commit.at, "by": commit.by}


def _done(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    batch = state["batches"]["open"].get(data["id"])
    if batch is None:
        return
    if not ranges.add(batch["done"], data["item"]):
        batch["repeated"] += 1  # two clones did the same item: the first in the log counts
        return
    batch["running"].pop(str(data["item"]), None)
    _forget_failure(batch, data["item"])
    result = None if data["result"] is None else excerpt(_plain(data["result"]), 200)
    batch["results"] = [*batch["results"], {"item": data["item"], "result": result, "at": commit.at}][-LAST:]
    _close_if_all_done(state, batch, commit)


def _failed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    batch = state["batches"]["open"].get(data["id"])
    if batch is None or ranges.has(batch["done"], data["item"]):
        return
    batch["running"].pop(str(data["item"]), None)
    tries = min(_forget_failure(batch, data["item"]) + 1, MAX_TRIES)
    ranges.add(batch["failed"].setdefault(str(tries), []), data["item"])
    failure = {
        "item": data["item"],
        "tries": tries,
        "reason": excerpt(data["reason"], 300),
        "at": commit.at,
        "by": commit.by,
    }
    others = [old for old in batch["failures"] if old["item"] != data["item"]]
    batch["failures"] = [*others, failure][-2 * LAST :]


def _released(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    batch = state["batches"]["open"].get(data["id"])
    if batch is not None:
        for item in data["items"]:
            batch["running"].pop(str(item), None)


def _retried(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    batch = state["batches"]["open"].get(data["id"])
    if batch is not None:
        batch["failed"] = {}
        batch["failures"] = []


def _closed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.close(state, "batches", data["id"], commit, outcome=data["outcome"], reason=data.get("reason"))


def _close_if_all_done(state: dict[str, Any], batch: dict[str, Any], commit: Commit) -> None:
    if ranges.count(batch["done"]) == batch["total"]:
        collection.close(state, "batches", batch["id"], commit, outcome="complete", reason=None)


def _forget_failure(batch: dict[str, Any], item: int) -> int:
    """Remove an item from the failed ones; return how often it had failed."""
    for tries, items in list(batch["failed"].items()):
        if ranges.remove(items, item):
            if not items:
                del batch["failed"][tries]
            batch["failures"] = [old for old in batch["failures"] if old["item"] != item]
            return int(tries)
    return 0


FOLDS = {
    "batch.created": _created,
    "batch.began": _began,
    "batch.item-claimed": _claimed,
    "batch.item-done": _done,
    "batch.item-failed": _failed,
    "batch.released": _released,
    "batch.retried": _retried,
    "batch.closed": _closed,
}
HEADLINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "batch.created": lambda data: (
        f"Batch {data['id']}, {len(data['items']):,} items: {one_line(data['title'])}"
    ),
    "batch.item-failed": lambda data: f"{data['id']} item {data['item']} failed: {one_line(data['reason'])}",
    "batch.closed": lambda data: f"Batch {data['id']} closed: {data['outcome']}",
}


def create(
    state: dict[str, Any],
    mint: Callable[[str], str],
    items: Iterable[Any],
    title: str,
    retries: int = 0,
    sequence: bool = False,
    done: Iterable[int] = (),
) -> list[Event]:
    """Create a batch from a list of items, each text or other plain JSON."""
    listed = list(items)
    if not listed:
        raise Refused("A batch needs at least one item; nothing was written.")
    if len(listed) > MAX_ITEMS:
        raise TooLarge(
            f"The batch has {len(listed):,} items; the limit is {MAX_ITEMS:,}. Nothing was written.",
            hint="Make several batches, or let each item name a file with many entries.",
        )
    total = 0
    for number, item in enumerate(listed):
        size = len(_plain(item))
        total += size
        if size > ITEM_CAP:
            raise TooLarge(
                f"Item {number} has {size:,} characters; the limit is {ITEM_CAP:,}. Nothing was written."
            )
    if total > ITEMS_CAP:
        raise TooLarge(
            f"The items have {total:,} characters; the limit is {ITEMS_CAP:,}. Nothing was written."
        )
    if not 0 <= retries < MAX_TRIES:
        raise Refused(f"The number of retries must be 0 to {MAX_TRIES - 1}; nothing was written.")
    collection.check_room(state, "batches", "batches")
    finished = ranges.from_numbers(list(done))
    if finished and not 0 <= finished[0][0] <= finished[-1][1] < len(listed):
        raise Refused("An item marked as done is not in the list; nothing was written.")
    data: dict[str, Any] = {
        "id": mint("BATCH"),
        "title": checked_text(title, "title", cap=NAME_CAP),
        "retries": retries,
        "sequence": bool(sequence),
        "items": listed,
    }
    if finished:
        data["done"] = finished
    return [Event("batch.created", data)]


def begin(state: dict[str, Any], batch: str, command: Iterable[str]) -> list[Event]:
    """Record that a run starts, and its command. The stored command is only shown, never executed."""
    entry = find(state, batch)
    words = checked_texts(list(command), "word of the command", cap=ITEM_CAP, most=200)
    return [Event("batch.began", {"id": entry["id"], "command": words})]


def claim(
    state: dict[str, Any], batch: str, claimant: dict[str, Any], dead: Iterable[dict[str, Any]]
) -> tuple[list[Event], int]:
    """Claim the next item: one that is unclaimed, or whose claimant is among the ``dead``."""
    entry = find(state, batch)
    item = next_item(entry, list(dead))
    if item is None:
        raise NothingToClaim()
    return [Event("batch.item-claimed", {"id": entry["id"], "item": item, "claimant": claimant})], item


def finish(
    state: dict[str, Any], batch: str, item: int, claimant: dict[str, Any], result: Any
) -> list[Event]:
    """Record that an item is done, with its result."""
    entry = _held(state, batch, item, claimant)
    if (size := len(_plain(result))) > RESULT_CAP:
        raise TooLarge(
            f"The result has {size:,} characters; the limit is {RESULT_CAP:,}. Nothing was written.",
            hint="Save it as a file, and give the file's name as the result.",
        )
    return [Event("batch.item-done", {"id": entry["id"], "item": item, "result": result})]


def fail(state: dict[str, Any], batch: str, item: int, claimant: dict[str, Any], reason: str) -> list[Event]:
    """Record that an item failed, and why."""
    entry = _held(state, batch, item, claimant)
    return [
        Event(
            "batch.item-failed", {"id": entry["id"], "item": item, "reason": checked_text(reason, "reason")}
        )
    ]


def release(state: dict[str, Any], batch: str, host: str) -> list[Event]:
    """Release the claims of another host: only a person can know that it is gone."""
    entry = find(state, batch)
    held = [int(item) for item, claim in entry["running"].items() if claim["claimant"].get("host") == host]
    if not held:
        raise Refused(f"No worker on {host[:80]!r} holds an item of {entry['id']}; nothing was written.")
    return [Event("batch.released", {"id": entry["id"], "items": sorted(held)})]


def retry(state: dict[str, Any], batch: str) -> list[Event]:
    """Reset the retries of every failed item."""
    entry = find(state, batch)
    if not entry["failed"]:
        raise Refused(f"No item of {entry['id']} has failed; nothing was written.")
    return [Event("batch.retried", {"id": entry["id"]})]


def abandon(state: dict[str, Any], batch: str, reason: str) -> list[Event]:
    """Close a batch that will not be completed."""
    entry = find(state, batch)
    return [
        Event(
            "batch.closed",
            {"id": entry["id"], "outcome": "abandoned", "reason": checked_text(reason, "reason")},
        )
    ]


def find(state: dict[str, Any], batch: str | None) -> dict[str, Any]:
    """An open batch by id; without one, the newest."""
    if batch is not None:
        return collection.find(state, "batches", batch, "batch")
    if not state["batches"]["open"]:
        raise NotFound(
            "No batch is open.", hint=Hint(Use("batch.create"), " makes one from a list of items.")
        )
    newest: dict[str, Any] = list(state["batches"]["open"].values())[-1]
    return newest


def look(state: dict[str, Any], batch: str | None) -> dict[str, Any]:
    """A batch by id, open or among the last closed ones; without an id, the newest open or else closed one."""
    closed: list[dict[str, Any]] = state["batches"]["closed"]
    if batch is None and not state["batches"]["open"] and closed:
        return closed[-1]
    for entry in closed:
        if batch is not None and short_ids.same(entry["id"], batch):
            return entry
    return find(state, batch)


def next_item(batch: dict[str, Any], dead: list[dict[str, Any]]) -> int | None:
    """The number of the next item, or None: new items first, then failed ones with retries left."""
    held = {int(item) for item, claim in batch["running"].items() if claim["claimant"] not in dead}
    spent = [items for tries, items in batch["failed"].items() if int(tries) > batch["retries"]]
    if batch["sequence"]:
        first = _first_open(batch, set(), [])
        blocked = first is None or first in held or any(ranges.has(items, first) for items in spent)
        return None if blocked else first
    fresh = _first_open(batch, held, list(batch["failed"].values()))
    if fresh is not None:
        return fresh
    again = [
        number
        for tries, items in batch["failed"].items()
        if int(tries) <= batch["retries"]
        for number in ranges.numbers(items)
        if number not in held
    ]
    return min(again, default=None)


def _first_open(batch: dict[str, Any], held: set[int], others: list[ranges.Ranges]) -> int | None:
    """The first item that is in no set; skips whole ranges instead of counting through them."""
    number = 0
    while number < batch["total"]:
        if number in held:
            number += 1
            continue
        for taken in (batch["done"], *others):
            end = ranges.end_of(taken, number)
            if end is not None:
                number = end + 1
                break
        else:
            return number
    return None


def _held(state: dict[str, Any], batch: str, item: int, claimant: dict[str, Any]) -> dict[str, Any]:
    entry = find(state, batch)
    held = entry["running"].get(str(item))
    if held is None or held["claimant"] != claimant:
        raise Refused(
            f"Item {item} of {entry['id']} is not held by this worker; nothing was written.",
            hint="Another worker has taken it over; take the next item.",
        )
    return entry


def _plain(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"An item or result is not plain JSON ({error}); nothing was written.") from None
