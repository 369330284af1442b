"""Which streams have changed, without reading them: a stamp of each stream, made from file times and sizes.

A stream changes in two ways. Its writer here appends to its growing segment: the segment is longer. Anything else
(a new segment, git, archiving, restoring) creates, replaces or removes a file: the folder has another time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from holdfast.core.stream import is_stream_name, last_part
from holdfast.fs import durable
from holdfast.fs.port import WHOLE_SECOND
from holdfast.recovery import owner
from holdfast.store.files import segments
from holdfast.store.files.place import Place

_SETTLED_NS = 50_000_000
"""A folder whose time is younger than this can change again without getting another time."""
_COARSE_NS = 2_050_000_000
"""The same on a file system that stores whole seconds, or every other one."""


def changes(
    place: Place, known: Mapping[str, str], archived: Callable[[], list[str]]
) -> tuple[dict[str, str], list[str]]:
    """See ``store.protocol.Changes``."""
    found = _Changes(place, known)
    joined = _joined(place, known, archived)
    for folder, names in _live(place):
        found.look_at_all(folder, names, joined)
    for stream, folder in joined.items():
        found.look(stream, folder)
    return found.changed, [name for name in known if name not in found.seen]


class _Changes:
    """One look at all streams."""

    def __init__(self, place: Place, known: Mapping[str, str]) -> None:
        self.changed: dict[str, str] = {}
        self.seen: set[str] = set()
        self._place = place
        self._known = known
        self._stat = place.fs.stat
        self._events = os.path.join(place.root, segments.EVENTS)
        now = place.clock() * 1_000_000
        self._settled, self._coarse = now - _SETTLED_NS, now - _COARSE_NS

    def look_at_all(self, folder: str, names: list[str], joined: dict[str, str]) -> None:
        """Compare the streams in a folder with their known stamps. Most streams of a large workspace are complete: the
        time of the folder tells that nothing has changed."""
        stat, known, see = self._stat, self._known, self.seen.add
        for name in names:
            stream = folder + name
            stamp = known.get(stream)
            if stamp is not None and stamp.endswith(" 0/") and stream not in joined:
                try:
                    if stamp == f"{stat(f'{self._events}/{stream}').st_mtime_ns} 0/":
                        see(stream)
                        continue
                except FileNotFoundError:
                    pass
            self.look(stream, joined.pop(stream, ""))

    def look(self, stream: str, joined: str) -> None:
        """Compare a stream with its known stamp."""
        folder = f"{self._events}/{stream}"
        times = f"{self._time(folder)} {self._time(joined) if joined else 0}"
        known = self._known.get(stream)
        if known is not None:
            before, _, growing = known.rpartition("/")
            if before == times and self._is_same(folder, growing):
                self.seen.add(stream)
                return
        names = [n for n in durable.names_in(self._place.fs, folder) if segments.belongs(stream, n)]
        if not is_stream_name(stream) or (not names and not joined):
            return  # an empty folder, or one that an archived session has left
        self.seen.add(stream)
        stamp = f"{times}/{self._growing(folder, names)}"
        self.changed[stream] = "" if "?" in times else stamp

    def _time(self, folder: str) -> str:
        try:
            time = self._stat(folder).st_mtime_ns
        except FileNotFoundError:
            return "0"
        is_settled = time < (self._settled if time % WHOLE_SECOND else self._coarse)
        return str(time) if is_settled else "?"

    def _is_same(self, folder: str, growing: str) -> bool:
        """Whether the growing segment has its known length."""
        if not growing:
            return True
        size, _, name = growing.partition(" ")
        try:
            return str(self._stat(f"{folder}/{name}").st_size) == size
        except FileNotFoundError:
            return False

    def _growing(self, folder: str, names: list[str]) -> str:
        """The one segment that this writer may still append to, with its length."""
        writer = self._place.identity.stored()
        own = [name for name in names if name.startswith(writer)] if writer else []
        if not own:
            return ""
        name = max(own, key=segments.number_of)
        try:
            return f"{self._stat(f'{folder}/{name}').st_size} {name}"
        except FileNotFoundError:
            return ""


def _live(place: Place) -> Iterator[tuple[str, list[str]]]:
    """The folders that hold those of streams, each with the names in it."""
    fs, events = place.fs, os.path.join(place.root, segments.EVENTS)
    yield "", ["project"]
    users = sorted(durable.names_in(fs, os.path.join(events, "users")))
    yield "users/", [user for user in users if is_stream_name(f"users/{user}")]
    for user in sorted(durable.names_in(fs, os.path.join(events, "sessions"))):
        if is_stream_name(f"users/{user}"):
            yield f"sessions/{user}/", sorted(durable.names_in(fs, os.path.join(events, "sessions", user)))


def _joined(place: Place, known: Mapping[str, str], archived: Callable[[], list[str]]) -> dict[str, str]:
    """The archived streams and the folders of their joined segments. Whose a new folder is says a file in it."""
    fs, history = place.fs, os.path.join(place.root, segments.EVENTS, "history")
    months = durable.names_in(fs, history)
    if not months:
        return {}
    folders = {
        session: f"{history}/{month}/{session}"
        for month in months
        for session in durable.names_in(fs, os.path.join(history, month))
    }
    streams = {last_part(stream): stream for stream in known}
    found = {}
    for session, folder in folders.items():
        stream = streams.get(session) or owner.named_owner(
            place, os.path.join(place.root, "history", session[:7], session)
        )
        if stream and segments.joined_of(place.root, stream) == folder:
            found[stream] = folder
    if len(found) < len(folders):
        # A folder whose file is missing: the archive finds the stream in its segments.
        for stream in archived():
            folder = segments.joined_of(place.root, stream)
            if folder in folders.values():
                found[stream] = folder
    return found
