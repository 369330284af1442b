"""Handle each kind of event. A handler returns the text to inject into the model's context; empty for none."""

from __future__ import annotations

import os

from holdfast.core import contested, timestamps
from holdfast.edge.hooks import event as events
from holdfast.edge.hooks.event import Event
from holdfast.edge.hooks.sanitise import sanitised
from holdfast.errors import HoldfastError, NoSession
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace import capture
from holdfast.workspace.choose import is_unfinished
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.workspace import open_workspace

if TYPE_CHECKING:
    from holdfast.edge.hooks.delivery_log import DeliveryLog
    from holdfast.edge.hooks.hosts import Host
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

FRESH = "holdfast stores the memory of this project in .state/. No session is open: the first prompt starts one.\n"
HOW = (
    "Record what you decide with the MCP tool `decide`, or `holdfast decide TEXT --because WHY`. If you act on it, "
    "give the action first (`--action WHAT`), and afterwards the outcome: `settle`, or `holdfast settle ID OUTCOME`. "
    "What other sessions decided: `search`, or `holdfast search WORDS`.\n"
)
AWAY_MS = 1_800_000
"""A conversation counts as away if nobody wrote to its session for this long."""
_INSTRUCTIONS = 200_000
"""Bytes of a host's own instructions that are compared with the brief."""
GROWN = 400_000
"""Growth of the transcript in bytes (about 100,000 tokens) after which a host may have compacted unreported."""


class Call:
    """One hook call: the host, its event, the workspace."""

    def __init__(self, name: str, host: Host, workspace: Workspace, event: Event) -> None:
        self.name = name
        self.host = host
        self.workspace = workspace
        self.event = event

    # -- finding the session ------------------------------------------------------------------------------

    @property
    def conversation(self) -> str:
        return self.event.host_session or "unnamed"

    def op(self, *words: str) -> str:
        """An operation id that is the same for the same event of the same conversation."""
        from holdfast.edge.hooks.delivery_log import digest

        return f"hook:{self.name}:{digest(self.conversation)}:{':'.join(words)}"[:200]

    def session(self) -> Session | None:
        """The session of the conversation; None if there is none to continue."""
        workspace = self.workspace
        try:
            found = workspace.for_host(self.name, self.conversation).session
            if found.peek().is_archived():
                found = workspace.pick().session
                workspace.bind_host(self.name, self.conversation, found)
        except NoSession:
            return None
        current = workspace.current()
        if current == f"{found.user}/{found.id}" or os.environ.get("HOLDFAST_SESSION"):
            return found
        return self._agreed(found, current)

    def _agreed(self, mine: Session, current: str | None) -> Session:
        """Choose between the conversation's session and the current one of this worktree.

        If a person or an agent switched to another session during the conversation, that session wins. A conversation
        that was away resumes its own.
        """
        workspace = self.workspace
        updated = mine.peek().state["updated"]
        fresh = bool(updated) and wall_clock() - timestamps.from_iso(updated) < AWAY_MS
        if current is not None and fresh:
            try:
                found = workspace.session(current)
            except HoldfastError:
                found = None  # its branch is not checked out, or it was archived
            if found is not None and is_unfinished(found.peek().state):
                workspace.bind_host(self.name, self.conversation, found)
                return found
        return workspace.switch(f"{mine.user}/{mine.id}")

    def begun(self, goal: str) -> Session:
        """The session of the conversation; a new one with that goal if there is none."""
        found = self.session()
        if found is None:
            found = self.workspace.start(goal, op=self.op("start"))
            self.workspace.bind_host(self.name, self.conversation, found)
        return found

    def project_goal(self) -> str:
        where = self.workspace.where
        return f"Work in {os.path.basename(os.path.dirname(where)) or where}"

    # -- presence -----------------------------------------------------------------------------------------

    def present(self, session: Session) -> None:
        """Record the host's presence on the session."""
        try:
            self.workspace.presence.beat(f"{session.user}/{session.id}")
        except (HoldfastError, OSError):
            pass  # presence is optional


def handle(name: str, host: Host, event: Event, where: str) -> str:
    """Handle an event; return the text to inject."""
    act = _ACTS.get(event.kind)
    if act is None:
        return ""
    by = os.environ.get("HOLDFAST_AGENT") or name
    with open_workspace(where, by=by, origin="tool", channel="hook") as workspace:
        from holdfast.workspace.presence import of_program

        try:
            workspace.presence = of_program(workspace)
        except HoldfastError:
            pass
        return act(Call(name, host, workspace, sanitised(workspace, event)))


