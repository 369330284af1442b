"""What a command is, and how it is run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection

from holdfast.edge.render import columns, printable
from holdfast.errors import HoldfastError, Usage
from holdfast.typed import TYPE_CHECKING, Any, NoReturn, Record
from holdfast.views.markdown import visible_json

if TYPE_CHECKING:
    from holdfast.store.protocol import Fault
    from holdfast.workspace.handle import Receipt
    from holdfast.workspace.project import Project
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


# argparse searches the disk for translations of its own words, and imports ``locale`` for it. Our help is English.
setattr(argparse, "_", str)  # noqa: B010 - it has no public name


class Output(Record):
    """The output of a command."""

    text: str
    data: dict[str, Any]
    status: int = 0
    exact: bool = False
    """The text is a file's: a pipe gets it as it is. A terminal does not."""


class Command(Record):
    """One command of the command line."""

    summary: str
    """One sentence, short enough for a line of `holdfast help --all` at 80 columns."""
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Output]
    examples: tuple[str, ...]
    writes: bool = False
    """Takes --op and --expect."""
    verbs: dict[str, Command] | None = None
    """A command with several verbs (``task add``, ``task done``): each is a command of its own."""
    default: str = ""
    """The default verb."""
    details: str = ""
    """Help text after the summary."""
    repairs: bool = False
    """One of the four commands that are easily confused: help compares them."""


def nothing(parser: argparse.ArgumentParser) -> None:
    """The arguments of a command that has none of its own."""
    del parser


def verbs(summary: str, commands: dict[str, Command], *, default: str = "") -> Command:
    """A command with several verbs."""
    examples = tuple(command.examples[0] for command in commands.values())
    return Command(summary, nothing, _no_verb, examples, verbs=commands, default=default)


def group(summary: str, commands: dict[str, Command]) -> Command:
    """A command with several verbs; the first is the default."""
    return verbs(summary, commands, default=next(iter(commands)))


def _no_verb(arguments: argparse.Namespace) -> Output:
    raise Usage("A verb is missing.")


class _Parser(argparse.ArgumentParser):
    repairs = False

    def format_help(self) -> str:
        from textwrap import fill

        width = min(columns() or _USUAL_WIDTH, 100)
        lines = (self.description or "").split("\n")
        self.description = "\n".join(line if line[:1] == " " else fill(line, width) for line in lines)
        text = super().format_help()
        if not self.repairs:
            return text
        from holdfast.edge.cli.repair import repair_table

        return f"{text}\nwhich command repairs what:\n{repair_table()}\n"

    def error(self, message: str) -> NoReturn:
        hint = self._short()
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            message = "unknown option" if unknown.startswith("-") else "unexpected argument"
            message = f"{message} {unknown[:80]}"
            hint = f"See `{self.prog} --help`."
        raise Usage(f"{self.prog.removeprefix('holdfast ')}: {message}.", hint=hint)

    def _short(self) -> str:
        """The usage with required arguments, in one line."""
        words = [self.prog]
        for action in self._actions:
            name = str(action.metavar or action.dest.upper())
            if action.option_strings:
                words += [f"{action.option_strings[-1]} {name}"] if action.required else []
            else:
                words.append(name if action.nargs in (None, "+") else f"[{name}]")
        return f"Usage: {' '.join(words)} [OPTIONS]"


_USUAL_WIDTH = 80


def _formatter(prog: str) -> argparse.HelpFormatter:
    """With an explicit width: without it, argparse imports shutil, even when no help is printed."""
    return argparse.RawDescriptionHelpFormatter(prog, width=min(columns() or _USUAL_WIDTH, 100) - 1)


