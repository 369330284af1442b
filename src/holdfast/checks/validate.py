"""Validate: do files and commits match their schemas?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.checks import schema
from holdfast.checks.finding import Finding, Rule
from holdfast.checks.tree import SESSION_STATE, Tree
from holdfast.errors import NotFound
from holdfast.workspace import soundness
from holdfast.workspace.checking import over_streams
from holdfast.workspace.project_files import project_folder_of

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

STATE = Rule("HF301", "error", "state.json differs from its schema", "The next command regenerates the view.")
CONTRACT = Rule(
    "HF302", "error", "session-state.json breaks its contract", "`holdfast schema session-state` has it."
)
COMMIT = Rule("HF303", "error", "a commit differs from its schema", "Run `holdfast doctor`.")
DAMAGE = Rule("HF304", "error", "something in the store cannot be read", "Run `holdfast doctor`.")
WRONG = Rule(
    "HF306", "error", "a saved state that differs from its log", "`holdfast doctor --fix` rebuilds it."
)
UNREADABLE = Rule("HF305", "error", "a file that is not JSON", "Write whole files, atomically.")
RULES = (STATE, CONTRACT, COMMIT, DAMAGE, UNREADABLE, WRONG)
MOST = 50
"""The most findings of one rule per file."""


def validate_workspace(workspace: Workspace) -> list[Finding]:
    """Validate every commit, view and session-state.json, and run the store's own check."""
    found = [
        Finding(DAMAGE, f".state/{fault.where.partition(':')[0]}", _line(fault.where), fault.what)
        for fault in workspace.store.check()
        if not fault.harmless
    ]
    found += [
        Finding(WRONG, f".state/{fault.where}", 0, f"{fault.what}.") for fault in soundness.check(workspace)
    ]

    def look(streams: list[str]) -> list[Finding]:
        return [finding for stream in streams for finding in _stream(workspace, stream)]

    found += over_streams("Validating the commits of", workspace.store.streams(), look)
    return [*found, *_session_states(workspace.where)]


def _stream(workspace: Workspace, stream: str) -> Iterator[Finding]:
    yield from _commits(workspace, stream)
    data = workspace.store.get(f"{stream}/state.json") if stream.startswith("sessions/") else None
    if data is not None:
        yield from _file(STATE, "state", f".state/{stream}/state.json", data)


def _session_states(where: str) -> Iterator[Finding]:
    """Every ``session-state.json`` of the project that the workspace is in, such as ``state/session-state.json``."""
    folder = project_folder_of(where)
    for file in Tree(folder.root).files if folder is not None else ():
        if file.name == SESSION_STATE:
            yield from _file(CONTRACT, "session-state", file.path, file.data)


def validate_file(path: str) -> list[Finding]:
    """Validate one file: ``session-state.json`` by its contract, ``state.json`` by ours, a segment line by line."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise NotFound(f"{path}: {error.strerror}.", hint="Give the path of a file.") from None
    shown = os.path.relpath(path)
    if path.endswith(".jsonl"):
        return list(_lines(shown, data.split(b"\n")))
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return [Finding(UNREADABLE, shown, 0, "This is not JSON.")]
    ours = isinstance(value, dict) and "format" in value and "session_id" in value
    return _file(STATE if ours else CONTRACT, "state" if ours else "session-state", shown, data)


def _commits(workspace: Workspace, stream: str) -> Iterator[Finding]:
    lines = (bytes(line) for line in workspace.store.read(stream).lines)
    return _lines(f".state/{stream}", lines, numbered=False)


def _lines(path: str, lines: Any, *, numbered: bool = True) -> Iterator[Finding]:
    left = MOST
    for number, line in enumerate(lines, 1):
        if not line.strip() or not left:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            left -= 1
            yield Finding(COMMIT, path, number if numbered else 0, "A line that is not JSON.")
            continue
        for problem in schema.problems("commit", value)[:3]:
            left -= 1
            place = "" if numbered else f"commit {number}: "
            yield Finding(COMMIT, path, number if numbered else 0, f"{place}{problem.where} {problem.what}")


def _file(rule: Rule, name: str, path: str, data: bytes) -> list[Finding]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return [Finding(UNREADABLE, path, 0, "This is not JSON.")]
    text = data.decode("utf-8", "replace")
    found = []
    for problem in schema.problems(name, value)[:MOST]:
        field = problem.where.split("/")[1] if "/" in problem.where else ""
        at = text.find(f'"{field}"') if field else -1
        line = text.count("\n", 0, at) + 1 if at >= 0 else 1
        found.append(Finding(rule, path, line, f"{problem.where or 'the file'} {problem.what}."))
    return found


def _line(where: str) -> int:
    number = where.rpartition(":")[2]
    return int(number) if number.isdigit() else 0
