"""Where each host keeps its transcripts, and which of them belong to a project."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from glob import escape, glob

from holdfast.edge.transcripts import LINE_CAP, moment, part, read, text
from holdfast.errors import NotFound, TooLarge
from holdfast.typed import Any, Record
from holdfast.workspace.transcripts import Step

MOST = 50
"""Transcripts that are listed, the newest first."""
_PROBED = 400
"""Transcripts that are opened to find those of a project, the newest first."""
_FIRST = 200
"""Lines at the beginning of a transcript in which its first prompt is looked for."""
_WHOLE = 256 << 20
_LINE = LINE_CAP + 1


class Found(Record):
    """A transcript of a project."""

    host: str
    path: str
    """The file; for OpenCode the id of the conversation in its database."""
    at: str
    """When it was last written."""
    size: int
    """Bytes; 0 if unknown."""
    asked: str
    """The first prompt."""


def _home(variable: str, *default: str) -> str:
    return os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *default)


def _claude(project: str) -> list[str]:
    slug = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in project)
    return glob(
        os.path.join(escape(_home("CLAUDE_CONFIG_DIR", ".claude")), "projects", escape(slug), "*.jsonl")
    )


def _codex(project: str) -> list[str]:
    folder = os.path.join(escape(_home("CODEX_HOME", ".codex")), "sessions")
    return glob(os.path.join(folder, "*", "*", "*", "rollout-*.jsonl"))


def _gemini(project: str) -> list[str]:
    home = os.path.join(_home("GEMINI_CLI_HOME"), ".gemini", "tmp")
    found = []
    for folder in glob(os.path.join(escape(home), "*")):
        try:
            with open(os.path.join(folder, ".project_root"), encoding="utf-8") as file:
                mine = file.read(4096).strip() == project
        except (OSError, ValueError):
            mine = False
        if mine:
            found += glob(os.path.join(escape(folder), "chats", "session-*.json*"))
    return found


def _copilot(project: str) -> list[str]:
    return glob(os.path.join(escape(_home("COPILOT_HOME", ".copilot")), "session-state", "*", "events.jsonl"))


_FILES = {"claude": _claude, "codex": _codex, "gemini": _gemini, "copilot": _copilot}
_OWN = ("claude", "gemini")
"""Hosts with a folder per project; the others name the project inside of the transcript."""


def find(host: str, project: str) -> list[Found]:
    """The transcripts of a project, the newest first."""
    project = os.path.realpath(project)
    if host == "opencode":
        return _in_database(project)
    found: list[Found] = []
    dated = sorted(((_written(path), path) for path in _FILES[host](project)), reverse=True)
    for (written, size), path in dated[:_PROBED]:
        folder, asked = _beginning(host, path)
        if asked and (host in _OWN or os.path.realpath(folder or os.sep) == project):
            found.append(Found(host, path, moment(written), size, asked))
        if len(found) == MOST:
            break
    return found


def _written(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return int(status.st_mtime * 1000), status.st_size


def _beginning(host: str, path: str) -> tuple[str, str]:
    """The project's folder and the first prompt of a transcript."""
    folder = ""
    try:
        for number, item in enumerate(read(host, lines(host, path))):
            if number > _FIRST:
                break
            if not isinstance(item, Step):
                continue
            if item.kind == "conversation":
                folder = item.data["folder"]
            elif item.kind == "prompt":
                return folder, item.data["text"]
    except (OSError, NotFound, TooLarge):
        pass
    return folder, ""


def lines(host: str, path: str) -> Iterator[bytes]:
    """The lines of a transcript, one after another: a long one is not held in memory. A ``.json`` file is one line."""
    if host == "opencode" and not os.path.exists(path):
        yield from _exported(path)
        return
    try:
        with open(path, "rb") as file:
            if path.endswith(".json"):
                if os.path.getsize(path) > _WHOLE:
                    raise TooLarge(f"{path} has {os.path.getsize(path):,} bytes; the limit is {_WHOLE:,}.")
                yield _compact(file.read())
                return
            while line := file.readline(_LINE):
                cut = len(line) == _LINE and not line.endswith(b"\n")
                while cut and (more := file.readline(_LINE)) and not more.endswith(b"\n"):
                    pass  # too long to be read: the reader reports it
                yield line
    except IsADirectoryError:
        raise NotFound(f"{path} is a folder.", hint="Give the path of a transcript.") from None
    except OSError as error:
        raise NotFound(f"{path}: {error.strerror}.", hint="Give the path of a transcript.") from None


def _compact(raw: bytes) -> bytes:
    try:
        return json.dumps(json.loads(raw.decode("utf-8", "replace"))).encode()
    except (ValueError, RecursionError):
        return raw.replace(b"\n", b" ")


# -- OpenCode -------------------------------------------------------------------------------------------------


def _database() -> sqlite3.Connection | None:
    """OpenCode's database, opened so that nothing in it can change."""
    path = os.path.join(_home("XDG_DATA_HOME", ".local", "share"), "opencode", "opencode.db")
    if not os.path.isfile(path):
        return None
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)


def _rows(query: str, *values: object) -> list[Any]:
    database = _database()
    if database is None:
        return []
    try:
        return database.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise NotFound(
            f"OpenCode's database cannot be read: {error}.", hint="Try `opencode export`."
        ) from None
    finally:
        database.close()


def _in_database(project: str) -> list[Found]:
    found = []
    query = "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT ?"
    for name, folder, updated in _rows(query, _PROBED):
        if isinstance(folder, str) and os.path.realpath(folder) == project:
            _, asked = _beginning("opencode", str(name))
            if asked:
                found.append(Found("opencode", str(name), moment(updated), 0, asked))
    return found[:MOST]


def _exported(conversation: str) -> Iterator[bytes]:
    """A conversation of the database as the lines that the reader expects."""
    head = _rows("SELECT id, directory, time_created FROM session WHERE id = ?", conversation)
    if not head:
        raise NotFound(
            f"{conversation} is neither a file nor a conversation of OpenCode.",
            hint="Without a path, the command lists the conversations of this project.",
        )
    name, folder, created = head[0]
    info = {"id": str(name), "directory": str(folder), "time": {"created": created}}
    yield json.dumps({"info": info}).encode()
    inside: dict[str, list[Any]] = {}
    query = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY time_created, id"
    for message, data in _rows(query, conversation):
        inside.setdefault(str(message), []).append(_object(data))
    query = "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
    for message, data, created in _rows(query, conversation):
        info = {**_object(data), "time": {"created": created}}
        yield json.dumps({"info": info, "parts": inside.get(str(message), [])}).encode()


def _object(data: object) -> dict[str, Any]:
    try:
        found = json.loads(text(data))
    except (ValueError, RecursionError):
        return {}
    return part({"found": found}, "found")
