"""Damaged journals, and files that are none: only what was written comes out, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import Forbidden, Newer
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import BLOCK, JournalPolicy, entries_in
from holdfast.store.files.padding import line_of
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.testing.plans import saying, texts, wall_clock

sys.path.insert(0, str(Path(__file__).parent))
from journaling import STREAM, entries, journals, killed, opened, said_in, segment

T = TypeVar("T")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".state"


# -- a damaged journal ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose only process was killed; its journal has short and long entries, and old ones after them."""
    root = tmp_path_factory.mktemp("template") / ".state"
    store = opened(root, JournalPolicy(after=2, size=8 * BLOCK, window=3 * BLOCK))
    rng = random.Random(7)
    for number in range(12):
        store.append(STREAM, saying(f"{number} " + "x" * rng.choice([20, 20, 20, 3000])))
    copy = root.parent / "copy"
    shutil.copytree(root, copy)
    store.close()
    assert len(entries(copy)) > 2
    return copy


SPOTS = st.integers(0, 8 * BLOCK - 1)
BROKEN = st.one_of(
    st.tuples(st.just("cut"), SPOTS, st.just(b"")),
    st.tuples(st.just("sector"), SPOTS, st.binary(min_size=512, max_size=512)),
    st.tuples(st.just("sector"), SPOTS, st.just(bytes(512))),
    st.tuples(st.just("block"), SPOTS, st.just(bytes(BLOCK))),
)


def broken(data: bytes, damage: list[tuple[str, int, bytes]]) -> bytes:
    """A journal as a disk may leave it: truncated, or with parts lost or garbled."""
    for how, spot, piece in damage:
        if how == "cut":
            data = data[:spot]
            continue
        at = spot // len(piece) * len(piece)
        data = data[:at] + piece + data[at + len(piece) :]
    return data


@settings(max_examples=300, deadline=None)
@given(st.lists(BROKEN, min_size=1, max_size=4))
def test_a_torn_journal_yields_a_prefix_of_its_entries(
    template: Path, damage: list[tuple[str, int, bytes]]
) -> None:
    """Wherever it was cut or garbled: the entries before that, and nothing else."""
    (journal,) = journals(template)
    whole = list(entries_in(journal.read_bytes()))
    found = list(entries_in(broken(journal.read_bytes(), damage)))
    assert found == whole[: len(found)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(SPOTS, st.binary(min_size=1, max_size=3)), min_size=1, max_size=6))
def test_garbled_bytes_never_give_an_unwritten_line(template: Path, damage: list[tuple[int, bytes]]) -> None:
    """Random bytes are changed: every line is one that was written. Padding and chain are checked on replay."""

    def bodies(data: bytes) -> list[bytes]:
        return [line_of(line).rpartition(b',"sum":')[0] for line in data.splitlines()]

    (journal,) = journals(template)
    data = bytearray(journal.read_bytes())
    for at, piece in damage:
        at = at % (BLOCK // 2) if len(piece) > 1 else at  # the first heads more often than the rest
        data[at : at + len(piece)] = piece
    known = set(bodies(segment(template).read_bytes()))
    for entry in entries_in(bytes(data)):
        assert known.issuperset(bodies(entry.data))


@settings(max_examples=25, deadline=None)
@given(st.lists(BROKEN, max_size=2), st.integers(0, 1 << 15), st.booleans())
def test_what_is_left_of_a_segment_and_its_journal_is_a_prefix(
    template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    damage: list[tuple[str, int, bytes]],
    lost: int,
    zeros: bool,
) -> None:
    """Both were damaged: reading works, synced lines are present, and no line follows a gap."""
    root = tmp_path_factory.mktemp("broken") / ".state"
    shutil.copytree(template, root)
    path, (journal,) = segment(root), journals(root)
    safe, whole = entries(root)[0].offset, path.read_bytes()
    size = safe + lost % (len(whole) - safe + 1)
    journal.write_bytes(broken(journal.read_bytes(), damage))
    path.write_bytes(whole[:size] + bytes(len(whole) - size if zeros else 0))
    store = opened(root)
    found = [line.partition(b'"text":"')[2].partition(b" ")[0] for line in store.read(STREAM).lines]
    assert found == [b"%d" % number for number in range(len(found))]
    assert len(found) >= whole[:safe].count(b"\n")
    assert journals(root) == []
    store.append(STREAM, saying("on"))
    store.close()


# -- what else can lie there ----------------------------------------------------------------------------------------


def test_a_journal_that_vanishes_during_replay(root: Path) -> None:
    """Its process was alive and closed the journal at that point: that is no error."""

    class Quick(Wrapped):
        def around(self, call: str, path: str, perform: Callable[[], T]) -> T:
            if call == "try_lock":
                os.unlink(path)
            return perform()

    said = killed(root)
    store = FilesStore(str(root), clock=wall_clock, fs=Quick(posix))
    assert texts(store.read(STREAM)) == said
    store.close()


def test_a_file_system_without_direct_writes(root: Path) -> None:
    """It creates the file and refuses direct I/O, as Linux does: the journal is written through the cache instead."""

    class Cached(Wrapped):
        def open(self, path: str, flags: int, mode: int = 0o644) -> int:
            if flags & getattr(os, "O_DIRECT", 0):
                self.close(super().open(path, flags, mode))
                raise OSError(errno.EINVAL, "Invalid argument")
            return super().open(path, flags, mode)

    store = FilesStore(str(root), clock=wall_clock, fs=Cached(posix), journal_policy=JournalPolicy(after=2))
    for number in range(4):
        store.append(STREAM, saying(str(number)))
    assert len(entries(root)) == 3
    store.close()
    assert journals(root) == []


def test_files_that_are_no_journals_are_left_alone(root: Path, tmp_path: Path) -> None:
    """Folders, symlinks and pipes named like journals are ignored, and nothing is read through them."""
    said = killed(root)
    folder = root / "local" / "journals"
    flat = STREAM.replace("/", "+")
    (folder / f"{flat}.folder").mkdir()
    (folder / "no stream.1").write_bytes(b"?")
    elsewhere = tmp_path / "elsewhere"
    (journal,) = [path for path in folder.iterdir() if f"{flat}.folder" != path.name and flat in path.name]
    elsewhere.write_bytes(journal.read_bytes())
    (folder / f"{flat}.link").symlink_to(elsewhere)
    os.mkfifo(folder / f"{flat}.pipe")
    assert said_in(root) == said
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(["no stream.1", f"{flat}.folder", f"{flat}.link", f"{flat}.pipe"])
    assert elsewhere.exists()


def test_a_folder_of_journals_that_is_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    """Nothing is created or removed at the link's target."""
    killed(root)
    folder, elsewhere = root / "local" / "journals", tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises(Forbidden, match="no link is followed"):
        opened(root)
    assert len(list(elsewhere.iterdir())) == 1


def test_the_journal_of_a_later_release_stays(root: Path) -> None:
    """An older release reports that the data is newer, and does not remove what it cannot read."""
    killed(root)
    (journal,) = journals(root)
    line = b'{"v":2,"id":"something new"}\n'
    data = b"1 %b 0 %d\n%b" % (segment(root).name.encode(), len(line), line)
    journal.write_bytes(data)
    store = opened(root)
    for _ in range(2):
        with pytest.raises(Newer, match="format 2"):
            store.read(STREAM)
    with pytest.raises(Newer):
        store.append(STREAM, saying("no"))
    store.close()
    assert journal.read_bytes() == data
