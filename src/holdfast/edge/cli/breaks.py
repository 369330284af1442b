"""discuss, return, pause, continue, complete."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.edge.cli.command import Command, Output, done, nothing, on_session
from holdfast.edge.render import clean, paint
from holdfast.typed import Any
from holdfast.workspace.session import Session


def _place(session: Session) -> dict[str, Any]:
    registers = session.peek().state["registers"]
    return {name: contested.value(registers, name) for name in ("status", "phase", "task", "focus")}


def _place_text(place: dict[str, Any]) -> str:
    said = [f"{name} {clean(value, 80)}" for name, value in place.items() if value]
    return ", ".join(said)


def _discuss_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", help="what to talk about")


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
    parser.add_argument("notes", nargs="?", help="what whoever goes on has to know")
    parser.add_argument("--action", metavar="TEXT", help="what was being done (default: the last command)")


def _pause(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.pause(
            arguments.notes, action=arguments.action, op=arguments.op, expect=arguments.expect
        )
        text = f"{paint('Paused.', 'bold')} `holdfast continue` takes it up again."
        return done(text, receipt, recovery=session.peek().state["recovery"])

    return on_session(arguments, act)


def _continue(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.continue_(op=arguments.op, expect=arguments.expect)
        place = _place(session)
        return done(f"Going on: {_place_text(place)}.", receipt, place=place)

    return on_session(arguments, act)


def _complete_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("outcome", nargs="?", help="what came of the session")


_LEFT = {
    "decisions": "decisions never confirmed",
    "tasks": "tasks",
    "loops": "loops",
    "blockers": "blockers",
    "next": "next actions",
}


def _complete(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.complete(arguments.outcome, op=arguments.op, expect=arguments.expect)
        state = session.peek().state
        left = {name: len(state[name]["open"]) for name in _LEFT if state[name]["open"]}
        text = paint("Complete.", "bold")
        if left:
            text += f" Still open: {', '.join(f'{count} {_LEFT[name]}' for name, count in left.items())}."
        return done(text, receipt, left_open=left)

    return on_session(arguments, act)


COMMANDS = {
    "discuss": Command(
        "Fork into a discussion; `return` comes back to the exact place.",
        _discuss_arguments,
        _discuss,
        ('holdfast discuss "Why is 50 % the red line?"',),
        writes=True,
    ),
    "return": Command(
        "End the discussion and come back to the exact place.",
        _return_arguments,
        _return,
        ("holdfast return", 'holdfast return --summary "Quality drops above half"'),
        writes=True,
    ),
    "pause": Command(
        "Stop for now; .continue-here.md in the project says how to go on.",
        _pause_arguments,
        _pause,
        ("holdfast pause", 'holdfast pause "Mode A is done, mode B pending" --action "creating the rules"'),
        writes=True,
    ),
    "continue": Command(
        "Take the session up again after a pause, or come back from a discussion.",
        nothing,
        _continue,
        ("holdfast continue", "holdfast continue --session 2026-01-21-a1b2c3d4"),
        writes=True,
    ),
    "complete": Command(
        "The work of this session is done.",
        _complete_arguments,
        _complete,
        ("holdfast complete", 'holdfast complete "Shipped as 2.4.0"'),
        writes=True,
    ),
}
