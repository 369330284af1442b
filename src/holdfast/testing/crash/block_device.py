"""A block device that records every write and every flush: power cuts at the level of the disk.

A process of its own serves one file through ``/dev/fuse``; a loop device on that file sends it what the file system
sends to a disk. From the recording, ``DiskLog.images`` makes the disks that a power cut may leave: everything that was
flushed, and of the writes since the last flush any of them, whole or torn. That also covers file systems without a
shutdown ioctl, such as btrfs. Needs root on Linux; ``missing()`` says what is missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pickle
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.testing.crash import disks
from holdfast.testing.crash.states import scratch_base

_IN = struct.Struct("<IIQQIIII")
_OUT = struct.Struct("<IiQ")
_INIT = struct.Struct("<IIIIHHIIHHI28x")
_ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
_READ = struct.Struct("<QQIIQII")
_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ_CALL, _WRITE, _RELEASE, _FSYNC = 1, 2, 3, 14, 15, 16, 18, 20
_FLUSH, _INIT_CALL, _INTERRUPT, _BATCH_FORGET, _DESTROY = 25, 26, 36, 42, 38
_SILENT = frozenset([_FORGET, _INTERRUPT, _BATCH_FORGET])
_DONE = frozenset([_RELEASE, _FLUSH, _DESTROY])
_DIRECT_IO = 1
_ROOT, _FILE = 1, 2
_NAME = b"disk"
_LARGEST = 1 << 17
_SECTOR = 512
FLUSH = -1
"""The offset of a flush in a recording."""

Write = tuple[int, bytes]


def missing(kind: str) -> str:
    """Why a file system of this kind cannot be recorded here; empty if it can."""
    if reason := disks.missing(kind):
        return reason
    if not os.path.exists("/dev/fuse"):
        return "recording a disk needs /dev/fuse"
    return ""


class RecordedDisk:
    """A file system whose disk is recorded while it is mounted at ``top``."""

    def __init__(self, kind: str, options: str = "") -> None:
        self.kind = kind
        self._options = options
        self._plain = disks.LoopDisk(kind)
        self.folder = self._plain.folder
        self.top = self._plain.top
        self._log = os.path.join(self.folder, "log")
        self.base = os.path.join(self.folder, "base")
        disks.copy_sparse(self._plain.image, self.base)
        self._plain.detach()
        served = os.path.join(self.folder, "served")
        os.mkdir(served)
        self._server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "holdfast.testing.crash.block_device",
                self._plain.image,
                served,
                self._log,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask("ready")
        self._served = served
        try:
            self._plain.attach(os.path.join(served, _NAME.decode()))
            self._plain.mount(options)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RecordedDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def position(self) -> int:
        """The number of writes and flushes so far."""
        return int(self._ask("position"))

    def recorded(self) -> DiskLog:
        """The recording up to now. The file system is unmounted: only one with its id can be mounted at a time."""
        self._ask("log")
        self._plain.unmount()
        self._plain.detach()
        with open(self._log, "rb") as file:
            return DiskLog(self.kind, self.base, pickle.load(file), self._options)

    def _ask(self, what: str) -> str:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{what}\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline().strip()
        if not answer:
            raise OSError(errno.EIO, "the recording block device has ended")
        return answer

    def close(self) -> None:
        if self._plain.mounted:
            with contextlib.suppress(OSError):
                self._plain.unmount()
        self._plain.detach()
        ctypes.CDLL(None).umount2(self._served.encode(), disks.LAZY)
        with contextlib.suppress(OSError):
            self._server.kill()
        self._server.communicate()
        self._plain.close()


class Cut(NamedTuple):
    """A disk that a power cut may leave."""

    position: int
    """So many writes and flushes had happened."""
    what: str
    """Which of the writes since the last flush it has; for failure messages."""


class DiskLog:
    """The writes and flushes of a disk, in their order."""

    def __init__(self, kind: str, base: str, log: list[Write], options: str) -> None:
        self.kind = kind
        self.log = log
        self._base = base
        self._options = options

    def images(self, cuts: int, seed: int, first: int = 0) -> Iterator[tuple[Cut, disks.LoopDisk]]:
        """``cuts`` disks, at random positions from ``first`` on; each is unmounted and removed by the caller."""
        rng = random.Random(f"{seed} {self.kind}")
        points = sorted(rng.randrange(first, len(self.log) + 1) for _ in range(cuts))
        with tempfile.TemporaryDirectory(dir=scratch_base()) as folder:
            flushed = os.path.join(folder, "flushed")
            disks.copy_sparse(self._base, flushed)
            applied = 0
            for point in points:
                last = max((n for n in range(applied, point) if self.log[n][0] == FLUSH), default=applied)
                _apply(flushed, self.log[applied:last])
                applied = last
                image = os.path.join(folder, "image")
                disks.copy_sparse(flushed, image)
                how, kept = _kept(self.log[applied:point], rng)
                _apply(image, kept)
                yield Cut(point, how), disks.LoopDisk(self.kind, copied=image)


def _kept(pending: list[Write], rng: random.Random) -> tuple[str, list[Write]]:
    """Some of the writes that no flush has made durable."""
    writes = [write for write in pending if write[0] != FLUSH]
    how = rng.choice(("none", "all", "some", "some, in another order", "some, one torn"))
    if how == "none":
        return how, []
    if how == "all":
        return how, writes
    kept = [write for write in writes if rng.random() < 0.5]
    if how == "some, in another order":
        rng.shuffle(kept)
    if how == "some, one torn" and kept:
        number = rng.randrange(len(kept))
        offset, data = kept[number]
        kept[number] = offset, data[: rng.randrange(len(data) // _SECTOR + 1) * _SECTOR]
    return f"{how}: {len(kept)} of {len(writes)}", kept


def _apply(path: str, writes: list[Write]) -> None:
    with open(path, "r+b") as file:
        for offset, data in writes:
            if offset != FLUSH:
                file.seek(offset)
                file.write(data)


# -- the process that serves the file -----------------------------------------------------------------------------


class _Server:
    """One file in one folder, as the kernel's file systems in user space see it."""

    def __init__(self, image: str, folder: str) -> None:
        self._image = os.open(image, os.O_RDWR)
        self._size = os.fstat(self._image).st_size
        self._fd = os.open("/dev/fuse", os.O_RDWR)
        self.log: list[Write] = []
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"holdfast", folder.encode(), b"fuse", ctypes.c_ulong(0), options.encode()):
            raise OSError(ctypes.get_errno(), "mounting the recording device")

    def serve(self) -> None:
        """Answer the kernel until the folder is unmounted."""
        while True:
            try:
                request = os.read(self._fd, _LARGEST + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, call, unique, node, *_ = _IN.unpack_from(request)
            if call in _SILENT:
                continue
            answer = self._answer(call, node, memoryview(request)[_IN.size :])
            number, data = (-answer, b"") if isinstance(answer, int) else (0, answer)
            with contextlib.suppress(FileNotFoundError):  # the caller was interrupted
                os.write(self._fd, _OUT.pack(_OUT.size + len(data), number, unique) + data)

    def _answer(self, call: int, node: int, body: memoryview) -> bytes | int:
        if call == _INIT_CALL:
            return _INIT.pack(7, 31, _LARGEST, 0, 16, 12, _LARGEST, 1, _LARGEST // 4096, 0, 0)
        if call == _LOOKUP:
            if bytes(body).rstrip(b"\0") != _NAME:
                return errno.ENOENT
            return struct.pack("<QQQQII", _FILE, 0, 3600, 3600, 0, 0) + self._attributes(_FILE)
        if call == _GETATTR:
            return struct.pack("<QII", 3600, 0, 0) + self._attributes(node)
        if call == _OPEN:
            return struct.pack("<QII", 1, _DIRECT_IO, 0)
        if call == _READ_CALL:
            _, offset, size, *_ = _READ.unpack_from(body)
            return os.pread(self._image, size, offset)
        if call == _WRITE:
            _, offset, size, *_ = _READ.unpack_from(body)
            data = bytes(body[_READ.size : _READ.size + size])
            os.pwrite(self._image, data, offset)
            self.log.append((offset, data))
            return struct.pack("<II", size, 0)
        if call == _FSYNC:
            self.log.append((FLUSH, b""))
            return b""
        return b"" if call in _DONE else errno.ENOSYS

    def _attributes(self, node: int) -> bytes:
        mode, size = (0o40755, 0) if node == _ROOT else (0o100600, self._size)
        return _ATTRIBUTES.pack(node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def main(image: str, folder: str, log: str) -> None:
    """Serve the image, and answer questions about the recording on standard input."""
    from threading import Thread

    server = _Server(image, folder)
    Thread(target=server.serve, daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "log":
            with open(log, "wb") as file:
                pickle.dump(server.log, file)
        print(len(server.log), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
