"""start, status, resume, brief, sessions, switch."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts.budget import STRATEGIES
from holdfast.core.concepts.session import CLOSED
from holdfast.core.stream import last_part, owner, session_stream
from holdfast.edge.cli.command import Command, Output, allow_secret, at_least, at_work, on_session, open_here
from holdfast.edge.render import clean, fit, paint, plural, table, when
from holdfast.errors import HoldfastError, Usage
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import parts
from holdfast.workspace.handle import Handle
from holdfast.workspace.session import Session
from holdfast.workspace.standing import is_long_ago, standing

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.edge.cli.continuing import Start
    from holdfast.workspace.handle import Receipt
    from holdfast.workspace.workspace import Workspace

HOSTS = ("claude", "codex", "opencode", "gemini", "copilot")
"""Hosts that ``resume --in`` starts."""


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("goal", help="what the session is for")
    parser.add_argument("--phases", metavar="A,B,C", help="the phases of the work, in order")
    parser.add_argument("--op", metavar="KEY", help="idempotency key: the same key twice starts one session")
    allow_secret(parser)


def _start(arguments: argparse.Namespace) -> Output:
    phases = [name.strip() for name in arguments.phases.split(",")] if arguments.phases else None
    with open_here(arguments) as workspace:
        session = workspace.start(arguments.goal, phases=phases, op=arguments.op)
        at_work(session)
        text = f"Started session {paint(session.id, 'bold')} (current)."
        return Output(text, {"session": session.id, "user": session.user, "version": session.version})


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _status(arguments: argparse.Namespace) -> Output:
    return on_session(arguments, lambda session: show("status", session))


def show(what: str, session: Session) -> Output:
    """What ``status`` and ``resume`` show of a session."""
    return _resumed(session) if what == "resume" else _stands(session)


def _stands(session: Session) -> Output:
    working_set = session.peek()
    shown = working_set.shown
    data = {
        "session": session.id,
        "version": working_set.version,
        "state": shown,
        "damaged": [f"{fault.where}: {fault.what}" for fault in working_set.faults],
    }
    abandoned = shown["status"] not in CLOSED and is_long_ago(session.workspace, shown["updated_at"])
    return Output(_status_text(session, shown, abandoned=abandoned), data)


_GUESSED = " (guessed)"


def _status_text(session: Session, shown: dict[str, Any], *, abandoned: bool = False) -> str:
    version = session.peek().version
    head = [
        f"goal     {paint(clean(shown['goal'], 300), 'bold')}{_GUESSED if shown['goal_guessed'] else ''}",
        f"session  {session.user}/{session.id}, version {version}, "
        f"{'archived' if shown['archived_at'] else clean(shown['status'], 40)}",
    ]
    if shown["previous"]:
        head.append(f"follows  {clean(shown['previous'], 120)}")
    if abandoned:
        since = when(shown["updated_at"])
        head.append(f"left     unused since {since}; holdfast sessions --close-abandoned closes it")
    rest = [*_place_lines(shown), *_decision_lines(shown)]
    if shown["captures"]:
        rest.append(f"captured {shown['captures']:,}, not confirmed: holdfast capture")
    rest += [*_open_lines(shown), *_other_lines(shown)]
    rest.append(f"last     {when(shown['updated_at'])} by {clean(shown['updated_by'], 60)}")
    return "\n".join([*map(fit, head), *_warnings(session, shown), *map(fit, rest)])


_SHOWN_FAULTS = 20
"""The most faults that `status` names."""


def _warnings(session: Session, shown: dict[str, Any]) -> list[str]:
    """Damage and contested values: never truncated, however narrow the terminal is."""
    lines = []
    faults = session.peek().faults
    for fault in faults[:_SHOWN_FAULTS]:
        lines.append(
            paint(f"damaged  {clean(fault.where)}: {clean(fault.what)}; see `holdfast doctor`", "red")
        )
    if len(faults) > _SHOWN_FAULTS:
        lines.append(
            paint(f"damaged  {len(faults) - _SHOWN_FAULTS:,} more lines; see `holdfast doctor`", "red")
        )
    for contest in shown["contested"]:
        rivals = ", ".join(f"{clean(r['value'], 60)} (by {clean(r['by'], 30)})" for r in contest["rivals"])
        said = f"{clean(contest['name'], 60)} is {clean(contest['value'], 60)}; also set: {rivals}"
        lines.append(paint(f"contested  {said}", "yellow"))
    return lines


def _decision_lines(shown: dict[str, Any]) -> list[str]:
    decisions = shown["decisions"]
    if not decisions["made"]:
        return []
    counts = [plural(decisions["made"], "decision")]
    counts += [f"{decisions['settled']:,} settled"] if decisions["settled"] else []
    counts += [f"{decisions['unsettled_count']:,} unsettled"] if decisions["unsettled_count"] else []
    return [
        f"decided  {', '.join(counts)}",
        *_things(decisions["unsettled"], decisions["unsettled_count"], "text", "holdfast recover"),
    ]


_OPEN = (
    ("tasks", "tasks", "title", "holdfast task list"),
    ("blockers", "blocked", "text", "holdfast blocker list"),
    ("next_actions", "next", "text", "holdfast next list"),
    ("loops", "loops", "title", "holdfast loop list"),
    ("risks", "risks", "text", "holdfast risk list"),
    ("errors", "errors", "text", "holdfast error list"),
)
"""What can be open: the part of the state, its title, the field with its text, and the command that lists all."""


def _open_lines(shown: dict[str, Any]) -> list[str]:
    lines = []
    for name, title, key, command in _OPEN:
        part = shown[name]
        if part["open_count"]:
            lines.append(f"{title.ljust(8)} {part['open_count']:,}")
            lines += _things(part["open"], part["open_count"], key, command)
    return lines


def _other_lines(shown: dict[str, Any]) -> list[str]:
    """Batches, imports, archive and token budget, if any."""
    lines = []
    batches, imports, budget = shown["batches"], shown["imports"], shown["budget"]
    if batches["open_count"]:
        lines.append(f"batches  {batches['open_count']:,}")
    for batch in batches["open"]:
        name = paint(clean(batch["id"], 30), "yellow")
        lines.append(f"  {name}  {clean(batch['title'], 80)}: {_far(batch)}")
    if last := imports["last"]:
        done = f"{last['taken']:,} imported, {plural(last['left'], 'line')} skipped"
        lines.append(f"imports  {imports['count']:,}, last {clean(last['file'], 80)}: {done}")
    if shown["archived_at"]:
        lines.append(paint(f"archived {when(shown['archived_at'])}; to restore: holdfast restore", "yellow"))
    if budget and budget["total"]:
        how = ", measured" if budget["measured"] else ""
        share = budget["used"] * 100 // budget["total"]
        said = f"{budget['used']:,} of {budget['total']:,} ({share} %{how})"
        lines.append(f"tokens   {said}, {clean(budget['zone'], 20)}: {STRATEGIES.get(budget['zone'], '')}")
    return lines


def _far(batch: dict[str, Any]) -> str:
    failed = f", {batch['failed']:,} failed" if batch["failed"] else ""
    return f"{batch['done']:,} of {batch['total']:,} done{failed}"


def _place_lines(shown: dict[str, Any]) -> list[str]:
    """Phase, task, focus, discussion, checkpoint and handoff, if any."""
    lines = [f"{name.ljust(8)} {clean(shown[name], 100)}" for name in ("phase", "focus") if shown[name]]
    if shown["task"]:
        lines.append(f"task     {clean(shown['task']['id'], 30)} {clean(shown['task']['title'], 100)}")
    if shown["discussion"]:
        lines.append(f"aside    {clean(shown['discussion']['topic'], 60)}; to go back: holdfast return")
    if shown["checkpoint"]:
        lines.append(
            f"saved    {when(shown['checkpoint']['at'])} {clean(shown['checkpoint']['message'], 100)}"
        )
    handoff = shown["handoff"]
    if handoff and not handoff["consumed_at"]:
        held = f"claimed by {clean(handoff['claimed_by'], 60)}" if handoff["claimed_by"] else "not claimed"
        lines.append(f"handoff  {clean(handoff['id'], 30)} by {clean(handoff['by'], 60)}, {held}")
    return lines


def _things(entries: list[dict[str, Any]], count: int, key: str, more: str) -> list[str]:
    lines = [f"  {paint(clean(entry['id'], 30), 'yellow')}  {clean(entry[key], 100)}" for entry in entries]
    return [*lines, f"  …and {count - len(entries)} more: {more}"] if count > len(entries) else lines


def _resume_arguments(parser: argparse.ArgumentParser) -> None:
    _brief_arguments(parser)
    parser.add_argument(
        "--claim", action="store_true", help="claim the handoff; refused if somebody else has it"
    )
    parser.add_argument(
        "--take-over", action="store_true", help="with --claim: take it from its present claimant"
    )
    parser.add_argument(
        "--in",
        dest="host",
        choices=HOSTS,
        metavar="HOST",
        help=f"start an agent host with the brief: {', '.join(HOSTS)}",
    )
    parser.add_argument(
        "--print", action="store_true", help="with --in: show the command line, start nothing"
    )
    parser.add_argument(
        "rest", nargs="*", metavar="-- ARGUMENTS", help="with --in: further arguments for the host"
    )


def _resume(arguments: argparse.Namespace) -> Output:
    if arguments.take_over and not arguments.claim:
        raise Usage("--take-over goes with --claim.")
    if arguments.host is None and (arguments.print or arguments.rest):
        raise Usage("--print and arguments for a host go with --in HOST.")

    from holdfast.workspace import handover

    why = ""
    if not arguments.session:
        with open_here(arguments) as workspace:
            choice = workspace.pick()
            arguments.session, why = f"{choice.session.user}/{choice.session.id}", choice.why
            if workspace.current() != arguments.session:
                _if_writable(workspace, "the pointer", lambda: workspace.switch(arguments.session))

    starting: list[Start] = []

    def act(session: Session) -> Output:
        claimed = None
        if arguments.claim:
            claimed = session.claim(take_over=arguments.take_over, op=arguments.op, expect=arguments.expect)
            if session.workspace.current() != f"{session.user}/{session.id}":
                session.workspace.switch(f"{session.user}/{session.id}")
        handover.show_pause(session)
        if arguments.host is not None:
            from holdfast.edge.cli import continuing

            starting.append(continuing.prepare(session, arguments.host, arguments.budget, arguments.rest))
            return continuing.show(starting[0])
        output = _resumed(session, arguments.budget, claimed)
        at_work(session)
        if not why:
            return output
        text = f"Resuming {session.user}/{session.id}: {why}.\n\n{output.text}"
        return output._replace(text=text, data={**output.data, "why": why})

    output = on_session(arguments, act)
    if starting and not arguments.print:
        from holdfast.edge.cli.continuing import replace_process

        replace_process(starting[0])  # the workspace is closed and everything is durable
    return output


def _if_writable(workspace: Workspace, what: str, write: Callable[[], object]) -> None:
    """A session can be read in a read-only workspace: what could not be written is reported."""
    try:
        write()
    except (HoldfastError, OSError) as error:
        from holdfast.store.faults import UNWRITTEN_VIEW

        workspace.report(Fault(UNWRITTEN_VIEW, "", what, {"problem": str(error)}, harmless=True))


def _resumed(session: Session, budget: int | None = None, claimed: Receipt | None = None) -> Output:
    from holdfast.workspace.handover import make_brief

    packet = make_brief(session, budget)
    text, data = packet.text, {"text": packet.text, "tokens": packet.tokens, "left_out": packet.left_out}
    if claimed is not None:
        held = session.peek().state["handoff"]
        since = (
            f"You have {claimed.id}, claimed as {clean(held['claimed_by'], 60)} at {when(held['claimed_at'])}"
        )
        note = "; if that was not you, somebody else works under the same name" if claimed.repeated else ""
        text = f"{since}{note}.\n\n{text}"
        data["claim"] = {
            "id": claimed.id,
            "by": held["claimed_by"],
            "at": claimed.timestamp,
            "repeated": claimed.repeated,
        }
    working_set = session.peek()
    unsettled = list(working_set.state["decisions"]["open"].values())
    return Output(
        text,
        {
            "session": session.id,
            "version": working_set.version,
            "state": working_set.shown,
            "unsettled": unsettled,
            **data,
        },
    )


def _brief_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget",
        type=int,
        metavar="TOKENS",
        help="size limit of the text (default: 2000; at least 300)",
    )


def _brief(arguments: argparse.Namespace) -> Output:
    return on_session(arguments, lambda session: _resumed(session, arguments.budget), publish=False)


def _sessions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", help="only sessions of this user")
    parser.add_argument(
        "--limit", type=at_least(1), default=20, metavar="N", help="how many to show (default: 20)"
    )
    parser.add_argument("--all", action="store_true", help="include every worktree and branch")
    parser.add_argument("--archived", action="store_true", help="list archived sessions")
    parser.add_argument(
        "--close-abandoned",
        action="store_true",
        help="close the sessions marked 'abandoned?'; what is open in them stays listed",
    )


def _sessions(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        if arguments.close_abandoned:
            return _close_abandoned(workspace, arguments.user)
        if arguments.all:
            return _everywhere(workspace, arguments.user, arguments.limit)
        if arguments.archived:
            streams, total = _archived(workspace, arguments.user, arguments.limit)
        else:
            streams, total = workspace.page(arguments.user, arguments.limit)
        more = not arguments.archived and workspace.has_archive()
        current = workspace.current()
        rows = [_row(workspace, stream, current) for stream in streams]
    if not arguments.archived:
        rows.sort(key=lambda row: row["updated_at"] or "", reverse=True)
    data = {"sessions": rows, "total": total if rows else 0}
    if not rows:
        return Output("No archived sessions." if arguments.archived else _none(more), data)
    text = _listed(rows)
    if total > len(rows):
        text += f"\n{total - len(rows):,} more: --limit N shows them."
    return Output(f"{text}\n{_ARCHIVED}" if more else text, data)


def _close_abandoned(workspace: Workspace, user: str | None) -> Output:
    from holdfast.workspace.upkeep import close_abandoned

    closed = close_abandoned(workspace, user)
    lines = [
        f"Closed {clean(each.session, 120)}, unused since {when(each.updated_at)}"
        + (f"; {plural(each.unsettled, 'unsettled decision')}: holdfast recover" if each.unsettled else "")
        for each in closed
    ]
    data = {"closed": [each._asdict() for each in closed]}
    return Output("\n".join(lines) or "No abandoned sessions.", data)


_ARCHIVED = "Archived sessions: --archived lists them."


def _none(archived: bool) -> str:
    """The answer if there is no session, and where to look for one."""
    first = _ARCHIVED if archived else "To start one: holdfast start GOAL"
    return f"No sessions here. {first}\nOther branches and worktrees: holdfast sessions --all"


def _row(workspace: Workspace, stream: str, current: str | None) -> dict[str, Any]:
    state = Handle(workspace, stream).peek().state
    return {
        "session": last_part(stream),
        "user": owner(stream),
        "goal": contested.value(state["registers"], "goal", ""),
        "goal_guessed": parts.is_goal_guessed(state),
        "status": standing(workspace, f"{owner(stream)}/{last_part(stream)}", state),
        "previous": state["previous"],
        "phase": contested.value(state["registers"], "phase"),
        "updated_at": state["updated"],
        "unsettled": len(state["decisions"]["open"]),
        "current": current == f"{owner(stream)}/{last_part(stream)}",
        "archived_at": (state["archived"] or {}).get("at"),
    }


def _listed(rows: list[dict[str, Any]]) -> str:
    several = len({row["user"] for row in rows}) > 1
    cells = [
        (
            "→" if row["current"] else " ",
            row["session"],
            row["user"] if several else "",
            when(row["updated_at"]),
            clean(row["status"], 20),
            clean(row["phase"] or "", 20),
            str(row["unsettled"] or ""),
            clean(row["goal"], 200) + (_GUESSED if row["goal_guessed"] else ""),
        )
        for row in rows
    ]
    text = table(
        cells, (" ", "session", "user", "last commit", "status", "phase", "unsettled", "goal"), keep=5
    )
    if any(row["status"] == "abandoned?" for row in rows):
        text += "\nabandoned?: nobody ended it; holdfast sessions --close-abandoned closes it."
    return text


def _archived(workspace: Workspace, user: str | None, limit: int) -> tuple[list[str], int]:
    from holdfast.workspace.upkeep import archived

    found = [session.stream for session in archived(workspace) if user in (None, session.user)]
    return found[:limit], len(found)


def _everywhere(workspace: Workspace, user: str | None, limit: int) -> Output:
    from holdfast.workspace.session_discovery import all_sessions

    found = [row for row in all_sessions(workspace) if user in (None, row["user"])]
    rows = found[:limit]
    for row in rows:
        row["goal"] = _goal(workspace, row) if "here" in row["places"] else None
    cells = [
        (
            row["session"],
            row["user"],
            ", ".join(clean(place, 60) for place in row["places"]),
            clean(row["goal"] or "", 200),
        )
        for row in rows
    ]
    text = (
        table(cells, ("session", "user", "where", "goal"), keep=2)
        if rows
        else "No sessions in any worktree or branch."
    )
    if len(found) > len(rows):
        text += f"\n{len(found) - len(rows):,} more: --limit N shows them."
    if any("kept" in row["places"] for row in rows):
        text += (
            "\nkept: git removed commits of it here; they are not lost, and `holdfast heal` restores them."
        )
    return Output(text, {"sessions": rows, "total": len(found)})


def _goal(workspace: Workspace, row: dict[str, Any]) -> str:
    state = Handle(workspace, session_stream(row["user"], row["session"])).peek().state
    goal: str = contested.value(state["registers"], "goal", "")
    return goal


def _switch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a session id, the beginning of one, or USER/ID")


def _switch(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        session = workspace.switch(arguments.id)
        at_work(session)
        return Output(
            f"Switched to session {session.user}/{session.id}.",
            {"session": session.id, "user": session.user},
        )


COMMANDS = {
    "start": Command(
        "Start a session and make it the current one.",
        _start_arguments,
        _start,
        (
            'holdfast start "Ship the billing rewrite"',
            'holdfast start "Fix the flaky test" --phases look,fix,prove',
        ),
    ),
    "status": Command(
        "Show where the session stands.",
        _no_arguments,
        _status,
        ("holdfast status", "holdfast status --json"),
    ),
    "resume": Command(
        "Show what is needed to continue; claim a handoff.",
        _resume_arguments,
        _resume,
        (
            "holdfast resume",
            "holdfast resume --claim",
            "holdfast resume --budget 800",
            "holdfast resume --in codex",
            "holdfast resume --in claude --print",
        ),
        writes=True,
    ),
    "brief": Command(
        "Print the context that a new agent needs; writes nothing.",
        _brief_arguments,
        _brief,
        ("holdfast brief", "holdfast brief --budget 800 --json"),
    ),
    "sessions": Command(
        "List the sessions, newest first.",
        _sessions_arguments,
        _sessions,
        (
            "holdfast sessions",
            "holdfast sessions --user alice --limit 100",
            "holdfast sessions --all",
            "holdfast sessions --close-abandoned",
        ),
    ),
    "switch": Command(
        "Make another session the current one.",
        _switch_arguments,
        _switch,
        ("holdfast switch 2026-01-21-a1b2c3d4", "holdfast switch a1b2"),
    ),
}
