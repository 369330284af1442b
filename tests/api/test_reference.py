"""docs/reference/api.md: its examples run, and its generated part is up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "api.md"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("api_reference", ROOT / "tools" / "api_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of Python goes on where the one before it ended."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    (tmp_path / "project").mkdir()
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) > 10
    namespace: dict[str, object] = {"__name__": "example"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"block {number} of api.md", "exec"), namespace)


def test_the_generated_part_is_up_to_date() -> None:
    """`make docs` leaves the page as it is."""
    assert tool().page() == PAGE.read_text()
