"""What a tool did, from its arguments and its output: the files it wrote, the command that failed."""

from __future__ import annotations

import re

from holdfast.edge.hooks.event import ID_CAP, MOST, NOTHING_PLANNED, Payload, Planned, part, text
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


_LISTS = {"todowrite": "todos", "writetodos": "todos", "updateplan": "plan"}
"""Tools that replace the host's whole task list, and the argument with the list."""
_MOST_TASKS = 60
_TITLES = ("content", "description", "step", "title", "subject")


def planned(name: str, given: Any, response: Any) -> Planned:
    """What a planning tool of a host planned; nothing for any other tool."""
    tool = plain(name)
    if not isinstance(given, dict):
        return NOTHING_PLANNED
    if tool in _LISTS:
        listed = given.get(_LISTS[tool])
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else None
        if entries is None:
            return NOTHING_PLANNED
        return Planned(tuple(_task(entry, "") for entry in entries[:_MOST_TASKS]), whole=True)
    if tool == "taskcreate":
        number = _task_number(response)
        return Planned((_task(given, number),)) if number else NOTHING_PLANNED
    if tool == "taskupdate":
        number = text(given, "taskId", "task_id", cap=ID_CAP)
        return Planned((_task(given, number),)) if number else NOTHING_PLANNED
    if tool == "exitplanmode":
        return Planned(
            plan=text(given, "plan") or text(response if isinstance(response, dict) else {}, "plan")
        )
    if tool == "creategoal":
        return Planned(goal=text(given, "objective"))
    if tool == "updatetopic":
        more = text(given, "strategic_intent", "summary")
        return Planned(topic=": ".join(filter(None, [text(given, "title", cap=ID_CAP), more])))
    if tool == "sql" and "todos" in (query := text(given, "query")):
        return Planned(sql=query)
    return NOTHING_PLANNED


def _task(entry: Payload, number: str) -> tuple[str, str, str]:
    return number, text(entry, *_TITLES), text(entry, "status", cap=ID_CAP).lower().replace("-", "_")


def _task_number(response: Any) -> str:
    """The host's number of a task that was created: an object names it, a text says ``Task #3``."""
    if isinstance(response, dict):
        found = part(response, "task").get("id", response.get("taskId", response.get("id")))
        return str(found)[:ID_CAP] if isinstance(found, str | int) else ""
    match = re.search(r"#(\d{1,9})", response[:400]) if isinstance(response, str) else None
    return match[1] if match else ""
