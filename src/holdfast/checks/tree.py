"""The files of a project that hold memory or instructions, as lint rules see them."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from functools import cached_property
from typing import Any

MOST_FILES = 20_000
MOST_BYTES = 8 * 1024 * 1024
"""Of larger files only the size is checked."""
_SKIPPED = {
    ".git",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    "dist",
    "build",
    ".mypy_cache",
    ".ruff_cache",
}
_STATE_FOLDERS = (".state", ".planning", "state", "handoff", ".project", "gsd-lite", ".gsd", ".gsd-lite")
_INSTRUCTIONS = re.compile(
    r"(?:^|/)(?:\.opencode/instructions|\.github/instructions|\.claude/rules|\.cursor/rules)/[^/]+\.mdc?$"
    r"|(?:^|/)(?:CLAUDE|GEMINI)\.md$|(?:^|/)\.github/copilot-instructions\.md$"
)


SESSION_STATE = "session-state.json"
"""The governance contract's file: ``state/`` in most projects, and in each part of a larger one."""


class File:
    """One file."""

    def __init__(self, root: str, path: str, size: int) -> None:
        self.root = root
        self.path = path
        self.size = size
        self.name = path.rpartition("/")[2]

    @cached_property
    def data(self) -> bytes:
        if self.size > MOST_BYTES:
            return b""
        try:
            with open(os.path.join(self.root, self.path), "rb") as file:
                return file.read()
        except OSError:
            return b""

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").split("\n")  # git may have converted them

    @cached_property
    def value(self) -> Any:
        """The file as JSON; None if it is not JSON or too deep."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @property
    def in_state(self) -> bool:
        return self.path.startswith(".state/")

    @property
    def is_state_json(self) -> bool:
        """Whether this is a JSON state, ours or another program's."""
        return self.name in ("state.json", "batch_state.json", SESSION_STATE) or (
            self.name.endswith("state.json") and self.path.startswith(("state/", ".state/", ".gsd/"))
        )

    @property
    def is_state_md(self) -> bool:
        return self.name == "STATE.md"

    @property
    def is_segment(self) -> bool:
        return self.path.startswith(".state/events/") and self.name.endswith(".jsonl")

    @property
    def is_agents_md(self) -> bool:
        return self.name == "AGENTS.md"

    @property
    def is_instructions(self) -> bool:
        return bool(_INSTRUCTIONS.search(self.path))

    def line_of(self, wanted: str) -> int:
        """The number of the first line that contains a text; 0 if none does."""
        return next((number for number, line in enumerate(self.lines, 1) if wanted in line), 0)


class Tree:
    """The files of a project that rules may read."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self.files = list(self._walk())
        self.paths = {file.path for file in self.files}

    def _walk(self) -> Iterator[File]:
        left = MOST_FILES
        waiting = [""]
        while waiting and left:
            folder = waiting.pop()
            try:
                entries = sorted(os.scandir(os.path.join(self.root, folder)), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_symlink() or not left:
                    continue
                if entry.is_dir():
                    if entry.name not in _SKIPPED and path != ".state/local":
                        waiting.append(path)
                    continue
                file = File(self.root, path, entry.stat().st_size)
                if stat.S_ISREG(entry.stat().st_mode) and _matters(file):
                    left -= 1
                    yield file

    def has(self, path: str) -> bool:
        """Whether a relative path exists inside the project."""
        target = os.path.normpath(os.path.join(self.root, path))
        return target.startswith(self.root + os.sep) and os.path.lexists(target)


def _matters(file: File) -> bool:
    top = file.path.split("/")[0]
    return (
        top in _STATE_FOLDERS
        or file.is_agents_md
        or file.is_instructions
        or file.name
        in (SESSION_STATE, "events.yaml", "catch-log.tsv", "backlog.yaml", "session-decisions-index.yaml")
        or "\\" in file.name
    )
