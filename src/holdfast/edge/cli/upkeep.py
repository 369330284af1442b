"""archive, restore, prune, rotate."""

from __future__ import annotations

import argparse

from holdfast.core import timestamps
from holdfast.edge.cli.command import Command, Output, open_here
from holdfast.edge.render import clean, paint, table
from holdfast.errors import Usage
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.workspace.upkeep import Kept, Policy


def _archive_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the session (default: the current one)")
    parser.add_argument("--list", action="store_true", help="show what is archived")


def _archive(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        if arguments.list:
            found = [f"{session.user}/{session.id}" for session in upkeep.archived(workspace)]
            return Output("\n".join(found) or "Nothing is archived.", {"archived": found})
        session = upkeep.archive(workspace, arguments.id or arguments.session)
        place = f"{session.user}/{session.id}"
        return Output(
            f"{place} is archived and read-only; `holdfast restore {place}` takes it out.", {"session": place}
        )


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the session")


def _restore(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        session = upkeep.restore(workspace, arguments.id)
        place = f"{session.user}/{session.id}"
        return Output(f"{place} is taken out of the archive and is the current session.", {"session": place})


def _policy_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", metavar="AGE", help="remove what was last written longer ago: 90d, 12h"
    )
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
    parser.add_argument(
        "--apply", action="store_true", help="remove them; without it, only the report is shown"
    )


def _prune(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        run = upkeep.prune if arguments.apply else upkeep.plan_prune
        report = run(workspace, _policy(arguments))
    going = [kept for kept in report if kept.reason]
    verb = "removed" if arguments.apply else "would go (nothing was removed)"
    head = f"{len(going):,} of {len(report):,} archived sessions {verb}, {sum(k.size for k in going):,} bytes"
    data = {"applied": arguments.apply, "sessions": [kept._asdict() for kept in report]}
    return Output("\n".join([head, *([_shown(going)] if going else [])]), data)


def _shown(going: list[Kept]) -> str:
    rows = [
        (
            f"{kept.user}/{kept.session}",
            kept.updated[:10],
            f"{kept.size:,}",
            kept.reason,
            clean(kept.goal, 60),
        )
        for kept in going
    ]
    return table(rows, ("session", "last written", "bytes", "why", "goal"))


def _rotate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--idle",
        metavar="AGE",
        default="7d",
        help="archive complete sessions untouched for this long (default 7d)",
    )
    _policy_arguments(parser)


def _rotate(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import upkeep

    with open_here(arguments) as workspace:
        done = upkeep.rotate(workspace, idle=_span(arguments.idle), policy=_policy(arguments))
    lines = [f"{len(done['archived']):,} sessions archived, {len(done['pruned']):,} removed from the archive"]
    lines += [f"  {name}" for name in done["archived"]]
    lines += [
        f"  {paint('waits', 'yellow')} {entry['session']}: {clean(entry['why'], 160)}"
        for entry in done["waiting"]
    ]
    return Output("\n".join(lines), done)


COMMANDS = {
    "archive": Command(
        "Put a session away: into history/, read-only, its segments joined into one.",
        _archive_arguments,
        _archive,
        ("holdfast archive", "holdfast archive 2026-01-21-a1b2c3d4", "holdfast archive --list"),
    ),
    "restore": Command(
        "Take a session out of the archive.",
        _restore_arguments,
        _restore,
        ("holdfast restore 2026-01-21-a1b2c3d4",),
    ),
    "prune": Command(
        "Show which archived sessions a policy no longer keeps; with --apply, remove them.",
        _prune_arguments,
        _prune,
        ("holdfast prune --older-than 90d", "holdfast prune --keep 50 --max-size 20MB --apply"),
    ),
    "rotate": Command(
        "One round of upkeep: archive complete sessions, then prune the archive by the policy given.",
        _rotate_arguments,
        _rotate,
        ("holdfast rotate --idle 7d", "holdfast rotate --idle 1d --keep 100"),
    ),
}
