"""The attempts at what is to be done once, found by its key in the logs of all sessions."""

from __future__ import annotations

from holdfast.core.hashing import blake2b
from holdfast.errors import Refused
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace.decision_list import Wanted, complete

if TYPE_CHECKING:
    from holdfast.workspace.presence_folder import Hold
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
    """The right to run what is to be done once: a kernel lock of the process that runs it, and of the command itself.

    The command inherits the lock. So it is free only when both are gone, however they ended.
    """

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._name = name
        # A key can hold any characters, and the lock is a file.
        self._file = f"runs/{blake2b(name.encode(), digest_size=16).hexdigest()}"
        self._hold: Hold | None = None

    def __enter__(self) -> Key:
        self._hold = self._workspace.presence.folder.try_held(self._file)
        return self

    def __exit__(self, *_: object) -> None:
        if self._hold is not None:
            self._hold.__exit__()

    @property
    def inherited(self) -> tuple[int, ...]:
        """The open files that the command inherits."""
        return () if self._hold is None else (self._hold.fileno(),)

    def attempts(self) -> list[Attempt]:
        """Every attempt under this key, newest first."""
        found = complete(self._workspace, Wanted(once=self._name))
        return [Attempt(self._workspace, entry) for entry in found]

    def check(self, attempts: list[Attempt]) -> None:
        """Raise ``NotRun`` while another process has the right, or what it started."""
        if self._hold is not None:
            return
        running = next((attempt for attempt in attempts if attempt.is_open), None)
        who = f" as {running.id}, by {running.entry['by']}" if running else ""
        raise NotRun(
            f"{self._name} is running now{who}; nothing was run.", hint="Wait for it, then run this again."
        )
