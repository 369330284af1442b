"""archive, restore."""

from __future__ import annotations

import argparse

from holdfast.core import timestamps
from holdfast.edge.cli.command import Command, Output, group, nothing, open_here
from holdfast.edge.render import clean, day, paint, plural, table
from holdfast.errors import Usage
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.workspace.upkeep import ArchivedSession, Policy


def _archive_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the session (default: the current one)")


def _archive(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        session = upkeep.archive(workspace, arguments.id or arguments.session)
        place = f"{session.user}/{session.id}"
        return Output(
            f"Archived {place} (read-only).\nTo restore it: holdfast restore {place}", {"session": place}
        )


def _list(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        found = [f"{session.user}/{session.id}" for session in upkeep.archived(workspace)]
    return Output("\n".join(found) or "No archived sessions.", {"archived": found})


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the session")


def _restore(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        session = upkeep.restore(workspace, arguments.id)
        place = f"{session.user}/{session.id}"
        return Output(f"Restored {place} (current).", {"session": place})


def _policy_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--older-than", metavar="AGE", help="remove what was last written before: 90d, 12h")
    parser.add_argument("--keep", metavar="N", type=int, help="keep the newest N, remove the rest")
    parser.add_argument("--max-size", metavar="SIZE", help="keep the newest up to this size: 500k, 50MB, 2G")


def _policy(arguments: argparse.Namespace) -> Policy:
    from holdfast.workspace.upkeep import Policy, parse_size

    if arguments.keep is not None and arguments.keep < 0:
        raise Usage("--keep takes 0 or more.")
    return Policy(
        _span(arguments.older_than) if arguments.older_than else None,
        arguments.keep,
        parse_size(arguments.max_size) if arguments.max_size else None,
    )


def _span(text: str) -> int:
    from holdfast.workspace.clock import wall_clock

    now = wall_clock()
    return now - timestamps.parse(text, now)


def _prune_arguments(parser: argparse.ArgumentParser) -> None:
    _policy_arguments(parser)
    parser.add_argument("--apply", action="store_true", help="remove them; without it, only show them")


def _prune(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        run = upkeep.prune if arguments.apply else upkeep.plan_prune
        report = run(workspace, _policy(arguments))
    expired = [entry for entry in report if entry.reason]
    verb = "Removed" if arguments.apply else "Would remove"
    size = plural(sum(entry.size for entry in expired), "byte")
    head = f"{verb} {len(expired):,} of {plural(len(report), 'archived session')}, {size}."
    if expired and not arguments.apply:
        head += " To remove them: add --apply"
    data = {"applied": arguments.apply, "sessions": [entry._asdict() for entry in report]}
    return Output("\n".join([head, *([_shown(expired)] if expired else [])]), data)


def _shown(expired: list[ArchivedSession]) -> str:
    rows = [
        (
            f"{entry.user}/{entry.session}",
            day(entry.updated),
            f"{entry.size:,}",
            entry.reason,
            clean(entry.goal, 200),
        )
        for entry in expired
    ]
    return table(rows, ("session", "last written", "bytes", "why", "goal"), keep=3)


def _rotate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--idle",
        metavar="AGE",
        default="7d",
        help="archive closed sessions that are idle for this long (default: 7d)",
    )
    parser.add_argument(
        "--abandoned",
        action="store_true",
        help="first close sessions that nobody ended (config.toml: sessions.abandoned_after)",
    )
    _policy_arguments(parser)


def _rotate(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        done = upkeep.rotate(
            workspace,
            idle=_span(arguments.idle),
            policy=_policy(arguments),
            abandoned=arguments.abandoned,
        )
    lines = [
        f"Archived {plural(len(done['archived']), 'session')}, removed {len(done['pruned']):,} from the archive."
    ]
    lines += [f"  {name}" for name in done["archived"]]
    lines += [f"  closed as abandoned: {each['session']}" for each in done["closed"]]
    lines += [
        f"  {paint('waiting', 'yellow')} {entry['session']}: {clean(entry['why'], 160)}"
        for entry in done["waiting"]
    ]
    return Output("\n".join(lines), done)


COMMANDS = {
    "archive": group(
        "The archive: add a session, list it, prune it.",
        {
            "add": Command(
                "Archive a session: read-only, in history/.",
                _archive_arguments,
                _archive,
                ("holdfast archive add", "holdfast archive add 2026-01-21-a1b2c3d4"),
            ),
            "list": Command("List the archived sessions.", nothing, _list, ("holdfast archive list",)),
            "prune": Command(
                "Remove archived sessions by age, number or size.",
                _prune_arguments,
                _prune,
                (
                    "holdfast archive prune --older-than 90d",
                    "holdfast archive prune --keep 50 --max-size 20MB --apply",
                ),
            ),
            "rotate": Command(
                "Archive closed sessions, then prune the archive.",
                _rotate_arguments,
                _rotate,
                ("holdfast archive rotate --idle 7d", "holdfast archive rotate --abandoned --keep 100"),
            ),
        },
    ),
    "restore": Command(
        "Move a session out of the archive.",
        _restore_arguments,
        _restore,
        ("holdfast restore 2026-01-21-a1b2c3d4",),
        repairs=True,
    ),
}
