"""Which disk, mount and boot a folder is on: what tells a place from a copy that has its inode numbers and times.

An overlay file system shows the inodes of its image in every container, a btrfs snapshot those of its source, and the
disk of a virtual machine those of the machine that it was taken from. The kernel tells them apart. What it does not say
here is left out, and what is left out proves nothing: a sandbox may hide ``/proc`` from some processes and not from
others. All processes of one kernel that see the folder see the same.
"""

from __future__ import annotations

import os
import sys
from zlib import crc32

from holdfast.fs.port import Origin

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MOUNTS = "/proc/self/mountinfo"
_PROCESSORS = "/proc/cpuinfo"
_LOCAL = frozenset(["overlay", "btrfs", "zfs", "bcachefs", "fuse.fuse-overlayfs"])
"""File systems without a block device number that belong to one machine: others may be shared over a network."""
_UNLIKE_S = 5
"""Two boots of one place lie further apart than this; two readings of the time of one boot do not."""


def origin(path: str) -> Origin:
    """What the kernel says of the file system of a folder and of this boot."""
    if sys.platform != "linux":
        return {}
    device = os.stat(path).st_dev
    major, minor = os.major(device), os.minor(device)
    found: Origin = {}
    # It holds the volume of btrfs and, from Linux 6.6 on, the writable layer of an overlay.
    if number := os.statvfs(path).f_fsid:
        found["fs"] = number
    kind, upper = ("", "") if major else _mounted(f"0:{minor}")
    if upper:
        found["layer"] = crc32(upper.encode())
    if major or kind in _LOCAL:
        boot = _content(_BOOT_ID)
        if boot:
            found["boot"] = boot
            found["booted"] = _booted()
        if major or kind.startswith("fuse"):
            disk = f"{major}:{minor}"
            found["disk"] = disk
            if attached := _disk_number(disk):
                found["attached"] = attached
    return found


def is_same(before: Origin, now: Origin) -> bool:
    """Whether a folder with the same inode numbers and times is the same place, and not a copy of its disk.

    A virtual machine that was started again may be a copy of one, or an earlier state of itself. A real machine is not.
    """
    if _differ(before, now, "fs") or _differ(before, now, "layer"):
        return False
    if not _differ(before, now, "boot") or not _booted_apart(before, now):
        return not _differ(before, now, "disk") and not _differ(before, now, "attached")
    return not _is_virtual()


def _differ(before: Origin, now: Origin, key: str) -> bool:
    return key in before and key in now and before[key] != now[key]


def _booted_apart(before: Origin, now: Origin) -> bool:
    """Whether two boots with different ids are two: a container may have an id of its own in the same boot."""
    return abs(int(before.get("booted", 0)) - int(now.get("booted", 0))) > _UNLIKE_S


def _booted() -> int:
    import time

    return int(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME))


def _mounted(device: str) -> tuple[str, str]:
    """The type of the mounted file system with this number, and the writable layer of an overlay.

    The volumes of btrfs have numbers of their own, which no mount has.
    """
    unlisted = ""
    for line in _content(_MOUNTS, 1 << 20).splitlines():
        mount, _, rest = line.partition(" - ")
        kind, _, options = rest.partition(" ")
        if mount.split(" ", 3)[2] == device:
            layers = [part for part in options.split(",") if part.startswith("upperdir=")]
            return kind, layers[0] if layers else ""
        if kind == "btrfs":
            unlisted = kind
    return unlisted, ""


def _disk_number(device: str) -> str:
    """The number of the attached disk: another disk behind the same device has another one."""
    folder = f"/sys/dev/block/{device}"
    return _content(f"{folder}/diskseq") or _content(f"{folder}/../diskseq")


def _is_virtual() -> bool:
    """Whether this may be a virtual machine: only x86 says that it is none."""
    processor = _content(_PROCESSORS, 1 << 12).partition("\n\n")[0]
    flags = [line for line in processor.splitlines() if line.startswith("flags")]
    return not flags or " hypervisor" in flags[0]


def _content(path: str, size: int = 256) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        parts = []
        while size > 0 and (part := os.read(fd, size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(fd)
