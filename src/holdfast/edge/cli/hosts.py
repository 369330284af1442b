"""hook: what agent hosts call."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output
from holdfast.edge.hooks.hosts import NAMES


def _hook_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=f"who calls: {', '.join(NAMES)}")
    parser.add_argument(
        "event", metavar="EVENT", nargs="?", help="the event, for hosts whose payloads do not name it"
    )


def _hook(arguments: argparse.Namespace) -> Output:
    from holdfast.edge.hooks import answered

    answer = answered([arguments.host, arguments.event or ""])
    return Output(answer, {"answer": answer})


COMMANDS = {
    "hook": Command(
        "Answer a hook of an agent host: its JSON on standard input, the answer in its own dialect. Always ends "
        "with status 0.",
        _hook_arguments,
        _hook,
        ("holdfast hook claude < payload.json", "holdfast hook copilot sessionStart < payload.json"),
    ),
}
