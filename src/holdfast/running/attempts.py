"""The attempts at what is to be done once, found by its key in the logs of all sessions."""

from __future__ import annotations

from holdfast.core.hashing import blake2b
from holdfast.errors import Refused
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace.decision_list import Wanted, decisions
from holdfast.workspace.presence import Held, Lease, Presence

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


class NotRun(Refused):
    """The command was not run."""

    code = "HF-NOT-RUN"
    status = 125


class Attempt(Record):
    """One announced run, and what became of it."""

    workspace: Workspace
    entry: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @property
    def session(self) -> str:
        return f"{self.entry['user']}/{self.entry['session']}"

    @property
    def ok(self) -> bool:
        return bool(self.entry["status"] == "settled")

    @property
    def is_open(self) -> bool:
        return bool(self.entry["status"] == "unsettled")

    @property
    def recovery(self) -> str | None:
        found: str | None = self.entry["recovery"]
        return found

    def settle(self, outcome: str, *, ok: bool) -> None:
        """Record what was found out about it."""
        self.workspace.session(self.session).settle(self.id, outcome, ok=ok)


class Key:
    """The right to run what is to be done once. The process that has it is alive, or it is free for the next one."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._name = name
        self._presence = Presence(workspace)
        self._lease: Lease | None = None

    def __enter__(self) -> Key:
        # A key can hold any characters, and the name of a lease is that of a file.
        lease = f"run/{blake2b(self._name.encode(), digest_size=16).hexdigest()}"
        try:
            self._lease = self._presence.lease(lease)
        except Held as held:
            holder = self._presence.holder(lease)
            is_elsewhere = holder is not None and holder["state"] == "elsewhere"
            if not is_elsewhere or any(attempt.is_open for attempt in self.attempts()):
                raise self._running(holder) from held
            # Whoever had it elsewhere has recorded how it ended.
            self._lease = self._presence.lease(lease, anyway=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lease is not None:
            self._lease.release()

    def attempts(self) -> list[Attempt]:
        """Every attempt under this key, newest first."""
        found, _ = decisions(self._workspace, Wanted(once=self._name))
        return [Attempt(self._workspace, entry) for entry in found]

    def _running(self, holder: dict[str, Any] | None) -> NotRun:
        if holder is None or holder["state"] == "alive":
            who = (
                f", by {holder['by']} (process {holder['process'][3]}) since {holder['since'][:16]}Z"
                if holder
                else ""
            )
            return NotRun(
                f"{self._name} is running now{who}; nothing was run.",
                hint="Wait for it, then run this again.",
            )
        return NotRun(
            f"{self._name} was started by {holder['by']} at {holder['since'][:16]}Z, on another machine or in another "
            "container, and has no outcome; nothing was run.",
            hint="Whether it is still running cannot be seen from here. If it is gone, check whether it was done and "
            "settle its decision; then run this again.",
        )
