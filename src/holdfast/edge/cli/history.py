"""log, show, diff."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from holdfast.core import timestamps
from holdfast.core.ids import checked_name
from holdfast.core.stream import PROJECT, user_stream
from holdfast.edge.cli.command import Command, Output, at_least, on_session, open_here
from holdfast.edge.render import clean, fit, paint, plural, when
from holdfast.errors import NotFound, Usage
from holdfast.typed import Any
from holdfast.views import state_json
from holdfast.views.markdown import visible_json
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.handle import Handle
from holdfast.workspace.history import Filter, find_thing, matching
from holdfast.workspace.person import Person
from holdfast.workspace.session import Session


def _stream_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--project", action="store_true", help="the project instead of a session")
    which.add_argument(
        "--user",
        nargs="?",
        const="",
        metavar="NAME",
        help="a user instead of a session (without a name: you)",
    )


def _on_stream(arguments: argparse.Namespace, act: Callable[[Handle, dict[str, str]], Output]) -> Output:
    """Run ``act`` on the selected stream, with the name that the answer uses."""
    if not arguments.project and arguments.user is None:
        return on_session(arguments, lambda session: act(session, {"session": session.id}), publish=False)
    with open_here(arguments) as workspace:
        if arguments.project:
            return act(workspace.project, {"stream": PROJECT})
        name = user_stream(checked_name(arguments.user, "user")) if arguments.user else workspace.me.stream
        handle = Person(workspace, name)
        if not handle.version and arguments.user:
            raise NotFound(f"There is no user {arguments.user[:80]}.")
        return act(handle, {"stream": name})


def _log_arguments(parser: argparse.ArgumentParser) -> None:
    _stream_arguments(parser)
    parser.add_argument(
        "--type", metavar="TYPE", help="events whose type starts with this: decision, x.build"
    )
    parser.add_argument("--by", metavar="ACTOR", help="commits by this actor")
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="not before: 7d, 2026-01-21, 2026-01-21T14:30 (local), …14:30Z (UTC)",
    )
    parser.add_argument("--until", metavar="WHEN", help="not after")
    parser.add_argument("--git", action="store_true", help="the git commits of the session instead")
    parser.add_argument(
        "--grep", metavar="TEXT", help="commits that contain this text, in upper or lower case"
    )
    parser.add_argument(
        "--limit",
        type=at_least(0),
        default=50,
        metavar="N",
        help="how many, newest first (default: 50; 0: all)",
    )


def _brought(commits: list[str]) -> str:
    """How many commits of the session a git commit added."""
    if not commits:
        return ""
    return f", {plural(len(commits), 'commit')} of the session"


def _log_of_git(session: Session, limit: int) -> Output:
    """The git commits that belong to the session."""
    from holdfast.workspace.history import git_commits

    commits = git_commits(session, limit)
    lines = [
        f"{when(entry['at'])}  {paint(entry['commit'][:10], 'cyan')}  {clean(entry['subject'], 100)}"
        f"  ({entry['how']}{_brought(entry['session_commits'])}, by {clean(entry['by'], 30)})"
        for entry in commits
    ]
    text = fit("\n".join(lines)) or "No git commits belong to the session."
    return Output(text, {"session": session.id, "git_commits": commits})


_PLAIN = ("id", "text", "title", "goal", "phase", "outcome", "message", "topic", "name")
"""Fields whose meaning is clear without their name."""


def _detail(data: dict[str, Any]) -> str:
    """An event in one line: its main fields first, then the others by name."""
    said = [str(data[name]) for name in _PLAIN if data.get(name)]
    for name, value in data.items():
        if name not in _PLAIN and name != "saw" and value not in (None, "", [], {}):
            said.append(
                f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            )
    return f"{said[0]} {'; '.join(said[1:])}" if data.get("id") else "; ".join(said)


def _log(arguments: argparse.Namespace) -> Output:
    now = wall_clock()
    wanted = Filter(
        arguments.type,
        arguments.by,
        timestamps.iso(_time(arguments.since, now)) if arguments.since else None,
        timestamps.iso(_time(arguments.until, now)) if arguments.until else None,
        arguments.grep.lower() if arguments.grep else None,
    )

    def act(handle: Handle, named: dict[str, str]) -> Output:
        if arguments.git:
            if not isinstance(handle, Session):
                raise Usage("--git works on a session, not on a project or a user.")
            return _log_of_git(handle, arguments.limit)
        commits = matching(handle, wanted, arguments.limit)
        lines = []
        for commit in commits:
            for event in commit.events:
                detail = clean(_detail(event.data), 140)
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
        return Output(fit("\n".join(lines)) or "No commits match.", {**named, "commits": data})

    return _on_stream(arguments, act)


def _time(text: str, now: int) -> int:
    """The time that a person typed: local, as times are shown, unless it ends with Z or is a span back."""
    parsed = timestamps.parse(text, now)
    if not text.strip()[:4].isdecimal() or "-" not in text or text.strip().endswith("Z"):
        return parsed
    import time

    local = time.gmtime(parsed // 1000)
    return int(time.mktime((*local[:8], -1))) * 1000 + parsed % 1000


def _point(text: str) -> int | str:
    return int(text) if text.isdigit() else timestamps.iso(_time(text, wall_clock()))


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    _stream_arguments(parser)
    parser.add_argument("id", nargs="?", help="a decision such as D-12: everything the log has about it")
    parser.add_argument(
        "--at", metavar="WHEN", help="the whole state at a version or time: 40, 7d, 2026-01-21T14:30"
    )


def _show(arguments: argparse.Namespace) -> Output:
    def act(handle: Handle, named: dict[str, str]) -> Output:
        if arguments.id:
            found = find_thing(handle, arguments.id)
            if not found:
                raise NotFound(f"The log has nothing about {arguments.id[:40]}.")
            lines = []
            for entry in found:
                lines.append(paint(f"{when(entry['at'])}  {entry['type']}  by {clean(entry['by'])}", "bold"))
                lines += [f"  {key}: {clean(value)}" for key, value in entry["data"].items()]
            return Output("\n".join(lines), {**named, "events": found})
        state: dict[str, Any] = handle.at(_point(arguments.at)) if arguments.at else handle.peek().state
        contract = state_json.contract(state) if state["kind"] == "session" else state
        shown = visible_json(json.dumps(contract, ensure_ascii=False, indent=2))
        return Output(shown, {**named, "version": state["commits"], "state": state})

    return _on_stream(arguments, act)


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    _stream_arguments(parser)
    parser.add_argument("before", metavar="A", help="a version or time: 40, 7d, 2026-01-21, 2026-01-21T14:30")
    parser.add_argument("after", metavar="B", help="a version or time")


def _diff(arguments: argparse.Namespace) -> Output:
    def act(handle: Handle, named: dict[str, str]) -> Output:
        changes = handle.differences(_point(arguments.before), _point(arguments.after))
        lines = []
        for change in changes:
            lines.append(f"{paint(clean(change['what'], 80), 'bold')}: {change['change']}")
            if "before" in change:
                lines.append(paint(f"  - {_short(change['before'])}", "red"))
            if "after" in change:
                lines.append(paint(f"  + {_short(change['after'])}", "green"))
        return Output(fit("\n".join(lines)) or "No changes.", {**named, "changes": changes})

    return _on_stream(arguments, act)


def _short(value: Any) -> str:
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 160)


COMMANDS = {
    "log": Command(
        "Show the commits of the session, newest first.",
        _log_arguments,
        _log,
        (
            "holdfast log",
            "holdfast log --type decision --since 7d",
            "holdfast log --grep migration --limit 5 --json",
            "holdfast log --project --type backlog",
        ),
    ),
    "show": Command(
        "Show one entry in full, or the state at a point in time.",
        _show_arguments,
        _show,
        (
            "holdfast show D-12",
            "holdfast show --at 40",
            "holdfast show --at 2026-01-21T14:30 --json",
            "holdfast show BL-3 --project",
        ),
    ),
    "diff": Command(
        "Show what changed in the state between two points.",
        _diff_arguments,
        _diff,
        ("holdfast diff 40 52", "holdfast diff 2026-01-20 2026-01-21", "holdfast diff 7d 0d --user"),
    ),
}
