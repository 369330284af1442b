"""Change notifications for subscribed resources.

Other processes write to the workspace too, so changes are found by polling: a mark of each watched resource is
compared a few times a second. Without subscriptions there is no polling.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable
from threading import Condition, Thread

from holdfast.edge.mcp.wire import INTERNAL_ERROR, Failure
from holdfast.typed import Any

EVERY_SECONDS = 0.5
MOST_URIS = 1_000
"""The most URIs per subscription."""
MOST_WATCHES = 1_000
"""The most concurrent subscriptions."""


class _Watch:
    def __init__(self, marks: dict[str, Any], tell: Callable[[str], None]) -> None:
        self.marks = marks
        self.tell = tell
        self.begun = False


class Notices:
    """The subscriptions of all peers."""

    def __init__(self, mark: Callable[[str], Any]) -> None:
        self._mark = mark
        self._changed = Condition()
        self._watches: dict[tuple[Hashable, Hashable], _Watch] = {}
        self._thread: Thread | None = None
        self._poked = False

    def add(
        self, owner: Hashable, name: Hashable, uris: Iterable[str], tell: Callable[[str], None]
    ) -> list[str]:
        """Prepare a subscription; return the URIs that can be watched. ``begin`` starts the notifications."""
        marks: dict[str, Any] = {}
        for uri in list(dict.fromkeys(uris))[:MOST_URIS]:
            mark = self._mark(uri)
            if mark is not None:
                marks[uri] = mark
        if marks:
            with self._changed:
                if len(self._watches) >= MOST_WATCHES:
                    raise Failure(INTERNAL_ERROR, "Too many subscriptions; end some of them.")
                self._watches[owner, name] = _Watch(marks, tell)
        return list(marks)

    def begin(self, owner: Hashable, name: Hashable) -> None:
        """Start the notifications. Separate from ``add``, so that an acknowledgement can be sent first."""
        with self._changed:
            watch = self._watches.get((owner, name))
            if watch is None:
                return
            watch.begun = True
            if self._thread is None:
                self._thread = Thread(target=self._look, name="notices", daemon=True)
                self._thread.start()

    def remove(self, owner: Hashable, name: Hashable = None) -> None:
        """End one subscription of an owner, or all of them."""
        with self._changed:
            for key in [key for key in self._watches if key[0] is owner and name in (None, key[1])]:
                del self._watches[key]

    def poke(self) -> None:
        """Poll now: this process probably changed something."""
        if self._watches:
            with self._changed:
                self._poked = True
                self._changed.notify_all()

    def _look(self) -> None:
        while True:
            with self._changed:
                if not self._poked:
                    self._changed.wait(EVERY_SECONDS)
                self._poked = False
                if not self._watches:
                    self._thread = None
                    return
                watches = [(key, watch) for key, watch in self._watches.items() if watch.begun]
            found = {uri: self._marked(uri) for uri in {uri for _, watch in watches for uri in watch.marks}}
            for key, watch in watches:
                self._tell(key, watch, found)

    def _marked(self, uri: str) -> Any:
        try:
            return self._mark(uri)
        except Exception as error:
            sys.stderr.write(f"holdfast mcp: cannot read a watched resource: {type(error).__name__}\n")
            return None

    def _tell(self, key: tuple[Hashable, Hashable], watch: _Watch, found: dict[str, Any]) -> None:
        for uri, before in watch.marks.items():
            now = found.get(uri)
            if now is None or now == before:
                continue
            watch.marks[uri] = now
            try:
                watch.tell(uri)
            except (OSError, ValueError):  # the peer is gone; its file is closed
                with self._changed:
                    self._watches.pop(key, None)
                return
