"""run."""

from __future__ import annotations

import argparse
import sys

from holdfast.edge.cli.command import Command, Output, on_session
from holdfast.edge.cli.decisions import action_arguments
from holdfast.edge.render import clean, wrap
from holdfast.errors import Usage
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.workspace.session import Session


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="-- COMMAND", help="the command and its arguments; no shell"
    )
    parser.add_argument("--because", metavar="WHY", help="the reason")
    parser.add_argument(
        "--once", metavar="KEY", help="do not run it again once it succeeded, nor blindly after a crash"
    )
    action_arguments(parser)
    parser.add_argument(
        "--check-first",
        action="store_true",
        help="--recovery check-first: look at --done-when before it is started, also the first time",
    )


def _run(arguments: argparse.Namespace) -> Output:
    from holdfast import running

    if arguments.check_first and arguments.recovery not in (None, "check-first"):
        raise Usage(f"--check-first and --recovery {arguments.recovery} exclude each other; nothing was run.")
    command = running.Command(
        tuple(arguments.words),
        arguments.because,
        arguments.once,
        arguments.done_when,
        "check-first" if arguments.check_first else arguments.recovery,
    )

    def act(session: Session) -> Output:
        # With --json, standard output is for the one object.
        outputs = (2, 2) if arguments.json else (1, 2)
        ran = running.run(session, command, outputs=outputs, announced=session.workspace.publish)
        sys.stderr.write(wrap(f"holdfast: {clean(ran.said)}") + "\n")
        data = {"id": ran.decision, "exit_code": ran.exit_code, "ran": ran.ran, "said": ran.said}
        return Output("", data, ran.exit_code)

    return on_session(arguments, act)


COMMANDS = {
    "run": Command(
        "Run a command as an action: announced before, settled after.",
        _run_arguments,
        _run,
        (
            "holdfast run --because 'tests pass' -- npm publish",
            "holdfast run --once release-1.4 --done-when git-tag:v1.4 -- ./release.sh",
            "holdfast run --once migrate-7 --recovery idempotent -- ./migrate 7",
        ),
        details="The decision is durable before the command starts; the outcome is its exit code and the end of its "
        "output, without secrets. Exits as the command does; 125: it was not started. "
        "With --once, a command that succeeded is not run again, and after a crash --recovery decides: read-only and "
        "idempotent ones are run again, never refuses, and check-first (the default) looks at --done-when.",
    ),
}
