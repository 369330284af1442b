"""log, show, diff."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from holdfast.core.codec import Commit, Event
from holdfast.core.ids import checked_name
from holdfast.core.stream import PROJECT, user_stream
from holdfast.edge.cli.command import Command, Output, as_text, at_least, on_session, open_here, typed_time
from holdfast.edge.render import clean, fit, paint, plural, when
from holdfast.errors import NoSession, NotFound, Usage
from holdfast.typed import Any
from holdfast.views import state_md
from holdfast.views.markdown import visible_json
from holdfast.views.sentences import change, sentence, telling
from holdfast.workspace.handle import Handle
from holdfast.workspace.history import Filter, matching
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
    parser.add_argument("--raw", action="store_true", help="each commit as one line of JSON")
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


def _log(arguments: argparse.Namespace) -> Output:
    wanted = Filter(
        arguments.type,
        arguments.by,
        typed_time(arguments.since) if arguments.since else None,
        typed_time(arguments.until) if arguments.until else None,
        arguments.grep.lower() if arguments.grep else None,
    )

    def act(handle: Handle, named: dict[str, str]) -> Output:
        if arguments.git:
            if not isinstance(handle, Session):
                raise Usage("--git works on a session, not on a project or a user.")
            return _log_of_git(handle, arguments.limit)
        commits = matching(handle, wanted, arguments.limit)
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
        if arguments.raw:
            text = "\n".join(as_text(commit).rstrip("\n") for commit in data)
        else:
            lines = [_said(commit, event) for commit in commits for event in commit.events]
            text = fit("\n".join(lines)) or "No commits match."
        return Output(text, {**named, "commits": data})

    return _on_stream(arguments, act)


def _said(commit: Commit, event: Event) -> str:
    """An event as a sentence: when, who, what."""
    did = clean(sentence(event.type, event.data), 700)
    return f"{paint(when(commit.at), 'dim')}  {paint(clean(commit.by, 40), 'cyan')} {did}"


def _point(text: str) -> int | str:
    return int(text) if text.isdigit() else typed_time(text)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    _stream_arguments(parser)
    parser.add_argument(
        "id", nargs="?", help="a record such as D-12, T-3 or F-1: everything the log has about it"
    )
    parser.add_argument(
        "--at", metavar="WHEN", help="the whole state at a version or time: 40, 7d, 2026-01-21T14:30"
    )


def _show(arguments: argparse.Namespace) -> Output:
    if arguments.id:
        return _show_record(arguments)

    def act(handle: Handle, named: dict[str, str]) -> Output:
        state: dict[str, Any] = handle.at(_point(arguments.at)) if arguments.at else handle.peek().state
        if state["kind"] == "session":
            page = clean(state_md.render(state).partition("\n---\n")[2].lstrip("\n"))
        else:
            page = visible_json(json.dumps(state, ensure_ascii=False, indent=2))
        return Output(page, {**named, "version": state["commits"], "state": state})

    return _on_stream(arguments, act)


def _show_record(arguments: argparse.Namespace) -> Output:
    """The page of one record: of the session, else of the project."""

    def act(handle: Handle, named: dict[str, str]) -> Output:
        from holdfast.edge.cli.record_page import page
        from holdfast.workspace import reads
        from holdfast.workspace.records import find_record

        record = find_record(handle, arguments.id)
        if record is None:
            raise NotFound(
                f"The log has nothing about {arguments.id[:40]}.",
                hint="`holdfast decisions` lists the decisions of all sessions; --session ID looks into another one.",
            )
        reads.count(handle.workspace, [(handle.stream, record["id"])])
        place = named.get("session") or named.get("stream", "")
        return Output(page(record, place), {**named, "record": record, "events": record["events"]})

    if arguments.project or arguments.user is not None:
        return _on_stream(arguments, act)
    try:
        return _on_stream(arguments, act)
    except (NoSession, NotFound):
        if arguments.session:
            raise
        try:
            with open_here(arguments) as workspace:
                return act(workspace.project, {"stream": PROJECT})
        except NotFound:
            pass
        raise


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    _stream_arguments(parser)
    parser.add_argument("before", metavar="A", help="a version or time: 40, 7d, 2026-01-21, 2026-01-21T14:30")
    parser.add_argument("after", metavar="B", help="a version or time")


def _diff(arguments: argparse.Namespace) -> Output:
    def act(handle: Handle, named: dict[str, str]) -> Output:
        changes = handle.differences(_point(arguments.before), _point(arguments.after))
        lines = [
            f"{paint(_MARKS.get(found['change'], '~'), 'cyan')} {_changed(found)}"
            for found in changes
            if telling(found)
        ]
        return Output(fit("\n".join(lines)) or "No changes.", {**named, "changes": changes})

    return _on_stream(arguments, act)


_MARKS = {"added": "+", "closed": "✓", "removed": "-"}
"""What a reader sees first of a change; ``~`` is one of a value."""


def _changed(found: dict[str, Any]) -> str:
    return clean(change(found), 700)


COMMANDS = {
    "log": Command(
        "Show what happened in the session, newest first.",
        _log_arguments,
        _log,
        (
            "holdfast log",
            "holdfast log --type decision --since 7d",
            "holdfast log --grep migration --limit 5 --json",
            "holdfast log --raw --limit 0 | jq .events",
            "holdfast log --project --type backlog",
        ),
    ),
    "show": Command(
        "Show one record in full, or the state at a point in time.",
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
