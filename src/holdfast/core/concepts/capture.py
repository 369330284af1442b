"""Captures: what hooks took from a conversation, until somebody confirms, corrects or drops it.

A capture is a proposal. It is shown as captured and not confirmed, it is no decision and no action, and nothing waits
for it. Confirming makes it a record of its own in the same commit; the capture names that record. ``source`` says whose
words it has: a *summary* or *message* is the agent's, a *prompt* the user's, a *subagent* that of a subagent.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection, similar
from holdfast.core.codec import Commit, Event
from holdfast.core.concepts import decision, loop, next_action
from holdfast.core.text import NAME_CAP, checked_text, excerpt, one_line
from holdfast.errors import Refused
from holdfast.typed import Any, Record

EVENTS = {"capture.proposed": 1, "capture.corrected": 1, "capture.confirmed": 1, "capture.dropped": 1}
STEPS: dict[Any, Any] = {}
KINDS = ("decision", "constraint", "open", "in-flight")
SOURCES = ("summary", "message", "prompt", "subagent")
BECOMES = {"decision": "decision", "constraint": "decision", "open": "loop", "in-flight": "next"}
"""What a confirmed capture becomes, by its kind."""
MOST = 30
"""Captures that stay open; the oldest is dropped."""
KNOWN = 300
"""Texts that are remembered, so that none is proposed twice, whatever became of it."""
TEXT_LENGTH = 400


class Candidate(Record):
    """What was found in a text."""

    kind: str
    text: str
    because: str = ""
    said: str = ""
    """The words that it was taken from, if they differ."""


class Lineage(Record):
    """Where captures come from: the kind of text, and which agent of which host it was captured from."""

    source: str
    host: str = ""
    agent: str = ""


def blank() -> dict[str, Any]:
    return {"captures": {**collection.blank(), "known": []}}


def _proposed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {
        "id": data["id"],
        "kind": data["kind"],
        "text": excerpt(data["text"]),
        "because": excerpt(data["because"]) if data.get("because") else None,
        "source": data["source"],
        "host": data.get("host"),
        "agent": data.get("agent"),
    }
    collection.add(state, "captures", entry, commit)
    known = state["captures"]["known"]
    known.append(similar.key(data["text"]))
    del known[:-KNOWN]


def _corrected(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    changes: dict[str, Any] = {"text": excerpt(data["text"])}
    if data.get("because"):
        changes["because"] = excerpt(data["because"])
    collection.change(state, "captures", data["id"], **changes)


def _confirmed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.close(state, "captures", data["id"], commit, outcome="confirmed", became=data["became"])


def _dropped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    reason = excerpt(data["reason"]) if data.get("reason") else None
    collection.close(state, "captures", data["id"], commit, outcome="dropped", reason=reason)


FOLDS = {
    "capture.proposed": _proposed,
    "capture.corrected": _corrected,
    "capture.confirmed": _confirmed,
    "capture.dropped": _dropped,
}
HEADLINES = {
    "capture.proposed": lambda data: f"Captured {data['id']}: {one_line(data['text'])}",
    "capture.corrected": lambda data: f"Corrected {data['id']}: {one_line(data['text'])}",
    "capture.confirmed": lambda data: f"Confirmed {data['id']} as {data['became']}",
    "capture.dropped": lambda data: (
        f"Dropped {data['id']}{': ' + one_line(data['reason']) if data.get('reason') else ''}"
    ),
}


def propose(
    state: dict[str, Any], mint: Callable[[str], str], found: list[Candidate], lineage: Lineage
) -> list[Event]:
    """Propose what is new among the candidates; what was proposed before, or is decided already, is not."""
    known = set(state["captures"]["known"])
    decisions = state["decisions"]
    told = [similar.words(entry["text"]) for entry in (*decisions["open"].values(), *decisions["closed"])]
    told += [similar.words(entry["text"]) for entry in state["captures"]["open"].values()]
    events: list[Event] = []
    for candidate in found:
        words = similar.words(candidate.text)
        if not words or similar.key(candidate.text) in known or any(similar.alike(words, w) for w in told):
            continue
        known.add(similar.key(candidate.text))
        told.append(words)
        events.append(Event("capture.proposed", _data(mint("C"), candidate, lineage)))
    old = _outdated(state, found) if lineage.source == "summary" else []
    return [*old, *_room(state, len(events), old), *events[-MOST:]]


def _outdated(state: dict[str, Any], found: list[Candidate]) -> list[Event]:
    """Drop what an earlier summary called open or in flight and this one does not: the newest one is about now."""
    if not found:
        return []
    said = [similar.words(candidate.text) for candidate in found]
    return [
        Event("capture.dropped", {"id": entry["id"], "reason": "a newer summary does not have it"})
        for entry in state["captures"]["open"].values()
        if entry["source"] == "summary"
        and entry["kind"] in ("open", "in-flight")
        and not any(similar.alike(similar.words(entry["text"]), words) for words in said)
    ]


def _data(short_id: str, candidate: Candidate, lineage: Lineage) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": short_id,
        "kind": candidate.kind,
        "text": one_line(candidate.text, TEXT_LENGTH),
    }
    if candidate.because:
        data["because"] = one_line(candidate.because, TEXT_LENGTH)
    if candidate.said and candidate.said != candidate.text:
        data["said"] = one_line(candidate.said, 2 * TEXT_LENGTH)
    data["source"] = lineage.source
    return data | {
        name: value[:NAME_CAP] for name, value in (("host", lineage.host), ("agent", lineage.agent)) if value
    }


def _room(state: dict[str, Any], new: int, old: list[Event]) -> list[Event]:
    """Drop the oldest proposals, to make room for new ones; ``old`` are dropped already."""
    gone = {event.data["id"] for event in old}
    waiting = [short_id for short_id in state["captures"]["open"] if short_id not in gone]
    over = max(0, len(waiting) + min(new, MOST) - MOST)
    return [
        Event("capture.dropped", {"id": short_id, "reason": "newer captures took its place"})
        for short_id in waiting[:over]
    ]


def confirm(
    state: dict[str, Any],
    mint: Callable[[str], str],
    short_id: str,
    text: str | None = None,
    because: str | None = None,
    become: str | None = None,
) -> list[Event]:
    """Confirm a capture, with a corrected ``text`` or ``because`` if it was not right."""
    entry = collection.find(state, "captures", short_id, "capture")
    target = become or BECOMES[entry["kind"]]
    events: list[Event] = []
    if text is not None or because is not None:
        data = {"id": entry["id"], "text": checked_text(text or entry["text"], "text")}
        if because is not None:
            data["because"] = checked_text(because, "reason")
        events.append(Event("capture.corrected", data))
    said = text or entry["text"]
    why = because or entry["because"]
    made = _made(state, mint, target, said, why, entry)
    return [*made, *events, Event("capture.confirmed", {"id": entry["id"], "became": made[0].data["id"]})]


def replace(state: dict[str, Any], short_id: str, made: list[Event]) -> list[Event]:
    """Confirm a capture with the decision that says it right."""
    if "captures" not in state:
        raise Refused("There are no captures in this stream; nothing was written.")
    entry = collection.find(state, "captures", short_id, "capture")
    right = made[0].data
    corrected = {"id": entry["id"], "text": right["text"], "because": right["because"]}
    return [
        *made,
        Event("capture.corrected", corrected),
        Event("capture.confirmed", {"id": entry["id"], "became": right["id"]}),
    ]


def _made(
    state: dict[str, Any],
    mint: Callable[[str], str],
    target: str,
    text: str,
    because: str | None,
    entry: dict[str, Any],
) -> list[Event]:
    if target == "decision":
        return decision.decide(state, mint, text, because or _REASONS[entry["source"]])
    if target == "loop":
        return loop.add(state, mint, text, because)
    if target == "next":
        return next_action.add(state, mint, text)
    raise Refused(f"A capture can become decision, loop or next, not {target[:40]!r}; nothing was written.")


_REASONS = {
    "summary": "said at a compaction, without a reason",
    "message": "said by the agent, without a reason",
    "prompt": "the user said so",
    "subagent": "said by a subagent, without a reason",
}


def drop(state: dict[str, Any], short_id: str, reason: str | None = None) -> list[Event]:
    """Drop a capture: it was wrong, or does not matter."""
    data = {"id": collection.find(state, "captures", short_id, "capture")["id"]}
    if reason is not None:
        data["reason"] = checked_text(reason, "reason")
    return [Event("capture.dropped", data)]
