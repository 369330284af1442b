"""note, record."""

from __future__ import annotations

import argparse
import json

from holdfast.edge.cli.command import Command, Output, done, on_session
from holdfast.errors import Usage
from holdfast.workspace.session import Session


def _note_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the text")


def _note(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.note(arguments.text, op=arguments.op, expect=arguments.expect)
        return done("Recorded.", receipt)

    return on_session(arguments, act)


def _record_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", help="an event type that begins with x.")
    parser.add_argument("data", help="a JSON object")


def _record(arguments: argparse.Namespace) -> Output:
    try:
        data = json.loads(arguments.data)
    except (ValueError, RecursionError) as error:
        raise Usage(f"The data is not JSON: {error}.") from None

    def act(session: Session) -> Output:
        receipt = session.record(arguments.type, data, op=arguments.op, expect=arguments.expect)
        return done("Recorded.", receipt)

    return on_session(arguments, act)


COMMANDS = {
    "note": Command(
        "Record a note.",
        _note_arguments,
        _note,
        ('holdfast note "The staging key rotates on Fridays"',),
        writes=True,
    ),
    "record": Command(
        "Record an event of your own program.",
        _record_arguments,
        _record,
        ("""holdfast record x.build-finished '{"ok": true, "seconds": 41}'""",),
        writes=True,
    ),
}
