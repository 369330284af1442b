"""hook, install, uninstall: agent hosts."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli.command import Command, Output
from holdfast.edge.hooks.hosts import NAMES
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.edge.install.run import Done


def _hook_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=f"the agent: {', '.join(NAMES)}")
    parser.add_argument(
        "event", metavar="EVENT", nargs="?", help="the event, for hosts whose payloads do not name it"
    )


def _hook(arguments: argparse.Namespace) -> Output:
    from holdfast.edge.hooks import answered

    answer = answered([arguments.host, arguments.event or ""])
    return Output(answer, {"answer": answer})


def _place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "hosts", metavar="HOST", nargs="*", help=f"{', '.join(NAMES)} (default: all that are found)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="in your own settings, for all projects")
    where.add_argument("--project", action="store_true", help="in the settings of this project (default)")
    parser.add_argument("--dry-run", action="store_true", help="show what would change; change nothing")


def _install_arguments(parser: argparse.ArgumentParser) -> None:
    _place_arguments(parser)
    parser.add_argument(
        "--no-allow",
        action="store_true",
        help="do not allow holdfast's tools in Claude Code and Gemini CLI: they ask before each call, and refuse it "
        "where nobody can be asked",
    )


def _install(arguments: argparse.Namespace) -> Output:
    from holdfast.edge.install.run import install, place_of

    place = place_of(arguments.user, os.environ, allow=not arguments.no_allow)
    done = install(arguments.hosts, place, dry_run=arguments.dry_run)
    return install_output(done, dry_run=arguments.dry_run)


def install_output(done: Done, *, dry_run: bool = False) -> Output:
    """What was installed, file by file."""
    from holdfast.edge.install.targets import ALLOWED, NOTES

    lines = _diffs(done)
    names = ", ".join(done.hosts)
    if not done.changes:
        lines.append(f"{names}: already installed; nothing was changed.")
    elif dry_run:
        lines.append(f"{names}: nothing was changed (--dry-run).")
    else:
        if done.workspace:
            lines.append(f"Created {done.workspace}.")
        lines.append(f"{names}: installed. To remove: holdfast uninstall {_words(done)}")
        lines += [NOTES[host] for host in done.hosts if host in NOTES]
    if done.changes and done.place.allow and any(host in ALLOWED for host in done.hosts):
        lines.append("Its tools are allowed without a question; --no-allow leaves that out.")
    return Output("\n".join([*lines, *_command_notes(done)]), _data(done, dry_run))


def _words(done: Done) -> str:
    """The words that name the same hosts and place again."""
    return " ".join([*done.hosts, *(["--user"] if done.place.user else [])])


def _command_notes(done: Done) -> list[str]:
    """What limits the command that was written, and how to get one that stays."""
    from holdfast.edge.install.program import installer

    command, portable, environment = done.program
    again = f"{installer(os.environ)} && holdfast install {_words(done)}"
    if environment:
        return [
            f"holdfast runs from the virtual environment {environment}: the settings name its path, and do nothing "
            "once it is removed or on another machine.",
            f"For a command that stays: {again}",
        ]
    if not portable:
        return [
            f"holdfast is not on PATH, so the settings contain an absolute path: {command}. Put it on PATH and "
            "install again before you share these settings."
        ]
    return []


def _uninstall(arguments: argparse.Namespace) -> Output:
    from holdfast.edge.install.run import place_of, uninstall

    done = uninstall(arguments.hosts, place_of(arguments.user, os.environ), dry_run=arguments.dry_run)
    lines = _diffs(done)
    names = ", ".join(done.hosts) or "no host"
    if not done.changes:
        lines.append(f"{names}: not installed; nothing was changed.")
    elif arguments.dry_run:
        lines.append(f"{names}: nothing was changed (--dry-run).")
    else:
        lines.append(f"{names}: removed. The memory in .state/ is untouched.")
    return Output("\n".join(lines), _data(done, arguments.dry_run))


def _diffs(done: Done) -> list[str]:
    from holdfast.edge.install.run import diff

    return [diff(change).rstrip("\n") for change in done.changes]


def _data(done: Done, dry_run: bool) -> dict[str, Any]:
    def action(before: bytes | None, after: bytes | None) -> str:
        return "make" if before is None else "remove" if after is None else "change"

    return {
        "hosts": done.hosts,
        "dry_run": dry_run,
        "command": done.program.command,
        "environment": done.program.environment,
        "files": [
            {"path": change.path, "action": action(change.before, change.after)} for change in done.changes
        ],
    }


COMMANDS = {
    "hook": Command(
        "Answer a hook of an agent host; always exits with 0.",
        _hook_arguments,
        _hook,
        ("holdfast hook claude < payload.json", "holdfast hook copilot sessionStart < payload.json"),
    ),
    "install": Command(
        "Add hooks and the MCP server to the settings of agents.",
        _install_arguments,
        _install,
        ("holdfast install", "holdfast install claude codex --dry-run", "holdfast install gemini --user"),
        details="Existing settings stay; the difference is shown.",
    ),
    "uninstall": Command(
        "Remove holdfast from the settings of agents.",
        _place_arguments,
        _uninstall,
        ("holdfast uninstall", "holdfast uninstall claude --user"),
        details="The settings are restored byte for byte. The memory in .state/ is untouched.",
    ),
}
