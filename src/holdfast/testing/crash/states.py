"""Every disk state that a power cut may legally leave, derived from a recording.

The rules are the weakest reading of POSIX. Unsynced bytes may be lost, torn anywhere, zero or garbage at full length,
and later writes may be there without earlier ones. An unsynced truncation may not have happened. A name that was
created, moved or removed may not have been, each independently, until its folder was synced; syncing a file makes its
bytes durable, not its name. Only files that are reachable by name from the top can be found again.

Where there are too many combinations, the list has all prefixes, each change alone missing, each change alone
present, and a sample with a fixed seed.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from holdfast.testing.crash.recording import ROOT, Step, Tree

_BLOCK = 512


class DiskState(NamedTuple):
    """One possible state of the disk after the cut."""

    files: dict[str, bytes]
    folders: list[str]
    acknowledged: int
    """How many commits had been acknowledged before the cut."""
    made_by: str
    """The crash point and what was lost, for failure messages."""


class Choice(NamedTuple):
    """One possible outcome for one file or folder."""

    label: str
    content: bytes
    names: dict[str, int]


def apply_data(content: bytes, step: Step) -> bytes:
    """The contents of a file after a write or a truncation; a gap is filled with zeros."""
    if step.kind == "truncate":
        return content[: step.offset].ljust(step.offset, b"\0")
    padded = content.ljust(step.offset, b"\0")
    return padded[: step.offset] + step.data + padded[step.offset + len(step.data) :]


def apply_names(names: dict[str, int], step: Step, folder: int) -> None:
    """Apply one recorded call to the names of a folder."""
    if step.kind == "unname":
        names.pop(step.name, None)
        return
    if step.kind == "move" and step.from_folder == folder and names.get(step.from_name) == step.node:
        del names[step.from_name]
    if step.folder == folder:
        names[step.name] = step.node


class Disk:
    """What is durable, and what is only in memory, at one point of a recording."""

    def __init__(self, start: Tree) -> None:
        self.files = dict(start.files)
        self.folders = {node: dict(names) for node, names in start.folders.items()}
        self.loose_data: dict[int, list[Step]] = {}
        self.loose_names: dict[int, list[Step]] = {}

    def play(self, step: Step) -> None:
        """Apply one recorded call."""
        if step.kind in ("write", "truncate"):
            self.loose_data.setdefault(step.node, []).append(step)
        elif step.kind == "sync":
            for loose in self.loose_data.pop(step.node, []):
                self.files[step.node] = apply_data(self.files[step.node], loose)
        elif step.kind == "sync_failed":
            self.loose_data.pop(step.node, None)
        elif step.kind == "sync_folder":
            for loose in self.loose_names.pop(step.node, []):
                apply_names(self.folders[step.node], loose, step.node)
        elif step.kind in ("name", "unname", "move"):
            if step.kind == "name":
                self._new_node(step)
            self.loose_names.setdefault(step.folder, []).append(step)
            if step.kind == "move" and step.from_folder != step.folder:
                self.loose_names.setdefault(step.from_folder, []).append(step)

    def _new_node(self, step: Step) -> None:
        if step.offset:
            self.folders[step.node] = {}
        else:
            self.files.setdefault(step.node, b"")  # a second name of a file does not change its bytes

    def file_choices(self, node: int, rng: random.Random) -> list[Choice]:
        """Every possible outcome for a file's bytes, from 'all lost' to 'all there'."""
        before, loose = self.files[node], self.loose_data[node]
        found: dict[bytes, str] = {before: "lost"}
        content = before
        for index, step in enumerate(loose):
            if step.kind == "write":
                for label, torn in _torn(content, step, rng):
                    found.setdefault(torn, f"{label} in change {index + 1} of {len(loose)}")
            content = apply_data(content, step)
            found.setdefault(content, f"first {index + 1} of {len(loose)}")
        for missing in range(len(loose) - 1):
            other = before
            for index, step in enumerate(loose):
                if index != missing:
                    other = apply_data(other, step)
            found.setdefault(other, f"all but change {missing + 1}")
        label = found.pop(content)
        found[content] = label
        return [Choice(text, data, {}) for data, text in found.items()]

    def folder_choices(self, node: int, rng: random.Random) -> list[Choice]:
        """Every possible outcome for a folder's names, from 'no changes' to 'all changes'."""
        loose = self.loose_names[node]
        count = len(loose)
        if count <= 5:
            kept = [
                set(pick) for size in range(count + 1) for pick in itertools.combinations(range(count), size)
            ]
        else:
            kept = [set(range(size)) for size in range(count + 1)]
            kept += [{index} for index in range(count)]
            kept += [set(range(count)) - {index} for index in range(count)]
            kept += [{index for index in range(count) if rng.random() < 0.5} for _ in range(32)]
        kept.append(set(range(count)))
        found: dict[tuple[tuple[str, int], ...], Choice] = {}
        for pick in kept:
            names = dict(self.folders[node])
            for index in sorted(pick):
                apply_names(names, loose[index], node)
            key = tuple(sorted(names.items()))
            found.pop(key, None)
            found[key] = Choice(f"names {sorted(pick)} of {count}", b"", names)
        return list(found.values())

    def tree(self, chosen: dict[int, Choice]) -> tuple[dict[str, bytes], list[str]]:
        """The files and folders reachable from the top, given the outcomes of the unsynced ones."""
        files: dict[str, bytes] = {}
        folders: list[str] = []
        waiting = [(ROOT, "")]
        while waiting:
            node, path = waiting.pop()
            names = chosen[node].names if node in chosen else self.folders[node]
            for name, below in names.items():
                full = f"{path}/{name}" if path else name
                if below in self.folders:
                    folders.append(full)
                    waiting.append((below, full))
                else:
                    files[full] = chosen[below].content if below in chosen else self.files[below]
        folders.sort()
        return files, folders


