"""What happens to a workspace with pending journals: edits, copies, removal, archiving, doctor."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core import codec
from holdfast.edge.cli import main
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.files.padding import line_of
from holdfast.testing.plans import saying, texts

sys.path.insert(0, str(Path(__file__).parent))
from journaling import AFTER, STREAM, cut_off, entries, journals, killed, living, opened, said_in, segment


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".state"


def found_in(root: Path) -> list[str]:
    """What a new process reads, ignoring faults."""
    store = opened(root)
    try:
        return texts(store.read(STREAM))
    finally:
        store.close()


def ids_in(root: Path) -> list[str]:
    """The ids of all commits in all files of the stream."""
    files = sorted((root / "events" / STREAM).iterdir())
    lines = [line_of(line) for path in files for line in path.read_bytes().splitlines()]
    return [codec.id_of(line) for line in lines if codec.looks_right(line)]


# -- edited ---------------------------------------------------------------------------------------------------------

EDITS: dict[str, tuple[Callable[[list[bytes]], list[bytes]], slice]] = {
    "untouched": (lambda lines: lines, slice(None)),
    "line ends of another system": (lambda lines: [b"%b\r\n" % line[:-1] for line in lines], slice(None)),
    "a line taken out": (lambda lines: lines[:4] + lines[5:], slice(None)),
    "a line changed": (
        lambda lines: [*lines[:4], lines[4].replace(b"ada 5", b"eve 5"), *lines[5:]],
        slice(None),
    ),
    "two lines swapped": (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], slice(None)),
    "a line twice": (lambda lines: [*lines, lines[-1]], slice(None)),
    "all lines twice": (lambda lines: lines * 2, slice(None)),
    "text behind": (lambda lines: [*lines, b"<<<<<<< what is this?\n"], slice(None)),
    # What was synced is not in the journal: there the person has the last word.
    "the first line taken out": (lambda lines: lines[1:], slice(1, None)),
    "emptied": (lambda lines: [], slice(AFTER - 1, None)),
    "other text instead": (lambda lines: [b"hello\n"] * 40, slice(AFTER - 1, None)),
}


@pytest.mark.parametrize("replaced", [False, True], ids=["in_place", "replaced"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_segment_that_was_edited_under_a_journal(root: Path, edit: str, replaced: bool) -> None:
    """Whatever the edit: no journalled line is lost or duplicated, and a second replay adds nothing."""
    change, left = EDITS[edit]
    said = killed(root)
    path, (journal,) = segment(root), journals(root)
    held = journal.read_bytes()
    edited = b"".join(change(path.read_bytes().splitlines(keepends=True)))
    if replaced:
        other = path.with_name("other")
        other.write_bytes(edited)
        other.rename(path)
    else:
        path.write_bytes(edited)
    assert found_in(root) == said[left]
    assert journals(root) == []
    files = {file.name: file.read_bytes() for file in (root / "events" / STREAM).iterdir()}
    journal.write_bytes(held)  # its removal was not synced: a cut can bring it back
    assert found_in(root) == said[left]
    assert journals(root) == []
    assert {file.name: file.read_bytes() for file in (root / "events" / STREAM).iterdir()} == files
    if "twice" not in edit:
        assert len(ids_in(root)) == len(set(ids_in(root)))


def test_lines_after_an_edited_one_stay(root: Path) -> None:
    """A dead process's line was damaged by hand; another process's lines after it, which no journal has, stay."""
    awake = opened(root, JournalPolicy(after=100))
    assert texts(awake.read(STREAM)) == []
    said = killed(root, 6)
    for text in ("behind 1", "behind 2"):
        awake.append(STREAM, saying(text))
    path = segment(root)
    path.write_bytes(path.read_bytes().replace(b"ada 4", b"eve 4"))
    assert said_in(root) == [*said, "behind 1", "behind 2"]
    awake.append(STREAM, saying("behind 3"))
    awake.close()
    assert said_in(root) == [*said, "behind 1", "behind 2", "behind 3"]
    assert path == segment(root)


# -- forgotten and archived -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alive", [False, True], ids=["dead", "alive"])
def test_a_removed_stream_stays_removed(root: Path, alive: bool) -> None:
    """No journal restores it, and none is left with its texts."""
    with living(root) as process:
        process.append(8)
        if not alive:
            process.kill()
        store = opened(root)
        store.forget(STREAM)
        assert len(journals(root)) == alive
        process.kill()
    assert store.check() == []
    assert journals(root) == []
    assert store.streams() == []
    store.close()
    assert found_in(root) == []
    assert not (root / "events" / STREAM).exists()


def test_a_deleted_stream_is_not_restored(root: Path) -> None:
    """A journal does not restore files that a person deleted."""
    killed(root)
    shutil.rmtree(root / "events" / STREAM)
    assert found_in(root) == []
    assert journals(root) == []


@pytest.mark.parametrize("lost", [False, True], ids=["killed", "cut"])
@pytest.mark.parametrize("alive", [False, True], ids=["dead", "alive"])
def test_an_archived_stream_is_complete_and_stays_archived(root: Path, alive: bool, lost: bool) -> None:
    """Archiving includes what is pending in a journal; a journal that stays pending restores no segment."""
    with living(root) as process:
        said = process.append(8)
        if not alive:
            process.kill()
            if lost:
                cut_off(segment(root), entries(root)[0].offset + 7)
        store = opened(root)
        store.archive(STREAM)
        store.close()
        process.kill()
    assert said_in(root) == said
    assert journals(root) == []
    assert not list(root.glob(f"events/{STREAM}/*.jsonl"))


# -- doctor ---------------------------------------------------------------------------------------------------------

SESSION = """
import os, signal, holdfast
session = holdfast.open(user="alice").session()
for number in range(20):
    session.record("x.step", {"n": number})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("command", [["doctor"], ["doctor", "--fix"], ["heal"], ["status"]])
