"""phase."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts.phase import allowed
from holdfast.edge.cli.command import Command, Output, on_session
from holdfast.edge.render import clean, paint, when
from holdfast.workspace.session import Session


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", help="the phase to enter; without it, show where the session stands"
    )


def _phase(arguments: argparse.Namespace) -> Output:
    return on_session(
        arguments, lambda session: _enter(session, arguments) if arguments.name else _show(session)
    )


def _enter(session: Session, arguments: argparse.Namespace) -> Output:
    receipt = session.enter_phase(arguments.name, op=arguments.op, expect=arguments.expect)
    text = f"Now in phase {paint(clean(arguments.name), 'bold')}."
    return Output(text, {"phase": arguments.name, "version": receipt.version, "commit": receipt.commit})


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
            lines.append(f"  {when(entry['entered'])} to {until}  {clean(entry['phase'])}")
    data = {
        "phase": current,
        "declared": state["phases"]["declared"],
        "allowed": allowed(state),
        "history": history,
    }
    return Output("\n".join(lines), data)


COMMANDS = {
    "phase": Command(
        "Enter a phase, or show where the session stands.",
        _arguments,
        _phase,
        ("holdfast phase", "holdfast phase build"),
        writes=True,
    ),
}
