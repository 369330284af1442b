"""File systems of their own for tests: on loop devices, as layers over one image, as snapshots.

Needs root on Linux; ``missing()`` says what is missing. An image is in memory where possible: only what the file system
had sent to the device matters, and cuts are faster that way.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from holdfast.testing.crash.states import scratch_base

_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN, of ext4 and xfs
_NO_LOG_FLUSH = 2  # without writing the journal in memory
LAZY = 2  # MNT_DETACH


_SMALLEST = {"ext4": 2 << 20, "xfs": 300 << 20, "btrfs": 48 << 20}


def missing(kind: str = "ext4") -> str:
    """Why a file system of this kind cannot be mounted here; empty if it can."""
    if not sys.platform.startswith("linux"):
        return "loop mounts need Linux"
    if os.geteuid() != 0:
        return "loop mounts need root"
    for tool in ("losetup", f"mkfs.{kind}"):
        if shutil.which(tool, path=_PATH) is None:
            return f"loop mounts of {kind} need {tool}"
    if not os.path.exists("/dev/loop-control"):
        return "loop mounts need loop devices"
    try:
        with LoopDisk(kind, size=_SMALLEST[kind]) as disk:
            disk.mount()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"loop mounts do not work here: {error}"
    return ""


_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def _run(*command: str) -> str:
    environment = {**os.environ, "PATH": _PATH}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


_PREFIX = "holdfast-disk-"


def _remove_leftovers() -> None:
    """Unmount and detach the disks of runs that were killed."""
    base = scratch_base() or tempfile.gettempdir()
    for name in os.listdir(base):
        owner = name.removeprefix(_PREFIX).split("-")[0]
        if not name.startswith(_PREFIX) or not owner.isdigit() or os.path.exists(f"/proc/{owner}"):
            continue
        folder = os.path.join(base, name)
        ctypes.CDLL(None).umount2(os.path.join(folder, "mount").encode(), LAZY)
        with contextlib.suppress(subprocess.CalledProcessError):
            for line in _run("losetup", "--associated", os.path.join(folder, "image")).splitlines():
                _run("losetup", "--detach", line.split(":")[0])
        shutil.rmtree(folder, ignore_errors=True)


def _options(kind: str, inodes: int | None, features: str) -> list[str]:
    if kind == "btrfs":
        return ["-q", "-f", "--mixed"]
    if kind == "xfs":
        return ["-q", "-f"]
    count = ["-N", str(inodes)] if inodes else []
    extra = ["-O", features] if features else []
    return ["-q", "-F", "-m", "0", *count, *extra]


class LoopDisk:
    """A separate file system; always unmounted and detached at the end. ``copied`` is the image to begin with."""

    def __init__(
        self,
        kind: str = "ext4",
        *,
        size: int = 48 << 20,
        inodes: int | None = None,
        features: str = "",
        copied: str = "",
    ) -> None:
        _remove_leftovers()
        self.kind = kind
        self.folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=scratch_base())
        self.image = os.path.join(self.folder, "image")
        self.top = os.path.join(self.folder, "mount")
        self.device = ""
        self.mounted = False
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            os.mkdir(self.top)
            if copied:
                copy_sparse(copied, self.image)
            else:
                with open(self.image, "wb") as file:
                    file.truncate(max(size, _SMALLEST[kind]))
                _run(f"mkfs.{kind}", *_options(kind, inodes, features), self.image)
            self.attach(self.image)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LoopDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def attach(self, image: str) -> None:
        """Make a device of an image."""
        self.device = _run("losetup", "--find", "--show", image).strip()

    def detach(self) -> None:
        """Give the device back."""
        if self.device:
            with contextlib.suppress(subprocess.CalledProcessError):
                _run("losetup", "--detach", self.device)
            self.device = ""

    def swap(self, image: str) -> None:
        """Put another image behind the same device. The disk is not mounted."""
        _run("losetup", "--detach", self.device)
        _run("losetup", self.device, image)

    def mount(self, options: str = "", *, flags: int = 0) -> None:
        result = self._libc.mount(
            self.device.encode(),
            self.top.encode(),
            self.kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        )
        if result:
            number = ctypes.get_errno()
            raise OSError(number, f"mounting {self.device}: {os.strerror(number)}")
        self.mounted = True

    def cut(self) -> None:
        """Cut the power: whatever is not on the device yet is lost."""
        fd = os.open(self.top, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(fd)

    def unmount(self) -> None:
        for _ in range(200):
            if not self._libc.umount2(self.top.encode(), 0):
                self.mounted = False
                return
            time.sleep(0.005)
        number = ctypes.get_errno()
        raise OSError(number, f"unmounting {self.top}: {os.strerror(number)}")

    def close(self) -> None:
        if self.mounted:
            try:
                self.unmount()
            except OSError:
                self._libc.umount2(self.top.encode(), LAZY)
        self.detach()
        shutil.rmtree(self.folder, ignore_errors=True)


def copy_sparse(source: str, target: str) -> None:
    """Copy an image; what it does not use takes no space."""
    _run("cp", "--sparse=always", source, target)


def missing_overlay() -> str:
    """Why overlay file systems cannot be mounted here; empty if they can."""
    if not sys.platform.startswith("linux"):
        return "overlay mounts need Linux"
    if os.geteuid() != 0:
        return "overlay mounts need root"
    with tempfile.TemporaryDirectory(dir=scratch_base()) as folder:
        os.mkdir(f"{folder}/lower")
        try:
            with overlay(f"{folder}/lower", f"{folder}/upper", f"{folder}/top"):
                return ""
        except OSError as error:
            return f"overlay mounts do not work here: {error}"


@contextlib.contextmanager
def overlay(lower: str, upper: str, top: str) -> Iterator[None]:
    """Mount at ``top`` a container's view of the image in ``lower``; what is written there goes to ``upper``."""
    work = f"{upper}.work"
    for folder in (upper, work, top):
        os.makedirs(folder, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    if libc.mount(b"overlay", top.encode(), b"overlay", ctypes.c_ulong(0), options.encode()):
        number = ctypes.get_errno()
        raise OSError(number, f"mounting an overlay at {top}: {os.strerror(number)}")
    try:
        yield
    finally:
        libc.umount2(top.encode(), LAZY)


def snapshot(volume: str, target: str) -> None:
    """A writable btrfs snapshot of a subvolume."""
    _run("btrfs", "subvolume", "snapshot", volume, target)


def subvolume(path: str) -> None:
    """A new btrfs subvolume."""
    _run("btrfs", "subvolume", "create", path)