def test_commands_find_no_fault_in_the_workspace(
    project: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """After a program with a journal was killed and its segment truncated, no command reports a fault."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Killed")
    done = subprocess.run([sys.executable, "-c", SESSION], cwd=project, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    state = project / ".state"
    path = segment(state, session.stream)
    whole = path.read_bytes()
    cut_off(path, entries(state)[0].offset + 11)
    assert main(command) == 0
    out = capsys.readouterr().out
    assert path.name not in out.replace("quarantine/", "quarantine ").replace(f"+{path.name}", "")
    assert journals(state) == []
    assert path.read_bytes() == whole
    assert main(["doctor"]) == 0
    with holdfast.open(project) as workspace:
        assert workspace.session().version == 21


READER = """
import json, os, sys
from holdfast.store import faults
from holdfast.store.files import replay  # before another user is taken on, who may not be let into this folder
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.plans import texts, wall_clock
if os.geteuid() == 0:
    os.setuid(65534)  # root writes everywhere
store = FilesStore(sys.argv[1], clock=wall_clock)
tail = store.read(sys.argv[2])
print(json.dumps([texts(tail), [[f.where, f.what, str(f.action)] for f in tail.faults]]))
store.close()
"""


def test_a_read_only_workspace_can_be_read(root: Path) -> None:
    """The reader sees the segment's commits and a fault for the journal; the next process that can write replays it."""
    said = killed(root)
    cut_off(segment(root), entries(root)[1].offset)
    (journal,) = journals(root)
    for folder in [root, *root.parents]:
        if folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o755)
    everything = [root, *root.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = subprocess.run([sys.executable, "-c", READER, str(root), STREAM], capture_output=True, text=True)
    for path in everything:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert done.returncode == 0, done.stderr
    found, faults = json.loads(done.stdout)
    assert found == said[:AFTER]
    where = f"local/journals/{journal.name}"
    ((named, what, action),) = faults
    assert (named, "a process that died" in what, "replays it" in action) == (where, True, True)
    assert journals(root) == [journal]
    assert said_in(root) == said


# -- copies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
def test_a_folder_that_was_copied_while_a_process_lived(root: Path, tmp_path: Path, torn: bool) -> None:
    """The copy works independently; the process keeps its journal, and nothing of the copy reaches the original."""
    other = tmp_path / "elsewhere" / ".state"
    with living(root) as process:
        said = process.append(6)
        (journal,) = journals(root)
        shutil.copytree(root, other)
        if torn:  # the segment was copied some commits before the journal
            cut_off(segment(other), entries(other)[-2].offset)
        copy = opened(other)
        assert texts(copy.read(STREAM)) == said
        copy.append(STREAM, saying("in the copy"))
        copy.close()
        assert journals(other) == []
        assert journals(root) == [journal]
        after = process.append(3)
        assert journals(root) == [journal]
        held = entries(root)
        assert len(held) == 9 - (AFTER - 1)
    assert said_in(other) == [*said, "in the copy"]
    cut_off(segment(root), held[0].offset)
    assert said_in(root) == after


def test_a_hard_linked_backup_leaves_a_live_journal_alone(root: Path, tmp_path: Path) -> None:
    """Some backups make hard links: such a journal is the live process's own, and locked."""
    other = tmp_path / "elsewhere" / ".state"
    with living(root) as process:
        said = process.append(6)
        shutil.copytree(root, other, copy_function=os.link)
        assert found_in(other) == said
        assert len(journals(other)) == len(journals(root)) == 1
        assert process.append(1) == [*said, "ada 7"]
    assert found_in(root)[-1] == "ada 7"
