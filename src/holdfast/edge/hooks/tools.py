"""What a tool did, from its arguments and its output: the files it wrote, the command that failed."""

from __future__ import annotations

import re

from holdfast.edge.hooks.event import MOST, Payload, text
from holdfast.typed import Any

_EDITS = frozenset(
    [
        "edit",
        "write",
        "multiedit",
        "notebookedit",
        "applypatch",
        "writefile",
        "replace",
        "create",
        "createfile",
        "strreplace",
        "strreplaceeditor",
        "editfiles",
        "replacestringinfile",
        "multireplacestringinfile",
        "insertedit",
        "insert",
        "patch",
    ]
)
_SHELLS = frozenset(
    [
        "bash",
        "shell",
        "runshellcommand",
        "runterminalcommand",
        "runinterminal",
        "execcommand",
        "localshell",
        "powershell",
    ]
)
_PATHS = ("file_path", "filePath", "path", "notebook_path", "notebookPath", "filename")
_IN_PATCH = r"^\*\*\* (?:Add File|Update File|Move to): (.+?)\s*$"
_EXIT = r"(?i)\bexit(?:ed with)?[ -]?(?:code|status)[:=]? ?(-?\d{1,5})"
_NO_ERROR = frozenset(
    [
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "test",
        "[",
        "[[",
        "diff",
        "cmp",
        "which",
        "type",
        "pgrep",
        "find",
    ]
)
"""Programs whose exit status 1 is a result, not a failure."""


def plain(name: str) -> str:
    """A tool's name in normal form: hosts spell it differently."""
    return name.lower().replace("_", "").replace("-", "")


def is_edit(name: str) -> bool:
    return plain(name) in _EDITS


def is_shell(name: str) -> bool:
    return plain(name) in _SHELLS


def edited(given: Any) -> tuple[str, ...]:
    """The files in the arguments of an editing tool: named paths, lists of paths, or a patch."""
    found: dict[str, None] = {}
    if isinstance(given, str):
        return tuple(re.findall(_IN_PATCH, given[:1_000_000], re.MULTILINE))[:MOST]
    if not isinstance(given, dict):
        return ()
    if one := text(given, *_PATHS):
        found[one] = None
    files = given.get("files")
    for each in files[:MOST] if isinstance(files, list) else ():
        if isinstance(each, str):
            found[each] = None
        elif isinstance(each, dict) and (inside := text(each, *_PATHS)):
            found[inside] = None
    for name in ("input", "patch", "patchText", "command"):
        patch = given.get(name)
        if isinstance(patch, str) and "*** " in patch:
            found |= dict.fromkeys(edited(patch))
    return tuple(found)[:MOST]


def command_of(given: Payload) -> str:
    """The shell command in a tool's arguments."""
    words = given.get("command")
    if isinstance(words, list):
        return " ".join(str(word) for word in words[:MOST])
    return text(given, "command", "cmd", "script")


def exit_code(said: str) -> int | None:
    """The exit status in a tool's output; None if it has none."""
    # Hosts put it at the beginning or the end; the command's own output is in between.
    for piece in (said[:80], said[-400:]):
        found = re.findall(_EXIT, piece)
        if found:
            return int(found[-1])
    return None


def failed(command: str, status: int | None) -> bool:
    """Whether a status is a failure worth recording."""
    if not status:
        return False
    words = command.split(maxsplit=1)
    return not (status == 1 and words and words[0].rpartition("/")[2] in _NO_ERROR)
