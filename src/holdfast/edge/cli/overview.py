"""The page that ``holdfast`` alone prints, and the answer to an unknown command."""

from __future__ import annotations

from holdfast.edge.cli import COMMANDS, GROUPS, load
from holdfast.edge.render import paint
from holdfast.errors import Usage


def overview() -> str:
    lines = ["holdfast: durable working memory for AI agents", "", "usage: holdfast COMMAND [--json] …", ""]
    width = max(map(len, COMMANDS))
    for group, commands in GROUPS.items():
        lines.append(paint(group, "bold"))
        lines += [f"  {name.ljust(width)}  {load(name).summary}" for name in commands]
        lines.append("")
    lines += [
        "`holdfast COMMAND --help` shows arguments and examples.",
        "exit status: 0 fine · 1 refused or something found · 2 usage · 3 version conflict · 4 not found",
        "             5 damaged store · 6 engine unavailable · 7 forbidden",
    ]
    return "\n".join(lines) + "\n"


def unknown(name: str) -> Usage:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=3)
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    return Usage(f"There is no command {name[:40]!r}.{guess}", hint="`holdfast` alone lists all commands.")
