"""goal, focus, mark."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts.session import MARKS
from holdfast.edge.cli.command import Command, Output, done, on_session
from holdfast.edge.render import clean, paint
from holdfast.workspace.session import Session


def _value(session: Session, name: str) -> Output:
    value = contested.value(session.peek().state["registers"], name)
    return Output(clean(value) if value else f"No {name} yet.", {name: value})


def _goal_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="what the session is for; without it, show the goal")


def _goal(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        if arguments.text is None:
            return _value(session, "goal")
        receipt = session.set_goal(arguments.text, op=arguments.op, expect=arguments.expect)
        return done("The goal is set.", receipt, goal=arguments.text)

    return on_session(arguments, act)


def _focus_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="what is being worked on; without it, show the focus")


def _focus(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        if arguments.text is None:
            return _value(session, "focus")
        receipt = session.set_focus(arguments.text, op=arguments.op, expect=arguments.expect)
        return done("The focus is set.", receipt, focus=arguments.text)

    return on_session(arguments, act)


def _mark_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("status", help=f"one of: {', '.join(MARKS)}")


def _mark(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.mark(arguments.status, op=arguments.op, expect=arguments.expect)
        return done(f"Status: {paint(arguments.status, 'bold')}.", receipt, status=arguments.status)

    return on_session(arguments, act)


COMMANDS = {
    "goal": Command(
        "Change or show what the session is for.",
        _goal_arguments,
        _goal,
        ("holdfast goal", 'holdfast goal "Ship the billing rewrite without downtime"'),
        writes=True,
    ),
    "focus": Command(
        "Say or show what is being worked on right now.",
        _focus_arguments,
        _focus,
        ('holdfast focus "The retry path of the importer"', "holdfast focus"),
        writes=True,
    ),
    "mark": Command(
        "Set the status of the session: working, blocked or awaiting-input.",
        _mark_arguments,
        _mark,
        ("holdfast mark blocked", "holdfast mark awaiting-input"),
        writes=True,
    ),
}
