"""Handle each kind of event. A handler returns the text to inject into the model's context; empty for none."""

from __future__ import annotations

import os

from holdfast.core import contested
from holdfast.edge.hooks import event as events
from holdfast.edge.hooks.event import Event
from holdfast.edge.hooks.sanitise import sanitised
from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace import capture, host_plans
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.goal import placeholder
from holdfast.workspace.workspace import open_workspace

if TYPE_CHECKING:
    from holdfast.edge.hooks.delivery_log import DeliveryLog
    from holdfast.edge.hooks.hosts import Host
    from holdfast.workspace.presence_folder import Process
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

HOW = (
    "Record what you decide with the MCP tool `decide`, or `holdfast decide TEXT --because WHY`. If you act on it, "
    "give the action first (`--action WHAT`), and afterwards the outcome: `settle`, or `holdfast settle ID OUTCOME`. "
    "What other sessions decided: `search`, or `holdfast search WORDS`.\n"
)
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
        self.news: list[str] = []
        """Lines for the model about what the hook itself did."""

    # -- finding the session ------------------------------------------------------------------------------

    @property
    def conversation(self) -> str:
        return self.event.host_session or "unnamed"

    def op(self, *words: str) -> str:
        """An operation id that is the same for the same event of the same conversation."""
        from holdfast.edge.hooks.delivery_log import digest

        # A host's ids may hold anything; an op is printable.
        plain = [word if word.isascii() and word.isprintable() else digest(word) for word in words]
        return f"hook:{self.name}:{digest(self.conversation)}:{':'.join(plain)}"[:200]

    def session(self) -> Session | None:
        """The session of the conversation; None if a new one is due at the next request."""
        return self._resolved(None)

    def begun(self, goal: str) -> Session:
        """The session of the conversation; a new one with that goal if the rule says so."""
        found = self._resolved(goal)
        assert found is not None
        return found

    def _resolved(self, goal: str | None) -> Session | None:
        """Apply the rule of ``core/continuation.py``: stay, take over, follow, or start a new session for ``goal``."""
        from holdfast.core.continuation import NEW
        from holdfast.core.requests import is_request
        from holdfast.workspace.conversations import Conversation
        from holdfast.workspace.pointer import Pointer

        workspace, event = self.workspace, self.event
        asked = event.prompt if is_request(event.prompt) else ""
        cleared = event.kind == events.START and event.source == "clear"
        with Conversation(workspace, self.name, self.conversation, self.process()) as conversation:
            verdict, session = conversation.verdict(asked, cleared=cleared)
            if verdict.act != NEW and session is not None:
                name = f"{session.user}/{session.id}"
                if workspace.pointer != Pointer(name):
                    workspace.switch(name)
                conversation.works_on(session)
                return session
            if verdict.close:
                capture.abandoned(workspace, verdict.previous)
            if goal is None:
                conversation.works_on(None, previous=verdict.previous)
                return None
            session = workspace.start(
                goal, previous=verdict.previous or None, op=self.op("start", verdict.previous)
            )
            conversation.works_on(session)
        if verdict.previous:
            self.news.append(
                f"holdfast: session {session.user}/{session.id} starts here ({verdict.why}); "
                f"it follows {verdict.previous}."
            )
        return session

    def process(self) -> Process:
        """The host that is calling."""
        return self.workspace.presence.process

    def project_goal(self) -> str:
        where = self.workspace.where
        return placeholder(os.path.basename(os.path.dirname(where)) or where)

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
    if event.kind == events.RESULT and (agent := _plain_name(event.agent)):
        by = f"{by}.{agent}"
    with open_workspace(where, by=by, origin="tool", channel="hook") as workspace:
        from holdfast.workspace.presence import of_program

        try:
            workspace.presence = of_program(workspace)
        except HoldfastError:
            pass
        return act(Call(name, host, workspace, sanitised(workspace, event)))


def _plain_name(name: str) -> str:
    """The name of a subagent as it can be part of an actor's."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)[:40].strip(
        "-"
    )


# -- one handler per kind of event ----------------------------------------------------------------------------


def _start(call: Call) -> str:
    asked = call.event.prompt
    session = call.begun(_goal(call)) if is_asked(asked) else call.session()
    if session is None:
        return _project_brief(call)
    call.present(session)
    _measure(call, session)
    host_plans.commits(session)
    return _brief(call, session)


def _system(call: Call) -> str:
    session = call.session()
    return _project_brief(call) if session is None else _brief(call, session)


def _project_brief(call: Call) -> str:
    """What a conversation without a session is told: the project's memory, and what waits in all sessions."""
    from holdfast.edge.hooks.delivery_log import DeliveryLog
    from holdfast.views.brief import DEFAULT
    from holdfast.workspace.handover import make_project_brief

    with DeliveryLog(call.workspace, call.conversation) as log:
        if call.event.host_session and log.has_brief_of("", -1) and log.was_just_briefed(call.event.source):
            return ""
        text = make_project_brief(call.workspace, DEFAULT, previous=_previous(call), shown=_loaded(call)).text
        log.briefed("", call.event.source, -1, _length(call.event.transcript), text.splitlines())
    return cut(call.host, f"{text}\n{HOW}")