def parser(name: str, command: Command) -> argparse.ArgumentParser:
    """The argument parser of a command."""
    examples = "\n".join(f"  $ {example}" for example in command.examples)
    built = _Parser(
        prog=f"holdfast {name}",
        description=f"{command.summary} {command.details}".rstrip(),
        epilog=f"examples:\n{examples}",
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    built.repairs = command.repairs
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
        common.add_argument("--op", metavar="KEY", help="idempotency key: the same key twice is one commit")
        common.add_argument(
            "--expect", metavar="VERSION", type=int, help="write only if the stream has this version"
        )
        allow_secret(common)
    return built


def allow_secret(parser: argparse._ActionsContainer) -> None:
    """The option of every command that writes text."""
    parser.add_argument(
        "--allow-secret",
        action="store_true",
        help="store text that looks like a secret; the commit records that it was allowed",
    )


WITH_VALUE = ("--workspace", "--session", "--op", "--expect")
"""Common options that take a value: they may come before the command and before its verb."""


def first_word(given: list[str], with_value: Collection[str] = WITH_VALUE) -> int:
    """The index of the first word that is neither an option nor the value of one; the length if there is none."""
    place = 0
    while place < len(given) and given[place].startswith("-") and given[place] != "--":
        place += 2 if given[place] in with_value else 1
    return min(place, len(given))


def _verb(name: str, command: Command, given: list[str]) -> tuple[str, Command, list[str]] | None:
    """The verb that is called, and the words without it; None if only help is wanted."""
    known = command.verbs or {}
    place = first_word(given)
    if place < len(given) and place and given[place] not in known:
        place = first_word(
            given, {option for verb in known for option in _with_value(f"{name} {verb}", known[verb])}
        )
    word = given[place] if place < len(given) else None
    if word is None and ("--help" in given or "-h" in given):
        return None
    chosen = word or command.default
    if chosen not in known:
        said = f"there is no verb {chosen[:40]!r}" if chosen else "a verb is missing"
        raise Usage(f"{name}: {said}.", hint=_verb_hint(name, command, word))
    return f"{name} {chosen}", known[chosen], given[:place] + given[place + 1 :]


def _verb_hint(name: str, command: Command, word: str | None) -> str:
    verbs = f"Verbs: {', '.join(command.verbs or {})}."
    setter = next((verb for verb in ("set", "enter", "add") if verb in (command.verbs or {})), None)
    if word is None or setter is None or word.startswith("-"):
        return verbs
    from shlex import quote

    return f"{verbs} Did you mean: holdfast {name} {setter} {quote(word[:40])}"


def _with_value(name: str, command: Command) -> set[str]:
    """The options of a command that take a value."""
    return {
        option
        for action in parser(name, command)._actions
        if action.nargs != 0
        for option in action.option_strings
    }


def ordered(built: argparse.ArgumentParser, given: list[str]) -> list[str]:
    """The same words, options first: argparse loses an optional argument that comes after an option."""
    takes = {option: action.nargs for action in built._actions for option in action.option_strings}
    options: list[str] = []
    rest: list[str] = []
    place = 0
    while place < len(given):
        word = given[place]
        place += 1
        if word == "--":
            rest += given[place:]
            break
        if not _is_option(word, takes):
            rest.append(word)
            continue
        options.append(word)
        follows = given[place] if place < len(given) else "-"
        wants = takes.get(word, 0)
        if wants is None or (wants == "?" and not follows.startswith("-")):
            options += given[place : place + 1]
            place += 1
    return [*options, "--", *rest] if rest else options


def _is_option(word: str, known: Collection[str]) -> bool:
    """Like argparse: a text with a space, or a number, is an argument, whatever it begins with."""
    if len(word) < 2 or word[0] != "-":
        return False
    return word.partition("=")[0] in known or (
        " " not in word and not word[1:].replace(".", "", 1).isdecimal()
    )


def verbs_help(name: str, command: Command) -> str:
    """What ``--help`` prints for a command with several verbs."""
    known = command.verbs or {}
    width = max(map(len, known))
    lines = [f"usage: holdfast {name} VERB …", "", command.summary, ""]
    lines += ["verbs:", *(f"  {verb.ljust(width)}  {inner.summary}" for verb, inner in known.items())]
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
    built = parser(name, command)
    try:
        arguments = built.parse_args(ordered(built, given))
    except SystemExit as stop:  # --help has printed
        return int(stop.code or 0)
    output = command.run(arguments)
    if arguments.json:
        _print(as_text({"ok": output.status == 0, **output.data}))
    elif output.text:
        exact = output.exact and not sys.stdout.isatty()
        _print((output.text if exact else printable(output.text)).rstrip("\n") + "\n")
    return output.status


def _print(text: str) -> None:
    """Write the answer of a command that is done."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from holdfast.edge.cli.crash import AnswerLost

        raise AnswerLost(f"The answer cannot be written: {error.strerror}.") from error


_opened: Workspace | None = None


def written() -> str:
    """The stream to which this command has written so far; empty if it has written nothing."""
    return _opened.written if _opened is not None else ""


def begin() -> None:
    """A new command: it has written nothing yet."""
    global _opened
    _opened = None


def open_here(arguments: argparse.Namespace) -> Workspace:
    """The workspace that the arguments name. On the command line a person acts, unless HOLDFAST_AGENT says who, or an
    agent host runs the command: then it is the agent, under the name that its hooks use."""
    from holdfast.workspace.conversations import here
    from holdfast.workspace.workspace import open_workspace

    origin = "agent" if os.environ.get("HOLDFAST_AGENT") else "human"
    secrets = "allow" if getattr(arguments, "allow_secret", False) else None
    global _opened
    _opened = open_workspace(arguments.workspace, origin=origin, secrets=secrets, channel="cli")
    if not os.environ.get("HOLDFAST_AGENT") and (found := here(_opened)) is not None:
        _opened.by, _opened.origin = found[1]["host"], "agent"
    return _opened


def done(text: str, receipt: Receipt, **more: Any) -> Output:
    """The answer of a command that wrote: its text, and where the commit is."""
    if receipt.repeated:
        text += "\nAlready recorded under this --op; nothing was written."
    left = {"version": receipt.version, "commit": receipt.commit, "repeated": receipt.repeated}
    return Output(text, ({"id": receipt.id} if receipt.id else {}) | more | left)


def on_session(
    arguments: argparse.Namespace, act: Callable[[Session], Output], *, publish: bool = True
) -> Output:
    """Run ``act`` on the session that the arguments name, then update its views."""
    with open_here(arguments) as workspace:
        session = workspace.session(arguments.session)
        output = act(session)
        if publish:
            workspace.touch(session)
            _warn(workspace.publish())
        return output


def _warn(faults: list[Fault]) -> None:
    """Report on standard error what failed although the command succeeded."""
    if faults:
        from holdfast.edge.cli import hints

        for fault in faults:
            said = f"holdfast: {fault.where}: {fault.what}; {hints.text(fault.action)}."
            sys.stderr.write(printable(said).replace("\n", " ") + "\n")


def at_work(session: Session) -> None:
    """Show others who works on the session. Best effort: the command has succeeded in any case."""
    try:
        session.workspace.presence.beat(f"{session.user}/{session.id}")
    except (HoldfastError, OSError):
        pass


def on_project(arguments: argparse.Namespace, act: Callable[[Project], Output]) -> Output:
    """Run ``act`` on the project of the workspace that the arguments name."""
    with open_here(arguments) as workspace:
        return act(workspace.project)


def at_least(least: int) -> Callable[[str], int]:
    """An argument type: a whole number that is not below ``least``."""

    def whole_number(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is less than {least}")
        return number

    return whole_number


def typed_time(text: str) -> str:
    """The time that a person typed: local, as times are shown, unless it ends with Z or is a span back."""
    from holdfast.core import timestamps
    from holdfast.workspace.clock import wall_clock

    parsed = timestamps.parse(text, wall_clock())
    if text.strip()[:4].isdecimal() and "-" in text and not text.strip().endswith("Z"):
        import time

        local = time.gmtime(parsed // 1000)
        parsed = int(time.mktime((*local[:8], -1))) * 1000 + parsed % 1000
    return timestamps.iso(parsed)


def as_text(data: dict[str, Any]) -> str:
    """A JSON object in one line; characters that the output encoding lacks are escaped."""
    import json

    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower() not in ("utf-8", "utf8")
    return visible_json(json.dumps(data, ensure_ascii=plain)) + "\n"
