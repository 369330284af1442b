"""What hooks record of an agent's work: prompts, edits, failures, compactions, the end of a turn.

Each is bounded and recorded only once: a host may report one event twice, and two settings files may both call us.
The rule itself decides under the stream's lock whether something is new.
"""

from __future__ import annotations

from holdfast.core import concepts, timestamps
from holdfast.core.codec import Event
from holdfast.core.text import both_ends, excerpt, one_line
from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import parts

if TYPE_CHECKING:
    from holdfast.workspace.handle import Rule
    from holdfast.workspace.session import Session

PROMPT_LENGTH = 200
OUTPUT_LENGTH = 300
ACTION_LENGTH = 600
WORDS_LENGTH = 8_000
"""Characters of a prompt or of a final message that the log keeps: its beginning and its end."""
SUMMARY_LENGTH = 8_000
TWICE_MS = 5_000
"""The same words within this time are one event that was reported twice."""
FILES = 100
"""Files that tools edited and that a session refers to; the oldest is dropped."""
ERRORS = 10
"""Failed commands that stay open; the oldest is closed."""
_BEFORE = "Before a compaction: "


class _NoNews(Exception):
    """Nothing is to be written."""


def _commit(session: Session, rule: Rule, op: str | None) -> bool:
    """Run a rule that may find nothing to write; False if so, or if it was written before."""
    try:
        return not session.commit(rule, op=op).repeated
    except _NoNews:
        return False


def prompted(session: Session, text: str, now: int, op: str | None) -> bool:
    """Record a prompt."""
    words = both_ends(text.strip(), WORDS_LENGTH)
    shown = excerpt(words, concepts.message.LONG)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        recent = state["messages"]["recent"]
        if op is None and recent and recent[-1]["text"] == shown and _just_now(recent[-1]["at"], now):
            raise _NoNews
        return concepts.message.add(state, "user", words)

    return _commit(session, rule, op)


def first_line(text: str, length: int) -> str:
    """The first line with text, truncated."""
    stripped = text.strip()
    return one_line(stripped.partition("\n")[0][: 8 * length], length)


def _just_now(at: str, now: int) -> bool:
    return -TWICE_MS < now - timestamps.from_iso(at) < TWICE_MS


def stopped(session: Session, message: str, in_flight: tuple[str, ...], op: str | None) -> bool:
    """Record an agent's final message, and what it left running."""
    words = both_ends(message.strip(), WORDS_LENGTH)
    action = " ".join(both_ends(words, ACTION_LENGTH).split())
    if running := [one_line(task, 80) for task in in_flight if task.strip()]:
        action = f"{action or 'the turn ended'}; still running: {', '.join(running[:5])}"
    if not action:
        return False

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        recovery = state["recovery"]
        if recovery["last_action"] == action and recovery["last_agent"] == session.workspace.by:
            raise _NoNews
        said = concepts.message.add(state, "assistant", words) if words else []
        return [*said, *concepts.session.stop(action)]

    return _commit(session, rule, op)


def edited(session: Session, paths: tuple[str, ...]) -> list[str]:
    """Refer to files as they are now; returns those that changed. Files outside of the project are skipped."""
    files = session.files
    found = []
    for path in paths:
        try:
            found.append(files.look(files.name(path)))
        except HoldfastError:
            continue  # moved since, a symlink, or not in this project
    if not found:
        return []
    changed: list[str] = []

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        known = state["references"]["open"]
        changed.clear()
        events = []
        for file in found:
            if file.path not in known or known[file.path]["hash"] != file.hash:
                events += concepts.reference.add(state, file.path, file.size, file.hash)
                changed.append(file.path)
        if not events:
            raise _NoNews
        new = sum(path not in known for path in changed)
        return [*_room(session, known, new, changed), *events]

    _commit(session, rule, None)
    return changed


def _room(session: Session, known: dict[str, Any], new: int, wanted: list[str]) -> list[Event]:
    """Drop the oldest references that hooks recorded, to make room for new ones."""
    noted = [
        entry
        for entry in known.values()
        if entry["origin"] == "tool" and entry["path"] not in wanted and entry["kind"] == "context"
    ]
    over = min(len(noted), max(0, len(noted) + new - FILES))
    return [
        Event("reference.dropped", {"path": entry["path"], "saw": [entry["commit"]]})
        for entry in sorted(noted, key=lambda entry: str(entry["commit"]))[:over]
    ]


def failed(session: Session, command: str, output: str) -> bool:
    """Record a command that failed, once, until newer failures replace it."""
    said = one_line(output.strip(), OUTPUT_LENGTH)
    text = f"`{one_line(command, PROMPT_LENGTH)}` failed" + (f": {said}" if said else "")

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        noted = [error for error in parts.opened(state, "errors") if error["origin"] == "tool"]
        if any(error["text"] == text for error in noted):
            raise _NoNews
        events: list[Event] = []
        for error in noted[: max(0, len(noted) + 1 - ERRORS)]:
            events += concepts.error.close(state, error["id"], "not looked at; newer failures took its place")
        return events + concepts.error.add(state, mint, text)

    return _commit(session, rule, None)


def compacting(session: Session, trigger: str, key: str, op: str, *, count: bool) -> bool:
    """Save a checkpoint before a context is compacted, with the previous one's continuation notes.

    ``count`` also counts the compaction, for hosts that do not report its end.
    """

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        last = state["checkpoint"] or {}
        message = str(last.get("message") or "").removeprefix(_BEFORE)
        if not message:
            asked = [m["text"] for m in state["messages"]["recent"] if m["role"] == "user"]
            message = (asked or [parts.value(state, "goal") or "the work"])[-1]
        events = concepts.checkpoint.save(
            state,
            _BEFORE + message,
            last_completed=last.get("last_completed"),
            pending=last.get("pending") or (),
            can_resume=last.get("can_resume", True),
            instruction=last.get("instruction"),
            tools=last.get("tools") or (),
        )
        return events + (concepts.compaction.add(None, trigger or None) if count else [])

    state = session.peek().state
    # If the host has no id for it: no two compactions happen between two prompts without one being counted.
    turn = key or f"{state['messages']['count']}"
    done = "" if count else f":{state['compactions']['count']}"
    return _commit(session, rule, f"{op}:{turn}{done}"[:200])


def compacted(session: Session, summary: str, trigger: str, op: str) -> bool:
    """Count a compaction, and record its summary."""
    events = concepts.compaction.add(summary.strip()[:SUMMARY_LENGTH] or None, trigger or None)
    return _commit(session, lambda state, mint: events, op)
