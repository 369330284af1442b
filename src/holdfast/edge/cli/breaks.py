"""discuss, return, pause, continue, complete."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.edge.cli.command import Command, Output, done, nothing, on_session
from holdfast.edge.render import clean, paint, plural
from holdfast.typed import Any
from holdfast.workspace.session import Session


def _place(session: Session) -> dict[str, Any]:
    registers = session.peek().state["registers"]
    return {name: contested.value(registers, name) for name in ("status", "phase", "task", "focus")}


def _place_text(place: dict[str, Any]) -> str:
    said = [f"{name} {clean(value, 80)}" for name, value in place.items() if value]
    return ", ".join(said)


def _discuss_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", help="what to discuss")


def _discuss(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.discuss(arguments.topic, op=arguments.op, expect=arguments.expect)
        discussion = session.peek().state["discussion"]
        back = discussion["return_to"] if discussion else _place(session)
        text = f"In discussion. `holdfast return` goes back to: {_place_text(back)}."
        return done(text, receipt, topic=arguments.topic, return_to=back)

    return on_session(arguments, act)


def _return_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--summary", metavar="TEXT", help="what came of the discussion")


def _return(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.return_(arguments.summary, op=arguments.op, expect=arguments.expect)
        place = _place(session)
        return done(f"Back at: {_place_text(place)}.", receipt, place=place)

    return on_session(arguments, act)


def _pause_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notes", nargs="?", help="what to know when the work continues")
    parser.add_argument("--action", metavar="TEXT", help="what was being done (default: the last command)")


def _pause(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.pause(
            arguments.notes, action=arguments.action, op=arguments.op, expect=arguments.expect
        )
        text = f"{paint('Paused.', 'bold')} To continue: holdfast continue"
        return done(text, receipt, recovery=session.peek().state["recovery"])

    return on_session(arguments, act)


def _continue(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.continue_(op=arguments.op, expect=arguments.expect)
        place = _place(session)
        return done(f"Continuing: {_place_text(place)}.", receipt, place=place)

    return on_session(arguments, act)


def _complete_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("outcome", nargs="?", help="what came of the session")


_LEFT = {
    "decisions": "unsettled decision",
    "tasks": "task",
    "loops": "loop",
    "blockers": "blocker",
    "next": "next action",
}


def _complete(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.complete(arguments.outcome, op=arguments.op, expect=arguments.expect)
        state = session.peek().state
        left = {name: len(state[name]["open"]) for name in _LEFT if state[name]["open"]}
        text = paint("Completed the session.", "bold")
        if left:
            text += f" Still open: {', '.join(plural(count, _LEFT[name]) for name, count in left.items())}."
        return done(text, receipt, left_open=left)

    return on_session(arguments, act)


COMMANDS = {
    "discuss": Command(
        "Start a discussion; `return` goes back to the same place.",
        _discuss_arguments,
        _discuss,
        ('holdfast discuss "Why is 50 % the limit?"',),
        writes=True,
    ),
    "return": Command(
        "End the discussion and go back to the same place.",
        _return_arguments,
        _return,
        ("holdfast return", 'holdfast return --summary "Quality drops above half"'),
        writes=True,
    ),
    "pause": Command(
        "Pause the session; .continue-here.md says how to continue.",
        _pause_arguments,
        _pause,
        ("holdfast pause", 'holdfast pause "Mode A is done" --action "creating the rules"'),
        writes=True,
    ),
    "continue": Command(
        "Continue a paused session, or leave a discussion.",
        nothing,
        _continue,
        ("holdfast continue", "holdfast continue --session 2026-01-21-a1b2c3d4"),
        writes=True,
    ),
    "complete": Command(
        "Complete the session: its work is done.",
        _complete_arguments,
        _complete,
        ("holdfast complete", 'holdfast complete "Shipped as 2.4.0"'),
        writes=True,
    ),
}