# -- one handler per kind of event ----------------------------------------------------------------------------


def _start(call: Call) -> str:
    asked = call.event.prompt
    session = call.begun(_goal(call)) if is_asked(asked) else call.session()
    if session is None:
        return FRESH + HOW
    call.present(session)
    return _brief(call, session)


def _system(call: Call) -> str:
    session = call.session()
    return FRESH + HOW if session is None else _brief(call, session)


LOST = ("clear", "compact", "fork")
"""Sources of a start after which the conversation's context no longer has the brief."""


def _brief(call: Call, session: Session) -> str:
    """The brief; only what is new in it for a conversation that still has an earlier one."""
    from holdfast.edge.hooks.delivery_log import DeliveryLog

    working_set, event = session.peek(), call.event
    count = working_set.state["compactions"]["count"]
    with DeliveryLog(call.workspace, call.conversation) as log:
        has_one = (
            event.kind == events.START
            and event.host_session != ""
            and log.has_brief_of(session.stream, count)
            and (event.source not in LOST or log.was_just_briefed(event.source))
        )
        if not has_one:
            log.forget_lines()
        text, lines = _fitting(call, session, log if has_one else None)
        log.seen_up_to(working_set.head)
        log.briefed(session.stream, event.source, count, _length(event.transcript), lines)
    return text


