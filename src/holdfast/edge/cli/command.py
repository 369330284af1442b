"""What a command is, and how it is run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from holdfast.errors import HoldfastError, Usage
from holdfast.typed import TYPE_CHECKING, Any, NoReturn, Record

if TYPE_CHECKING:
    from holdfast.store.protocol import Fault
    from holdfast.workspace.handle import Receipt
    from holdfast.workspace.project import Project
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


class Output(Record):
    """What a command has to say."""

    text: str
    data: dict[str, Any]
    status: int = 0


class Command(Record):
    """One command of the command line."""

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Output]
    examples: tuple[str, ...]
    writes: bool = False
    """Takes --op and --expect."""
    verbs: dict[str, Command] | None = None
    """A command of several verbs (``task add``, ``task done``): each is a command of its own."""
    default: str = ""
    """The verb that is meant if none is given."""


def nothing(parser: argparse.ArgumentParser) -> None:
    """The arguments of a command that has none of its own."""
    del parser


def verbs(summary: str, commands: dict[str, Command], *, default: str = "") -> Command:
    """A command of several verbs."""
    examples = tuple(command.examples[0] for command in commands.values())
    return Command(summary, nothing, _no_verb, examples, verbs=commands, default=default)


def group(summary: str, commands: dict[str, Command]) -> Command:
    """A command of several verbs that is the first of them when it stands alone."""
    return verbs(summary, commands, default=next(iter(commands)))


def _no_verb(arguments: argparse.Namespace) -> Output:
    raise Usage("A verb is missing.")


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
        told = os.environ.get("COLUMNS", "")
        width = int(told) if told.isdecimal() else 0
    return argparse.RawDescriptionHelpFormatter(prog, width=min(width or 100, 120) - 2)


def parser(name: str, command: Command) -> argparse.ArgumentParser:
    """The argument parser of a command."""
    examples = "\n".join(f"  $ {example}" for example in command.examples)
    built = _Parser(
        prog=f"holdfast {name}",
        description=command.summary,
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
        allow_secret(common)
    return built


def allow_secret(parser: argparse._ActionsContainer) -> None:
    """The option of every command that writes what it is told."""
    parser.add_argument(
        "--allow-secret",
        action="store_true",
        help="write also what looks like a secret; the commit tells that it was allowed",
    )


_WITH_VALUE = ("--workspace", "--session", "--op", "--expect")


def _verb(name: str, command: Command, given: list[str]) -> tuple[str, Command, list[str]] | None:
    """The verb that is called, and the words without it; None if only help is wanted."""
    known = command.verbs or {}
    place = 0
    while place < len(given) and given[place].startswith("-"):
        place += 2 if given[place] in _WITH_VALUE else 1
    word = given[place] if place < len(given) else None
    if word is None and ("--help" in given or "-h" in given):
        return None
    chosen = word or command.default
    if chosen not in known:
        said = f"there is no verb {chosen[:40]!r}" if chosen else "a verb is missing"
        raise Usage(f"holdfast {name}: {said}.", hint=f"One of: {', '.join(known)}. Add --help for examples.")
    rest = given[:place] + given[place + 1 :]
    return f"{name} {chosen}", known[chosen], rest


def verbs_help(name: str, command: Command) -> str:
    """What ``--help`` prints for a command of several verbs."""
    known = command.verbs or {}
    width = max(map(len, known))
    lines = [f"usage: holdfast {name} VERB …", "", command.summary, "", "verbs:"]
    lines += [f"  {verb.ljust(width)}  {inner.summary}" for verb, inner in known.items()]
    if command.default:
        lines += ["", f"`holdfast {name}` alone is `holdfast {name} {command.default}`."]
    lines += ["", "examples:", *(f"  $ {example}" for example in command.examples)]
    return "\n".join([*lines, "", f"`holdfast {name} VERB --help` shows a verb's arguments.", ""])


def run(name: str, command: Command, given: list[str]) -> int:
    """Parse, run, print."""
    if command.verbs is not None:
        called = _verb(name, command, given)
        if called is None:
            sys.stdout.write(verbs_help(name, command))
            return 0
        name, command, given = called
    try:
        arguments = parser(name, command).parse_args(given)
    except SystemExit as stop:  # --help has printed
        return int(stop.code or 0)
    output = command.run(arguments)
    if arguments.json:
        from holdfast.edge.cli import as_text

        sys.stdout.write(as_text({"ok": output.status == 0, **output.data}))
    elif output.text:
        sys.stdout.write(output.text.rstrip("\n") + "\n")
    return output.status


def open_here(arguments: argparse.Namespace) -> Workspace:
    """The workspace that the arguments name. On the command line a person acts, unless HOLDFAST_AGENT says who."""
    from holdfast.workspace.workspace import open_workspace

    origin = "agent" if os.environ.get("HOLDFAST_AGENT") else "human"
    secrets = "allow" if getattr(arguments, "allow_secret", False) else None
    return open_workspace(arguments.workspace, origin=origin, secrets=secrets, channel="cli")


def done(text: str, receipt: Receipt, **more: Any) -> Output:
    """What a command that wrote says: its text, and what it left behind."""
    if receipt.repeated:
        text += "\nIt was there already, under the same --op: nothing was written again."
    left = {"version": receipt.version, "commit": receipt.commit, "repeated": receipt.repeated}
    return Output(text, ({"id": receipt.id} if receipt.id else {}) | more | left)


def on_session(
    arguments: argparse.Namespace, act: Callable[[Session], Output], *, publish: bool = True
) -> Output:
    """Run ``act`` on the session that the arguments name, then bring its views up to date."""
    with open_here(arguments) as workspace:
        session = workspace.session(arguments.session)
        output = act(session)
        if publish:
            workspace.touch(session)
            _warn(workspace.publish())
        return output


def _warn(faults: list[Fault]) -> None:
    """Say on standard error what went wrong beside a command that succeeded."""
    if faults:
        from holdfast.edge.cli import hints

        for fault in faults:
            sys.stderr.write(f"holdfast: {fault.where}: {fault.what}; {hints.text(fault.action)}.\n")


def at_work(session: Session) -> None:
    """Show others who works on the session. A courtesy: where it cannot be shown, the command has succeeded."""
    try:
        session.workspace.presence.beat(f"{session.user}/{session.id}")
    except (HoldfastError, OSError):
        pass


def on_project(arguments: argparse.Namespace, act: Callable[[Project], Output]) -> Output:
    """Run ``act`` on the project of the workspace that the arguments name."""
    with open_here(arguments) as workspace:
        return act(workspace.project)


def at_least(least: int) -> Callable[[str], int]:
    """Reads an argument that is a whole number, not below another one."""

    def whole_number(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is less than {least}")
        return number

    return whole_number
