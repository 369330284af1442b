"""Comparing a STATE.md that a person edited with the log, and importing the edits as events.

Three texts are compared: the view as it was generated (its seal names the commit), as it is now, and as it would be
generated now. Only what the person changed is imported; the edited text is saved in the log; nothing is ever reverted
silently.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from holdfast.core import concepts, contested, foreign
from holdfast.core.codec import Event
from holdfast.core.foreign import Left, Record
from holdfast.core.hashing import blake2b
from holdfast.errors import Hint, HoldfastError, Refused, Use
from holdfast.views import seal
from holdfast.workspace import publish
from holdfast.workspace.session import Session

VIEW = "STATE.md"
_ESCAPED = re.compile(r"\\([^\w\s])")
_TITLE = re.compile(r"# Session State:\s*(.*)$")
_ONE = ("goal", "phase", "focus", "status", "task")
_LISTED = {"next": "next action", "blocker": "blocker", "risk": "risk"}
"""Lists to which a person may add a line."""


class Change(NamedTuple):
    """One thing that a person changed in the view."""

    kind: str
    what: str
    """``phase``, or the id of a loop."""
    before: str
    after: str
    line: int
    also: str
    """What the log changed it to meanwhile; empty if unchanged."""


class Drift(NamedTuple):
    """How a view differs from the log."""

    edited: bool
    changes: list[Change]
    left: list[Left]
    """Lines that a person added and that cannot be imported."""


def drift(session: Session) -> Drift:
    """What a person changed in a session's STATE.md; nothing is written."""
    found = session.workspace.store.get(f"{session.stream}/{VIEW}")
    if found is None or seal.condition(found) != "edited":
        return Drift(False, [], [])
    text = seal.plain(found)
    state = session.peek().state
    base = _parsed(publish.render(VIEW, publish.state_at(session, seal.head(found))).decode())
    present = _parsed(publish.render(VIEW, state).decode())
    now = _parsed(text)
    left = [*_added_lines(base, now), *_removed_lines(base, now, present)]
    return Drift(True, _changes(base, now, present), left)


def accept(session: Session) -> Drift:
    """Import what a person changed, in one commit; then the view is regenerated."""
    workspace = session.workspace
    note = f"{session.stream}/{VIEW}"
    found = workspace.store.get(note)
    seen = drift(session)
    if not seen.edited or found is None:
        raise Refused("STATE.md was not edited by hand; nothing was written.")
    digest = blake2b(found, digest_size=16).hexdigest()
    size = concepts.imports.PART
    if len(found) > size:
        raise Refused(
            f"STATE.md has {len(found):,} bytes, more than a view ever has; nothing was written.",
            hint=Hint(Use("import"), " imports long pages."),
        )

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        events = concepts.imports.keep(VIEW, digest, 1, 1, found.decode(), "utf-8")
        for change in seen.changes:
            events += _events(state, mint, change)
        return events

    session.commit(rule, op=f"sync:{digest}")
    if workspace.store.get(note) == found:  # nobody edited it meanwhile
        workspace.store.put(note, publish.render(VIEW, session.peek().state))
    return seen


def report(seen: Drift) -> list[str]:
    """The drift, for people."""
    if not seen.edited:
        return ["STATE.md agrees with the log."]
    lines = [f"STATE.md was edited by hand (changes: {len(seen.changes)}, other lines: {len(seen.left)})."]
    for change in seen.changes:
        name = change.kind if change.kind in _ONE else f"{change.kind} {change.what}".strip()
        lines.append(f"- {name}: {change.before or 'nothing'} → {change.after or 'removed'}")
        if change.also:
            lines.append(f"    the log meanwhile says: {change.also}")
    for left in seen.left:
        what = f"line {left.line}" if left.line else "a removed line"
        lines.append(f"- {what} cannot be imported: {left.text.strip()[:120]}")
    return lines


class _Content(NamedTuple):
    """What a page says."""

    single: dict[str, tuple[str, int]]
    loops: dict[str, tuple[str, str, int]]
    budget: tuple[int, int] | None
    left: dict[str, Left]
    listed: dict[tuple[str, str], int]
    """Kind and text of each item of a list, and its line."""


