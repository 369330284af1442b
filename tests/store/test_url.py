"""Choosing an engine from a URL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.edge.cli import hints
from holdfast.errors import HoldfastError, Usage
from holdfast.store.url import open_store
from holdfast.testing.plans import saying, texts, wall_clock


@pytest.mark.parametrize(
    ("where", "name", "made"),
    [
        ("memory:", "memory", None),
        ("MEMORY:", "memory", None),
        ("sqlite:///rel.db", "sqlite", "rel.db"),
        ("sqlite:///sub/rel.db", "sqlite", "sub/rel.db"),
        ("sqlite:///{tmp}/abs.db", "sqlite", "abs.db"),
        ("SQLite:///{tmp}/abs.db", "sqlite", "abs.db"),
        (".state", "files", ".state"),
        ("./with:colon", "files", "with:colon"),
        ("sub/.state", "files", "sub/.state"),
        ("{tmp}/.state", "files", ".state"),
        ("file:.state", "files", ".state"),
        ("file://{tmp}/.state", "files", ".state"),
        ("file://localhost{tmp}/.state", "files", ".state"),
    ],
)
def test_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, name: str, made: str | None
) -> None:
    """Each form of URL opens its engine at the right path, and the store's own URL opens it again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    store = open_store(where.format(tmp=tmp_path), clock=wall_clock)
    store.append("project", saying("x"))
    assert store.capabilities.name == name
    store.close()
    if made is None:
        assert os.listdir(tmp_path) == ["sub"]
        return
    assert (tmp_path / made).exists()
    monkeypatch.chdir("/")
    again = open_store(store.capabilities.url, clock=wall_clock)
    assert texts(again.read("project")) == ["x"]
    again.close()


@pytest.mark.parametrize(
    "where", ["mysql://ann:s3cret@host/db", "oracle://s3cret", "ann:s3cret@host", "x+y:s3cret"]
)
def test_unknown_engines_are_refused_with_the_list(where: str) -> None:
    """An unknown scheme is an error that lists the known ones, and does not repeat the URL."""
    with pytest.raises(Usage, match="file, memory, postgres, postgresql, sqlite") as caught:
        open_store(where, clock=wall_clock)
    assert "s3cret" not in str(caught.value) + hints.text(caught.value.hint)


@pytest.mark.parametrize(
    "where",
    [
        "sqlite:",
        "sqlite:s3cret.db",
        "sqlite://",
        "sqlite:///",
        "sqlite://ann:s3cret@host/x.db",
        "sqlite:///:memory:",
        "sqlite:///x.db?password=s3cret",
        "sqlite:///x\0s3cret",
        "memory:s3cret",
        "memory://ann:s3cret@host",
        "file:",
        "file://ann:s3cret@host/x",
        "file://other/x",
        "postgresql:s3cret",
        "postgresql://ann:s3cret@host/db?schema=Bad",
        "postgresql://ann:s3cret@host/db?schema=x;drop",
        "postgresql://ann:s3cret@host/db?schema=pg_x",
        "postgresql://ann:s3cret@host/db?profile=s3cret",
        "postgresql://ann:s3cret@host:5432/db?what=s3cret",
        "",
        "x\0s3cret",
    ],
)
def test_malformed_urls_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """A URL without a path is refused without repeating it, and nothing is created."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HoldfastError) as caught:
        open_store(where, clock=wall_clock)
    assert isinstance(caught.value, Usage)
    assert "s3cret" not in str(caught.value) + hints.text(caught.value.hint)
    assert os.listdir(tmp_path) == []


def test_memory_stores_share_nothing() -> None:
    """Two memory stores share nothing, not even the writer."""
    one, two = (open_store("memory:", clock=wall_clock) for _ in range(2))
    first = one.append("project", saying("x")).commit.id
    assert two.append("project", saying("y")).commit.id[-8:] != first[-8:]
    assert texts(two.read("project")) == ["y"]


def test_engines_are_imported_when_chosen() -> None:
    """Opening one engine does not pay for importing the others."""
    program = (
        "import sys; from holdfast.store.url import open_store; open_store('memory:', clock=lambda: 0)\n"
        "unwanted = {'sqlite3', 'holdfast.store.sqlite.engine', 'holdfast.store.files.engine'}\n"
        "unwanted |= {'asyncio', 'dataclasses'}\n"
        "assert not unwanted & set(sys.modules), unwanted & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)
