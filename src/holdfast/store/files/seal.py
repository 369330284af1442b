"""The seal of caches under ``local/``: what this place wrote is told from what a repository brought.

The key is random, and lies where no repository can put a file: in the git directory, or in ``local/`` where there is
no git or its directory cannot be written. A key that came along with a copied folder, or with ``git add -f``, is of no
use: the seal is also bound to the inode and the change time of this place's anchor, which no copy can choose.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.core.hashing import blake2b
from holdfast.fs import durable
from holdfast.fs.port import FileSystem
from holdfast.fs.symlinks import reject_symlinks
from holdfast.store.files.place import Place

LENGTH = 16
"""Bytes of a seal, before the data."""
NAME = "seal-key"
_KEY = 32


class Seal:
    """Seals and opens caches. The key is made when the first cache is stored."""

    __slots__ = ("_bits", "_fs", "_is_made", "_key", "_place")

    def __init__(self, place: Place, bits: Callable[[int], int]) -> None:
        self._place = place
        self._fs: FileSystem = place.fs
        self._bits = bits
        self._key = b""
        self._is_made = False
        """The key is in the best folder for it."""

    def sealed(self, name: str, data: bytes) -> bytes:
        """The data with its seal."""
        writer = self._place.identity.writer()
        if not self._is_made:
            self._key, self._is_made = self._made(), True
        return self._digest(writer, name, data) + data

    def opened(self, name: str, data: bytes) -> bytes | None:
        """The data without its seal; None if this place did not seal it."""
        writer = self._place.identity.stored()
        self._key = self._key or self._stored()
        if not writer or not self._key or data[:LENGTH] != self._digest(writer, name, data[LENGTH:]):
            return None
        return data[LENGTH:]

    def _digest(self, writer: str, name: str, data: bytes) -> bytes:
        anchor = self._fs.stat(os.path.join(self._place.local, "anchor"))
        bound = f"{writer} {anchor.st_ino} {anchor.st_ctime_ns}".encode()
        key = blake2b(bound, key=self._key).digest()
        return blake2b(name.encode() + b"\0" + data, digest_size=LENGTH, key=key).digest()

    def _folders(self) -> list[str]:
        common = self._place.head.common
        reject_symlinks(self._fs, self._place.root, "local")
        return [*([os.path.join(common, "holdfast")] if common else []), self._place.local]

    def _stored(self) -> bytes:
        """The key; empty if there is none."""
        return next((key for folder in self._folders() if (key := self._key_in(folder))), b"")

    def _key_in(self, folder: str) -> bytes:
        try:
            key = durable.read_whole(self._fs, os.path.join(folder, NAME))
        except OSError:
            return b""
        return key if len(key) == _KEY else b""

    def _made(self) -> bytes:
        """The key in the first folder that has one or can be written: one in ``local/`` counts only if the git
        directory cannot be written."""
        *others, last = self._folders()
        for folder in others:
            if key := self._key_in(folder):
                return key
            try:
                self._store(folder)
                return self._key_in(folder)
            except OSError:
                continue  # a sandbox lets nobody write to the git directory
        if not self._key_in(last):
            self._store(last)
        return self._key_in(last)

    def _store(self, folder: str) -> None:
        """Store a key unless there is one. Whoever can write to the folder can read it, and nobody else."""
        key = self._bits(8 * _KEY).to_bytes(_KEY, "big")
        durable.make_folders(self._fs, folder)
        path = os.path.join(folder, NAME)
        mode = durable.private_mode(self._fs, folder)
        temp = f"{path}{durable.TEMP_MARK}{self._place.tag}"
        durable.replace(self._fs, temp, key, tag="key", durable=True, mode=mode)
        try:
            self._fs.link(temp, path)
        except FileExistsError:
            if len(durable.read_whole(self._fs, path)) != _KEY:  # what a power cut left
                durable.replace(self._fs, path, key, tag=self._place.tag, durable=True, mode=mode)
        finally:
            self._fs.unlink(temp)
