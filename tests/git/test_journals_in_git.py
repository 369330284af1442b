"""Journals in a repository: what git does to segments meanwhile, and folders copied after a power cut."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.testing.plans import saying, texts

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))
from journaling import STREAM, cut_off, entries, journals, killed, living, opened, said_in, segment

Git = Callable[..., str]
OTHER = "sessions/ada/2026-01-22-b1b2c3d4"


def link_of(repository: Path) -> Path:
    """The only pin of a segment."""
    (found,) = (repository / ".git" / "holdfast" / "kept").rglob("*.jsonl")
    return found


def test_a_segment_that_git_removed_from_the_tree(repository: Path, git: Git) -> None:
    """After a power cut its lines are replayed into the pin, and the segment is complete when git adds it back."""
    root = repository / ".state"
    said = killed(root)
    whole, offset = segment(root).read_bytes(), entries(root)[0].offset
    git("checkout", "-q", "-b", "work")
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "main")
    assert not (root / "events" / STREAM).exists()
    cut_off(link_of(repository), offset)
    store = opened(root)
    assert texts(store.read(STREAM)) == []
    store.close()
    assert journals(root) == []
    assert link_of(repository).read_bytes() == whole
    git("checkout", "-q", "work")
    assert said_in(root) == said


def test_what_git_clean_removed_is_restored_completely(repository: Path, git: Git) -> None:
    """A segment that ``git clean`` removed, and whose last lines the power cut took from its pin, is restored."""
    root = repository / ".state"
    said = killed(root)
    offset = entries(root)[0].offset
    git("clean", "-fdq")
    assert not (root / "events" / STREAM).exists()
    cut_off(link_of(repository), offset)
    store = opened(root)
    (fault,) = store.salvage()
    assert fault.what.startswith(f"{len(said)} commits")
    store.close()
    assert said_in(root) == said


def test_a_segment_that_git_has_is_not_changed(repository: Path, git: Git) -> None:
    """It was committed in the state after the power cut: the other lines go to a new segment (I2)."""
    root = repository / ".state"
    said = killed(root)
    path = segment(root)
    cut_off(path, entries(root)[2].offset)
    committed = path.read_bytes()
    git("add", "-A")
    git("commit", "-q", "-m", "too early")
    assert said_in(root) == said
    assert path.read_bytes() == committed
    assert git("status", "--porcelain", "-uall").count("\n") == 1
    assert journals(root) == []


def test_head_moves_while_a_process_has_a_journal(repository: Path, git: Git) -> None:
    """The next commit starts a new segment; the one before was synced, and the journal holds lines of the new one."""
    root = repository / ".state"
    with living(root) as process:
        process.append(5)
        (old,) = {entry.segment for entry in entries(root)}
        git("add", "-A")
        git("commit", "-q", "-m", "move")
        said = process.append(2)
        (new,) = {entry.segment for entry in entries(root)}
        assert old != new
    cut_off(root / "events" / STREAM / new, 0)
    assert said_in(root) == said


@pytest.mark.parametrize("torn", [False, True], ids=["between lines", "within a line"])
def test_a_copy_that_was_made_after_a_power_cut(repository: Path, tmp_path: Path, torn: bool) -> None:
    """It takes a new identity at its first write, to another stream: no journalled line loses its segment."""
    root = repository / ".state"
    said = killed(root)
    cut_off(segment(root), entries(root)[2].offset + 30 * torn)
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    shutil.rmtree(repository)
    store = opened(copy / ".state")
    store.append(OTHER, saying("first"))
    assert texts(store.read(STREAM)) == said
    store.append(STREAM, saying("more"))
    store.close()
    assert said_in(copy / ".state") == [*said, "more"]
    assert journals(copy / ".state") == []


def test_a_worktree_that_has_a_copy_of_a_journal(repository: Path, git: Git) -> None:
    """The segment is not in its tree, and the pin belongs to the live worktree: it is left as it is."""
    root = repository / ".state"
    git("worktree", "add", "-q", "../other")
    other = repository.parent / "other" / ".state"
    with living(root) as process:
        said = process.append(6)
        link = link_of(repository)
        shutil.copytree(root / "local" / "journals", other / "local" / "journals")
        cut_off(link, link.stat().st_size - 5)  # as if a line were being written
        torn = link.read_bytes()
        store = opened(other)
        assert texts(store.read(STREAM)) == []
        store.close()
        assert journals(other) == []
        assert link.read_bytes() == torn
        assert os.path.samefile(link, segment(root))
        process.kill()
    assert said_in(root) == said
