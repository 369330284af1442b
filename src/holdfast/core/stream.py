"""Names of streams: ``project``, ``users/<user>``, ``sessions/<user>/<session>``.

The name is also the stream's folder below ``.state/``, so each part must be a valid name (``ids.checked_name``).
"""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.core.ids import checked_name, checked_session_id
from holdfast.errors import InvalidName

PROJECT = "project"

_LOCAL = r"[a-z0-9][a-z0-9._+-]{0,159}"
_DEEPEST = 4
_RESERVED = frozenset(["events", "context", "artifacts"])  # folders of a stream, which no note may replace


def user_stream(user: str) -> str:
    return f"users/{checked_name(user, 'user')}"


@lru_cache(maxsize=256)  # a server asks for the same few names in every call
def session_stream(user: str, session: str) -> str:
    return f"sessions/{checked_name(user, 'user')}/{checked_session_id(session)}"


def checked_stream(stream: str) -> str:
    """``stream`` itself, if it is the name of a stream."""
    match stream.split("/"):
        case ["project"]:
            return stream
        case ["users", user]:
            return user_stream(user)
        case ["sessions", user, session]:
            return session_stream(user, session)
    raise InvalidName(f"{stream[:120]!r} is not a stream.")


@lru_cache(maxsize=256)
def checked_note(name: str) -> str:
    """``name`` itself, if it is the name of a note: ``local/<part>/…`` or ``<stream>/<file>``."""
    *folders, file = name.split("/")
    if folders[:1] == ["local"]:
        parts = [*folders[1:], file]
        if len(parts) <= _DEEPEST and all(
            re.fullmatch(_LOCAL, part) and not part.endswith(".") for part in parts
        ):
            return name
    else:
        checked_stream("/".join(folders))
        # ASCII first: lower-casing maps some non-ASCII letters to ASCII ones.
        if file.isascii() and file.lower() not in _RESERVED:
            checked_name(file.lower(), "name of a note")  # views such as STATE.md have capitals
            return name
    raise InvalidName(f"{name[:120]!r} is not the name of a note.")


def flat(stream: str) -> str:
    """The stream's name as one path part: notes ``local/<kind>/<flat name>`` are deleted with the stream."""
    return stream.replace("/", "+")


def kind_of(stream: str) -> str:
    """The kind of a stream: session, project or user."""
    return "session" if stream.startswith("sessions/") else stream.split("/")[0].rstrip("s")


def owner(stream: str) -> str:
    """The user in a stream's name; empty for the project."""
    return stream.split("/")[1] if "/" in stream else ""


def last_part(stream: str) -> str:
    """The session id of a session's stream, the user of a user's, ``project`` for the project's."""
    return stream.rsplit("/", 1)[-1]


def is_stream_name(name: str) -> bool:
    """Whether ``name`` is a valid stream name."""
    try:
        checked_stream(name)
    except InvalidName:
        return False
    return True
