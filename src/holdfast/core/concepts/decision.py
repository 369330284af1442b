"""Decisions: what was decided and why; and, as a write-ahead log, what will be done now and how it turned out.

A decision that announces an action is open until its outcome is recorded. A successor must check every open one: it
may or may not have been carried out. A decision without an action is a *choice*: it needs no outcome. Its event says
so (``choice``); an event that says nothing announces an action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core import anchors, collection, short_ids
from holdfast.core.codec import Commit, Event
from holdfast.core.text import EXCERPT, NAME_CAP, checked_text, checked_texts, excerpt, one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {"decision.made": 1, "decision.settled": 1}
STEPS: dict[Any, Any] = {}
MAX_OPEN = 1000
CLOSED = 25
"""Decisions, settled or choices, that the state keeps; the log has all."""
RIVALS = 10
LINKS = {"loop": ("loops", "LOOP"), "task": ("tasks", "T"), "risk": ("risks", "R")}
"""What a decision can link to: the part of the state, and the prefix of its ids."""
RECOVERY = ("read-only", "idempotent", "check-first", "never")
"""What may be done with an action whose outcome is unknown: it can be repeated (``read-only`` changes nothing,
``idempotent`` the same once or twice), only after a look at the world, or never."""
_HEAD = 100
_LAST_EXIT_CODE = 255


def blank() -> dict[str, Any]:
    return {"decisions": {"open": {}, "closed": [], "made": 0, "settled": 0, "failed": 0, "chosen": 0}}


def _made(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    decisions = state["decisions"]
    decisions["made"] += 1
    short_ids.note(state, data["id"])
    entry: dict[str, Any] = {
        "id": data["id"],
        "text": excerpt(data["text"]),
        "because": excerpt(data["because"]),
        "action": excerpt(data["action"]) if data.get("action") else None,
        "alternatives": [excerpt(text, 200) for text in data.get("alternatives", ())][:5],
        "revisit_when": excerpt(data["revisit_when"]) if data.get("revisit_when") else None,
        **{link: data.get(link) for link in LINKS},
        "supersedes": data.get("supersedes"),
        "superseded_by": None,
        "anchors": anchors.stored(data),
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "commit": commit.id,
        **announced_with(data),
    }
    if is_choice(data):
        decisions["chosen"] += 1
        _close(decisions, {**entry, "choice": True, **_UNSETTLED})
    else:
        decisions["open"][data["id"]] = entry
    if data.get("supersedes"):
        _supersede(decisions, data["supersedes"], data["id"])


_UNSETTLED: dict[str, Any] = {"outcome": None, "ok": None, "settled_at": None, "settled_by": None}


def is_choice(data: dict[str, Any]) -> bool:
    """Whether a ``decision.made`` announces no action and so needs no outcome."""
    return data.get("choice") is True and not data.get("action")


def announced_with(data: dict[str, Any]) -> dict[str, Any]:
    """What a ``decision.made`` says about its action: ``done_when``, ``recovery`` and ``once``, those that it has.

    A log can come from anywhere: what is not of the closed sets is left out.
    """
    found: dict[str, Any] = {}
    if "done_when" in data:
        from holdfast.core import conditions

        try:
            found["done_when"] = conditions.checked(data["done_when"], conditions.TYPED.values())
        except Refused:
            pass
    if data.get("recovery") in RECOVERY:
        found["recovery"] = data["recovery"]
    if isinstance(data.get("once"), str) and 0 < len(data["once"]) <= NAME_CAP:
        found["once"] = data["once"]
    return found


def exit_code_of(data: dict[str, Any]) -> dict[str, int]:
    """The ``exit_code`` of a ``decision.settled``, if it has one."""
    code = data.get("exit_code")
    return {"exit_code": code} if type(code) is int and 0 <= code <= _LAST_EXIT_CODE else {}


def _ends(text: str) -> str:
    """The first line of a command's outcome and the end of its output: that is where its point is."""
    if len(text) <= EXCERPT:
        return text
    head = text.partition("\n")[0][:_HEAD]
    return f"{head}\n… {text[len(head) - EXCERPT :].lstrip()}"


def _close(decisions: dict[str, Any], entry: dict[str, Any]) -> None:
    decisions["closed"].append({**entry, "rivals": []})
    del decisions["closed"][:-CLOSED]


def _supersede(decisions: dict[str, Any], older: str, newer: str) -> None:
    for decision in (*decisions["open"].values(), *decisions["closed"]):
        if decision["id"] == older:
            # Two clones may have replaced it concurrently: both replacements stay visible, up to a few.
            names = [*(decision["superseded_by"] or "").split(", ")[-7:], newer]
            decision["superseded_by"] = ", ".join(filter(None, names))


