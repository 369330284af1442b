"""Lint rules for which files exist, and where."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from holdfast.checks.finding import Rule, collector
from holdfast.checks.tree import File, Tree

Places = Iterator[tuple[str, int, str]]
CHECKS: list[tuple[Rule, Callable[[Tree], Places]]] = []
rule = collector(CHECKS)
MOST_SESSIONS = 200
_OURS = {"README.md", "config.toml", ".gitattributes", ".gitignore", "current-session.json"}
_ID = re.compile(r"\d{4}-\d{2}-\d{2}-[a-z0-9]{8}")
_TIMES_ONLY = re.compile(r"\d{4}-?\d{2}-?\d{2}(?:[-_T]?\d{2}[-:]?\d{2}(?:[-:]?\d{2})?)?|\d{9,13}")


@rule(
    "HF001",
    "error",
    "state that everybody writes to",
    "Keep mutable data in each session's own folder.",
)
def _shared_file(tree: Tree) -> Places:
    for file in tree.files:
        parts = file.path.split("/")
        if file.in_state and len(parts) == 2 and parts[1] not in _OURS and "queue" not in file.name:
            yield file.path, 0, "Everybody writes to this file: it will conflict on every merge."


@rule(
    "HF002",
    "error",
    "a shared queue",
    "Give each session its own queue, or use the backlog.",
)
def _shared_queue(tree: Tree) -> Places:
    for file in tree.files:
        if file.in_state and "queue" in file.name.lower() and not _session_of(file):
            yield (
                file.path,
                0,
                "A queue outside of a session's folder: every append conflicts with every other.",
            )


@rule(
    "HF003",
    "warning",
    "a shared folder for outputs",
    "Use context/ and artifacts/ of the session.",
)
def _shared_folder(tree: Tree) -> Places:
    seen = set()
    for file in tree.files:
        folder = "/".join(file.path.split("/")[:2])
        if folder in (".state/artifacts", ".state/context", ".state/outputs") and folder not in seen:
            seen.add(folder)
            yield folder, 0, "All sessions put their files here; they belong into each session's own folder."


@rule(
    "HF004",
    "error",
    "no session id in the path",
    "Put the state below sessions/<user>/<id>/.",
)
def _no_session(tree: Tree) -> Places:
    for file in tree.files:
        if (
            file.in_state
            and file.name in ("state.json", "STATE.md", "DECISIONS.md")
            and not _session_of(file)
        ):
            yield (
                file.path,
                0,
                "There is no session id in the path of this state: sessions are not kept apart.",
            )


@rule(
    "HF005",
    "error",
    "a session id that is only a time",
    "Add a random suffix: YYYY-MM-DD-xxxxxxxx.",
)
def _id_without_suffix(tree: Tree) -> Places:
    for folder in sorted({f for file in tree.files for f in _session_folders(file)}):
        if _TIMES_ONLY.fullmatch(folder.rpartition("/")[2]):
            yield folder, 0, "The session id is only a time: two people can create the same one."


@rule(
    "HF006",
    "error",
    "a state of another session",
    "The session id must be that of the folder.",
)
def _other_id(tree: Tree) -> Places:
    for file in tree.files:
        session = _session_of(file)
        if file.name == "state.json" and session and isinstance(file.value, dict):
            said = file.value.get("session_id")
            if said is not None and said != session:
                yield (
                    file.path,
                    file.line_of('"session_id"'),
                    f"It says it belongs to session {str(said)[:40]!r}.",
                )


@rule(
    "HF007",
    "warning",
    "a pointer that holds more than a pointer",
    "Move the rest into the session.",
)
def _pointer(tree: Tree) -> Places:
    for file in tree.files:
        if file.name == "current-session.json":
            extra = (
                set(file.value or {}) - {"active_session", "updated_at"}
                if isinstance(file.value, dict)
                else {"?"}
            )
            if extra or file.size > 1024:
                yield file.path, 1, "A pointer holds the session's id and a time, nothing else."


@rule(
    "HF008",
    "error",
    "a binary file in the state",
    "Keep text; put binaries elsewhere and refer to them.",
)
def _binary(tree: Tree) -> Places:
    for file in tree.files:
        if file.in_state and b"\0" in file.data[:8192]:
            yield file.path, 0, "A binary file: git cannot show what changed in it."


@rule(
    "HF009",
    "error",
    "a tracked lock file",
    "Locks belong outside of the tracked tree.",
)
def _lock_file(tree: Tree) -> Places:
    for file in tree.files:
        if file.in_state and file.name.endswith((".lock", ".lck")):
            yield file.path, 0, "A lock file in the tracked tree: it comes back with every checkout."


@rule(
    "HF010",
    "warning",
    "a temporary file",
    "Look at it, then remove it.",
)
def _temp_file(tree: Tree) -> Places:
    for file in tree.files:
        if file.name.endswith((".tmp", ".bak", "~", ".orig", ".rej")) or ".tmp-" in file.name:
            yield file.path, 0, "Left over by an interrupted write."


@rule(
    "HF011",
    "warning",
    "a file whose name is a foreign path",
    "Look at it, then remove it.",
)
def _odd_name(tree: Tree) -> Places:
    for file in tree.files:
        if "\\" in file.name:
            yield (
                file.path,
                0,
                "The name is a path of another system: a tool wrote its state to the wrong place.",
            )


@rule(
    "HF012",
    "note",
    "a state folder without README",
    "`holdfast init` writes one.",
)
def _no_readme(tree: Tree) -> Places:
    if any(file.in_state for file in tree.files) and ".state/README.md" not in tree.paths:
        yield (
            ".state",
            0,
            "Nothing here says what this folder is for, how sessions are named and when they go.",
        )


@rule(
    "HF013",
    "error",
    "caches that git would track",
    "Put /local/ into .state/.gitignore.",
)
def _local_tracked(tree: Tree) -> Places:
    ignore = next((file for file in tree.files if file.path == ".state/.gitignore"), None)
    if any(file.is_segment for file in tree.files) and (ignore is None or "local/" not in ignore.text):
        yield ".state/.gitignore", 0, "local/ is not ignored: caches and locks of one machine get into git."


@rule(
    "HF014",
    "warning",
    "sessions that are never archived",
    "Run `holdfast archive rotate` now and then.",
)
def _no_archive(tree: Tree) -> Places:
    folders = {f for file in tree.files for f in _session_folders(file)}
    if len(folders) > MOST_SESSIONS:
        yield ".state/sessions", 0, f"{len(folders):,} sessions, none archived."


@rule(
    "HF015",
    "warning",
    "several agents write one file",
    "One writer per file; join them when reading.",
)
def _several_agents(tree: Tree) -> Places:
    for file in tree.files:
        if not file.name.endswith(".jsonl") or file.is_segment:
            continue
        names = set()
        for line in file.lines[:10_000]:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                names.add(str(record.get("agent") or record.get("by") or record.get("actor") or ""))
        names.discard("")
        if len(names) > 1:
            yield file.path, 0, f"{len(names)} agents write to this file: {', '.join(sorted(names))[:120]}."


@rule(
    "HF016",
    "error",
    "a merge conflict",
    "Settle the conflict; segments are healed by `holdfast doctor`.",
)
def _conflict(tree: Tree) -> Places:
    for file in tree.files:
        if b"<<<<<<< " in file.data and b">>>>>>> " in file.data:
            for number, line in enumerate(file.lines, 1):
                if line.startswith("<<<<<<< "):
                    yield file.path, number, "An unresolved merge conflict."


def _session_of(file: File) -> str:
    """The session id in a path: the folder below ``sessions/`` (or below its user) or ``history/<month>/``."""
    parts = file.path.split("/")
    for root in ("sessions", "history"):
        if root in parts:
            rest = parts[parts.index(root) + 1 : -1]
            named = [part for part in rest if _ID.fullmatch(part) or _TIMES_ONLY.fullmatch(part)]
            if named:
                return named[-1]
            if rest:
                return (
                    rest[1]
                    if len(rest) > 1 and rest[1] not in ("context", "artifacts", "events")
                    else rest[0]
                )
    return ""


def _session_folders(file: File) -> list[str]:
    session = _session_of(file)
    if not session or "/sessions/" not in f"/{file.path}" or file.path.startswith(".state/events/"):
        return []  # the segments of a session have their own folder: count it once
    return [file.path[: file.path.index(session) + len(session)]]
