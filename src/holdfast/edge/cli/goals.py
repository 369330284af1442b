"""goal."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts.session import MARKS
from holdfast.edge.cli.command import Command, Output, done, group, nothing, on_session
from holdfast.edge.render import clean, paint
from holdfast.views.parts import is_goal_guessed
from holdfast.workspace.session import Session


def _show(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        registers = session.peek().state["registers"]
        shown = {name: contested.value(registers, name) for name in ("goal", "focus", "status")}
        guessed = is_goal_guessed(session.peek().state)
        marks = {"goal": " (guessed)" if guessed else ""}
        lines = [
            f"{name.ljust(6)}  {clean(value)}{marks.get(name, '')}" for name, value in shown.items() if value
        ]
        return Output("\n".join(lines) or "No goal yet.", {**shown, "goal_guessed": guessed})

    return on_session(arguments, act, publish=False)


def _set_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what the session is for")


def _set(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.set_goal(arguments.text, op=arguments.op, expect=arguments.expect)
        return done("Set the goal.", receipt, goal=arguments.text)

    return on_session(arguments, act)


def _focus_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what is being worked on right now")


def _focus(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.set_focus(arguments.text, op=arguments.op, expect=arguments.expect)
        return done("Set the focus.", receipt, focus=arguments.text)

    return on_session(arguments, act)


def _status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("status", help=f"one of: {', '.join(MARKS)}")


def _status(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.mark(arguments.status, op=arguments.op, expect=arguments.expect)
        return done(f"Status: {paint(arguments.status, 'bold')}.", receipt, status=arguments.status)

    return on_session(arguments, act)


COMMANDS = {
    "goal": group(
        "What the session is for, its focus and its status.",
        {
            "show": Command("Show goal, focus and status.", nothing, _show, ("holdfast goal show",)),
            "set": Command(
                "Change what the session is for.",
                _set_arguments,
                _set,
                ('holdfast goal set "Ship the billing rewrite without downtime"',),
                writes=True,
            ),
            "focus": Command(
                "Set what is being worked on right now.",
                _focus_arguments,
                _focus,
                ('holdfast goal focus "The retry path of the importer"',),
                writes=True,
            ),
            "status": Command(
                f"Set the status: {', '.join(MARKS[:-1])} or {MARKS[-1]}.",
                _status_arguments,
                _status,
                ("holdfast goal status blocked", "holdfast goal status awaiting-input"),
                writes=True,
            ),
        },
    ),
}
