"""Validation of relative paths that the state refers to: as text, without any file access."""

from __future__ import annotations

from holdfast.core.text import checked_text
from holdfast.errors import Refused

PATH_CAP = 500
"""Characters in a path."""
IN_SESSION = "session:"
"""Prefixes of paths that are relative to the session's folder; all others are relative to the project's."""


def checked_path(path: object, what: str = "path") -> str:
    """The normal form of a relative path (``./a//b`` is ``a/b``); a path that leaves its base is refused."""
    text = checked_text(path, what, cap=PATH_CAP)
    prefix = IN_SESSION if text.startswith(IN_SESSION) else ""
    rest = text[len(prefix) :]
    parts = [part for part in rest.split("/") if part not in ("", ".")]
    if rest.startswith("/") or ".." in parts or "\0" in rest or not parts:
        raise Refused(
            f"{text[:80]!r} is not a {what} inside the project; nothing was written.",
            hint="Give a path relative to the project's top folder, without '..'.",
        )
    return prefix + "/".join(parts)