def _previous(call: Call) -> str:
    from holdfast.workspace.conversations import Conversation

    found = Conversation(call.workspace, call.name, call.conversation, call.process()).entry
    return str(found.get("previous") or "")


def _measure(call: Call, session: Session) -> None:
    """Record how full the context is, where the host tells it."""
    from holdfast.edge.hooks.usage import measured

    event = call.event
    if event.kind == events.START and event.source != "resume":
        # Nothing was said yet, or the transcript has what the context has lost.
        if event.source != "fork":
            capture.started_over(session)
        return
    found = measured(call.name, event)
    if found is not None:
        capture.measured(session, found.used, found.window, found.model)


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
    from holdfast.core.requests import goal_of, is_request

    prompt = call.event.prompt
    return goal_of(prompt) if is_request(prompt) else call.project_goal()


def _prompt(call: Call) -> str:
    event = call.event
    if not is_asked(event.prompt):
        return ""
    session = call.begun(_goal(call))
    call.present(session)
    state = session.peek().state
    op = call.op("prompt", event.key) if event.key else None
    _turned(call, session)
    _measure(call, session)
    capture.prompted(session, event.prompt, wall_clock(), op, call.name)
    if call.host.AGAIN_AT_PROMPT and (state["compactions"]["count"] or event.transcript):
        from holdfast.edge.hooks.delivery_log import DeliveryLog

        delivered = DeliveryLog(call.workspace, call.conversation)
        # A conversation without a brief yet gets it at its start, which may come before or after this prompt.
        lost = -1 < delivered.compactions() < state["compactions"]["count"]
        unreported = call.host.COUNT_BEFORE == "manual"
        if lost or (unreported and _length(event.transcript) > delivered.transcript() + GROWN):
            return _brief(call, session)
    return _news(call, session)


def _turned(call: Call, session: Session) -> None:
    """Let a guessed goal follow the work; ask about a request that is about something else than a goal that was set."""
    from holdfast.core.requests import is_new_topic
    from holdfast.views import parts
    from holdfast.views.fence import fenced
    from holdfast.workspace.goal import work_of

    prompt, state = call.event.prompt, session.peek().state
    if parts.is_goal_guessed(state):
        capture.refined(session, prompt)
    elif is_new_topic(prompt, work_of(state)):
        call.news.append(
            f"holdfast: this request is not about the goal of the session, {fenced(parts.value(state, 'goal'), 120)}. "
            "If it is new work, start a session for it (`start`, or `holdfast start GOAL`); else go on."
        )


def _length(transcript: str) -> int:
    """The size of a transcript; 0 if unknown."""
    try:
        return os.path.getsize(transcript) if os.path.isabs(transcript) else 0
    except (OSError, ValueError):
        return 0


def _news(call: Call, session: Session) -> str:
    """What is new since the last prompt: what the hook did, contested values, decisions of other agents."""
    from holdfast.edge.hooks.delivery_log import DeliveryLog

    working_set = session.peek()
    contests = contested.contests(working_set.state["registers"])
    log = DeliveryLog(call.workspace, call.conversation)
    since = log.seen_up_to(working_set.head)
    lines = [*call.news, *_decided_by_others(call, session, since)]
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
    quotes = [RULE] if any("«" in line for line in new) else []
    return "\n".join([*new, *quotes]) + "\n" if new else ""


def _decided_by_others(call: Call, session: Session, since: str) -> list[str]:
    """What other agents decided after a commit: in the session, and in those of the other conversations here."""
    from holdfast.workspace.conversations import key_of, others_at_work

    found = _decisions(session.peek().state, since, "", but=call.workspace.by)
    own = f"{session.user}/{session.id}"
    for name in others_at_work(call.workspace, key_of(call.name, call.conversation))[:5]:
        if name == own:
            continue
        try:
            other = call.workspace.session(name).peek().state
        except HoldfastError:
            continue
        found += _decisions(other, since, f" in {name}")
    return [line for _, line in sorted(found)[-5:]]


def _decisions(state: dict[str, Any], since: str, where: str, but: str = "") -> list[tuple[str, str]]:
    """The decisions of a state after a commit, each with its commit, except those of one actor."""
    from holdfast.views import parts
    from holdfast.views.fence import fenced, quoted, token

    made = [*parts.opened(state, "decisions"), *parts.closed(state, "decisions")]
    return [
        (
            str(entry["commit"]),
            f"holdfast: decided meanwhile{where}: {token(entry['id'])} {quoted(entry['text'], entry, 240)} because "
            f"{fenced(entry['because'], 160)}",
        )
        for entry in made
        if entry["commit"] > since and (not but or entry["by"] != but)
    ]


