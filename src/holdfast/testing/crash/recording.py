"""A file system that executes every call below one folder and records it.

``crash_states`` derives from the recording which states a power cut may leave: which bytes went where, which names
changed, what was synced, and which commits had been acknowledged. Files and folders are numbered like inodes, because
a name can move while its bytes stay. One process records, one thread at a time.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from holdfast.fs.port import FileSystem
from holdfast.testing.crash.wrapped import Wrapped

ROOT = 0


class Step(NamedTuple):
    """One recorded call that affects the disk, or an acknowledgement."""

    kind: str
    """write, truncate, sync, sync_failed, name, unname, move, sync_folder or acknowledged."""
    node: int = -1
    """The file or folder that the call is about."""
    folder: int = -1
    """The folder whose names change, with the name."""
    name: str = ""
    offset: int = 0
    data: bytes = b""
    from_folder: int = -1
    from_name: str = ""
    path: str = ""
    """Relative to the top of the recording; for failure messages only."""

    def __str__(self) -> str:
        detail = {
            "write": f" {len(self.data)} bytes at {self.offset}",
            "truncate": f" to {self.offset}",
            "move": f" from {self.from_name}",
        }
        return f"{self.kind} {self.path}{detail.get(self.kind, '')}"


class Tree(NamedTuple):
    """The contents of a disk: bytes of files and names in folders, by number."""

    files: dict[int, bytes]
    folders: dict[int, dict[str, int]]


class Recording(Wrapped):
    """Records everything below ``top``; calls on other paths pass unrecorded."""

    def __init__(self, inner: FileSystem, top: str) -> None:
        super().__init__(inner)
        self.top = os.path.abspath(top)
        self.steps: list[Step] = []
        self.acknowledged = 0
        self._next = 1
        self._sizes: dict[int, int] = {}
        self._handles: dict[int, int] = {}
        self.start = Tree({}, {ROOT: {}})
        self._scan(self.top, ROOT)
        self._names = {node: dict(names) for node, names in self.start.folders.items()}

    def _scan(self, path: str, node: int) -> None:
        for name in os.listdir(path):
            number = self._number()
            self.start.folders[node][name] = number
            below = os.path.join(path, name)
            if os.path.isdir(below) and not os.path.islink(below):
                self.start.folders[number] = {}
                self._scan(below, number)
            else:
                with open(below, "rb") as file:
                    self.start.files[number] = file.read()
                self._sizes[number] = len(self.start.files[number])

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _inside(self, path: str) -> bool:
        return path == self.top or path.startswith(self.top + os.sep)

    def _find(self, path: str) -> int | None:
        node = ROOT
        if path == self.top:
            return node
        for part in os.path.relpath(path, self.top).split(os.sep):
            found = self._names.get(node, {}).get(part)
            if found is None:
                return None
            node = found
        return node

    def _place(self, path: str) -> tuple[int, str]:
        folder, name = os.path.split(path)
        node = self._find(folder)
        assert node is not None, f"{folder} was created outside of the recording"
        return node, name

    def _add(self, step: Step, path: str) -> None:
        self.steps.append(step._replace(path=os.path.relpath(path, self.top)))

    def acknowledge(self) -> None:
        """Record that one more commit was acknowledged."""
        self.acknowledged += 1
        self.steps.append(Step("acknowledged", offset=self.acknowledged))

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        fd = super().open(path, flags, mode)
        if not self._inside(path):
            return fd
        node = self._find(path)
        if node is None:
            node = self._number()
            folder, name = self._place(path)
            self._names[folder][name] = node
            self._sizes[node] = 0
            self._add(Step("name", node, folder, name), path)
        elif flags & os.O_TRUNC and self._sizes[node]:
            self._sizes[node] = 0
            self._add(Step("truncate", node), path)
        self._handles[fd] = node
        return fd

    def close(self, fd: int) -> None:
        self._handles.pop(fd, None)
        super().close(fd)

    def write(self, fd: int, data: bytes) -> int:
        done = super().write(fd, data)
        node = self._handles.get(fd)
        if node is not None and done:
            self._add(Step("write", node, offset=self._sizes[node], data=data[:done]), self.paths[fd])
            self._sizes[node] += done
        return done

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        done = super().write_at(fd, data, offset)
        node = self._handles.get(fd)
        if node is not None and done:
            self._add(Step("write", node, offset=offset, data=data[:done]), self.paths[fd])
            self._sizes[node] = max(self._sizes[node], offset + done)
        return done

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        node = self._handles.get(fd)
        if node is not None:
            self._add(Step("truncate", node, offset=size), self.paths[fd])
            self._sizes[node] = size

    def sync(self, fd: int) -> None:
        super().sync(fd)
        if fd in self._handles:
            self._add(Step("sync", self._handles[fd]), self.paths[fd])

    def sync_failed(self, fd: int) -> None:
        """Record a sync that failed as on Linux: the pages count as clean and never reach the disk."""
        if fd in self._handles:
            self._add(Step("sync_failed", self._handles[fd]), self.paths[fd])

    def sync_folder(self, path: str) -> None:
        super().sync_folder(path)
        node = self._find(path) if self._inside(path) else None
        if node is not None:
            self._add(Step("sync_folder", node), path)

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        if not self._inside(target):
            return
        from_folder, from_name = self._place(source)
        node = self._names[from_folder].pop(from_name)
        folder, name = self._place(target)
        self._names[folder][name] = node
        self._add(Step("move", node, folder, name, from_folder=from_folder, from_name=from_name), target)

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        if self._inside(target) and (node := self._find(source)) is not None:
            folder, name = self._place(target)
            self._names[folder][name] = node
            self._add(Step("name", node, folder, name), target)

    def unlink(self, path: str) -> None:
        super().unlink(path)
        self._unname(path)

    def remove_folder(self, path: str) -> None:
        super().remove_folder(path)
        self._unname(path)

    def _unname(self, path: str) -> None:
        if self._inside(path):
            folder, name = self._place(path)
            self._add(Step("unname", self._names[folder].pop(name), folder, name), path)

    def make_folder(self, path: str) -> None:
        super().make_folder(path)
        if self._inside(path):
            node = self._number()
            folder, name = self._place(path)
            self._names[folder][name] = node
            self._names[node] = {}
            self._add(Step("name", node, folder, name, offset=1), path)