def _settled(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    decisions = state["decisions"]
    exit_code = exit_code_of(data)
    outcome = {
        "outcome": _ends(data["outcome"]) if exit_code else excerpt(data["outcome"]),
        "ok": data["ok"],
        "settled_at": commit.at,
        "settled_by": commit.by,
        **exit_code,
    }
    decision = decisions["open"].pop(data["id"], None)
    if decision is not None:
        decisions["settled"] += 1
        decisions["failed"] += not data["ok"]
        _close(decisions, {**decision, **outcome})
        return
    for closed in decisions["closed"]:
        if closed["id"] != data["id"]:
            continue
        if closed["outcome"] is None:  # a choice that was confirmed all the same
            decisions["settled"] += 1
            decisions["failed"] += not data["ok"]
            closed.update(outcome)
        else:  # two clones settled the same decision: both outcomes stay visible
            closed["rivals"].append(outcome)
            del closed["rivals"][:-RIVALS]


FOLDS = {"decision.made": _made, "decision.settled": _settled}
HEADLINES = {
    "decision.made": lambda data: f"Decided {data['id']}: {one_line(data['text'])}",
    "decision.settled": lambda data: (
        f"Settled {data['id']} {'ok' if data['ok'] else 'as failed'}: {one_line(data['outcome'])}"
    ),
}


def decide(
    state: dict[str, Any],
    mint: Callable[[str], str],
    text: str,
    because: str,
    action: str | None = None,
    alternatives: Iterable[str] = (),
    revisit_when: str | None = None,
    *,
    links: dict[str, str | None] | None = None,
    supersedes: str | None = None,
    announced: bool = False,
    at: list[anchors.Anchor] | None = None,
    done_when: str | None = None,
    recovery: str | None = None,
    once: str | None = None,
) -> list[Event]:
    """Record a decision; with an ``action``, before that is carried out.

    Without an action it is a choice, unless an action is ``announced`` all the same. ``links`` names what it is
    about (``loop``, ``task``, ``risk``), ``supersedes`` the decision it replaces, ``at`` the places it is about.
    ``done_when``, ``recovery`` and ``once`` speak of an action, and so announce one.
    """
    about_action = _about_action(done_when, recovery, once)
    choice = action is None and not announced and not about_action
    if not choice and len(state["decisions"]["open"]) >= MAX_OPEN:
        raise Refused(
            f"{MAX_OPEN:,} decisions are unsettled; nothing was written.",
            hint=Hint("Settle some first: ", Use("recover"), " lists them, ", Use("settle"), " settles one."),
        )
    data: dict[str, Any] = {
        "id": mint("D"),
        "text": checked_text(text, "decision"),
        "because": checked_text(because, "reason"),
    }
    if action is not None:
        data["action"] = checked_text(action, "planned action")
    if others := checked_texts(list(alternatives), "alternative"):
        data["alternatives"] = others
    if revisit_when is not None:
        data["revisit_when"] = checked_text(revisit_when, "condition to revisit")
    for link, target in (links or {}).items():
        if target is not None:
            part, prefix = LINKS[link]
            data[link] = collection.known(state, part, target, prefix, link)
    if supersedes is not None:
        data["supersedes"] = collection.known(state, "decisions", supersedes, "D", "decision")
    if choice:
        data["choice"] = True
    anchors.put(data, at or [])
    return [Event("decision.made", data | about_action)]


def _about_action(done_when: str | None, recovery: str | None, once: str | None) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if done_when is not None:
        from holdfast.core import conditions

        data["done_when"] = conditions.typed(done_when)
    if recovery is not None:
        if recovery not in RECOVERY:
            raise Refused(
                f"The recovery class must be one of {', '.join(RECOVERY)}, not {str(recovery)[:40]!r}; "
                "nothing was written."
            )
        data["recovery"] = recovery
    if once is not None:
        data["once"] = checked_text(once, "key", cap=NAME_CAP)
    return data


def settle(
    state: dict[str, Any], short_id: str, outcome: str, ok: bool = True, exit_code: int | None = None
) -> list[Event]:
    """Record the outcome of a decision; a choice needs none, and can have one."""
    decisions = state["decisions"]
    short_id = short_ids.whole(state, short_id)
    try:
        full = short_ids.resolve(short_id, decisions["open"], "open decision")
    except NotFound:
        for closed in decisions["closed"]:
            if short_ids.same(closed["id"], short_id):
                if closed["outcome"] is None:
                    full = closed["id"]
                    break
                raise Refused(
                    f"{closed['id']} is settled already, at {closed['settled_at']} by {closed['settled_by']}"
                    f": {one_line(closed['outcome'])}. Nothing was written."
                ) from None
        else:
            raise
    data = {"id": full, "outcome": checked_text(outcome, "outcome"), "ok": bool(ok)}
    if exit_code is not None:
        if not exit_code_of({"exit_code": exit_code}):
            raise Refused(f"An exit code must be a number from 0 to {_LAST_EXIT_CODE}; nothing was written.")
        data["exit_code"] = exit_code
    return [Event("decision.settled", data)]
