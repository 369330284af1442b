"""The texts of long messages, which are files of their session: pinned like segments.

A text that ``git reset --hard`` or ``git clean`` deletes before a git commit has it is restored, as long as a commit
of the session refers to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256

from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.store import faults
from holdfast.store.files import pins
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream

PREFIX = "message-"


def restore_pinned(
    place: Place, handle_of: Callable[[str], Stream], folder_of: Callable[[str], str]
) -> list[Fault]:
    """Restore every pinned text that its session refers to and no longer has. Not during a rebase, whose next step
    may add the same file."""
    if place.head.is_replaying():
        return []
    found = []
    for stream, held in pins.by_stream(place):
        links = [link for link in held if os.path.basename(link).startswith(PREFIX)]
        if not links:
            continue
        folder = os.path.join(folder_of(stream), "context")
        present = set(durable.names_in(place.fs, folder))
        missing = [link for link in links if os.path.basename(link) not in present]
        _drop_old(place, set(links) - set(missing))
        for link in _referred(handle_of(stream), missing) if missing else ():
            name = os.path.basename(link)
            durable.make_folders(place.fs, folder)
            data = durable.read_whole(place.fs, link)
            durable.replace(place.fs, os.path.join(folder, name), data, tag=place.tag, durable=True)
            durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
            where = os.path.relpath(os.path.join(folder, name), place.root)
            found.append(Fault(faults.REMOVED_TEXT, stream, where, done=faults.RECOVERED, harmless=True))
    return found


def settle(place: Place, path: str) -> bool:
    """Settle a text that one side of a merge does not have: a text never changes, so the content with the digest in
    its name stays. False if no side has that, or if the file is no text of a message."""
    name = os.path.basename(path)
    if not name.startswith(PREFIX):
        return False
    for blob in porcelain.staged(place.root, path):
        data = porcelain.content(place.root, blob)
        if data is not None and name == f"{PREFIX}{sha256(data).hexdigest()[:20]}.txt":
            folder = os.path.dirname(os.path.join(place.root, path))
            durable.make_folders(place.fs, folder)
            durable.replace(place.fs, os.path.join(folder, name), data, tag=place.tag, durable=True)
            durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
            return True
    return False


def _referred(handle: Stream, links: list[str]) -> list[str]:
    """The pins whose text a commit of the stream refers to."""
    wanted = {os.path.basename(link).encode(): link for link in links}
    found: dict[bytes, str] = {}
    with handle.mutex:
        for line in handle.read(None).lines:
            if PREFIX.encode() in line:
                found |= {name: link for name, link in wanted.items() if name in line}
    return list(found.values())


def _drop_old(place: Place, links: Iterable[str]) -> None:
    """A text that has been in its session for a month needs no pin."""
    old = place.clock() - pins.MONTH_MS
    for link in links:
        if place.fs.stat(link).st_mtime_ns < old * 1_000_000:
            pins.drop(place, link)
