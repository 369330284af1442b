"""Regression: processes that started a session under one op in a new workspace concurrently created two sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.workspace.setup import init
from holdfast.workspace.workspace import SALT


@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_concurrent_starts_under_one_op_are_one_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Both processes look for the salt before either has written it, and still start the same session."""
    init(str(tmp_path), given=True)
    where = str(tmp_path) if engine == "files" else f"sqlite:///{tmp_path / 'memory.db'}"
    with holdfast.open(where) as first, holdfast.open(where) as second:
        looked: list[str] = []
        get = second.store.get

        def too_early(name: str) -> Any:
            if name == SALT and not looked:
                looked.append(name)
                return None
            return get(name)

        monkeypatch.setattr(second.store, "get", too_early)
        begun = first.start("x", op="first").id
        assert second.start("x", op="first").id == begun
        assert looked == [SALT]
        assert len(second.sessions()) == 1


def test_one_op_in_two_clones_is_two_sessions(tmp_path: Path) -> None:
    """The same op in two clones is two pieces of work: each has its own session."""
    names = set()
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        init(str(tmp_path / place), given=True)
        with holdfast.open(tmp_path / place) as workspace:
            names.add(workspace.start("x", op="first").id)
            assert workspace.start("x", op="first").id in names
    assert len(names) == 2
