"""Long texts of a stream as content-addressed files: ``events/<stream>/blobs/<hash>``.

A text is durable before the line that names it is written, so a crash never leaves a line without its text. Same
bytes, same name: git has nothing to merge. Files are never changed and stay in place when a session is archived;
they are removed with their stream.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from holdfast.core import codec, long_texts
from holdfast.core.long_texts import FOLDER, LIMIT, Reference
from holdfast.fs import durable
from holdfast.fs.symlinks import reject_symlinks
from holdfast.store.files import pins, segments
from holdfast.store.protocol import (
    AppendContext,
    Appended,
    Cursor,
    Fault,
    Plan,
    PrebuiltCommit,
    PreparedCommit,
    Tail,
)
from holdfast.typed import TYPE_CHECKING, new_record

if TYPE_CHECKING:
    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream

_IN_MEMORY = 8 << 20
"""Long texts up to this size are attached when a whole stream is read; larger ones lazily."""


class Blobs:
    """The long texts of all streams of a workspace."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._named: set[str] = set()
        """Folders whose own names this process has made durable."""

    def append(
        self, handle: Stream, plan: Plan, cursor: Cursor, expect: int | None, op: str | None
    ) -> Appended:
        """Append what a plan returns. The plan sees full lines; its long texts are stored before its line."""
        stream = handle.stream
        lacking: list[Cursor] = []

        def attached(context: AppendContext) -> AppendContext:
            tail = context.tail
            if not tail.lines:
                return context
            whole = self.attach(stream, tail)
            if whole.cursor is not tail.cursor:
                lacking.append(whole.cursor)
            return context._replace(tail=whole)

        def detached(context: AppendContext) -> PreparedCommit:
            return self.detach(stream, plan(attached(context)))

        engine_plan: Plan = detached
        if type(plan) is PrebuiltCommit:
            prepared, on_tail = plan
            if prepared.content is not None and len(prepared.content) <= LIMIT:
                engine_plan = new_record(
                    PrebuiltCommit, (prepared, lambda context: on_tail(attached(context)))
                )
        appended = handle.append(engine_plan, cursor, expect, op)
        return appended._replace(cursor=lacking[-1]) if lacking else appended

    def detach(self, stream: str, prepared: PreparedCommit) -> PreparedCommit:
        """The commit to write, without its long texts, which are durable when this returns."""
        content = prepared.content
        if content is None:
            content = codec.content_of(prepared.draft)
            prepared = prepared._replace(content=content)
        detached = long_texts.detach(prepared.draft, content) if len(content) > LIMIT else None
        if detached is None:
            return prepared
        content, texts = detached
        for name, data in texts.items():
            self._store(stream, name, data)
        return prepared._replace(content=content)

    def _store(self, stream: str, name: str, data: bytes) -> None:
        """Write a text, unless its file exists; either way it is durable when this returns (I3)."""
        place = self._place
        folder = folder_of(place.root, stream)
        path = os.path.join(folder, name)
        reject_symlinks(place.fs, place.root, os.path.relpath(folder, place.root))
        if not self._is_stored(path, data):
            durable.make_folders(place.fs, folder)
            durable.replace(place.fs, path, data, tag=place.tag, durable=True)
        elif folder in self._named:
            place.fs.sync_folder(folder)
        if folder not in self._named:
            durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
            self._named.add(folder)
        pins.pin_file(place, stream, path)

    def _is_stored(self, path: str, data: bytes) -> bool:
        """Whether the file has these bytes, also on the disk: git does not sync what it checks out."""
        fs = self._place.fs
        try:
            fd = fs.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            if durable.read_range(fs, fd, 0, len(data) + 1) != data:
                return False
            fs.sync(fd)
            return True
        except OSError:
            return False  # a second sync would prove nothing (I7)
        finally:
            fs.close(fd)

    def attach(self, stream: str, tail: Tail) -> Tail:
        """A tail with all of its long texts. A missing text is a fault, and the cursor is then invalid: the next read
        looks for the text again, and no snapshot hides the fault."""
        lines = tail.lines
        if not isinstance(lines, list):
            return tail._replace(lines=self.attached(stream, lines))
        without = [line for line in lines if codec.is_detached(line)]
        if not without:
            return tail
        if tail.restarted:
            size = sum(reference.size for line in without for reference in long_texts.references_in(line))
            if size > _IN_MEMORY:
                return tail._replace(lines=self.attached(stream, lines))
        found: list[Fault] = []
        whole = [self._whole(stream, line, found) if codec.is_detached(line) else line for line in lines]
        if not found:
            return tail._replace(lines=whole)
        cursor = {"missing": len(found), "version": tail.version, "head": tail.head}
        return tail._replace(lines=whole, faults=(*tail.faults, *found), cursor=cursor)

    def attached(self, stream: str, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Lines with their long texts, one by one."""
        for line in lines:
            yield self.whole(stream, line)

    def whole(self, stream: str, line: bytes) -> bytes:
        """The full line."""
        return self._whole(stream, line, []) if codec.is_detached(line) else line

    def _whole(self, stream: str, line: bytes, found: list[Fault]) -> bytes:
        def text_of(reference: Reference) -> str:
            text = self._text(stream, reference)
            if text is None:
                found.append(lost(stream, reference.hash))
                return f"[{found[-1].what}: {found[-1].where}]"
            return text

        return long_texts.attach(line, text_of)[0]

    def _text(self, stream: str, reference: Reference) -> str | None:
        for path in (self._path(stream, reference.hash), *pins.paths(self._place, stream, reference.hash)):
            data = read(self._place, path, reference.size)
            if data is not None and long_texts.hash_of(data) == reference.hash:
                return data.decode("utf-8", "replace")
        return None

    def _path(self, stream: str, name: str) -> str:
        return os.path.join(folder_of(self._place.root, stream), name)


def folder_of(root: str, stream: str) -> str:
    """The folder of a stream's long texts, also if it is archived: git would detect a file at another path as a
    rename, which conflicts with a deletion."""
    return os.path.join(segments.folder_of(root, stream), FOLDER)


def read(place: Place, path: str, size: int) -> bytes | None:
    """The bytes of a file of exactly this size; None if there is no such file."""
    try:
        fd = place.fs.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        data = durable.read_range(place.fs, fd, 0, size + 1)
        return data if len(data) == size else None
    except OSError:
        return None
    finally:
        place.fs.close(fd)


def lost(stream: str, name: str, kind: str = "") -> Fault:
    """The fault for a text that cannot be read."""
    from holdfast.store.faults import MISSING_TEXT

    return Fault(kind or MISSING_TEXT, stream, f"{segments.EVENTS}/{stream}/{FOLDER}/{name}")
