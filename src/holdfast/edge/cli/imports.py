"""import."""

from __future__ import annotations

import argparse
import os

from holdfast.core.foreign import FORMATS, MAX_SIZE
from holdfast.edge.cli.command import Command, Output, allow_secret, open_here
from holdfast.edge.render import clean, paint, plural
from holdfast.errors import NotFound, TooLarge, Usage
from holdfast.typed import Any

_SHOWN = 20
NAMES = ("claude", "codex", "opencode", "gemini", "copilot")
"""Hosts whose transcripts can be imported."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a file of another tool; with --from, a transcript"
    )
    parser.add_argument(
        "--from",
        dest="host",
        choices=NAMES,
        metavar="HOST",
        help=f"import transcripts of an agent host: {', '.join(NAMES)}; without FILE, list those of this project",
    )
    parser.add_argument(
        "--latest", action="store_true", help="with --from: import the newest one of this project"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        metavar="FORMAT",
        help=f"the format of the files (default: detected): {', '.join(FORMATS)}",
    )
    parser.add_argument("--all", action="store_true", help="show every skipped line, not only the first few")
    allow_secret(parser)


def _import(arguments: argparse.Namespace) -> Output:
    if arguments.host is not None:
        from holdfast.edge.cli.transcripts import import_from

        return import_from(arguments)
    if not arguments.files or arguments.latest:
        raise Usage("import needs a FILE, or --from HOST.", hint="`holdfast import --help` has examples.")
    from holdfast.workspace.imports import import_file

    reports, lines = [], []
    with open_here(arguments) as workspace:
        for name in arguments.files:
            found = import_file(
                workspace,
                os.path.relpath(name),
                _bytes(name),
                format_name=arguments.format,
                session=arguments.session,
            )
            lines += _report(found, most=None if arguments.all else _SHOWN)
            reports.append(
                {
                    **found._asdict(),
                    "left": [left._asdict() for left in found.left],
                    "secrets": [
                        {"line": left.line, "kind": left.text, "what": left.why} for left in found.secrets
                    ],
                }
            )
    return Output("\n".join(lines), {"imports": reports})


def _report(found: Any, most: int | None) -> list[str]:
    total = sum(found.taken.values())
    what = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.taken.items()))
    place = f" into session {found.session}" if found.session else " into the project"
    lines = [
        f"{paint(clean(found.file, 100), 'bold')} ({found.format}): imported {total:,}{place}"
        + (f": {what}" if what else "")
    ]
    if found.known or found.repeated:
        lines.append(f"  {found.known:,} known already, {found.repeated:,} repeated in the file")
    for left in found.secrets[:most]:
        lines.append(f"  {clean(found.file, 100)}:{left.line}: looks like a secret ({left.text}): {left.why}")
    if most is not None and len(found.secrets) > most:
        lines.append(
            f"  …and {plural(len(found.secrets) - most, 'more line')} with secrets: add --all or --json"
        )
    for left in found.left[:most]:
        lines.append(
            f"  {clean(found.file, 100)}:{left.line}: {clean(left.why, 100)}: {clean(left.text, 100)}"
        )
    if most is not None and len(found.left) > most:
        lines.append(f"  …and {plural(len(found.left) - most, 'more skipped line')}: add --all or --json")
    if found.left:
        lines.append("  The log has the text of the whole file.")
    return lines


def _bytes(name: str) -> bytes:
    try:
        if os.path.getsize(name) > MAX_SIZE:
            raise TooLarge(f"{name} has {os.path.getsize(name):,} bytes; the limit is {MAX_SIZE:,}.")
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise NotFound(f"{name}: {error.strerror}.", hint="Give the path of a file.") from None


COMMANDS = {
    "import": Command(
        "Import files of other tools, or transcripts of agent hosts.",
        _arguments,
        _import,
        (
            "holdfast import .planning/STATE.md",
            "holdfast import state/session-state.json backlog.yaml --json",
            "holdfast import --from claude",
            "holdfast import --from codex --latest",
        ),
    )
}
