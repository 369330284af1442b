"""phase, phases, complete-phase, skip-to."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts.phase import allowed
from holdfast.edge.cli.command import Command, Output, done, nothing, on_session
from holdfast.edge.render import clean, paint, when
from holdfast.errors import Usage
from holdfast.workspace.session import Session


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", help="the phase to enter; without it, show where the session stands"
    )


def _phase(arguments: argparse.Namespace) -> Output:
    return on_session(
        arguments,
        lambda session: _enter(session, arguments) if arguments.name is not None else _show(session),
    )


def _enter(session: Session, arguments: argparse.Namespace) -> Output:
    receipt = session.enter_phase(arguments.name, op=arguments.op, expect=arguments.expect)
    text = f"Now in phase {paint(clean(arguments.name), 'bold')}."
    return done(text, receipt, phase=arguments.name)


def _show(session: Session) -> Output:
    state = session.peek().state
    current = contested.value(state["registers"], "phase")
    lines = []
    for name in state["phases"]["declared"] or ([current] if current else []):
        lines.append(f"{'→' if name == current else ' '} {clean(name)}")
    if not lines:
        lines.append("No phase yet: holdfast phase NAME enters one.")
    history = state["phases"]["history"]
    if history:
        lines.append("")
        for entry in history:
            until = when(entry["exited"]) or "now"
            why = f" ({clean(entry['because'], 80)})" if entry["because"] else ""
            lines.append(f"  {when(entry['entered'])} to {until}  {clean(entry['phase'])}{why}")
    data = {
        "phase": current,
        "declared": state["phases"]["declared"],
        "transitions": state["phases"]["transitions"],
        "allowed": allowed(state),
        "history": history,
    }
    return Output("\n".join(lines), data)


def _phases_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", help="the phases, in order; without them, show where the session stands"
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PHASE:A,B",
        help="which phases may follow one (default: the next and all earlier ones); repeatable",
    )


def _phases(arguments: argparse.Namespace) -> Output:
    transitions: dict[str, list[str]] = {}
    for rule in arguments.allow:
        source, colon, targets = rule.partition(":")
        if not colon:
            raise Usage(f"{rule[:80]!r} is not a transition.", hint="Write --allow build:review,done")
        followers = [name.strip() for name in targets.split(",") if name.strip()]
        transitions.setdefault(source.strip(), []).extend(followers)

    def act(session: Session) -> Output:
        if not arguments.names:
            return _show(session)
        receipt = session.declare_phases(
            arguments.names, transitions=transitions or None, op=arguments.op, expect=arguments.expect
        )
        current = contested.value(session.peek().state["registers"], "phase")
        return done(f"Phases declared; now in {paint(clean(current), 'bold')}.", receipt, phase=current)

    return on_session(arguments, act)


def _complete_phase(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.complete_phase(op=arguments.op, expect=arguments.expect)
        current = contested.value(session.peek().state["registers"], "phase")
        return done(f"Now in phase {paint(clean(current), 'bold')}.", receipt, phase=current)

    return on_session(arguments, act)


def _skip_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the phase to jump to")
    parser.add_argument("--because", required=True, metavar="WHY", help="the reason")


def _skip(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.skip_to_phase(
            arguments.name, arguments.because, op=arguments.op, expect=arguments.expect
        )
        return done(f"Now in phase {paint(clean(arguments.name), 'bold')}.", receipt, phase=arguments.name)

    return on_session(arguments, act)


COMMANDS = {
    "phases": Command(
        "Declare the phases of the session and what may follow what.",
        _phases_arguments,
        _phases,
        (
            "holdfast phases look fix prove",
            "holdfast phases design build review --allow design:build --allow build:review --allow review:build",
        ),
        writes=True,
    ),
    "complete-phase": Command(
        "The present phase is done: go to the next.",
        nothing,
        _complete_phase,
        ("holdfast complete-phase",),
        writes=True,
    ),
    "skip-to": Command(
        "Jump to any declared phase, with the reason.",
        _skip_arguments,
        _skip,
        ('holdfast skip-to review --because "the build was done in another session"',),
        writes=True,
    ),
    "phase": Command(
        "Enter a phase, or show where the session stands.",
        _arguments,
        _phase,
        ("holdfast phase", "holdfast phase build"),
        writes=True,
    ),
}
