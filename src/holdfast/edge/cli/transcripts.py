"""``import --from HOST``: the transcripts of an agent host."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli.command import Output, open_here
from holdfast.edge.cli.continuing import project_of
from holdfast.edge.render import clean, paint, plural, when
from holdfast.edge.transcripts import read
from holdfast.edge.transcripts.finding import Found, find, lines
from holdfast.errors import NotFound, Usage
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.transcripts import Taken
    from holdfast.workspace.workspace import Workspace

_SHOWN = 20


def import_from(arguments: argparse.Namespace) -> Output:
    """Import the named transcripts, or the newest one of this project; else list those that there are."""
    if arguments.format:
        raise Usage("--format is for files of other tools; --from names the host of a transcript.")
    with open_here(arguments) as workspace:
        if not arguments.files and not arguments.latest:
            return _list(arguments.host, find(arguments.host, project_of(workspace)))
        names = list(arguments.files)
        if arguments.latest:
            found = find(arguments.host, project_of(workspace))
            if not found:
                raise NotFound(_none(arguments.host), hint="Give the path of a transcript.")
            names.append(found[0].path)
        reports = [_import(workspace, arguments.host, name) for name in names]
    text = "\n".join(
        line for report in reports for line in _report(report, None if arguments.all else _SHOWN)
    )
    return Output(text, {"imports": [_as_json(report) for report in reports]})


def _import(workspace: Workspace, host: str, name: str) -> Taken:
    from holdfast.workspace.transcripts import import_transcript

    path = os.path.expanduser(name)
    return import_transcript(workspace, name[-200:], host, read(host, lines(host, path)))


def _none(host: str) -> str:
    return f"There is no transcript of {host} for this project."


def _list(host: str, found: list[Found]) -> Output:
    data = {"transcripts": [each._asdict() for each in found]}
    if not found:
        return Output(_none(host), data)
    rows = [f"{plural(len(found), 'transcript')} of {host} for this project, newest first:"]
    for each in found:
        size = f", {each.size:,} bytes" if each.size else ""
        rows += [
            f"  {when(each.at)}{size}  {clean(each.asked, 80)}",
            f"    holdfast import --from {host} {clean(each.path, 400)}",
        ]
    return Output("\n".join(rows), data)


def _report(found: Taken, most: int | None) -> list[str]:
    names = {
        "prompt": "prompt",
        "final": "answer",
        "summary": "summary",
        "edit": "file",
        "ran": "failure",
        "plan": "plan",
    }
    what = ", ".join(plural(found.taken[kind], name) for kind, name in names.items() if kind in found.taken)
    lines_ = [
        f"{paint(clean(found.file, 200), 'bold')}: imported {what or 'nothing new'} into session {found.session}"
    ]
    if found.known:
        lines_.append(f"  {found.known:,} known already")
    for title, entries in (("looks like a secret", found.secrets), ("", found.left)):
        for left in entries[:most]:
            said = f"{title} ({left.text})" if title else clean(left.why, 100)
            rest = clean(left.why if title else left.text, 100)
            lines_.append(f"  {clean(found.file, 200)}:{left.line}: {said}: {rest}")
        if most is not None and len(entries) > most:
            lines_.append(f"  …and {plural(len(entries) - most, 'more line')}: add --all or --json")
    return lines_


def _as_json(found: Taken) -> dict[str, Any]:
    return {
        **found._asdict(),
        "left": [left._asdict() for left in found.left],
        "secrets": [{"line": left.line, "kind": left.text, "what": left.why} for left in found.secrets],
    }
