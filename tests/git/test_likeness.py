"""Git looks for renamed files in what was removed and added: no segment may look like another one to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.core import commit as codec
from holdfast.store import segments
from holdfast.workspace import upkeep

TEXT = (
    "The import stops at the third file because its header names a column twice; the parser keeps the first one and "
    "drops the values of the second without a word. We read the header before anything else, refuse a file that names "
    "a column twice, and say which one and in which line. Files that were imported before are checked once more with "
    "the new rule, and what was dropped is listed in a report, so that nobody has to guess what is missing. The report "
    "goes to the folder of the project and is named after the day. Nothing is deleted before somebody has read it."
)
"""What an agent may well write twice, or two agents both: long enough to be most of a short segment."""


def live(folder: Path) -> list[Path]:
    return sorted((folder / ".state" / "events" / "sessions").rglob("*.jsonl"), key=lambda path: path.name)


def joined(folder: Path) -> list[Path]:
    return sorted((folder / ".state" / "events" / "history").rglob("*.jsonl"))


def commit(git, message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def note_and_commit(git, place: str, message: str) -> None:
    with holdfast.open() as workspace:
        workspace.session(place).note(TEXT)
    commit(git, message)


def take_back(git, branch: str) -> None:
    """Revert the last commit of main, in a git commit of this branch alone."""
    git("revert", "--no-commit", "main")
    git("commit", "-q", "-m", f"reverted on {branch}")


def renames(git, folder: Path, before: list[Path], after: list[Path]) -> list[str]:
    """What git takes for renamed if the first files give way to the others."""
    for name, files in (("before", before), ("after", after)):
        (folder / name).mkdir(parents=True)
        for number, path in enumerate(files):
            (folder / name / f"{number}-{path.name}").write_bytes(path.read_bytes())
    changes = git("diff", "--no-index", "-M50%", "--name-status", "before", "after", cwd=folder, ok=False)
    found = [line.split("\t")[0] for line in changes.splitlines()]
    assert len(found) >= max(len(before), len(after))
    return [line for line in found if line not in "AD"]


def conflicts(git) -> set[str]:
    return {path for path in git("diff", "--name-only", "--diff-filter=U").split() if path.endswith(".jsonl")}


@pytest.fixture
def place(repository: Path, git) -> str:
    """A session, committed."""
    with holdfast.open() as workspace:
        session = workspace.start("Import all files")
        name = f"{session.user}/{session.id}"
    commit(git, "start")
    return name


def test_segments_with_the_same_text_are_not_alike(place: str, repository: Path, git, tmp_path: Path) -> None:
    """Thirty segments of one writer hold nothing but the same text each; git finds no two of them alike."""
    for number in range(30):
        note_and_commit(git, place, f"note {number}")
    found = sorted(live(repository), key=lambda path: segments.number_of(path.name))[1:]
    assert len(found) == 30
    assert renames(git, tmp_path / "likeness", found[::2], found[1::2]) == []
    assert renames(git, tmp_path / "again", found[:15], found[15:]) == []


def test_the_same_text_in_a_file_of_our_own_would_be_a_renaming(
    place: str, repository: Path, git, tmp_path: Path
) -> None:
    """Without the spaces in their lines, the same segments are renamings to git: the other tests can fail."""
    for number in range(2):
        note_and_commit(git, place, f"note {number}")
    plain = []
    for number, path in enumerate(live(repository)[-2:], 1):
        plain.append(tmp_path / segments.name_of("project", segments.writer_of(path.name), number))
        plain[-1].write_bytes(b"".join(segments.line_of(line) for line in path.read_bytes().splitlines(True)))
    assert renames(git, tmp_path / "likeness", plain[:1], plain[1:]) != []


def test_reverts_on_two_branches_with_the_same_text_again(place: str, repository: Path, git) -> None:
    """Both branches revert the same commit and write the same text anew: no conflict in a segment, nothing is lost."""
    note_and_commit(git, place, "to be reverted")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        take_back(git, branch)
        note_and_commit(git, place, f"again on {branch}")
    git("merge", "--no-edit", "one", ok=False)
    assert conflicts(git) == set()
    with holdfast.open() as workspace:
        workspace.heal()
        assert workspace.session(place).state["notes"]["count"] == 2


def test_a_revert_on_one_branch_and_a_deletion_on_the_other(place: str, repository: Path, git) -> None:
    """One branch only reverts, the other reverts and writes the same text: git sees no renamed file on one side."""
    note_and_commit(git, place, "to be reverted")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        take_back(git, branch)
    note_and_commit(git, place, "again on two")
    git("merge", "--no-edit", "one", ok=False)
    assert conflicts(git) == set()
    with holdfast.open() as workspace:
        workspace.heal()
        assert workspace.session(place).state["notes"]["count"] == 1


REPEATED = {
    "one letter": "=" * 700,
    "one word": "again " * 120,
    "one line": "ERROR: timeout\n" * 45,
    "line feeds": "-\n" * 300,
    "quotation marks": '"' * 400,
    "other scripts": "漢字" * 150,
    "numbers": [0] * 400,
    "objects": [{"ok": 1}] * 70,
}


@pytest.mark.parametrize("kind", REPEATED)
def test_reverts_on_two_branches_with_a_text_that_repeats_itself(
    place: str, repository: Path, git, kind: str
) -> None:
    """A text that looks the same in any column, reverted on both branches and written anew: no conflict."""

    def write(message: str) -> None:
        with holdfast.open() as workspace:
            workspace.session(place).record("x.said", {"said": REPEATED[kind]})
        commit(git, message)

    write("to be reverted")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        take_back(git, branch)
        write(f"again on {branch}")
    git("merge", "--no-edit", "one", ok=False)
    assert conflicts(git) == set()
    with holdfast.open() as workspace:
        workspace.heal()
        said = workspace.session(place).project(lambda all_of_it, event: [*all_of_it, event.data["said"]], [])
        assert said == [REPEATED[kind]] * 2


@pytest.mark.parametrize("kind", REPEATED)
def test_without_salt_it_would_be_a_renaming(tmp_path: Path, git, kind: str) -> None:
    """Of 32 segments with the same text in 32 columns some are alike to git; with salt none are."""
    salted, plain = [], []
    for number in range(1, 33):
        name = segments.name_of("project", "k7f3q2xw", number)
        draft = codec.Draft((codec.Event("x.said", {"said": REPEATED[kind]}),), "ann", "agent")
        commit_id, at = (
            f"019bbef3{number * 37:04x}0000-k7f3q2xw",
            f"2026-01-21T14:{number:02d}:03.{number:03d}Z",
        )
        line, _ = codec.encode(draft, commit_id, at, codec.GENESIS)
        salted.append(tmp_path / name)
        salted[-1].write_bytes(segments.shifted("project", name, line))
        plain.append(tmp_path / f"plain-{name}")
        plain[-1].write_bytes(segments.opening_of("project", name) + line[1:])
    assert renames(git, tmp_path / "salted", salted[::2], salted[1::2]) == []
    assert renames(git, tmp_path / "again", salted[:16], salted[16:]) == []
    assert renames(git, tmp_path / "plain", plain[:16], plain[16:]) != []


def test_an_archive_is_alike_to_nothing(place: str, repository: Path, git, tmp_path: Path) -> None:
    """A joined segment holds the same commits as what it was joined from, and as one that was joined later."""
    words = TEXT.split()
    for number in range(8):
        with holdfast.open() as workspace:
            workspace.session(place).note(" ".join(words[number * 5 :] + words[: number * 5]))
        commit(git, f"note {number}")
    with holdfast.open() as workspace:
        workspace.session(place).note(TEXT[::-1])
    sources = [tmp_path / path.name for path in live(repository)]
    for path, copy in zip(live(repository), sources, strict=True):
        shutil.copy(path, copy)
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    (first,) = joined(repository)
    kept = tmp_path / first.name
    shutil.copy(first, kept)
    for number, source in enumerate(sources):
        assert renames(git, tmp_path / f"source {number}", [source], [kept]) == []
    git("reset", "-q", "--hard")
    git("clean", "-fdq")
    with holdfast.open() as workspace:
        workspace.session(place).note("one more")
        upkeep.archive(workspace, place)
    others = [path for path in joined(repository) if path.name != kept.name]
    assert others
    assert renames(git, tmp_path / "other", [kept], others) == []


def test_archiving_and_going_back_on_two_branches(place: str, repository: Path, git) -> None:
    """Both branches archive, revert the archiving, write the same text and archive again: no segment conflicts."""
    note_and_commit(git, place, "work")
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    commit(git, "archived")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        take_back(git, branch)
        note_and_commit(git, place, f"again on {branch}")
        with holdfast.open() as workspace:
            upkeep.archive(workspace, place)
        commit(git, f"archived on {branch}")
    git("merge", "--no-edit", "one", ok=False)
    assert conflicts(git) == set()
    with holdfast.open() as workspace:
        workspace.heal()
        assert workspace.session(place).state["notes"]["count"] == 3


def test_what_a_copy_keeps_of_an_open_segment_is_not_alike(
    place: str, repository: Path, git, tmp_path: Path
) -> None:
    """A copied folder gives the open segment its own name, with the same commits: not the same file to git."""
    with holdfast.open() as workspace:
        workspace.session(place).note(TEXT)
    (opened,) = [path for path in live(repository) if TEXT.encode() in path.read_bytes()]
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    with holdfast.open(copy) as workspace:
        workspace.session(place).note("in the copy")
        assert workspace.session(place).state["notes"]["count"] == 2
    (parted,) = [path for path in live(copy) if TEXT.encode() in path.read_bytes()]
    assert parted.name != opened.name
    assert renames(git, tmp_path / "likeness", [opened], [parted]) == []


def test_what_is_brought_back_is_not_alike(place: str, repository: Path, git, tmp_path: Path) -> None:
    """Commits that come back after a reset are in a new segment, which is not the old one renamed to git."""
    with holdfast.open() as workspace:
        workspace.session(place).note(TEXT)
    (lost,) = [path for path in live(repository) if TEXT.encode() in path.read_bytes()]
    before = tmp_path / lost.name
    shutil.copy(lost, before)
    git("clean", "-fdq")
    with holdfast.open() as workspace:
        workspace.heal()
    (back,) = [path for path in live(repository) if TEXT.encode() in path.read_bytes()]
    assert back.name != before.name
    assert renames(git, tmp_path / "likeness", [before], [back]) == []
