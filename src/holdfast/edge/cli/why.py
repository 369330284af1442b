"""why."""

from __future__ import annotations

import argparse
from typing import Any

from holdfast.edge.cli.command import Command, Output, open_here
from holdfast.edge.cli.references import given_anchors
from holdfast.edge.render import clean, fit, paint, when


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", metavar="FILE[:LINE]", help="a file, or a line or lines of it: src/db.py:42")


def _why(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace.why import why

    with open_here(arguments) as workspace:
        found = why(workspace, given_anchors([arguments.place])[0])
    lines = []
    for record in found["records"]:
        lines += [*_record(record), ""]
    if found["sessions"]:
        lines.append(paint("Sessions", "bold"))
        lines += [*map(_session, found["sessions"]), ""]
    if found["commits"]:
        lines.append(paint("Git commits", "bold"))
        lines += [fit(_commit(commit)) for commit in found["commits"]]
    return Output("\n".join(lines) or f"Nothing is recorded about {clean(arguments.place, 200)}.", found)


def _record(record: dict[str, Any]) -> list[str]:
    from holdfast.workspace.anchors import Standing

    status = f", {clean(record['status'], 40)}" if record["status"] else ""
    lines = [f"{paint(clean(record['id'], 40), 'bold')}  {clean(record['text'], 200)}"]
    for key in ("because", "outcome"):
        if record[key]:
            lines.append(f"    {key.ljust(8)} {clean(record[key], 300)}")
    if record["place"]:
        lines.append(f"    at       {clean(Standing(**record['place']), 200)}")
    place = record["session"] or "the project"
    who = f"{clean(record['by'], 60)}, {when(record['at'])}, in {clean(place, 80)}"
    lines.append(f"    {clean(record['kind'], 20)}{status}; {who}")
    return lines


def _session(session: dict[str, Any]) -> str:
    return f"  {clean(session['session'], 80)}  {clean(session['goal'], 100)} ({', '.join(session['how'])})"


def _commit(commit: dict[str, Any]) -> str:
    named = f" ({', '.join(clean(name, 80) for name in commit['sessions'])})" if commit["sessions"] else ""
    return (
        f"  {when(commit['at'])}  {paint(commit['commit'][:10], 'cyan')}  {clean(commit['subject'], 100)}, "
        f"by {clean(commit['by'], 40)}{named}"
    )


COMMANDS = {
    "why": Command(
        "Show the decisions, errors and sessions behind a file or line.",
        _arguments,
        _why,
        ("holdfast why src/db.py", "holdfast why src/db.py:42", "holdfast why src/db.py:40-60 --json"),
        details="Records that are anchored there (`--at`), that name the file, that refer to it; and, with git, the "
        "sessions that the commits behind it belong to: named in their trailer, or at work when they were made.",
    ),
}
