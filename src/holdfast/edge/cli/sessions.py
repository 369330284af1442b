"""start, status, resume, sessions, switch."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.stream import last_part, owner
from holdfast.edge.cli.command import Command, Output, on_session, open_here
from holdfast.edge.render import clean, paint, table, when
from holdfast.views import state_json
from holdfast.workspace.handle import Handle
from holdfast.workspace.session import Session


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("goal", help="what the session is for")
    parser.add_argument("--phases", metavar="A,B,C", help="the phases of the work, in order")
    parser.add_argument("--op", metavar="TEXT", help="operation id: the same one twice starts one session")


def _start(arguments: argparse.Namespace) -> Output:
    phases = [name.strip() for name in arguments.phases.split(",")] if arguments.phases else None
    with open_here(arguments) as workspace:
        session = workspace.start(arguments.goal, phases=phases, op=arguments.op)
        text = f"Session {paint(session.id, 'bold')} has begun and is the current one here."
        return Output(text, {"session": session.id, "user": session.user, "version": session.version})


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _status(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        working_set = session.peek()
        state = working_set.state
        data = {
            "session": session.id,
            "version": working_set.version,
            "state": state_json.contract(state),
            "damaged": [f"{fault.where}: {fault.what}" for fault in working_set.faults],
        }
        return Output(_status_text(session, state), data)

    return on_session(arguments, act)


def _status_text(session: Session, state: dict[str, object]) -> str:
    shown = state_json.contract(state)
    lines = [
        f"{paint(shown['goal'], 'bold')}",
        f"session  {session.user}/{session.id}, version {session.peek().version}",
    ]
    if shown["phase"]:
        lines.append(f"phase    {clean(shown['phase'])}")
    for contest in shown["contested"]:
        rivals = ", ".join(f"{clean(r['value'], 60)} (by {clean(r['by'], 30)})" for r in contest["rivals"])
        lines.append(
            paint(
                f"contested  {contest['name']}: {clean(contest['value'], 60)}; also set: {rivals}", "yellow"
            )
        )
    decisions = shown["decisions"]
    lines.append(
        f"decided  {decisions['made']}, {decisions['settled']} settled, {decisions['unsettled_count']} not confirmed"
    )
    for decision in decisions["unsettled"]:
        lines.append(f"  {paint(decision['id'], 'yellow')}  {clean(decision['text'], 100)}")
    for fault in session.peek().faults:
        lines.append(paint(f"damaged  {fault.where}: {fault.what}; see `holdfast doctor`", "red"))
    lines.append(f"last     {when(shown['updated_at'])} by {clean(shown['updated_by'], 60)}")
    return "\n".join(lines)


def _resume(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        state = session.peek().state
        text = _status_text(session, state)
        unsettled = list(state["decisions"]["open"].values())
        if unsettled:
            text += "\n\nDecided and never confirmed. Look at each before going on:"
            for decision in unsettled[:10]:
                text += f"\n  {decision['id']}  {clean(decision['text'], 120)}"
                if decision["action"]:
                    text += f"\n      planned: {clean(decision['action'], 120)}"
                text += f"\n      then: holdfast settle {decision['id']} OUTCOME [--failed]"
        data = {"session": session.id, "version": session.peek().version, "state": state_json.contract(state)}
        return Output(text, {**data, "unsettled": unsettled})

    return on_session(arguments, act)


def _sessions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", help="only this user's")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="how many to show (default: 20)")


def _sessions(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        streams = workspace.sessions(user=arguments.user)
        current = workspace.current()
        rows = []
        for stream in streams[: arguments.limit]:
            state = Handle(workspace, stream).peek().state
            rows.append(
                {
                    "session": last_part(stream),
                    "user": owner(stream),
                    "goal": contested.value(state["registers"], "goal", ""),
                    "phase": contested.value(state["registers"], "phase"),
                    "updated_at": state["updated"],
                    "unsettled": len(state["decisions"]["open"]),
                    "current": current == f"{owner(stream)}/{last_part(stream)}",
                }
            )
    if not rows:
        return Output("No sessions yet: holdfast start GOAL begins one.", {"sessions": [], "total": 0})
    cells = [
        (
            "→" if row["current"] else " ",
            row["session"],
            row["user"],
            when(row["updated_at"]),
            clean(row["phase"] or "", 20),
            str(row["unsettled"] or ""),
            clean(row["goal"], 60),
        )
        for row in rows
    ]
    text = table(cells, (" ", "session", "user", "last commit", "phase", "open", "goal"))
    if len(streams) > len(rows):
        text += f"\n{len(streams) - len(rows)} more: --limit N shows them."
    return Output(text, {"sessions": rows, "total": len(streams)})


def _switch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a session id, the beginning of one, or USER/ID")


def _switch(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        session = workspace.switch(arguments.id)
        return Output(
            f"{session.user}/{session.id} is now the current session here.",
            {"session": session.id, "user": session.user},
        )


COMMANDS = {
    "start": Command(
        "Begin a session and make it the current one.",
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
        "Show what a successor needs to go on.",
        _no_arguments,
        _resume,
        ("holdfast resume", "holdfast resume --session 2026-01-21-a1b2c3d4"),
    ),
    "sessions": Command(
        "List the sessions of this workspace, newest first.",
        _sessions_arguments,
        _sessions,
        ("holdfast sessions", "holdfast sessions --user alice --limit 100"),
    ),
    "switch": Command(
        "Make another session the current one here.",
        _switch_arguments,
        _switch,
        ("holdfast switch 2026-01-21-a1b2c3d4", "holdfast switch a1b2"),
    ),
}
