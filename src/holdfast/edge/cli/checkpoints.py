"""checkpoint."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, done, on_session
from holdfast.edge.render import clean, paint, when
from holdfast.workspace.session import Session


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "message", nargs="?", help="how far the work is; without it, show the last checkpoint"
    )
    parser.add_argument("--last-completed", metavar="STEP", help="the last step that is done")
    parser.add_argument(
        "--pending", action="append", default=[], metavar="STEP", help="a step to come; repeatable"
    )
    parser.add_argument("--instruction", metavar="TEXT", help="how to continue")
    parser.add_argument("--cannot-resume", action="store_true", help="the work cannot be resumed from here")
    parser.add_argument(
        "--tool", action="append", default=[], metavar="NAME", help="a tool that was used; repeatable"
    )


def _checkpoint(arguments: argparse.Namespace) -> Output:
    return on_session(
        arguments,
        lambda session: _save(session, arguments) if arguments.message is not None else _show(session),
    )


def _save(session: Session, arguments: argparse.Namespace) -> Output:
    receipt = session.checkpoint(
        arguments.message,
        last_completed=arguments.last_completed,
        pending=arguments.pending,
        can_resume=not arguments.cannot_resume,
        instruction=arguments.instruction,
        tools=arguments.tool,
        op=arguments.op,
        expect=arguments.expect,
    )
    return done(f"{paint('Saved the checkpoint.', 'bold')}", receipt)


def _show(session: Session) -> Output:
    checkpoint = session.peek().state["checkpoint"]
    if checkpoint is None:
        return Output("No checkpoint yet. To save one: holdfast checkpoint MESSAGE", {"checkpoint": None})
    lines = [
        f"{paint(clean(checkpoint['message'], 200), 'bold')}",
        f"saved    {when(checkpoint['at'])} by {clean(checkpoint['by'], 60)}",
    ]
    if checkpoint["last_completed"]:
        lines.append(f"done     {clean(checkpoint['last_completed'], 200)}")
    lines += [f"pending  {clean(step, 200)}" for step in checkpoint["pending"]]
    if checkpoint["instruction"]:
        lines.append(f"resume   {clean(checkpoint['instruction'], 400)}")
    if not checkpoint["can_resume"]:
        lines.append(paint("The work cannot be resumed from here.", "yellow"))
    return Output("\n".join(lines), {"checkpoint": checkpoint})


COMMANDS = {
    "checkpoint": Command(
        "Save how far the work is, or show the last checkpoint.",
        _arguments,
        _checkpoint,
        (
            'holdfast checkpoint "Modes are done" --last-completed modes --pending rules',
            'holdfast checkpoint "5 patterns" --tool Grep --instruction "now the rules"',
            "holdfast checkpoint",
        ),
        writes=True,
    ),
}