def _parsed(text: str) -> _Content:
    single: dict[str, tuple[str, int]] = {}
    loops: dict[str, tuple[str, str, int]] = {}
    budget = None
    left: dict[str, Left] = {}
    listed: dict[tuple[str, str], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if match := _TITLE.match(line):
            single["goal"] = (_plain(match[1]), number)
    for item in foreign.reader("state-md")(text):
        if isinstance(item, Left):
            left[item.text.strip()] = item
        elif item.kind in _ONE:
            single[item.kind] = (_plain(item.data["text"]), item.line)
        elif item.kind == "loop":
            name = _plain(item.data["was"]) or f"line {item.line}"
            loops[name] = (_plain(item.data["title"]), item.data["status"], item.line)
        elif item.kind == "budget":
            budget = (item.data["used"], item.data["total"])
        elif item.kind in _LISTED:
            listed[item.kind, _plain(item.data["text"])] = item.line
        else:
            left[_shown(item)] = Left(item.line, _shown(item), f"a {item.kind}")
    return _Content(single, loops, budget, left, listed)


def _shown(record: Record) -> str:
    return str(record.data["text"])


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text).strip()


def _changes(base: _Content, now: _Content, present: _Content) -> list[Change]:
    changes = []
    for name in _ONE:
        before, after = base.single.get(name, ("", 0)), now.single.get(name, ("", 0))
        if before[0] != after[0] and after[0]:
            log = present.single.get(name, ("", 0))[0]
            also = log if log not in (before[0], after[0]) else ""
            changes.append(Change(name, "", before[0], after[0], after[1], also))
    for name in [*base.loops, *(name for name in now.loops if name not in base.loops)]:
        was, is_now = base.loops.get(name), now.loops.get(name)
        if was is None and is_now is not None:
            changes.append(Change("new loop", "", "", is_now[0], is_now[2], ""))
        elif was is not None and is_now is None:
            also = "" if name in present.loops else "closed"
            changes.append(Change("loop", name, was[0], "", was[2], also))
        elif was is not None and is_now is not None and was[:2] != is_now[:2]:
            changes.append(
                Change("loop", name, f"{was[0]} ({was[1]})", f"{is_now[0]} ({is_now[1]})", is_now[2], "")
            )
    for (kind, text), line in now.listed.items():
        if (kind, text) not in base.listed:
            changes.append(Change(f"new {_LISTED[kind]}", "", "", text, line, ""))
    if base.budget and now.budget and base.budget[1] != now.budget[1]:
        changes.append(Change("budget", "total", str(base.budget[1]), str(now.budget[1]), 0, ""))
    return changes


def _added_lines(base: _Content, now: _Content) -> list[Left]:
    return [left for text, left in now.left.items() if text not in base.left]


def _removed_lines(base: _Content, now: _Content, present: _Content) -> list[Left]:
    """Items that a person removed and that are still open: what came of them, only a command can say."""
    return [
        Left(0, text, f"a removed {_LISTED[kind]}")
        for kind, text in base.listed
        if (kind, text) not in now.listed and (kind, text) in present.listed
    ]


def _events(state: dict[str, Any], mint: Any, change: Change) -> list[Event]:
    """The events of one change. A rule's refusal is raised with the line that caused it."""
    try:
        return _ruled(state, mint, change)
    except HoldfastError as error:
        raise Refused(f"STATE.md:{change.line}: {error.message} Nothing was written.") from None


def _ruled(state: dict[str, Any], mint: Any, change: Change) -> list[Event]:
    after = change.after
    if change.kind == "goal":
        return concepts.session.set_goal(state, after)
    if change.kind == "focus":
        return concepts.session.set_focus(state, after)
    if change.kind == "phase":
        return concepts.phase.enter(state, re.sub(r"\s*\(\d+ of \d+\)$", "", after))
    if change.kind == "status":
        return concepts.session.mark(state, after.lower().replace(" ", "-"))
    if change.kind == "task":
        named = after.split(" - ")[0]
        if named in state["tasks"]["open"]:
            return concepts.task.start(state, named)
        added = concepts.task.add(state, mint, after)
        saw = contested.seen(state["registers"], "task")
        return [*added, Event("task.started", {"id": added[0].data["id"], "saw": saw})]
    if change.kind == "new loop":
        return concepts.loop.add(state, mint, after)
    if change.kind == "new next action":
        return concepts.next_action.add(state, mint, after)
    if change.kind == "new blocker":
        return concepts.blocker.add(state, mint, after)
    if change.kind == "new risk":
        return concepts.risk.add(state, mint, after)
    if change.kind == "budget":
        return concepts.budget.set_total(state, int(after))
    return _loop_events(state, mint, change)


def _loop_events(state: dict[str, Any], mint: Any, change: Change) -> list[Event]:
    if not change.after:
        if change.also:
            return []  # it was closed in the log meanwhile
        return concepts.loop.close(state, mint, change.what, "taken out of STATE.md by hand")
    if change.after.endswith("(clarifying)"):
        return concepts.loop.explore(state, change.what)
    raise Refused(f"The title of {change.what} cannot be changed; close it and add another.")
