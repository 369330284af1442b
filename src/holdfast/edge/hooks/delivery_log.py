"""What each conversation was told already, so that nothing is said twice.

A note of this place: if it is lost, something is said once more.
"""

from __future__ import annotations

import json

from holdfast.core.hashing import blake2b
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

NOTE = "local/hooks/told"
CONVERSATIONS = 64
ALERTS = 32


class Told:
    """What one conversation was told."""

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
        """How many compactions there had been when the conversation was last given the brief; -1 if it never was."""
        found = self._mine.get("compactions")
        return found if isinstance(found, int) else -1

    def transcript(self) -> int:
        """How large the transcript was when the conversation was last given the brief."""
        found = self._mine.get("transcript")
        return found if isinstance(found, int) else 0

    def briefed(self, compactions: int, transcript: int = 0) -> None:
        """The conversation has the brief."""
        if (self.compactions(), self.transcript()) != (compactions, transcript):
            self._mine |= {"compactions": compactions, "transcript": transcript}
            self._save()

    def news(self, lines: list[str]) -> list[str]:
        """Those of the lines that the conversation was not told yet; from now on it was."""
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
