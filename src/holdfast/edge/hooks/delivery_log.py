"""The delivery log: what each conversation received, so that nothing is delivered twice.

A local cache: if it is lost, something is delivered again.
"""

from __future__ import annotations

import json

from holdfast.core.hashing import blake2b
from holdfast.typed import TYPE_CHECKING, Any, Self
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.local_lock import LocalLock

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

NOTE = "local/hooks/delivered"
CONVERSATIONS = 64
ALERTS = 32
LINES = 120
"""Lines of a brief that are remembered."""
TWICE_MS = 30_000
"""The same brief within this time was asked for by two settings files."""


class DeliveryLog:
    """The deliveries to one conversation. As a scope it is locked: a host may run two hooks at once."""

    def __init__(self, workspace: Workspace, conversation: str) -> None:
        self._workspace = workspace
        self._name = digest(conversation)
        self._lock = LocalLock(workspace.where, "hooks")
        self._load()

    def __enter__(self) -> Self:
        self._lock.__enter__()
        self._load()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()

    def _load(self) -> None:
        try:
            found: Any = json.loads(self._workspace.store.get(NOTE) or b"{}")
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

    def has_brief_of(self, stream: str, compactions: int) -> bool:
        """Whether the conversation received a brief of this session after its last compaction."""
        return self._mine.get("stream") == stream and self.compactions() == compactions

    def briefed(self, stream: str, source: str, compactions: int, transcript: int, lines: list[str]) -> None:
        """Record that the conversation received a brief of a session with these lines."""
        self._mine |= {
            "stream": stream,
            "source": source,
            "compactions": compactions,
            "transcript": transcript,
        }
        self._mine["at"] = wall_clock()
        self._mine["lines"] = [*self._known("lines"), *map(line_digest, lines)][-LINES:]
        self._save()

    def was_just_briefed(self, source: str) -> bool:
        """Whether the conversation received a brief seconds ago, for the same kind of start."""
        at = self._mine.get("at")
        return (
            self._mine.get("source") == source and isinstance(at, int) and 0 <= wall_clock() - at < TWICE_MS
        )

    def new_lines(self, lines: list[str]) -> list[str]:
        """The lines of a brief that the conversation has not received, whatever their age says."""
        known = set(self._known("lines"))
        return [line for line in lines if line_digest(line) not in known]

    def forget_lines(self) -> None:
        """The conversation has lost its context."""
        self._mine.pop("lines", None)

    def forget_brief(self) -> None:
        """The conversation may lose its context: the next start gives the whole brief. Not every host reports the end
        of a compaction."""
        if self._mine.pop("stream", None) is not None:
            self._save()

    def seen_up_to(self, head: str) -> str:
        """The last commit whose decisions the conversation has received; it is ``head`` from now on."""
        found = self._mine.get("head")
        if found != head:
            self._mine["head"] = head
            self._save()
        return found if isinstance(found, str) else head

    def _known(self, name: str) -> list[Any]:
        found = self._mine.get(name)
        return found if isinstance(found, list) else []

    def undelivered(self, lines: list[str]) -> list[str]:
        """The lines that the conversation has not received yet; they are recorded as delivered."""
        known = self._known("alerts")
        new = [line for line in lines if digest(line) not in known]
        if new:
            self._mine["alerts"] = [*known, *map(digest, new)][-ALERTS:]
            self._save()
        return new

    def _save(self) -> None:
        self._all.pop(self._name, None)
        kept = dict(list(self._all.items())[-(CONVERSATIONS - 1) :])
        self._workspace.store.put(NOTE, json.dumps({**kept, self._name: self._mine}).encode())


def line_digest(line: str) -> str:
    """The digest of a line of a brief, without its age."""
    words: list[str] = []
    for word in line.split(" "):
        if word.startswith("ago)"):
            del words[-2:]
        words.append(word)
    return digest(" ".join(words))


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
