"""What a command is, and how it is run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from holdfast.errors import Usage

if TYPE_CHECKING:
    from holdfast.workspace.handle import Receipt
    from holdfast.workspace.project import Project
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


class Output(NamedTuple):
    """What a command has to say."""

    text: str
    data: dict[str, Any]
    status: int = 0


class Command(NamedTuple):
    """One command of the command line."""

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Output]
    examples: tuple[str, ...]
    writes: bool = False
    """Takes --op and --expect."""
    verbs: Mapping[str, Command] = {}
    """The commands of a group such as ``backlog``: the next word names one."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Usage(
            f"{self.prog}: {message}.", hint=f"{self.format_usage().strip()}\n  Add --help for examples."
        )


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Told the width: left alone, argparse imports shutil for it, also when no help is printed."""
    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = int(os.environ.get("COLUMNS") or 100)
    return argparse.RawDescriptionHelpFormatter(prog, width=min(width, 120) - 2)


def parser(name: str, command: Command) -> argparse.ArgumentParser:
    """The argument parser of a command."""
    examples = "\n".join(f"  $ {example}" for example in command.examples)
    about = "".join(f"\n  {verb.ljust(10)}{each.summary}" for verb, each in command.verbs.items())
    built = _Parser(
        prog=f"holdfast {name}",
        usage=f"holdfast {name} {'|'.join(command.verbs)} [--help] …" if command.verbs else None,
        description=command.summary + (f"\n{about}" if about else ""),
        epilog=f"examples:\n{examples}",
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    command.arguments(built)
    common = built.add_argument_group("common options")
    common.add_argument("--json", action="store_true", help="print exactly one JSON object")
    common.add_argument(
        "--workspace", metavar="WHERE", help="folder or URL (default: HOLDFAST_URL, or found from here)"
    )
    common.add_argument(
        "--session", metavar="ID", help="session (default: HOLDFAST_SESSION, or the current one)"
    )
    if command.writes:
        common.add_argument("--op", metavar="TEXT", help="operation id: the same one twice is one commit")
        common.add_argument(
            "--expect", metavar="VERSION", type=int, help="write only if the stream has this version"
        )
    return built


def no_arguments(parser: argparse.ArgumentParser) -> None:
    """For a command without arguments of its own."""
    del parser


def group(summary: str, verbs: dict[str, Command]) -> Command:
    """A command whose next word names what to do; alone, it does what the first of ``verbs`` does."""
    first = next(iter(verbs.values()))
    examples = tuple(command.examples[0] for command in verbs.values())
    return Command(summary, no_arguments, first.run, examples, verbs=verbs)


def _verb(name: str, command: Command, given: list[str]) -> tuple[str, Command, list[str]]:
    """The command of a group that the next word names, and the words after it."""
    place = next((n for n, word in enumerate(given) if not word.startswith("-")), None)
    if place is not None and given[place] in command.verbs:
        verb = given[place]
        return f"{name} {verb}", command.verbs[verb], [*given[:place], *given[place + 1 :]]
    if place == 0:
        raise Usage(
            f"holdfast {name} has no {given[0][:40]!r}; it has {', '.join(command.verbs)}.",
            hint=f"`holdfast {name} --help` says what each does.",
        )
    if "--help" in given or "-h" in given:
        return name, command, given
    first = next(iter(command.verbs))
    return f"{name} {first}", command.verbs[first], given


def run(name: str, command: Command, given: list[str]) -> int:
    """Parse, run, print."""
    if command.verbs:
        name, command, given = _verb(name, command, given)
    try:
        arguments = parser(name, command).parse_args(given)
    except SystemExit as stop:  # --help has printed
        return int(stop.code or 0)
    output = command.run(arguments)
    if arguments.json:
        sys.stdout.write(json.dumps({"ok": output.status == 0, **output.data}, ensure_ascii=False) + "\n")
    elif output.text:
        sys.stdout.write(output.text.rstrip("\n") + "\n")
    return output.status


def open_here(arguments: argparse.Namespace) -> Workspace:
    """The workspace that the arguments name. On the command line a person acts, unless HOLDFAST_AGENT says who."""
    from holdfast.workspace.workspace import open_workspace

    origin = "agent" if os.environ.get("HOLDFAST_AGENT") else "human"
    return open_workspace(arguments.workspace, origin=origin)


def on_session(
    arguments: argparse.Namespace, act: Callable[[Session], Output], *, publish: bool = True
) -> Output:
    """Run ``act`` on the session that the arguments name, then bring its views up to date."""
    with open_here(arguments) as workspace:
        session = workspace.session(arguments.session)
        output = act(session)
        if publish:
            workspace.touch(session)
            for fault in workspace.publish():
                sys.stderr.write(f"holdfast: {fault.where}: {fault.what}; {fault.action}.\n")
        return output


def on_project(arguments: argparse.Namespace, act: Callable[[Project], Output]) -> Output:
    """Run ``act`` on the project of the workspace that the arguments name."""
    with open_here(arguments) as workspace:
        return act(workspace.project)


def receipt_output(text: str, receipt: Receipt, **data: Any) -> Output:
    """What a command that wrote one commit says."""
    return Output(text, {"id": receipt.id, "version": receipt.version, "commit": receipt.commit, **data})
