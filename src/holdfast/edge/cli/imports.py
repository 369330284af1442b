"""import."""

from __future__ import annotations

import argparse
import os

from holdfast.core.foreign import FORMATS, MAX_SIZE
from holdfast.edge.cli.command import Command, Output, allow_secret, open_here
from holdfast.edge.render import clean, paint
from holdfast.errors import NotFound, TooLarge
from holdfast.typed import Any

_SHOWN = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="what another tool keeps")
    parser.add_argument(
        "--format", choices=FORMATS, help="what the files are (default: seen from name and text)"
    )
    parser.add_argument("--all", action="store_true", help="show every line that was left, not the first few")
    allow_secret(parser)


def _import(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace.imports import bring_in

    reports, lines = [], []
    with open_here(arguments) as workspace:
        for name in arguments.files:
            found = bring_in(
                workspace,
                os.path.relpath(name),
                _bytes(name),
                format_name=arguments.format,
                session=arguments.session,
            )
            lines += _told(found, most=None if arguments.all else _SHOWN)
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


def _told(found: Any, most: int | None) -> list[str]:
    total = sum(found.taken.values())
    what = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.taken.items()))
    place = f" into session {found.session}" if found.session else " into the project"
    lines = [
        f"{paint(clean(found.file, 100), 'bold')} ({found.format}): {total:,} taken{place}"
        + (f": {what}" if what else "")
    ]
    if found.known or found.repeated:
        lines.append(f"  {found.known:,} were there already, {found.repeated:,} are repeats of another line")
    for left in found.secrets[:most]:
        lines.append(
            f"  {clean(found.file, 100)}:{left.line}: what looks like a secret ({left.text}): {left.why}"
        )
    if most is not None and len(found.secrets) > most:
        lines.append(f"  …and {len(found.secrets) - most:,} more lines with secrets: add --all or --json")
    for left in found.left[:most]:
        lines.append(
            f"  {clean(found.file, 100)}:{left.line}: {clean(left.why, 100)}: {clean(left.text, 100)}"
        )
    if most is not None and len(found.left) > most:
        lines.append(f"  …and {len(found.left) - most:,} more lines that were not taken: add --all or --json")
    if found.left:
        lines.append("  The text of the whole file is kept in the log.")
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
        "Take in what other tools keep: STATE.md, state.json, batch states, events, backlog, decisions, catch log.",
        _arguments,
        _import,
        (
            "holdfast import .planning/STATE.md",
            "holdfast import state/session-state.json backlog.yaml --json",
        ),
    )
}