def _torn(content: bytes, step: Step, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """The possible results of one unsynced write on top of ``content``."""
    data, at, size = step.data, step.offset, len(step.data)
    first_block = -at % _BLOCK or _BLOCK
    cuts = {1, size // 2, size - 1, first_block, first_block + _BLOCK}
    cuts |= {index + shift for index in range(size) if data[index] == 10 for shift in (0, 1)}
    # Sampled without replacement, so that the number of states does not depend on the random numbers.
    others = [cut for cut in range(1, size) if cut not in cuts]
    cuts.update(rng.sample(others, min(2, len(others))))
    stale = content[-size:].rjust(size, b"\0") if content else b"\0" * size
    for cut in sorted(cut for cut in cuts if 0 < cut < size):
        head, tail = data[:cut], data[cut:]
        yield f"cut at {cut}", apply_data(content, step._replace(data=head))
        yield f"zeros from {cut}", apply_data(content, step._replace(data=head + b"\0" * len(tail)))
        yield f"zeros up to {cut}", apply_data(content, step._replace(data=b"\0" * cut + tail))
        yield f"garbage from {cut}", apply_data(content, step._replace(data=head + rng.randbytes(len(tail))))
        yield f"old bytes from {cut}", apply_data(content, step._replace(data=head + stale[cut:]))
    yield "zeros", apply_data(content, step._replace(data=b"\0" * size))
    yield "garbage", apply_data(content, step._replace(data=rng.randbytes(size)))
    yield "garbage line", apply_data(content, step._replace(data=rng.randbytes(size - 1) + b"\n"))
    yield "old bytes", apply_data(content, step._replace(data=stale))
    flipped = bytearray(data)
    flipped[rng.randrange(size)] ^= 1 << rng.randrange(8)
    yield "one bit flipped", apply_data(content, step._replace(data=bytes(flipped)))


def _combined(
    choices: dict[int, list[Choice]], limit: int, rng: random.Random
) -> Iterator[dict[int, Choice]]:
    """Combinations of the choices of all unsynced files and folders, at most about ``limit``."""
    nodes = list(choices)
    total = 1
    for node in nodes:
        total *= len(choices[node])
    if total <= limit:
        for picks in itertools.product(*choices.values()):
            yield dict(zip(nodes, picks, strict=True))
        return
    for extreme in (0, -1):
        base = {node: choices[node][extreme] for node in nodes}
        yield base
        for node in nodes:
            for choice in choices[node]:
                yield {**base, node: choice}
    for _ in range(limit):
        yield {node: rng.choice(choices[node]) for node in nodes}


class Recorded(Protocol):
    """The input of ``crash_states``: the initial disk and the recorded steps."""

    start: Tree
    steps: list[Step]


def crash_states(
    recording: Recorded,
    *,
    seed: int = 0,
    limit: int = 120,
    first: int = 0,
    final_only: bool = False,
    acknowledged_only: bool = False,
) -> Iterator[DiskState]:
    """All states that a power cut may leave after each step from ``first`` on, without duplicates.

    ``limit`` bounds the combinations per crash point. ``final_only`` covers only the last crash point,
    ``acknowledged_only`` only those right after an acknowledgement.
    """
    rng = random.Random(seed)
    disk = Disk(recording.start)
    seen: set[int] = set()
    acknowledged = 0
    for point in range(len(recording.steps) + 1):
        if point:
            step = recording.steps[point - 1]
            disk.play(step)
            if step.kind == "acknowledged":
                acknowledged = step.offset
        if point < first or (final_only and point < len(recording.steps)):
            continue
        if acknowledged_only and (not point or recording.steps[point - 1].kind != "acknowledged"):
            continue
        choices = {node: disk.file_choices(node, rng) for node in disk.loose_data}
        choices |= {node: disk.folder_choices(node, rng) for node in disk.loose_names}
        for chosen in _combined(choices, limit, rng):
            files, folders = disk.tree(chosen)
            key = hash((frozenset(files.items()), tuple(folders), acknowledged))
            if key not in seen:
                seen.add(key)
                what = "; ".join(f"node {node}: {choice.label}" for node, choice in chosen.items())
                yield DiskState(
                    files, folders, acknowledged, f"cut after step {point}; {what or 'all synced'}"
                )


def write_out(state: DiskState, folder: str) -> None:
    """Write a state to a new folder."""
    os.mkdir(folder)
    for name in state.folders:
        os.mkdir(os.path.join(folder, name))
    for name, content in state.files.items():
        fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            if content:
                os.write(fd, content)
        finally:
            os.close(fd)


def scratch_base() -> str | None:
    """The fastest place for scratch files: tmpfs if available."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None


def remove_tree(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
