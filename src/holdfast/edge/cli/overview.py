"""help: the page that ``holdfast`` alone prints, all commands, and errors for unknown ones."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, parser, verbs_help
from holdfast.edge.cli.repair import repair_table
from holdfast.edge.cli.table import COMMANDS as KNOWN
from holdfast.edge.cli.table import EVERYDAY, EXAMPLE, EXIT_STATUS, GROUPS, load
from holdfast.edge.render import paint
from holdfast.errors import Usage

_NAME = 11
"""Width of a command's name."""


def overview() -> str:
    """The everyday commands and how to see the rest."""
    lines = ["holdfast: durable working memory for AI agents", "", "usage: holdfast COMMAND [OPTIONS] …", ""]
    lines += [_line(name) for name in EVERYDAY]
    lines += ["", paint("example:", "bold"), *(f"  $ {step}" for step in EXAMPLE), ""]
    lines += [
        "holdfast help --all      all commands",
        "holdfast help COMMAND    arguments and examples of one command",
    ]
    return "\n".join(lines) + "\n"


def everything() -> str:
    """Every command in its group."""
    lines = ["usage: holdfast COMMAND [OPTIONS] …", ""]
    for group, names in GROUPS.items():
        lines.append(paint(group, "bold"))
        if group == "Plumbing":
            lines += [f"  {', '.join(names)}: called by hooks and programs", ""]
            continue
        lines += [*map(_line, names), ""]
    lines += [paint("Which one repairs what?", "bold"), repair_table(), ""]
    lines += [
        paint("Exit status", "bold"),
        *(f"  {status}  {meaning}" for status, meaning in EXIT_STATUS),
        "",
    ]
    lines.append("holdfast help COMMAND shows arguments and examples; every command takes --json.")
    return "\n".join(lines) + "\n"


def _line(name: str) -> str:
    return f"  {name.ljust(_NAME)} {load(name).summary}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="a command, and one of its verbs")
    parser.add_argument("--all", action="store_true", help="all commands, in groups")
    parser.add_argument("--man", action="store_true", help="the manual page, as roff")


def _help(arguments: argparse.Namespace) -> Output:
    if arguments.man:
        from holdfast.edge.cli.manual import page

        text = page()
    elif arguments.words:
        text = help_of(arguments.words)
    else:
        text = everything() if arguments.all else overview()
    return Output(text, {"text": text})


def help_of(words: list[str]) -> str:
    """The help of a command, or of one of its verbs."""
    name, *rest = words
    if name not in KNOWN:
        raise unknown(name)
    command = load(name)
    if not rest:
        return verbs_help(name, command) if command.verbs else parser(name, command).format_help()
    verb = (command.verbs or {}).get(rest[0])
    if verb is None or len(rest) > 1:
        raise Usage(f"There is no command {' '.join(words)[:60]!r}.", hint=f"See `holdfast help {name}`.")
    return parser(f"{name} {rest[0]}", verb).format_help()


def unknown(name: str) -> Usage:
    """The error for a command that does not exist."""
    from difflib import get_close_matches

    near = get_close_matches(name, KNOWN, n=3)
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    return Usage(
        f"There is no command {name[:40]!r}.{guess}", hint="`holdfast help --all` lists all commands."
    )


def unknown_option(word: str) -> Usage:
    """The error for an unknown option before the command."""
    return Usage(
        f"Unknown option {word[:40]}.", hint="Options of a command go after it: holdfast COMMAND --help."
    )


def no_command() -> Usage:
    """The error for options without a command."""
    return Usage("A command is missing.", hint="`holdfast help` lists the everyday commands.")


COMMANDS = {
    "help": Command(
        "Show help: the everyday commands, all of them, or one.",
        _arguments,
        _help,
        ("holdfast help", "holdfast help --all", "holdfast help task add"),
    ),
}
