"""What a program knows about its user: preferences, and whether it ran before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.kit.state_file import StateFile

if TYPE_CHECKING:
    from holdfast.workspace.models import Json, JsonObject


class UserState:
    """A file with ``first_run_complete`` and ``preferences``, readable only by its user.

    Every question reads the file and every change is saved at once, under the file's lock: two programs that set
    different preferences at the same time both keep theirs.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = StateFile(
            path,
            version="1.0",
            defaults={"first_run_complete": False, "preferences": {}},
            check=_check,
            first_version="1.0",
            mode=0o600,
        )

    @property
    def state(self) -> JsonObject:
        """All fields of the file."""
        return self._file.load().state

    def is_first_run(self) -> bool:
        """Whether ``record_first_run_complete`` was never called."""
        return self.state.get("first_run_complete") is not True

    def record_first_run_complete(self) -> None:
        with self._file.update() as state:
            state["first_run_complete"] = True

    def get_preference(self, key: str, default: Json = None) -> Json:
        """The value of a preference."""
        preferences = self.state.get("preferences")
        return preferences.get(key, default) if isinstance(preferences, dict) else default

    def set_preference(self, key: str, value: Json) -> None:
        with self._file.update() as state:
            preferences = state.setdefault("preferences", {})
            assert isinstance(preferences, dict)  # checked on loading
            preferences[key] = value

    def remove_preference(self, key: str) -> None:
        """Forget a preference; no error if there is none."""
        with self._file.update() as state:
            preferences = state.get("preferences")
            if isinstance(preferences, dict):
                preferences.pop(key, None)


def _check(state: JsonObject) -> None:
    if not isinstance(state.get("preferences", {}), dict):
        raise ValueError("preferences is no object")
    if not isinstance(state.get("first_run_complete", False), bool):
        raise ValueError("first_run_complete is neither true nor false")
