"""A versioned JSON file with migrations, a backup and defaults."""

from __future__ import annotations

import copy
import json
import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import Newer, Refused, Usage
from holdfast.fs import durable, posix
from holdfast.kit.atomic import MOST_BYTES, as_json, replace, target_of
from holdfast.kit.lock import file_lock

if TYPE_CHECKING:
    from holdfast.workspace.models import JsonObject

    Migration = Callable[[JsonObject], JsonObject]

KEPT_ASIDE = 5
"""Unreadable files that are kept; the oldest is removed for a sixth."""
_VERSION = r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}"


class Loaded(NamedTuple):
    """A state, and where it came from."""

    state: JsonObject
    source: str
    """``file``; ``backup`` if the file is missing or unreadable; ``defaults`` if there is no readable backup either."""
    problem: str
    """What was wrong, for people; empty if nothing was. A file that never existed is no problem."""


class _Unreadable(Exception):
    """The bytes are no state: damaged, cut short, or refused by the program's own check."""


class StateFile:
    """One JSON object in a file, with a version.

    Saving replaces the file atomically and durably and keeps the state before it as ``<name>.bak``. Loading migrates
    an older state; an unreadable file falls back to the backup, then to the defaults, says so, and is kept beside
    the file as ``<name>.unreadable-<n>`` when the next state is saved. A file of a newer version is refused and never
    overwritten. Errors of the disk are errors, and never mean that there is no state.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        version: str,
        defaults: JsonObject | Callable[[], JsonObject],
        check: Callable[[JsonObject], None] | None = None,
        first_version: str = "1.0.0",
        mode: int | None = None,
    ) -> None:
        """``check`` raises ``ValueError`` for a state that is not valid. ``first_version`` is meant by a file without a
        version. ``mode`` are the permissions of the file; without it a new file gets the usual ones and an existing
        one keeps its own."""
        if not re.fullmatch(_VERSION, version):
            raise Usage(f"{version!r} is no version. Versions are letters, digits, '.', '+', '_' and '-'.")
        self.path = target_of(path)
        self.version = version
        self._defaults = defaults
        self._check = check
        self._first_version = first_version
        self._mode = mode
        self._migrations: dict[str, tuple[str, Migration]] = {}

    # -- versions -----------------------------------------------------------------------------------------

    def migration(self, old: str, new: str) -> Callable[[Migration], Migration]:
        """Register a function that turns a state of version ``old`` into one of version ``new``."""

        def register(function: Migration) -> Migration:
            if old == new or old in self._migrations:
                raise Usage(f"There is a migration from version {old} already, or it leads nowhere.")
            self._migrations[old] = (new, function)
            return function

        return register

    def _migrated(self, state: JsonObject) -> JsonObject:
        version = state.get("version", self._first_version)
        if not isinstance(version, str):
            raise _Unreadable(f"its version is {version!r}, which is no text")
        seen = {version}
        while version != self.version:
            if version not in self._migrations:
                if _later(version, self.version):
                    raise Newer(
                        f"{self.path} has version {version}; this program knows {self.version}. Nothing was changed.",
                        hint="Upgrade the program.",
                    )
                raise Usage(
                    f"{self.path} has version {version}, and no migration leads from there to {self.version}.",
                    hint="Register one with StateFile.migration. Nothing was changed.",
                )
            version, function = self._migrations[version]
            if version in seen:
                raise Usage(f"The migrations of {self.path} go round in circles at version {version}.")
            seen.add(version)
            made: object = function(state)
            if not isinstance(made, dict):
                raise Usage(f"The migration to version {version} did not return a state.")
            state = made
        return {**state, "version": self.version}

    # -- loading ------------------------------------------------------------------------------------------

    def load(self) -> Loaded:
        """The state, migrated to the current version. Writes nothing."""
        data = self._bytes(self.path)
        problem = ""
        if data is not None:
            try:
                return Loaded(self._decoded(data), "file", "")
            except _Unreadable as reason:
                problem = f"{self.path} cannot be read: {reason}."
        backup = self._bytes(self._backup)
        if backup is not None:
            try:
                state = self._decoded(backup)
            except _Unreadable as reason:
                problem = f"{problem} Its backup cannot be read either: {reason}.".strip()
            else:
                problem = problem or f"{self.path} is missing."
                return self._recovered(state, "backup", f"{problem} The state before the last one is used.")
        if not problem:
            return Loaded(self._fresh(), "defaults", "")
        return self._recovered(self._fresh(), "defaults", f"{problem} The defaults are used.")

    def _recovered(self, state: JsonObject, source: str, problem: str) -> Loaded:
        logging.getLogger("holdfast").warning("%s", problem)
        return Loaded(state, source, problem)

    def _fresh(self) -> JsonObject:
        made = self._defaults() if callable(self._defaults) else copy.deepcopy(self._defaults)
        return {**made, "version": self.version}

    def _decoded(self, data: bytes) -> JsonObject:
        try:
            state = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as problem:
            raise _Unreadable(str(problem) or "it is nested too deeply") from None
        if not isinstance(state, dict):
            raise _Unreadable("it holds no JSON object")
        state = self._migrated(state)
        try:
            self._valid(state)
        except ValueError as problem:
            raise _Unreadable(str(problem) or "its check refused it") from None
        return state

    def _valid(self, state: JsonObject) -> None:
        if self._check is not None:
            self._check(copy.deepcopy(state))

    def _bytes(self, path: str) -> bytes | None:
        try:
            size = os.stat(path).st_size
            if size > MOST_BYTES:
                raise Refused(f"{path} has {size:,} bytes; a state file has at most {MOST_BYTES:,}.")
            return durable.read_whole(posix, path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    # -- saving -------------------------------------------------------------------------------------------

    def save(self, state: Mapping[str, object]) -> None:
        """Replace the state; the one before it becomes the backup. ``ValueError`` from the check: nothing was saved."""
        with file_lock(self._made_folder()):
            self._save(state)

    @contextmanager
    def update(self, *, timeout: float | None = None) -> Iterator[JsonObject]:
        """The state, to be changed within the block; saved when the block ends, and not if it raises.

        Other processes and threads that update the same file wait, so no change is lost.
        """
        with file_lock(self._made_folder(), timeout=timeout):
            state = self.load().state
            yield state
            self._save(state)

    def _made_folder(self) -> str:
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            posix.sync_folder(os.path.dirname(folder))
        return self.path

    @property
    def _backup(self) -> str:
        return f"{self.path}.bak"

    def _save(self, given: Mapping[str, object]) -> None:
        data = as_json({**given, "version": self.version})
        self._valid(json.loads(data))
        self._keep_previous()
        replace(self.path, data, "state", self._mode)

    def _keep_previous(self) -> None:
        """Keep the state on the disk as the backup, or aside if it cannot be read. Raises ``Newer`` for a newer one."""
        data = self._bytes(self.path)
        if data is None:
            return
        mode = stat.S_IMODE(os.stat(self.path).st_mode)  # a copy is as private as the file
        try:
            self._decoded(data)
        except _Unreadable:
            self._put_aside(data, mode)
            return
        replace(self._backup, data, "state", mode)
        version = json.loads(data).get("version", self._first_version)
        if version != self.version and re.fullmatch(_VERSION, version):
            replace(f"{self.path}.{version}.bak", data, "state", mode)  # the way back after an upgrade

    def _put_aside(self, data: bytes, mode: int) -> None:
        folder, name = os.path.split(self.path)
        pattern = re.escape(name) + r"\.unreadable-([0-9]{1,9})"
        numbers = sorted(
            int(match[1]) for entry in posix.names(folder) if (match := re.fullmatch(pattern, entry))
        )
        replace(f"{self.path}.unreadable-{max(numbers, default=0) + 1}", data, "state", mode)
        for number in numbers[: max(0, len(numbers) + 1 - KEPT_ASIDE)]:
            posix.unlink(f"{self.path}.unreadable-{number}")


def _later(version: str, known: str) -> bool:
    """Whether a version is later than another, by its numbers."""
    return [int(part) for part in re.findall("[0-9]{1,9}", version)] > [
        int(part) for part in re.findall("[0-9]{1,9}", known)
    ]
