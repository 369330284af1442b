"""The manual page ``holdfast.1``, generated from the commands."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, parser
from holdfast.edge.cli.repair import REPAIR
from holdfast.edge.cli.table import EXAMPLE, EXIT_STATUS, GROUPS, load

_ENVIRONMENT = (
    ("HOLDFAST_URL", "The workspace, if it is not found from the current folder."),
    ("HOLDFAST_SESSION", "The session, if it is not the current one."),
    ("HOLDFAST_USER", "The name of the user."),
    ("HOLDFAST_AGENT", "The name of the agent; commands then count as an agent's, not as a person's."),
    (
        "HOLDFAST_SEARCH",
        "How searches rank: words, hybrid (by meaning too) or auto (by meaning if no text has all words).",
    ),
    ("NO_COLOR", "If set, output has no colours."),
)
_FILES = (
    (".state/events/", "The log: every commit of every session. Never edit it."),
    (".state/sessions/", "Views of each session: STATE.md and state.json."),
    (".state/config.toml", "Settings."),
    (".state/local/", "This clone's caches and identity; not tracked by git."),
)


def page() -> str:
    """The page as roff."""
    from holdfast.version import __version__

    lines = [
        f'.TH HOLDFAST 1 "" "holdfast {__version__}" "User Commands"',
        *_section("NAME", "holdfast \\- durable working memory for AI agents"),
        *_section(
            "SYNOPSIS",
            ".B holdfast",
            ".I COMMAND",
            "[\\fIVERB\\fR] [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
        ),
        *_section(
            "DESCRIPTION",
            "holdfast records what an agent decides, learns and leaves open in an append-only log.",
            "The log survives crashes, power cuts, context compaction, several agents at once and git merges.",
            ".PP",
            "Every command takes \\fB\\-\\-json\\fR and then prints exactly one JSON object.",
        ),
        ".SH COMMON OPTIONS",
        *_options(_common()),
        ".SH COMMANDS",
    ]
    for group, names in GROUPS.items():
        lines.append(f".SS {_roff(group)}")
        for name in names:
            lines += _command(name, load(name))
    lines += [".SS Which command repairs what"]
    lines += [part for name, use, does in REPAIR for part in _item(name, f"Use it when {use}: it {does}.")]
    lines += [
        ".SH EXIT STATUS",
        *(part for status, text in EXIT_STATUS for part in _item(str(status), f"{text}.")),
    ]
    lines += [".SH ENVIRONMENT", *(part for name, text in _ENVIRONMENT for part in _item(name, text))]
    lines += [".SH FILES", *(part for name, text in _FILES for part in _item(name, text))]
    lines += [".SH EXAMPLES", ".nf", *map(_roff, EXAMPLE), ".fi"]
    return "\n".join(lines) + "\n"


def _section(title: str, *body: str) -> list[str]:
    return [f".SH {title}", *body]


def _roff(text: str) -> str:
    """Text escaped for roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _item(name: str, text: str) -> list[str]:
    return [".TP", f".B {_roff(name)}", _roff(text)]


def _common() -> list[argparse.Action]:
    """The options that every command has, and those of every command that writes."""
    note = load("note")
    return [action for action in parser("note", note)._actions if action.option_strings]


def _command(name: str, command: Command) -> list[str]:
    lines = _item(name, command.summary)
    shown = {option for action in _common() for option in action.option_strings}
    for verb, inner in (command.verbs or {"": command}).items():
        whole = f"{name} {verb}".rstrip()
        actions = parser(whole, inner)._actions
        own = [action for action in actions if not shown & set(action.option_strings)]
        arguments = [action for action in own if not action.option_strings]
        if verb:
            lines += [".RS", *_item(" ".join([whole, *map(_metavar, arguments)]), inner.summary)]
        lines += [".RS", *_options(own), ".RE"] if own else []
        lines += [".RE"] if verb else []
    return lines


def _metavar(action: argparse.Action) -> str:
    name = action.metavar or action.dest.upper()
    return str(name) if action.nargs in (None, "+") else f"[{name}]"


def _options(actions: list[argparse.Action]) -> list[str]:
    lines = []
    for action in actions:
        value = (
            ""
            if action.nargs == 0
            else f" {action.metavar or ','.join(action.choices or ()) or action.dest.upper()}"
        )
        named = ", ".join(action.option_strings) + value if action.option_strings else _metavar(action)
        lines += _item(named, (action.help or "").replace("%%", "%"))
    return lines
