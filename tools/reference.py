"""Write docs/reference/cli.md from the commands themselves. `--check` fails if it is not up to date."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["COLUMNS"] = "100"
TARGET = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def text() -> str:
    """The whole page."""
    from holdfast.edge.cli import GROUPS, load
    from holdfast.edge.cli.command import parser, verbs_help

    lines = [
        "# Command reference",
        "",
        "Made from the commands by `make docs`; `holdfast COMMAND --help` prints the same.",
        "",
        'Every command takes `--json` and then prints exactly one JSON object: `{"ok": true, …}`, or',
        '`{"ok": false, "error": {"code", "message", "hint"}}`. Exit status: 0 fine · 1 a check found',
        "something or a rule refused · 2 usage · 3 version conflict · 4 not found · 5 damaged store ·",
        "6 engine unavailable · 7 forbidden.",
        "",
    ]
    for group, names in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in names:
            loaded = load(name)
            help_text = verbs_help(name, loaded) if loaded.verbs else parser(name, loaded).format_help()
            lines += [f"### holdfast {name}", "", "```", help_text.strip(), "```", ""]
            for verb, command in (loaded.verbs or {}).items():
                help_text = parser(f"{name} {verb}", command).format_help().strip()
                lines += [f"#### holdfast {name} {verb}", "", "```", help_text, "```", ""]
    return "\n".join(lines)


def main() -> int:
    new = text()
    if "--check" in sys.argv:
        if TARGET.read_text() != new:
            sys.stderr.write("docs/reference/cli.md is not up to date: run `make docs`.\n")
            return 1
        return 0
    TARGET.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
