"""Handoffs: offered, claimed by one successor, and consumed when that successor confirms its first step.

The current handoff and its claim are two registers (``handoff`` and ``claim``): in one store exactly one claim wins;
concurrent claims of two clones are shown as contested.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import contested, ids, short_ids
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, excerpt, one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {"handoff.made": 1, "handoff.claimed": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"handoff": None}


def _made(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    registers = state["registers"]
    short_ids.note(state, data["id"])
    contested.put(registers, "handoff", data["id"], data["saw"], commit)
    contested.put(registers, "claim", f"{data['id']} by nobody", data["saw_claim"], commit)
    state["handoff"] = {
        "id": data["id"],
        "message": excerpt(data["message"]) if data.get("message") else None,
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "commit": commit.id,
        "claimed_by": None,
        "claimed_at": None,
        "claim": None,
        "consumed_by": None,
        "consumed_at": None,
    }


def _claimed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    # The writer is part of the value: agents of the same name on two machines are two claimants.
    place = commit.id[-ids.WRITER_LENGTH :]
    contested.put(
        state["registers"], "claim", f"{data['id']} by {data['claimant']} at {place}", data["saw"], commit
    )
    handoff = state["handoff"]
    if handoff is not None and handoff["id"] == data["id"]:
        handoff.update(claimed_by=data["claimant"], claimed_at=commit.at, claim=commit.id)


def _confirmed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    handoff = state["handoff"]
    if handoff is None or handoff["claimed_by"] is None or handoff["consumed_at"] is not None:
        return
    if commit.by == handoff["claimed_by"]:
        handoff.update(consumed_by=commit.by, consumed_at=commit.at)


FOLDS = {"handoff.made": _made, "handoff.claimed": _claimed}
WATCHES = {
    "decision.settled": _confirmed,
    "task.completed": _confirmed,
    "checkpoint.saved": _confirmed,
}
"""The events that confirm the first step after a handoff."""
HEADLINES = {
    "handoff.made": lambda data: (
        f"Handed off as {data['id']}" + (f": {one_line(data['message'])}" if data.get("message") else "")
    ),
    "handoff.claimed": lambda data: f"{one_line(data['claimant'], 60)} claimed {data['id']}",
}


def hand_off(state: dict[str, Any], mint: Callable[[str], str], message: str | None = None) -> list[Event]:
    """Hand the work off to whoever claims it."""
    registers = state["registers"]
    data: dict[str, Any] = {"id": mint("H")}
    if message is not None:
        data["message"] = checked_text(message, "message")
    data["saw"] = contested.seen(registers, "handoff")
    data["saw_claim"] = contested.seen(registers, "claim")
    return [Event("handoff.made", data)]


def _claims(register: dict[str, Any], handoff_id: str) -> list[str]:
    """The unsettled claims of a handoff; claims of an earlier handoff do not count."""
    values = [str(register["value"]), *(str(rival["value"]) for rival in register["rivals"])]
    return [v for v in values if v.startswith(f"{handoff_id} by ") and v != f"{handoff_id} by nobody"]


class Yours(Exception):
    """The claimant holds the handoff already."""


def claim(state: dict[str, Any], claimant: str, *, take_over: bool = False) -> list[Event]:
    """Claim a handoff. It has one claimant; another one needs ``take_over``."""
    checked_text(claimant, "claimant", cap=NAME_CAP)
    handoff = state["handoff"]
    if handoff is None:
        raise NotFound("This session has no handoff.", hint=Hint(Use("handoff"), " hands it off."))
    claims = _claims(state["registers"]["claim"], handoff["id"])
    holder = handoff["claimed_by"]
    if holder == claimant and len(claims) < 2:
        raise Yours
    if not take_over:
        if len(claims) > 1:
            raise Refused(
                f"The claim of {handoff['id']} is contested: {', '.join(claims)}. Nothing was written.",
                hint=Hint("Agree on one, who then calls ", Use("take_over"), "."),
            )
        if holder is not None:
            done = f" and confirmed a step at {handoff['consumed_at']}" if handoff["consumed_at"] else ""
            raise Refused(
                f"{handoff['id']} was claimed by {holder} at {handoff['claimed_at']}{done}. Nothing was written.",
                hint=Hint("If that one is gone: ", Use("take_over"), "."),
            )
    saw = contested.seen(state["registers"], "claim")
    return [Event("handoff.claimed", {"id": handoff["id"], "claimant": claimant, "saw": saw})]
