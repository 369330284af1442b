"""What hooks record of an agent's work: prompts, edits, failures, compactions, the end of a turn.

Each is bounded and recorded only once: a host may report one event twice, and two settings files may both call us.
The rule itself decides under the stream's lock whether something is new.
"""

from __future__ import annotations

from holdfast.core import concepts, failures, timestamps
from holdfast.core.codec import Event
from holdfast.core.text import both_ends, excerpt, one_line
from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import parts

if TYPE_CHECKING:
    from holdfast.workspace.handle import Rule
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

PROMPT_LENGTH = 200
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


class NoNews(Exception):
    """Nothing is to be written."""


def written(session: Session, rule: Rule, op: str | None) -> bool:
    """Run a rule that may find nothing to write; False if so, or if it was written before."""
    try:
        return not session.commit(rule, op=op).repeated
    except NoNews:
        return False


def prompted(session: Session, text: str, now: int, op: str | None, host: str = "") -> bool:
    """Record a prompt, and propose what it demands."""
    from holdfast.core import stated

    words = both_ends(text.strip(), WORDS_LENGTH)
    shown = excerpt(words, concepts.message.LONG)
    found = stated.in_prompt(text)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        recent = state["messages"]["recent"]
        if op is None and recent and recent[-1]["text"] == shown and _just_now(recent[-1]["at"], now):
            raise NoNews
        return [
            *concepts.message.add(state, "user", words),
            *proposals(state, mint, found, "prompt", session, host),
        ]

    return written(session, rule, op)


def proposals(
    state: dict[str, Any], mint: Any, found: list[Any], source: str, session: Session, host: str
) -> list[Event]:
    """Propose what was found in a text."""
    if not found:
        return []
    lineage = concepts.capture.Lineage(source, host, session.workspace.by)
    return concepts.capture.propose(state, mint, found, lineage)


def refined(session: Session, prompt: str) -> bool:
    """Let a guessed goal follow the work: set it to what a request says, if that says better what the work is."""
    from holdfast.workspace.goal import better_goal

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        goal = better_goal(state, prompt)
        if not goal:
            raise NoNews
        return concepts.session.set_goal(state, goal)

    return written(session, rule, None)


def measured(session: Session, used: int, window: int, model: str) -> bool:
    """Record how full the context is; nothing if it is about as full as before."""
    from holdfast.workspace.settings import window_of

    size = window_of(session.workspace) or window

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        events = concepts.budget.measure(state, used, size, model or None)
        if not events:
            raise NoNews
        return events

    return written(session, rule, None)


def started_over(session: Session) -> bool:
    """Record that the context is new, if an earlier one was measured."""
    if not session.peek().state["budget"].get("measured"):
        return False

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        events = concepts.budget.start_over(state)
        if not events:
            raise NoNews
        return events

    return written(session, rule, None)


def abandoned(workspace: Workspace, name: str) -> bool:
    """Close a session that nobody ended. Best effort: it may be on another branch, or closed meanwhile."""
    try:
        session = workspace.session(name)
        return written(session, lambda state, mint: concepts.session.abandon(state), None)
    except HoldfastError:
        return False


def _just_now(at: str, now: int) -> bool:
    return -TWICE_MS < now - timestamps.from_iso(at) < TWICE_MS


def stopped(
    session: Session, message: str, in_flight: tuple[str, ...], op: str | None, host: str = ""
) -> bool:
    """Record an agent's final message, what it left running, and propose what the message decides."""
    from holdfast.core import stated

    words = both_ends(message.strip(), WORDS_LENGTH)
    action = " ".join(both_ends(words, ACTION_LENGTH).split())
    if running := [one_line(task, 80) for task in in_flight if task.strip()]:
        action = f"{action or 'the turn ended'}; still running: {', '.join(running[:5])}"
    if not action:
        return False
    found = stated.in_message(message) if words else []

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        recovery = state["recovery"]
        if recovery["last_action"] == action and recovery["last_agent"] == session.workspace.by:
            raise NoNews
        said = concepts.message.add(state, "assistant", words) if words else []
        proposed = proposals(state, mint, found, "message", session, host)
        return [*said, *concepts.session.stop(action), *proposed]

    return written(session, rule, op)


