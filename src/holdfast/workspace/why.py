"""Why a file or a line is as it is: the records that are anchored there or name it, and the sessions behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.core import anchors, contested
from holdfast.core.stream import PROJECT, last_part, owner, session_stream
from holdfast.errors import HoldfastError, NotFound
from holdfast.store.protocol import archive_of, git_backed
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.anchors import standing
from holdfast.workspace.handle import Handle
from holdfast.workspace.records import collected

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

Entry = dict[str, Any]
GIT_COMMITS = 20
ANCHORED, MENTIONED = "anchored", "names it"
_RECORDS = ("decision", "error", "fact")
_LINK = b'"git.committed"'


def why(workspace: Workspace, text: str) -> Entry:
    """What is behind ``FILE`` or ``FILE:LINE``: records, sessions that refer to it, and git commits."""
    named = anchors.parse(text)
    if "path" not in named:
        raise NotFound(f"{text[:80]} is not a file.", hint="Give FILE or FILE:LINE.")
    path = workspace.files(PROJECT).name(named["path"])
    span = named.get("lines")
    records: list[Entry] = []
    sessions: dict[str, set[str]] = {}
    commits = _commits(workspace, path, span[0] if span else None)
    for stream in _streams(workspace):
        lines = _lines_about(workspace, stream, path)
        name = f"{owner(stream)}/{last_part(stream)}"
        for commit in _linked(lines, commits):
            commit["sessions"] = sorted({*commit["sessions"], name})
        if not _names(path, lines):
            continue
        found, refers = _in_stream(workspace, stream, path, span)
        records += found
        if refers and owner(stream):
            sessions.setdefault(name, set()).add("refers to it")
    for commit in commits:
        for name in commit["sessions"]:
            sessions.setdefault(name, set()).add("committed with it")
    for record in records:
        if record["session"]:
            sessions.setdefault(record["session"], set()).add("decided about it")
    return {
        "path": path,
        "lines": span,
        "records": sorted(records, key=lambda record: (record["how"] != ANCHORED, record["at"])),
        "sessions": [_session(workspace, name, how) for name, how in sorted(sessions.items(), reverse=True)],
        "commits": commits,
    }


def _streams(workspace: Workspace) -> list[str]:
    streams = {*workspace.store.streams("sessions/"), *workspace.store.streams(PROJECT)}
    archive = archive_of(workspace.store)
    return sorted(streams | (set(archive.archived()) if archive is not None else set()))


def _lines_about(workspace: Workspace, stream: str, path: str) -> list[bytes]:
    """The commits of a stream that have the path in them or link git commits, without parsing them."""
    wanted = _as_stored(path)
    return [line for line in workspace.store.read(stream, None).lines if wanted in line or _LINK in line]


def _as_stored(path: str) -> bytes:
    return json.dumps(path, ensure_ascii=False)[1:-1].encode()


def _names(path: str, lines: list[bytes]) -> bool:
    wanted = _as_stored(path)
    return any(wanted in line for line in lines)


def _linked(lines: list[bytes], commits: list[Entry]) -> list[Entry]:
    """The git commits that were linked to the session of these lines when they were made."""
    linking = [line for line in lines if _LINK in line]
    return [commit for commit in commits if any(commit["commit"].encode() in line for line in linking)]


def _in_stream(
    workspace: Workspace, stream: str, path: str, span: list[int] | None
) -> tuple[list[Entry], bool]:
    """The records about a place, and whether the stream refers to the file."""
    handle = Handle(workspace, stream)
    name = f"{owner(stream)}/{last_part(stream)}" if owner(stream) else ""
    records = []
    for short_id, entry in collected(handle.stored_commits()).items():
        if entry["kind"] not in _RECORDS:
            continue
        place = _place(workspace, stream, entry["fields"], path, span)
        if place is None and (span is not None or not _mentions(entry["fields"], path)):
            continue
        fields = entry["fields"]
        records.append(
            {
                "how": ANCHORED if place is not None else MENTIONED,
                "id": short_id,
                **{key: entry[key] for key in ("kind", "status", "text", "at", "by")},
                "because": fields.get("because"),
                "outcome": fields.get("outcome") or fields.get("remedy"),
                "place": place,
                "session": name,
            }
        )
    refers = path in handle.peek().state.get("references", {}).get("open", {})
    return records, refers


def _place(
    workspace: Workspace, stream: str, fields: Entry, path: str, span: list[int] | None
) -> Entry | None:
    """The anchor of a record at the file, or at the lines, where they are now; None if it has none there."""
    for anchor in anchors.stored(fields):
        if anchor.get("path") != path:
            continue
        now = standing(workspace, stream, anchor)
        lines = _lines(now.now) if now.status == anchors.MOVED else anchor.get("lines")
        if span is None or lines is None or (lines[0] <= span[1] and span[0] <= lines[1]):
            return now._asdict()
    return None


def _lines(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return [int(first), int(last or first)]


def _mentions(fields: Entry, path: str) -> bool:
    return any(path in text for text in _texts(fields.values()))


def _texts(values: Iterable[object]) -> list[str]:
    found = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += [text for text in value if isinstance(text, str)]
    return found


def _commits(workspace: Workspace, path: str, line: int | None) -> list[Entry]:
    store = git_backed(workspace.store)
    if store is None or not store.in_git:
        return []
    from holdfast.git.integration import commits_behind

    return commits_behind(workspace.surroundings.top, path, line, GIT_COMMITS)


def _session(workspace: Workspace, name: str, how: set[str]) -> Entry:
    """A session with its goal, if it is here."""
    user, _, short = name.partition("/")
    goal = ""
    try:
        state = Handle(workspace, session_stream(user, short)).peek().state
        goal = contested.value(state["registers"], "goal", "") or ""
    except HoldfastError:  # a trailer can name anything
        pass
    return {"session": name, "goal": goal, "how": sorted(how)}