def _fitting(call: Call, session: Session, log: DeliveryLog | None) -> tuple[str, list[str]]:
    """The brief within the host's limit, and its lines; with a log, only what is new."""
    from holdfast.views.brief import DEFAULT, LEAST
    from holdfast.workspace.handover import make_brief

    host, budget, shown = call.host, DEFAULT, _loaded(call)
    while True:
        brief = make_brief(session, budget, shown=shown).text
        lines = brief.splitlines()
        text = f"{brief}\n{HOW}" if log is None else _difference(lines, log)
        if host.size(text) <= host.CAP or budget == LEAST:
            return cut(host, text), lines
        budget = max(LEAST, min(budget - 100, budget * host.CAP // host.size(text)))


def _loaded(call: Call) -> str:
    """The instructions that the host itself puts into the conversation."""
    try:
        with open(os.path.join(os.path.dirname(call.workspace.where), call.host.LOADS), "rb") as file:
            return file.read(_INSTRUCTIONS).decode("utf-8", "replace")
    except OSError:
        return ""


def _difference(lines: list[str], log: DeliveryLog) -> str:
    """The entries of a brief that are new, under their titles; empty if there are none."""
    new = set(log.new_lines([line for line in lines if line.startswith("- ")]))
    found: list[str] = []
    title = ""
    for line in lines:
        title = line if line.startswith("## ") else title
        if line in new:
            found += [title] if title and title not in found else []
            found.append(line)
    return "\n".join(["holdfast: new since the last brief", lines[1], *found]) + "\n" if found else ""


def cut(host: Host, text: str) -> str:
    """The text up to the last whole line within the host's limit."""
    while host.size(text) > host.CAP:
        lines = text.splitlines(keepends=True)
        shorter = "".join(lines[:-1]) if len(lines) > 1 else text[: len(text) // 2]
        text = shorter
    return text


def is_asked(prompt: str) -> bool:
    """Whether a person or program wrote the prompt: hosts also send their own commands and notices."""
    begin = prompt.lstrip()[:1]
    return bool(begin) and begin not in "/<"


def _goal(call: Call) -> str:
    return capture.first_line(call.event.prompt, capture.PROMPT_LENGTH) or call.project_goal()


def _prompt(call: Call) -> str:
    event = call.event
    if not is_asked(event.prompt):
        return ""
    session = call.begun(_goal(call))
    call.present(session)
    state = session.peek().state
    capture.prompted(session, event.prompt, wall_clock(), call.op("prompt", event.key) if event.key else None)
    if call.host.AGAIN_AT_PROMPT and (state["compactions"]["count"] or event.transcript):
        from holdfast.edge.hooks.delivery_log import DeliveryLog

        delivered = DeliveryLog(call.workspace, call.conversation)
        # A conversation without a brief yet gets it at its start, which may come before or after this prompt.
        lost = -1 < delivered.compactions() < state["compactions"]["count"]
        if lost or _length(event.transcript) > delivered.transcript() + GROWN:
            return _brief(call, session)
    return _news(call, session)


def _length(transcript: str) -> int:
    """The size of a transcript; 0 if unknown."""
    try:
        return os.path.getsize(transcript) if os.path.isabs(transcript) else 0
    except (OSError, ValueError):
        return 0


def _news(call: Call, session: Session) -> str:
    """What others did since the last prompt: contested values, decisions of other agents."""
    from holdfast.edge.hooks.delivery_log import DeliveryLog

    working_set = session.peek()
    contests = contested.contests(working_set.state["registers"])
    log = DeliveryLog(call.workspace, call.conversation)
    since = log.seen_up_to(working_set.head)
    lines = _decided_by_others(call, working_set.state, since) if since != working_set.head else []
    if not contests and not lines:
        return ""
    from holdfast.views.fence import RULE, fenced, token

    for contest in contests[:5]:
        rivals = ", ".join(fenced(str(rival["value"]), 100) for rival in contest["rivals"][:3])
        lines.append(
            f"holdfast: CONTESTED {token(contest['name'])}: {fenced(str(contest['value']), 100)}, but somebody else "
            f"has set {rivals}. Set it again to settle it."
        )
    new = log.undelivered(lines)
    return "\n".join([*new, RULE]) + "\n" if new else ""


def _decided_by_others(call: Call, state: dict[str, Any], since: str) -> list[str]:
    """The decisions that other agents made in the session after a commit."""
    from holdfast.views import parts
    from holdfast.views.fence import fenced, quoted, token

    me = call.workspace.by
    made = [*parts.opened(state, "decisions"), *parts.closed(state, "decisions")]
    new = [entry for entry in made if entry["commit"] > since and entry["by"] != me]
    return [
        f"holdfast: decided meanwhile: {token(entry['id'])} {quoted(entry['text'], entry, 240)} because "
        f"{fenced(entry['because'], 160)}"
        for entry in sorted(new, key=lambda entry: str(entry["commit"]))[-5:]
    ]


def _tool(call: Call) -> str:
    event = call.event
    if not event.edited and not event.command:
        return ""
    session = call.begun(call.project_goal())
    if event.command:
        capture.failed(session, event.command, event.output)
    changed = capture.edited(session, event.edited) if event.edited else []
    return _shared(call, session, changed) if changed else ""


def _shared(call: Call, session: Session, changed: list[str]) -> str:
    """Claim edited files; report once if somebody else has claimed one of them."""
    call.present(session)
    files = session.files
    try:
        paths = [os.path.join(files.project, path) for path in changed]
        taken = call.workspace.presence.claim(paths, anyway=True)
    except (HoldfastError, OSError):
        return ""
    from holdfast.edge.hooks.delivery_log import DeliveryLog
    from holdfast.views.fence import fenced, token

    lines = [
        f"holdfast: {token(other['by'])} is also working on {fenced(other['claimed'], 160)}, since "
        f"{token(other['since'][:16])} (`holdfast who`)."
        for other in taken[:5]
        if other["state"] == "alive"
    ]
    new = DeliveryLog(call.workspace, call.conversation).undelivered(lines) if lines else []
    return "\n".join(new) + "\n" if new else ""


def _compacting(call: Call) -> str:
    from holdfast.edge.hooks.delivery_log import DeliveryLog
    from holdfast.views.keep import keep

    session = call.begun(call.project_goal())
    event = call.event
    count = bool(call.host.COUNT_BEFORE) and call.host.COUNT_BEFORE in ("all", event.trigger)
    capture.compacting(session, event.trigger, event.key, call.op("compacting"), count=count)
    with DeliveryLog(call.workspace, call.conversation) as log:
        log.forget_brief()
    return cut(call.host, keep(session.peek().state))


def _compacted(call: Call) -> str:
    session = call.begun(call.project_goal())
    event = call.event
    key = event.key or str(session.peek().state["messages"]["count"])
    capture.compacted(session, event.summary, event.trigger, call.op("compacted", key))
    return ""


def _stop(call: Call) -> str:
    session = call.session()
    if session is not None:
        call.present(session)
        capture.stopped(session, call.event.message, call.event.in_flight, None)
    return ""


def _end(call: Call) -> str:
    session = call.session()
    if session is not None:
        call.workspace.touch(session)  # the views are regenerated on close
    return ""


_ACTS = {
    events.START: _start,
    events.SYSTEM: _system,
    events.PROMPT: _prompt,
    events.TOOL: _tool,
    events.COMPACTING: _compacting,
    events.COMPACTED: _compacted,
    events.STOP: _stop,
    events.END: _end,
}
