"""The identity of the writer.

A writer is one clone or worktree on one machine. Its identity is in ``local/writer.json``. A copied folder or a
restored backup would copy the identity, and two folders would write under one name. So the identity is tied to an
anchor file that no copied folder can reproduce (inode and change time), and to the disk, mount and boot that it is on,
which no copied disk can reproduce; if they do not match, the folder takes a new identity.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from holdfast.core import ids
from holdfast.fs import durable
from holdfast.fs.port import LOCK_EX, FileSystem, Origin
from holdfast.typed import Any


class WriterIdentity:
    """The name under which this workspace writes."""

    def __init__(self, fs: FileSystem, local: str, random_bits: Callable[[int], int], tag: str) -> None:
        self._fs = fs
        self._local = local
        self._path = os.path.join(local, "writer.json")
        self._anchor = os.path.join(local, "anchor")
        self._random_bits = random_bits
        self._tag = tag
        self._writer = ""
        self._is_restarted = False
        """The machine was started again since the identity was stored, and is known to be the same."""
        self.copied: Callable[[str, str], None] | None = None
        """Called with the old and the new name when the folder turns out to be a copy."""

    def writer(self) -> str:
        """The current identity; a new one if there is none or the folder was copied."""
        writer = self._writer or self.stored() or self.renew("")
        if self._is_restarted:
            self._restamp(writer)
        return writer

    def stored(self) -> str:
        """The current identity; empty if there is none. Never creates one."""
        if not self._writer:
            self._writer = self._load()
        return self._writer

    def reload(self) -> str:
        """The identity, read again: another process may have changed it."""
        self._writer = ""
        return self.writer()

    def renew(self, old: str) -> str:
        """Take a new identity in place of ``old``, unless another process has just done so."""
        durable.make_folders(self._fs, self._local)
        lock = durable.open_lock(self._fs, os.path.join(self._local, "writer.lock"))
        try:
            self._fs.lock(lock, LOCK_EX)
            stored = self._load()
            if stored and stored != old:
                self._writer = stored
                return stored
            writer = ids.random_text(self._random_bits(64), ids.WRITER_LENGTH)
            if self.copied is not None and not stored and (before := self._named()):
                self.copied(before, writer)
            self._fs.close(self._fs.open(self._anchor, os.O_RDWR | os.O_CREAT))
            self._store(writer)
            self._writer = writer
            return writer
        finally:
            self._fs.close(lock)

    def _restamp(self, writer: str) -> None:
        """Store the boot of today: a copy of the disk that is mounted later in this boot differs from it."""
        lock = self._fs.open(os.path.join(self._local, "writer.lock"), os.O_RDWR | os.O_CREAT)
        try:
            self._fs.lock(lock, LOCK_EX)
            if self._load() == writer:
                self._store(writer)
        finally:
            self._fs.close(lock)

    def _store(self, writer: str) -> None:
        self._is_restarted = False
        note = {"writer": writer, "anchor": self._stamp(), "origin": self._fs.origin(self._local)}
        durable.replace(self._fs, self._path, json.dumps(note).encode() + b"\n", tag=self._tag, durable=False)

    def _named(self) -> str:
        """The writer in the file, whether or not the file belongs to this folder."""
        try:
            writer = str(json.loads(durable.read_whole(self._fs, self._path))["writer"])
            return writer if ids.is_writer(writer) else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _load(self) -> str:
        try:
            note: dict[str, Any] = json.loads(durable.read_whole(self._fs, self._path))
            writer = str(note["writer"])
            if not ids.is_writer(writer) or note["anchor"] != self._stamp():
                return ""
            return writer if self._is_origin(note["origin"]) else ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return ""

    def _is_origin(self, before: Origin) -> bool:
        """Whether the folder is still on the disk and mount that it was on: see ``holdfast.fs.origin``."""
        now = self._fs.origin(self._local)
        if before == now:
            return True
        from holdfast.fs import origin

        self._is_restarted = before.get("boot") != now.get("boot", before.get("boot"))
        return origin.is_same(before, now)

    def _stamp(self) -> list[int]:
        found = self._fs.stat(self._anchor)
        return [found.st_ino, found.st_ctime_ns]
