"""The index of operation ids: has this op been in the stream?

A list of 8-byte hashes, one per commit that has an op, kept as a note with the cursor up to which it is
complete. It is only a hint: a hit is confirmed in the log, and a lost or damaged note is made again from the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.core import codec
from holdfast.core.hashing import blake2b
from holdfast.store.protocol import Cursor, Tail

_WIDTH = 8
_CHECKSUM = 16
_SAVE_AFTER = 256
"""Commits that a process re-reads at most."""


def op_of(line: bytes) -> bytes | None:
    """The op of a commit's line as its JSON text, or None; found by position, without parsing the line."""
    end = line.find(b',"events":[')
    start = line.find(b',"op":', 0, end)
    return None if start < 0 else line[start + 6 : end]


class Ops:
    """The ops of one stream."""

    def __init__(
        self,
        read: Callable[[Cursor], Tail],
        load: Callable[[], bytes | None],
        save: Callable[[bytes], None],
    ) -> None:
        self._read = read
        self._save = save
        self._cursor: Cursor = None
        self._known = bytearray()
        self._recent: set[bytes] = set()
        self._unsaved = 0
        note = load() or b""
        body = note[_CHECKSUM:]
        if note[:_CHECKSUM] == _checksum(
            body
        ):  # otherwise a known op could pass for a new one: read the log again
            head, _, hashes = body.partition(b"\n")
            self._cursor = json.loads(head)
            self._known += hashes

    def may_have(self, op: str) -> bool:
        """False if the op is certainly not in the stream."""
        self._catch_up()
        wanted = _hash(json.dumps(op, ensure_ascii=False).encode(errors="surrogatepass"))
        if wanted in self._recent:
            return True
        at = self._known.find(wanted)
        while at >= 0:
            if at % _WIDTH == 0:
                return True
            at = self._known.find(wanted, at + 1)
        return False

    def _catch_up(self) -> None:
        tail = self._read(self._cursor)
        if tail.restarted:
            self._known.clear()
            self._recent.clear()
        new = 0
        for line in tail.lines:
            new += 1  # including those without an op, so that nobody re-reads them
            if (op := op_of(line)) is not None:
                self._recent.add(_hash(op))
        self._cursor = tail.cursor
        self._unsaved += new
        if self._unsaved >= _SAVE_AFTER:
            self._known += b"".join(self._recent)
            self._recent.clear()
            self._unsaved = 0
            body = json.dumps(self._cursor).encode() + b"\n" + self._known
            self._save(_checksum(body) + body)


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECKSUM).digest()


def _hash(op: bytes) -> bytes:
    return blake2b(op, digest_size=_WIDTH).digest()


def matches(line: bytes, op: str) -> bool:
    """Whether a commit's line has exactly this op."""
    return op_of(line) is not None and codec.decode(line).op == op
