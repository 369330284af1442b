"""Conditions: what must be true of the world for a fact to hold, or for an action to be done.

They are a closed set of kinds, each with a typed value. A condition is data: it is looked at and never executed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from holdfast.core.paths import IN_SESSION, checked_path
from holdfast.core.text import NAME_CAP, checked_text
from holdfast.errors import Refused
from holdfast.typed import Any

_HEX = "0123456789abcdef"
_NOT_IN_REF = "\x7f~^:?*[\\"
_LAST_PORT = 65_535


def _project_path(value: object) -> str:
    path = checked_path(value)
    if path.startswith(IN_SESSION):
        raise Refused("The path of a check must be relative to the project's folder; nothing was written.")
    return path


def _branch(value: object) -> str:
    return _ref(value, "branch")


def _tag(value: object) -> str:
    return _ref(value, "tag")


def _ref(value: object, what: str) -> str:
    name = checked_text(value, what, cap=NAME_CAP)
    if not _is_ref(name):
        raise Refused(f"{name[:80]!r} is not the name of a {what}; nothing was written.")
    return name


def _is_ref(name: str) -> bool:
    """Whether git accepts a name, by its own rules. Without `re`, which hooks do not load."""
    return not (
        any(character <= " " or character in _NOT_IN_REF for character in name)
        or ".." in name
        or "@{" in name
        or name[0] == "-"
        or name[-1] == "."
        or any(not part or part[0] == "." or part.endswith(".lock") for part in name.split("/"))
    )


def _commit(value: object) -> str:
    name = checked_text(value, "commit", cap=NAME_CAP)
    if not 7 <= len(name) <= 64 or name.strip(_HEX):
        raise Refused("A commit must be 7 to 64 hex digits; nothing was written.")
    return name


def _file_hash(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or set(value) != {"path", "hash"}:
        raise Refused('The check file-hash needs {"path": …, "hash": …}; nothing was written.')
    if not isinstance(value["hash"], str) or len(value["hash"]) != 64 or value["hash"].strip(_HEX):
        raise Refused(
            "The hash of a file must be its SHA-256 as 64 lower-case hex digits; nothing was written."
        )
    return {"path": _project_path(value["path"]), "hash": value["hash"]}


def _port(value: object) -> int:
    if type(value) is not int or not 0 < value <= _LAST_PORT:
        raise Refused(f"A port must be a number from 1 to {_LAST_PORT}; nothing was written.")
    return value


KINDS: dict[str, Callable[[object], Any]] = {
    "branch-exists": _branch,
    "commit-exists": _commit,
    "file-exists": _project_path,
    "file-hash": _file_hash,
    "file-missing": _project_path,
    "port-open": _port,
    "tag-exists": _tag,
}
"""Each kind of condition and its validator."""
TYPED = {
    "file": "file-exists",
    "git-tag": "tag-exists",
    "git-branch": "branch-exists",
    "commit": "commit-exists",
    "port": "port-open",
}
"""What a person types before the colon, and the kind of condition that it is."""


def checked(condition: object, kinds: Collection[str]) -> dict[str, Any]:
    """A condition in normal form, if it is one of the ``kinds``: an object with one kind and its value."""
    if not isinstance(condition, dict) or len(condition) != 1 or next(iter(condition)) not in kinds:
        raise Refused(f"A check must be an object with one of {', '.join(kinds)}; nothing was written.")
    kind, value = next(iter(condition.items()))
    return {kind: KINDS[kind](value)}


def typed(text: object) -> dict[str, Any]:
    """The condition that a person or an agent typed: ``file:PATH``, ``git-tag:NAME``, ``port:N`` …"""
    word, _, rest = checked_text(text, "condition").partition(":")
    if word not in TYPED or not rest:
        forms = "file:PATH, git-tag:NAME, git-branch:NAME, commit:ID or port:N"
        raise Refused(f"{str(text)[:80]!r} is not a condition: give {forms}. Nothing was written.")
    value: object = rest
    if word == "port":
        value = int(rest) if rest.isascii() and rest.isdecimal() and len(rest) <= len(str(_LAST_PORT)) else 0
    return checked({TYPED[word]: value}, TYPED.values())


def shown(condition: dict[str, Any]) -> str:
    """A condition as it is typed."""
    kind, value = next(iter(condition.items()))
    words = {name: word for word, name in TYPED.items()}
    return f"{words[kind]}:{value}"
