"""When the views of changed sessions are written: about once a second, by one of the processes that write to a session,
and when the workspace is closed."""

from __future__ import annotations

import time

from holdfast.errors import HoldfastError
from holdfast.store.protocol import Fault, git_backed
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace import publish
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.session import Session
from holdfast.workspace.thread_lock import ThreadLock

if TYPE_CHECKING:
    from holdfast.workspace.handle import Handle
    from holdfast.workspace.workspace import Workspace

_EVERY_NS = 1_000_000_000


class ViewWriter:
    """The sessions of a workspace whose views have to be written. Threads may share it."""

    def __init__(self, workspace: Workspace) -> None:
        self.written_at = 0
        """When views were last written (``monotonic_ns``); 0 before the first commit."""
        self._workspace = workspace
        self._stale: dict[str, Handle] = {}
        self._faults: list[Fault] = []
        self._lock = ThreadLock()
        """Held by the thread that writes views. Acquired before the locks of working sets."""

    def changed(self, handle: Handle) -> None:
        """A commit was written: write views, unless this or another process wrote them less than a second ago."""
        self._stale[handle.stream] = handle
        now = time.monotonic_ns()
        if now - self.written_at <= _EVERY_NS or not self._lock.try_acquire():
            return  # too soon, or another thread is writing views: the next commit or ``close`` writes these
        try:
            if self.written_at and not (
                isinstance(handle, Session) and publish.is_fresh(handle, wall_clock())
            ):
                self.write()
            self.written_at = now
        finally:
            self._lock.release()

    def touch(self, handle: Handle) -> None:
        """Have the next ``write`` check a session's views, even if nothing was committed."""
        self._stale[handle.stream] = handle

    def report(self, fault: Fault) -> None:
        """Have the next ``write`` report a fault that did not make its command fail."""
        self._faults.append(fault)

    def write(self) -> list[Fault]:
        """Write the views of every changed session; returns the faults found."""
        with self._lock:
            found, self._faults = self._faults, []
            while self._stale:
                _, handle = self._stale.popitem()
                found += self._write(handle)
            return found + self._heal_page()

    def _write(self, handle: Handle) -> list[Fault]:
        found: list[Fault] = []
        try:
            with handle.lock:
                if isinstance(handle, Session):
                    found += publish.publish(handle)
                handle.settle_down()
            store = git_backed(self._workspace.store)
            if store is not None:
                store.mirror(handle.stream)
        except HoldfastError as error:
            from holdfast.store.faults import UNWRITTEN_VIEW

            # The commit is stored and acknowledged; a view that cannot be written must not deny that.
            data = {"problem": error.message}
            found.append(Fault(UNWRITTEN_VIEW, handle.stream, handle.stream, data, harmless=True))
        return found

    def _heal_page(self) -> list[Fault]:
        if publish.merged_page(self._workspace.where) is None:
            return []
        from holdfast.workspace.heal_pages import heal_merged

        return heal_merged(self._workspace, fix=True)
