"""phase."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts.phase import allowed
from holdfast.edge.cli.command import Command, Output, done, group, nothing, on_session
from holdfast.edge.render import clean, paint, plural, when
from holdfast.errors import Usage
from holdfast.workspace.session import Session


def _list(arguments: argparse.Namespace) -> Output:
    return on_session(arguments, _show, publish=False)


def _show(session: Session) -> Output:
    state = session.peek().state
    current = contested.value(state["registers"], "phase")
    lines = []
    for name in state["phases"]["declared"] or ([current] if current else []):
        lines.append(f"{'→' if name == current else ' '} {clean(name, 200)}")
    if not lines:
        lines.append("No phase yet. To enter one: holdfast phase enter NAME")
    history = state["phases"]["history"]
    if history:
        lines.append("")
        for entry in history:
            until = when(entry["exited"]) or "now"
            why = f" ({clean(entry['because'], 80)})" if entry["because"] else ""
            lines.append(f"  {when(entry['entered'])} to {until}  {clean(entry['phase'], 200)}{why}")
    data = {
        "phase": current,
        "declared": state["phases"]["declared"],
        "transitions": state["phases"]["transitions"],
        "allowed": allowed(state),
        "history": history,
    }
    return Output("\n".join(lines), data)


def _enter_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the phase to enter")


def _enter(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.enter_phase(arguments.name, op=arguments.op, expect=arguments.expect)
        return done(f"Now in phase {paint(clean(arguments.name), 'bold')}.", receipt, phase=arguments.name)

    return on_session(arguments, act)


def _declare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="the phases, in order")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PHASE:A,B",
        help="which phases may follow one (default: the next and all earlier ones); repeatable",
    )


def _declare(arguments: argparse.Namespace) -> Output:
    transitions: dict[str, list[str]] = {}
    for rule in arguments.allow:
        source, colon, targets = rule.partition(":")
        if not colon:
            raise Usage(f"{rule[:80]!r} is not a transition.", hint="Write --allow build:review,done")
        followers = [name.strip() for name in targets.split(",") if name.strip()]
        transitions.setdefault(source.strip(), []).extend(followers)

    def act(session: Session) -> Output:
        receipt = session.declare_phases(
            arguments.names, transitions=transitions or None, op=arguments.op, expect=arguments.expect
        )
        current = contested.value(session.peek().state["registers"], "phase")
        return done(
            f"Declared {plural(len(arguments.names), 'phase')}; now in {paint(clean(current), 'bold')}.",
            receipt,
            phase=current,
        )

    return on_session(arguments, act)


def _complete(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.complete_phase(op=arguments.op, expect=arguments.expect)
        current = contested.value(session.peek().state["registers"], "phase")
        return done(f"Now in phase {paint(clean(current), 'bold')}.", receipt, phase=current)

    return on_session(arguments, act)


def _skip_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the phase to enter")
    parser.add_argument("--because", required=True, metavar="WHY", help="the reason")


def _skip(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.skip_to_phase(
            arguments.name, arguments.because, op=arguments.op, expect=arguments.expect
        )
        return done(f"Now in phase {paint(clean(arguments.name), 'bold')}.", receipt, phase=arguments.name)

    return on_session(arguments, act)


COMMANDS = {
    "phase": group(
        "Phases of the work: declare, enter, complete or skip them.",
        {
            "list": Command("Show the phases and the current one.", nothing, _list, ("holdfast phase list",)),
            "enter": Command(
                "Enter a phase.", _enter_arguments, _enter, ("holdfast phase enter build",), writes=True
            ),
            "complete": Command(
                "Complete the current phase and enter the next.",
                nothing,
                _complete,
                ("holdfast phase complete",),
                writes=True,
            ),
            "skip": Command(
                "Jump to any declared phase, with the reason.",
                _skip_arguments,
                _skip,
                ('holdfast phase skip review --because "built in another session"',),
                writes=True,
            ),
            "declare": Command(
                "Declare the phases, and which may follow which.",
                _declare_arguments,
                _declare,
                (
                    "holdfast phase declare look fix prove",
                    "holdfast phase declare design build --allow design:build",
                ),
                writes=True,
            ),
        },
    ),
}
