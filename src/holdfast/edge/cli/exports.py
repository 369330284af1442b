"""export."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli.command import Command, Output, open_here
from holdfast.edge.render import clean, plural
from holdfast.errors import Forbidden
from holdfast.workspace.export import EXPORTS, export


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=tuple(EXPORTS), metavar="NAME", help=f"one of: {', '.join(EXPORTS)}")
    parser.add_argument("--out", metavar="FILE", help="write it to this file (default: print it)")
    parser.add_argument(
        "--all", action="store_true", help="events.yaml: all sessions, the project and the users"
    )


def _write(path: str, data: bytes) -> None:
    """Replace the file atomically: a reader never sees half of it."""
    temp = f"{path}.tmp-{os.getpid()}"
    try:
        with open(temp, "xb") as file:
            file.write(data)
        os.replace(temp, path)
    except OSError as error:
        if os.path.lexists(temp):
            os.unlink(temp)
        raise Forbidden(
            f"{path} cannot be written: {error.strerror}.", hint="Choose another file."
        ) from error


def _export(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        text = export(workspace, arguments.name, arguments.session, everything=arguments.all)
    if arguments.out is None:
        return Output(text, {"name": arguments.name, "text": text}, exact=True)
    data = text.encode()
    _write(arguments.out, data)
    return Output(
        f"Wrote {clean(arguments.out)} ({plural(len(data), 'byte')}).",
        {"name": arguments.name, "out": arguments.out, "bytes": len(data)},
    )


COMMANDS = {
    "export": Command(
        "Export the log or the state in another tool's format.",
        _arguments,
        _export,
        ("holdfast export backlog.yaml", "holdfast export events.yaml --all --out events.yaml"),
    ),
}
