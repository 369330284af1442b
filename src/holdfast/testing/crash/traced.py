"""The system calls of a real process as a recording, for engines whose files are written by a library.

strace logs every call that changes files below a folder, with all bytes, and ``crash_states`` derives from it what a
power cut may leave. Needs strace. Writes through shared memory are not seen: SQLite's ``-shm`` holds nothing that must
survive and is excluded, like locks.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

from holdfast.fs import posix
from holdfast.testing.crash.recording import ROOT, Recording, Step, Tree

_CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,unlink"
_LINE = re.compile(r"(\w+)\((.*)\) += (\d+)(?:<((?:\\x[0-9a-f]{2})*)>)?$")
_HANDLE = re.compile(r"\d+<((?:\\x[0-9a-f]{2})*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_LEFT_OUT = ("-shm", "-lock")


def missing() -> str:
    """Why processes cannot be traced here; empty if they can."""
    return "" if shutil.which("strace") else "strace is not installed"


def _bytes(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


class Trace:
    """The calls of one process below ``top``; a write to the file ``said`` is an acknowledgement."""

    def __init__(self, command: Sequence[str], top: str, said: str) -> None:
        self.top = os.path.realpath(top)
        self.start: Tree = Recording(posix, self.top).start
        self.steps: list[Step] = []
        self._said = os.path.realpath(said)
        self._names = dict(self.start.folders[ROOT])
        self._next = max([0, *self.start.files, *self.start.folders]) + 1
        self._acknowledged = 0
        with tempfile.NamedTemporaryFile(suffix=".strace") as out:
            strace = ["strace", "-o", out.name, "-y", "-xx", "-s", str(1 << 24), "-e", f"trace={_CALLS}"]
            subprocess.run([*strace, *command], check=True, capture_output=True)
            with open(out.name, encoding="ascii") as file:
                for line in file:
                    if found := _LINE.match(line.rstrip("\n")):
                        self._take(found[1], found[2], int(found[3]), found[4] or "")

    def _take(self, call: str, arguments: str, result: int, opened: str) -> None:
        texts = [_bytes(text) for text in _TEXT.findall(arguments)]
        handle = _HANDLE.match(arguments)
        if call == "openat":
            path = _bytes(opened).decode()
        elif handle:
            path = _bytes(handle[1]).decode()
        else:
            path = texts[-1].decode()
        if path == self._said and call == "write":
            self._acknowledged += 1
            self.steps.append(Step("acknowledged", offset=self._acknowledged))
        elif path == self.top and call in ("fsync", "fdatasync"):
            self.steps.append(Step("sync_folder", ROOT, path="."))
        elif os.path.dirname(path) == self.top and not path.endswith(_LEFT_OUT):
            self._change(call, os.path.basename(path), arguments, texts, result)

    def _change(self, call: str, name: str, arguments: str, texts: list[bytes], result: int) -> None:
        last = arguments.rpartition(", ")[2]
        node = self._names.get(name, -1)
        if call == "openat":
            if node < 0:
                self._names[name] = node = self._next
                self._next += 1
                self.steps.append(Step("name", node, ROOT, name, path=name))
            assert "O_TRUNC" not in arguments, f"{name} is truncated by open, which is not recorded"
        elif call == "pwrite64":
            self.steps.append(Step("write", node, offset=int(last), data=texts[0][:result], path=name))
        elif call == "ftruncate":
            self.steps.append(Step("truncate", node, offset=int(last), path=name))
        elif call in ("fsync", "fdatasync"):
            self.steps.append(Step("sync", node, path=name))
        elif call == "unlink":
            self.steps.append(Step("unname", self._names.pop(name), ROOT, name, path=name))
        elif call == "rename":
            source = os.path.basename(texts[0].decode())
            self._names[name] = self._names.pop(source)
            moved = Step("move", self._names[name], ROOT, name, from_folder=ROOT, from_name=source, path=name)
            self.steps.append(moved)
        else:
            raise AssertionError(f"{call} on {name} is not recorded")