def reported(session: Session, message: str, agent: str, host: str, op: str | None) -> bool:
    """Keep the result of a subagent, and propose what it decides."""
    from holdfast.core import stated

    words = both_ends(message.strip(), WORDS_LENGTH)
    if not words:
        return False
    found = stated.in_message(message)
    shown = excerpt(words, concepts.message.LONG)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        recent = state["messages"]["recent"]
        if any(said["role"] == "subagent" and said["text"] == shown for said in recent[-5:]):
            raise NoNews
        said = concepts.message.add(state, "subagent", words, agent or None)
        return [*said, *proposals(state, mint, found, "subagent", session, host)]

    return written(session, rule, op)


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
            raise NoNews
        new = sum(path not in known for path in changed)
        return [*_room(session, known, new, changed), *events]

    written(session, rule, None)
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


def failure(command: str, output: str) -> str:
    """A failed command as an error: the command, and what its output says about the failure."""
    said = failures.point(output)
    return f"{_failed(command)}: {said}" if said else _failed(command)


def _failed(command: str) -> str:
    return f"`{one_line(command, PROMPT_LENGTH)}` failed"


def _failures_of(state: dict[str, Any], command: str) -> list[dict[str, Any]]:
    """The open errors of a command that hooks or an import recorded."""
    found = []
    for error in parts.opened(state, "errors"):
        if error["origin"] in ("tool", "import") and error["text"].startswith("`"):
            shown = error["text"][1:].partition("` failed")[0]
            if failures.same(shown, one_line(command, PROMPT_LENGTH)):
                found.append(error)
    return found


def failed(session: Session, command: str, output: str) -> bool:
    """Record a command that failed. An earlier failure of the same command is closed: this one is about now."""
    text = failure(command, output)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        earlier = _failures_of(state, command)
        if any(error["text"] == text for error in earlier):
            raise NoNews
        events: list[Event] = []
        for error in earlier:
            events += concepts.error.close(state, error["id"], "the same command failed in another way")
        noted = [error for error in parts.opened(state, "errors") if error["origin"] == "tool"]
        others = [error for error in noted if error not in earlier]
        for error in others[: max(0, len(others) + 1 - ERRORS)]:
            events += concepts.error.close(state, error["id"], "not looked at; newer failures took its place")
        return events + concepts.error.add(state, mint, text)

    return written(session, rule, None)


def succeeded(session: Session, command: str) -> bool:
    """Close the failures of a command that succeeds now."""
    if not _failures_of(session.peek().state, command):
        return False

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        events: list[Event] = []
        for error in _failures_of(state, command):
            events += concepts.error.close(state, error["id"], "the same command succeeded later")
        if not events:
            raise NoNews
        return events

    return written(session, rule, None)


def compacting(session: Session, trigger: str, key: str, op: str, *, count: bool) -> bool:
    """Save a checkpoint before a context is compacted, with the previous one's continuation notes.

    ``count`` also counts the compaction, for hosts that do not report its end.
    """

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        last = state["checkpoint"] or {}
        message = str(last.get("message") or "")
        if not message or message.startswith(parts.BEFORE_COMPACTION):  # not what a person or an agent saved
            asked = [m["text"] for m in state["messages"]["recent"] if m["role"] == "user"]
            message = parts.BEFORE_COMPACTION + (asked or [parts.value(state, "goal") or "the work"])[-1]
        events = concepts.checkpoint.save(
            state,
            message,
            last_completed=last.get("last_completed"),
            pending=last.get("pending") or (),
            can_resume=last.get("can_resume", True),
            instruction=last.get("instruction"),
            tools=last.get("tools") or (),
        )
        if count:
            events += [*concepts.compaction.add(None, trigger or None), *concepts.budget.start_over(state)]
        return events

    state = session.peek().state
    # If the host has no id for it: no two compactions happen between two prompts without one being counted.
    turn = key or f"{state['messages']['count']}"
    done = "" if count else f":{state['compactions']['count']}"
    return written(session, rule, f"{op}:{turn}{done}"[:200])


def summarised(session: Session, summary: str, host: str = "") -> bool:
    """Propose what a summary says, of a compaction that is counted already."""
    from holdfast.core import stated, summary_lines

    found = summary_lines.read(summary) or stated.in_message(summary)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        events = proposals(state, mint, found, "summary", session, host)
        if not events:
            raise NoNews
        return events

    return written(session, rule, None)


def compacted(session: Session, summary: str, trigger: str, op: str, host: str = "") -> bool:
    """Count a compaction, record its summary, and propose what it says."""
    from holdfast.core import stated, summary_lines

    events = concepts.compaction.add(summary.strip()[:SUMMARY_LENGTH] or None, trigger or None)
    found = summary_lines.read(summary) or stated.in_message(summary)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        proposed = proposals(state, mint, found, "summary", session, host)
        return [*events, *concepts.budget.start_over(state), *proposed]

    return written(session, rule, op)
