"""Removing secrets from an imported file: each line that has one is reported, and nothing else is lost."""

from __future__ import annotations

from typing import Any

from holdfast.core.foreign import Left, Record
from holdfast.core.secrets import finder as secrets
from holdfast.core.secrets.signs import may_hold
from holdfast.errors import SecretFound
from holdfast.workspace import secrets_filter
from holdfast.workspace.workspace import Workspace

_NAMED = 10  # lines that an error names
_BOM = b"\xef\xbb\xbf"


class Cleaning:
    """Decides about the secrets of one file, before anything is written; may refuse the file.

    The stored bytes, and the hash that names them, are those without the secrets: a hash over a password among known
    words would let the password be guessed.
    """

    def __init__(self, workspace: Workspace, name: str, data: bytes) -> None:
        self.data = data
        self.found: list[Left] = []
        self._key: bytes | None = None
        text = data.decode("utf-8", "surrogateescape")
        hits = secrets.find(text) if may_hold(text) else []
        if not hits:
            return
        policy, _ = secrets_filter.policy_of(workspace)
        self.found = [Left(line, kind, _SAID[policy]) for line, kind in _lines(text, hits)]
        if policy == "refuse":
            raise SecretFound(_refusal(name, self.found))
        if policy == "redact":
            self._key = secrets_filter.key_of(workspace)
            self.data = secrets.redact(text, self._key).encode("utf-8", "surrogateescape")

    def of(self, item: Record | Left) -> Record | Left:
        """A record, or a line that was not understood, as it may be stored and shown."""
        if self._key is None:
            return item
        if isinstance(item, Left):
            return item._replace(
                text=secrets.redact(item.text, self._key), why=secrets.redact(item.why, self._key)
            )
        data: dict[str, Any] = secrets.redact_in(item.data, self._key)
        return item._replace(data=data)


_SAID = {
    "refuse": "refused",
    "redact": "a placeholder was kept in its place",
    "allow": "it was allowed and is kept",
}


def _lines(text: str, hits: list[secrets.Secret]) -> list[tuple[int, str]]:
    found, line, at = [], 1, 0
    for hit in hits:
        line += text.count("\n", at, hit.start)
        at = hit.start
        found.append((line, hit.kind))
    return found


def _refusal(name: str, found: list[Left]) -> str:
    places = "; ".join(f"{name}:{left.line}: {left.text}" for left in found[:_NAMED])
    more = f"; and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    return f"The file holds what looks like secrets ({places}{more}). Nothing was written."
