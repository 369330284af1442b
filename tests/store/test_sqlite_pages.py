"""Damaged pages of a database: every command says so in a sentence, and none ends in a traceback."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.core import ids
from holdfast.core.codec import GENESIS
from holdfast.edge.cli import main
from holdfast.store.rows import checked, head_of, typed
from holdfast.testing import scale

PAGE = 4096
COMMANDS = (
    *(["status"], ["log"], ["recover"], ["sessions"], ["brief"], ["doctor"], ["doctor", "--fix"], ["verify"]),
    *(
        ["decide", "X", "--because", "y"],
        ["decide", "X", "--because", "y", "--op", "op-1-3"],
        ["start", "New"],
    ),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound database with sessions, operation ids and caches."""
    path = tmp_path_factory.mktemp("sound") / "w.db"
    with holdfast.open(f"sqlite:///{path}", user="alice", by="me") as workspace:
        for session in range(3):
            handle = workspace.start(f"Goal {session}")
            for number in range(12):
                handle.decide(f"D {number} " + "x" * 70 * number, because="y", op=f"op-{session}-{number}")
    return path.read_bytes()


def spoil(whole: bytes, kind: str, page: int, rng: random.Random) -> bytes:
    """The database with one page damaged."""
    data, start = bytearray(whole), page * PAGE
    first = start + (100 if page == 0 else 0)
    if kind == "zeros":
        data[first : start + PAGE] = bytes(start + PAGE - first)
    elif kind == "noise":
        data[first : start + PAGE] = rng.randbytes(start + PAGE - first)
    elif kind == "flips":
        for _ in range(rng.randrange(1, 40)):
            data[rng.randrange(first, start + PAGE)] ^= 1 << rng.randrange(8)
    elif kind == "header":
        for _ in range(6):
            data[first + rng.randrange(60)] = rng.randrange(256)
    elif kind == "other page":
        other = rng.randrange(1, len(whole) // PAGE) * PAGE
        data[first : start + PAGE] = whole[other + first - start : other + PAGE]
    elif kind == "not text":
        at = first + rng.randrange(PAGE - 200)
        data[at : at + 8] = b"\xff\xfe\x00\x80abc\xc3"
    else:
        del data[start + rng.randrange(PAGE) :]
    return bytes(data)


def said(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(list(words))
    return status, out.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(folder: Path, data: bytes, what: str) -> None:
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    (folder / "w.db").write_bytes(data)
    (folder / "w.db-lock").write_bytes(b"made\n")
    for command in COMMANDS:
        status, text = said(*command, "--workspace", f"sqlite:///{folder / 'w.db'}")
        assert "Traceback" not in text, (what, command, text)
        assert status in (0, 1, 2, 4, 5, 6), (what, command, status, text)


KINDS = ("zeros", "noise", "flips", "header", "other page", "not text", "cut")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_page_ends_in_a_traceback(folder: Path, whole: bytes, kind: str) -> None:
    """The page of the schema and pages anywhere: a sentence and a status from every command."""
    rng = random.Random(f"{scale.seed()} {kind}")
    for number in range(scale.scaled(2)):
        page = 0 if number == 0 else rng.randrange(len(whole) // PAGE)
        check(folder, spoil(whole, kind, page, rng), f"{kind}, page {page}, seed {scale.seed()}")


def test_a_schema_that_is_not_text(folder: Path, whole: bytes) -> None:
    """Bytes that are no UTF-8 within the schema: the driver cannot even decode its own message."""
    at = whole.index(b"CREATE TABLE", 100)
    check(folder, whole[: at + 30] + b"\xff\xfe\x80" + whole[at + 33 :], "schema")
    status, text = said("status", "--workspace", f"sqlite:///{folder / 'w.db'}")
    assert (status, "is damaged" in text) == (5, True), text


ANY = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=9), st.binary(max_size=9))


@given(st.lists(st.tuples(ANY, ANY, ANY), max_size=5))
def test_values_of_any_type_are_damaged_lines(found: list[tuple[object, object, object]]) -> None:
    """Whatever types a damaged page gives the columns, the rows are reported and not used."""
    rows = typed(found)
    lines, faults = checked("project", rows, 0, GENESIS)
    assert (lines, bool(faults)) == ([], bool(rows))
    assert head_of(rows, lambda seq: []) == ids.ZERO
