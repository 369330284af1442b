"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.register_assert_rewrite("holdfast.testing")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of the machine it runs on."""
    for name in list(os.environ):
        if name.startswith("HOLDFAST_") and name not in ("HOLDFAST_TORTURE", "HOLDFAST_SEED"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder with a workspace, as the current folder."""
    from holdfast.workspace.setup import init

    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    init(str(folder), given=True)
    return folder
