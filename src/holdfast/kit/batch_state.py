"""The progress of a batch in one JSON file: what is done, what failed, what comes next.

For batches that several processes share, with claims and results, there is ``Session.create_batch``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from holdfast.errors import NotFound, Usage
from holdfast.kit.state_file import StateFile

if TYPE_CHECKING:
    from holdfast.workspace.models import Json, JsonObject

VERSION = "1.0.0"
_FRAME = ("version", "batch_id", "features", "current_index", "completed", "failed", "errors")
_BY_NUMBER = ("completed_features", "failed_features")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class BatchState:
    """A batch: its features (any texts that differ), and how far it is."""

    batch_id: str
    features: list[str]
    current_index: int = 0
    """The first feature that is neither completed nor failed; the number of features if there is none."""
    completed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    """Why a feature failed."""
    created_at: str = field(default_factory=_now)
    last_updated: str = field(default_factory=_now)
    others: JsonObject = field(default_factory=dict)
    """Fields of the file that are not known here; they are saved as they were."""
    by_number: bool = False
    """The file has ``completed_features`` and ``failed_features``, by number, instead of names."""

    def __post_init__(self) -> None:
        if len(set(self.features)) != len(self.features):
            raise Usage("Two features of the batch have the same name.", hint="Number them.")
        for name in (*self.completed, *self.failed):
            self._known(name)
        self._count()

    def _known(self, feature: str) -> None:
        if feature not in self.features:
            raise NotFound(f"The batch has no feature {feature!r}.", hint="BatchState.features has them all.")

    def _count(self) -> None:
        done = {*self.completed, *self.failed}
        self.current_index = next(
            (index for index, name in enumerate(self.features) if name not in done), len(self.features)
        )


def create_batch_state(features: Iterable[str], batch_id: str | None = None) -> BatchState:
    """A new batch; without an id it is named after the time, ``batch-20260121-143000``."""
    names = [features] if isinstance(features, str) else list(features)
    return BatchState(batch_id or f"batch-{datetime.now(UTC):%Y%m%d-%H%M%S}", names)


def mark_completed(state: BatchState, feature: str) -> None:
    """Note that a feature is done; also one that failed before."""
    state._known(feature)
    if feature in state.failed:
        state.failed.remove(feature)
        state.errors.pop(feature, None)
    if feature not in state.completed:
        state.completed.append(feature)
    state._count()


def mark_failed(state: BatchState, feature: str, error: str = "") -> None:
    """Note that a feature failed, and why. A completed one stays completed."""
    state._known(feature)
    if feature in state.completed:
        return
    if feature not in state.failed:
        state.failed.append(feature)
    if error:
        state.errors[feature] = error
    state._count()


def retry_failed(state: BatchState) -> list[str]:
    """Make the failed features pending again; returns them."""
    again, state.failed, state.errors = state.failed, [], {}
    state._count()
    return again


def get_next_pending_feature(state: BatchState) -> str | None:
    """The first feature that is neither completed nor failed; None if there is none."""
    return state.features[state.current_index] if state.current_index < len(state.features) else None


def save_batch_state(path: str | os.PathLike[str], state: BatchState) -> None:
    """Save the batch atomically and durably."""
    state.last_updated = _now()
    _file(path).save(_as_json(state))


def load_batch_state(path: str | os.PathLike[str]) -> BatchState:
    """The batch in a file. If the file was damaged, the state before its last save."""
    loaded = _file(path).load()
    if loaded.source == "defaults":
        why = loaded.problem or f"There is no batch at {os.fspath(path)}."
        raise NotFound(why.removesuffix(" The defaults are used."), hint="create_batch_state makes one.")
    return _from_json(loaded.state)


def _file(path: str | os.PathLike[str]) -> StateFile:
    return StateFile(path, version=VERSION, defaults={}, check=_check, first_version=VERSION)


def _check(state: JsonObject) -> None:
    try:
        _from_json(state)
    except (Usage, NotFound) as problem:
        raise ValueError(problem.message.removesuffix(".")) from None


def _texts(state: JsonObject, name: str) -> list[str]:
    value = state.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{name} is no list of texts")
    return [str(entry) for entry in value]


def _from_json(state: JsonObject) -> BatchState:
    features = _texts(state, "features")
    by_number = any(name in state for name in _BY_NUMBER)
    errors: dict[str, str] = {}
    if by_number:
        completed = [features[index] for index, _ in _numbers(state, "completed_features", len(features))]
        failed = []
        for index, why in _numbers(state, "failed_features", len(features)):
            failed.append(features[index])
            if why:
                errors[features[index]] = why
    else:
        completed, failed = _texts(state, "completed"), _texts(state, "failed")
        given = state.get("errors")
        if given is not None and not isinstance(given, dict):
            raise ValueError("errors is no object")
        errors = {name: str(why) for name, why in (given or {}).items()}
    identity = state.get("batch_id")
    if not isinstance(identity, str) or "features" not in state:
        raise ValueError("it has no batch_id or no features")
    frame = (*_FRAME, *(_BY_NUMBER if by_number else ()), "created_at", "last_updated")
    return BatchState(
        batch_id=identity,
        features=features,
        completed=completed,
        failed=failed,
        errors=errors,
        created_at=str(state.get("created_at") or state.get("started_at") or _now()),
        last_updated=str(state.get("last_updated") or _now()),
        others={name: value for name, value in state.items() if name not in frame},
        by_number=by_number,
    )


def _numbers(state: JsonObject, name: str, count: int) -> list[tuple[int, str]]:
    """Indexes with reasons: an entry is ``3``, or ``{"feature_index": 3, "error_message": "…"}``."""
    value = state.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    found = []
    for entry in value:
        index: Json = entry.get("feature_index") if isinstance(entry, dict) else entry
        why = str(entry.get("error_message") or "") if isinstance(entry, dict) else ""
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            raise ValueError(f"{name} names a feature {index!r} that is not in the list")
        found.append((index, why))
    return found


def _as_json(state: BatchState) -> JsonObject:
    state._count()
    made: JsonObject = {"version": VERSION, "batch_id": state.batch_id, "features": list(state.features)}
    made["current_index"] = state.current_index
    if state.by_number:
        number = {name: index for index, name in enumerate(state.features)}
        made["completed_features"] = [*sorted(number[name] for name in state.completed)]
        made["failed_features"] = [
            {"feature_index": number[name], "error_message": state.errors.get(name, "")}
            for name in state.failed
        ]
    else:
        made |= {
            "completed": list(state.completed),
            "failed": list(state.failed),
            "errors": dict(state.errors),
        }
    return {**made, "created_at": state.created_at, "last_updated": state.last_updated, **state.others}