def _tool(call: Call) -> str:
    event = call.event
    planned = event.planned
    if event.command and not event.failed:
        return _succeeded(call)
    if not event.edited and not event.command and planned == events.NOTHING_PLANNED:
        return ""
    session = call.begun(call.project_goal())
    if planned != events.NOTHING_PLANNED:
        _plan(call, session, planned)
    if event.command:
        capture.failed(session, event.command, event.output)
    changed = capture.edited(session, event.edited) if event.edited else []
    if not changed:
        return ""
    host_plans.commits(session)
    return _shared(call, session, changed) + _nudge(call, session)


def _plan(call: Call, session: Session, planned: events.Planned) -> None:
    """What the host planned becomes ours."""
    owner = f"{call.name}:{call.op('').split(':')[2][:8]}:"
    if planned.tasks:
        listed = [
            host_plans.HostTask(number, title, host_plans.STATUSES.get(status, host_plans.PENDING))
            for number, title, status in planned.tasks
        ]
        host_plans.tasks(session, listed, owner, whole=planned.whole)
    elif planned.whole:
        host_plans.tasks(session, [], owner, whole=True)
    if planned.sql:
        from holdfast.workspace.host_table import tasks_after

        host_plans.tasks(session, tasks_after(session.peek().state, planned.sql, owner), owner, whole=False)
    if planned.plan:
        host_plans.plan(session, planned.plan)
    if planned.goal:
        host_plans.goal(session, planned.goal)
    if planned.topic:
        host_plans.focus(session, planned.topic)


NUDGE = (
    "holdfast: many files were edited since the last recorded decision. If you chose between ways to go on, record it "
    "with the MCP tool `decide`, or `holdfast decide TEXT --because WHY`.\n"
)
MANY_FILES = 10


def _nudge(call: Call, session: Session) -> str:
    """Once in a conversation: many files were edited, and nothing was decided. ``nudge = false`` under ``[hooks]`` in
    config.toml turns it off."""
    state = session.peek().state
    decisions = [*state["decisions"]["open"].values(), *state["decisions"]["closed"]]
    last = max((str(entry["commit"]) for entry in decisions), default="")
    edited = state["references"]["open"].values()
    if sum(entry["origin"] == "tool" and entry["commit"] > last for entry in edited) < MANY_FILES:
        return ""
    from holdfast.edge.hooks.delivery_log import DeliveryLog
    from holdfast.workspace import settings

    if not DeliveryLog(call.workspace, call.conversation).undelivered([NUDGE]):
        return ""
    hooks = settings.read(call.workspace.where).get("hooks")
    return "" if isinstance(hooks, dict) and hooks.get("nudge") is False else NUDGE


SMALL = 500
"""Tokens of the brief that a subagent gets."""


def _subagent(call: Call) -> str:
    from holdfast.workspace.handover import make_brief

    session = call.session()
    return "" if session is None else cut(call.host, make_brief(session, SMALL).text)


def _result(call: Call) -> str:
    session = call.session()
    if session is not None:
        event = call.event
        capture.reported(session, event.message, event.agent, call.name, None)
        host_plans.commits(session)
    return ""


def _succeeded(call: Call) -> str:
    """A command that succeeds ends its earlier failures; one of git may have made a commit."""
    session = call.session()
    if session is not None:
        capture.succeeded(session, call.event.command)
        if "git" in call.event.command:
            host_plans.commits(session)
    return ""


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
    host_plans.commits(session)
    capture.compacting(session, event.trigger, event.key, call.op("compacting"), count=count)
    with DeliveryLog(call.workspace, call.conversation) as log:
        log.forget_brief()
    return cut(call.host, keep(session.peek().state))


def _compacted(call: Call) -> str:
    session = call.begun(call.project_goal())
    event = call.event
    key = event.key or str(session.peek().state["messages"]["count"])
    capture.compacted(session, event.summary, event.trigger, call.op("compacted", key), call.name)
    return ""


def _summary(call: Call) -> str:
    session = call.session()
    if session is not None:
        capture.summarised(session, call.event.summary, call.name)
    return ""


def _stop(call: Call) -> str:
    session = call.session()
    if session is not None:
        call.present(session)
        _measure(call, session)
        capture.stopped(session, call.event.message, call.event.in_flight, None, call.name)
        host_plans.commits(session)
    return ""


def _end(call: Call) -> str:
    from holdfast.workspace.conversations import Conversation

    with Conversation(call.workspace, call.name, call.conversation, call.process()) as conversation:
        conversation.ended()
        name = conversation.entry["session"]
    if name:
        try:
            call.workspace.touch(call.workspace.session(name))  # the views are regenerated on close
        except HoldfastError:
            pass  # it is on another branch
    return ""


_ACTS = {
    events.START: _start,
    events.SYSTEM: _system,
    events.PROMPT: _prompt,
    events.TOOL: _tool,
    events.COMPACTING: _compacting,
    events.COMPACTED: _compacted,
    events.STOP: _stop,
    events.SUBAGENT: _subagent,
    events.RESULT: _result,
    events.SUMMARY: _summary,
    events.END: _end,
}
