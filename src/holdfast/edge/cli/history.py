"""log, show, diff."""

from __future__ import annotations

import argparse
import json

from holdfast.core import moment
from holdfast.edge.cli.command import Command, Output, on_session
from holdfast.edge.render import clean, paint, when
from holdfast.errors import NotFound
from holdfast.typed import Any
from holdfast.views import state_json
from holdfast.workspace.history import Filter, find_thing, matching
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import wall_clock


def _log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--type", metavar="TYPE", help="events of this type, or beginning with it: decision, x.build"
    )
    parser.add_argument("--by", metavar="ACTOR", help="commits by this actor")
    parser.add_argument("--since", metavar="WHEN", help="not before: 7d, 12h, 2026-01-21, 2026-01-21T14:30")
    parser.add_argument("--until", metavar="WHEN", help="not after")
    parser.add_argument(
        "--git", action="store_true", help="the git commits that belong to the session instead"
    )
    parser.add_argument("--grep", metavar="TEXT", help="commits that contain this text, in any case")
    parser.add_argument(
        "--limit", type=int, default=50, metavar="N", help="how many, newest first (default: 50; 0: all)"
    )


def _log_of_git(session: Session, limit: int) -> Output:
    """The git commits that belong to the session."""
    from holdfast.store.git_setup import commits_of

    commits = commits_of(session.workspace.where, session.id, limit)
    lines = [
        f"{when(entry['at'])}  {paint(entry['commit'][:10], 'cyan')}  {clean(entry['subject'], 100)}"
        f"  ({entry['how']}, by {clean(entry['by'], 30)})"
        for entry in commits
    ]
    text = "\n".join(lines) or "No git commit names the session or holds its segments."
    return Output(text, {"session": session.id, "git_commits": commits})


def _log(arguments: argparse.Namespace) -> Output:
    now = wall_clock()
    wanted = Filter(
        arguments.type,
        arguments.by,
        moment.iso(moment.parse(arguments.since, now)) if arguments.since else None,
        moment.iso(moment.parse(arguments.until, now)) if arguments.until else None,
        arguments.grep.lower() if arguments.grep else None,
    )

    def act(session: Session) -> Output:
        if arguments.git:
            return _log_of_git(session, arguments.limit)
        commits = matching(session, wanted, arguments.limit)
        lines = []
        for commit in commits:
            for event in commit.events:
                detail = clean(json.dumps(event.data, ensure_ascii=False), 140)
                lines.append(
                    f"{when(commit.at)}  {paint(event.type.ljust(18), 'cyan')} {clean(commit.by, 24)}  {detail}"
                )
        data = [
            {
                "id": c.id,
                "at": c.at,
                "by": c.by,
                "origin": c.origin,
                "op": c.op,
                "events": [{"type": e.type, "v": e.v, "data": e.data} for e in c.events],
            }
            for c in commits
        ]
        return Output("\n".join(lines) or "No commit matches.", {"session": session.id, "commits": data})

    return on_session(arguments, act, publish=False)


def _point(text: str) -> int | str:
    return int(text) if text.isdigit() else moment.iso(moment.parse(text, wall_clock()))


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", help="a decision such as D-12: everything the log has of it, in full"
    )
    parser.add_argument(
        "--at", metavar="WHEN", help="the whole state then: a version, 7d, 2026-01-21, 2026-01-21T14:30"
    )


def _show(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        if arguments.id:
            found = find_thing(session, arguments.id)
            if not found:
                raise NotFound(f"The log has nothing about {arguments.id[:40]}.")
            lines = []
            for entry in found:
                lines.append(paint(f"{when(entry['at'])}  {entry['type']}  by {clean(entry['by'])}", "bold"))
                lines += [f"  {key}: {clean(value)}" for key, value in entry["data"].items()]
            return Output("\n".join(lines), {"session": session.id, "events": found})
        state = session.at(_point(arguments.at)) if arguments.at else session.peek().state
        shown = json.dumps(state_json.contract(state), ensure_ascii=False, indent=2)
        return Output(clean(shown), {"session": session.id, "version": state["commits"], "state": state})

    return on_session(arguments, act, publish=False)


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="a version, 7d, 2026-01-21, 2026-01-21T14:30")
    parser.add_argument("after", metavar="B", help="likewise")


def _diff(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        changes = session.diff(_point(arguments.before), _point(arguments.after))
        lines = []
        for change in changes:
            lines.append(f"{paint(clean(change['what'], 80), 'bold')}: {change['change']}")
            if "before" in change:
                lines.append(paint(f"  - {_short(change['before'])}", "red"))
            if "after" in change:
                lines.append(paint(f"  + {_short(change['after'])}", "green"))
        return Output("\n".join(lines) or "Nothing changed.", {"session": session.id, "changes": changes})

    return on_session(arguments, act, publish=False)


def _short(value: Any) -> str:
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 160)


COMMANDS = {
    "log": Command(
        "Show what was committed, newest first.",
        _log_arguments,
        _log,
        (
            "holdfast log",
            "holdfast log --type decision --since 7d",
            "holdfast log --grep migration --limit 5 --json",
        ),
    ),
    "show": Command(
        "Show one thing in full, or the state as it was.",
        _show_arguments,
        _show,
        ("holdfast show D-12", "holdfast show --at 40", "holdfast show --at 2026-01-21T14:30 --json"),
    ),
    "diff": Command(
        "Show what changed in the state between two points.",
        _diff_arguments,
        _diff,
        ("holdfast diff 40 52", "holdfast diff 2026-01-20 2026-01-21"),
    ),
}
