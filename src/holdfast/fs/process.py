"""Identifying a process, so that another one can tell later whether it is still running.

A process id alone can be reused; with the start time, on one boot of one machine, it is unique. A stopped or slow
process still counts as running: no timeout is involved.
"""

from __future__ import annotations

import os

from holdfast.fs import posix
from holdfast.fs.port import FileSystem
from holdfast.typed import Record

_PROC = "/proc"
_SHELLS = ("sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "env", "timeout")
_SHELLS_DEEP = 4
_GENERATIONS = 30


class Process(Record):
    """One process of one boot of one machine."""

    host: str
    boot: str
    """Changes with every boot; empty if the system does not report it."""
    space: str
    """The process id namespace: containers on one machine have their own."""
    pid: int
    start: str
    """When it started, as the system reports it; empty if it does not."""


def _read(fs: FileSystem, path: str) -> str:
    try:
        fd = fs.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return fs.read(fd, 4096, 0).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        fs.close(fd)


def start_of(pid: int, fs: FileSystem = posix) -> str | None:
    """When a process of this machine started; None if there is no such process, empty if unknown."""
    text = _read(fs, f"{_PROC}/{pid}/stat")
    if text:
        # The name in parentheses may contain anything; fields count from after it: state first, start as the 20th.
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return ""
    return "" if not os.path.isdir(f"{_PROC}/1") else None


def identify(pid: int | None = None) -> Process:
    """A process of this machine; this one if none is given."""
    chosen = os.getpid() if pid is None else pid
    try:
        space = os.readlink(f"{_PROC}/self/ns/pid")
    except OSError:
        space = ""
    boot = _read(posix, f"{_PROC}/sys/kernel/random/boot_id").strip()
    return Process(os.uname().nodename, boot, space, chosen, start_of(chosen) or "")


def agent() -> Process:
    """The process that runs a command: HOLDFAST_PID, else the leader of its terminal or shell session.

    A command itself exits at once; the process that issues commands stays.
    """
    given = os.environ.get("HOLDFAST_PID", "")
    if given.isdigit() and start_of(int(given)) is not None:
        return identify(int(given))
    leader = os.getsid(0)
    if leader and start_of(leader) is not None:
        return identify(leader)
    return identify(os.getppid())


def program() -> Process:
    """The program that runs this command, through a shell or directly: HOLDFAST_PID, else the nearest parent that is no
    shell."""
    given = os.environ.get("HOLDFAST_PID", "")
    if given.isdigit() and start_of(int(given)) is not None:
        return identify(int(given))
    pid = os.getppid()
    for _ in range(_SHELLS_DEEP):
        name, above = _named(pid)
        if name not in _SHELLS or above <= 1:
            break
        pid = above
    return identify(pid)


def _named(pid: int) -> tuple[str, int]:
    """The name of a process and its parent; empty and 0 if unknown."""
    name, _, rest = _read(posix, f"{_PROC}/{pid}/stat").partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]) if len(fields) > 1 else 0


def is_kin(one: Process, other: Process) -> bool:
    """Whether one process is the other or its ancestor."""
    if one[:3] != other[:3]:
        return False
    return one.pid == other.pid or one.pid in _above(other.pid) or other.pid in _above(one.pid)


_chain: tuple[int, list[int]] = (0, [])


def ancestors() -> list[int]:
    """The ids of this process and of its ancestors, the nearest first; HOLDFAST_PID comes before them. An id alone does
    not identify a process: compare the start time too."""
    global _chain
    me = os.getpid()
    if _chain[0] != me:
        _chain = (me, [me, *_above(me)])
    given = os.environ.get("HOLDFAST_PID", "")
    return [int(given), *_chain[1]] if given.isdigit() else _chain[1]


def _above(pid: int) -> list[int]:
    found: list[int] = []
    while len(found) < _GENERATIONS and (pid := _named(pid)[1]) > 1:
        found.append(pid)
    return found


def is_alive(process: Process, here: Process) -> bool | None:
    """Whether a process is still running, as seen from process ``here``; None if that is not visible from here."""
    # The same boot is the same machine, whatever its name is now.
    if not process.boot or process.boot != here.boot:
        if process.host != here.host:
            return None
        if process.boot != here.boot:
            return False
    if process.space != here.space:
        return None
    start = start_of(process.pid)
    if start is None:
        return False
    return start == process.start if start and process.start else True
