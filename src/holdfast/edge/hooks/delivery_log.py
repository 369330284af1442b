"""The delivery log: what each conversation received, so that nothing is delivered twice.

A local cache: if it is lost, something is delivered again.
"""

from __future__ import annotations

import json

from holdfast.core.hashing import blake2b
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

NOTE = "local/hooks/delivered"
CONVERSATIONS = 64
ALERTS = 32


class DeliveryLog:
    """The deliveries to one conversation."""

    def __init__(self, workspace: Workspace, conversation: str) -> None:
        self._workspace = workspace
        self._name = digest(conversation)
        try:
            found: Any = json.loads(workspace.store.get(NOTE) or b"{}")
        except ValueError:
            found = {}
        self._all: dict[str, Any] = found if isinstance(found, dict) else {}
        mine = self._all.pop(self._name, None)
        self._mine: dict[str, Any] = mine if isinstance(mine, dict) else {}

    def compactions(self) -> int:
        """The number of compactions when the conversation last received the brief; -1 if it never did."""
        found = self._mine.get("compactions")
        return found if isinstance(found, int) else -1

    def transcript(self) -> int:
        """The size of the transcript when the conversation last received the brief."""
        found = self._mine.get("transcript")
        return found if isinstance(found, int) else 0

    def briefed(self, compactions: int, transcript: int = 0) -> None:
        """Record that the conversation received the brief."""
        if (self.compactions(), self.transcript()) != (compactions, transcript):
            self._mine |= {"compactions": compactions, "transcript": transcript}
            self._save()

    def undelivered(self, lines: list[str]) -> list[str]:
        """The lines that the conversation has not received yet; they are recorded as delivered."""
        known = self._mine.get("alerts")
        known = known if isinstance(known, list) else []
        new = [line for line in lines if digest(line) not in known]
        if new:
            self._mine["alerts"] = [*known, *map(digest, new)][-ALERTS:]
            self._save()
        return new

    def _save(self) -> None:
        self._all.pop(self._name, None)
        kept = dict(list(self._all.items())[-(CONVERSATIONS - 1) :])
        self._workspace.store.put(NOTE, json.dumps({**kept, self._name: self._mine}).encode())


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
