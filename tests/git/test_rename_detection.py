"""Git's rename detection compares removed and added files: no segment may resemble another."""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import codec
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.workspace import upkeep

TEXT = (
    "The import stops at the third file because its header names a column twice; the parser keeps the first one and "
    "drops the values of the second without a word. We read the header before anything else, refuse a file that names "
    "a column twice, and say which one and in which line. Files that were imported before are checked once more with "
    "the new rule, and what was dropped is listed in a report, so that nobody has to guess what is missing. The report "
    "goes to the folder of the project and is named after the day. Nothing is deleted before somebody has read it."
)
"""What one or two agents may write twice: long enough to be most of a short segment."""


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
    """Revert the last commit of main, in a git commit of this branch only."""
    git("revert", "--no-commit", "main")
    git("commit", "-q", "-m", f"reverted on {branch}")


def renames(git, folder: Path, before: list[Path], after: list[Path]) -> list[str]:
    """The renames that git detects if the first files are replaced by the others."""
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


def test_segments_with_the_same_text_are_not_similar(
    place: str, repository: Path, git, tmp_path: Path
) -> None:
    """Forty segments of one writer hold only the same text each; git finds no two similar."""
    for number in range(40):
        note_and_commit(git, place, f"note {number}")
    found = sorted(live(repository), key=lambda path: segments.number_of(path.name))[1:]
    assert len(found) == 40
    assert renames(git, tmp_path / "likeness", found[::2], found[1::2]) == []
    assert renames(git, tmp_path / "again", found[:20], found[20:]) == []


def test_without_padding_the_same_text_is_a_rename(place: str, repository: Path, git, tmp_path: Path) -> None:
    """Control: without the spaces in their lines, git detects the same segments as renames."""
    for number in range(2):
        note_and_commit(git, place, f"note {number}")
    plain = []
    for number, path in enumerate(live(repository)[-2:], 1):
        plain.append(tmp_path / segments.name_of("project", segments.writer_of(path.name), number))
        plain[-1].write_bytes(b"".join(line_of(line) + b"\n" for line in path.read_bytes().splitlines()))
    assert renames(git, tmp_path / "likeness", plain[:1], plain[1:]) != []


def test_reverts_on_two_branches_with_the_same_text_again(place: str, repository: Path, git) -> None:
    """Both branches revert the same commit and write the same text again: no segment conflicts, nothing is lost."""
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
    """One branch only reverts, the other reverts and writes the same text: git detects no rename on one side."""
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
    """A text that looks the same in any column, reverted on both branches and rewritten: no conflict."""

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
        events = workspace.session(place).project(lambda all_of_it, event: [*all_of_it, event.data], [])
        said = [data["said"] for data in events if "said" in data]
        assert said == [REPEATED[kind]] * 2


def segments_with(said: object, folder: Path, columns: list[int], *, padding: bool = True) -> list[Path]:
    """Segments with only the same data each, each of another writer, in the given columns."""
    folder.mkdir(parents=True)
    found: list[Path] = []
    numbers = itertools.count()
    while len(found) < len(columns):
        writer = f"{next(numbers):08d}".replace("0", "w")
        name = segments.name_of("project", writer, 1)
        opening = segments.opening_of("project", name)
        if len(opening) - 1 != columns[len(found)]:
            continue
        draft = codec.Draft((codec.Event("x.said", {"said": said}),), "ann", "agent")
        clock = f"019bbef3{len(found) * 37:04x}0000"
        at = f"2026-01-21T14:{len(found):02d}:03.{len(found):03d}Z"
        line, _ = codec.encode(draft, f"{clock}-{writer}", at, codec.GENESIS)
        found.append(folder / name)
        found[-1].write_bytes(segments.in_column("project", name, line) if padding else opening + line[1:])
    return found


def words(length: int) -> str:
    """A text without repetitions."""
    drawn = random.Random(length)
    return " ".join(f"{drawn.getrandbits(40):x}" for _ in range(length // 10))[:length]


SAID: dict[str, object] = {"a text": TEXT, **REPEATED}


@pytest.mark.parametrize("kind", SAID)
def test_the_same_column_is_not_similar_either(tmp_path: Path, git, kind: str) -> None:
    """Many writers write the same words in the same column: git finds no two similar; without padding it would."""
    written = segments_with(SAID[kind], tmp_path / "written", [20] * 40)
    assert renames(git, tmp_path / "written", written[::2], written[1::2]) == []
    assert renames(git, tmp_path / "again", written[:20], written[20:]) == []
    plain = segments_with(SAID[kind], tmp_path / "unwritten", [20] * 2, padding=False)
    assert renames(git, tmp_path / "plain", plain[:1], plain[1:]) != []


@pytest.mark.parametrize("length", [1300, 2000, 3700])
def test_more_than_padding_covers_begins_in_another_column(tmp_path: Path, git, length: int) -> None:
    """Of lines longer than padding covers, with the same words, git finds hardly any two similar."""
    written = segments_with(words(length), tmp_path / "written", [20] * 40)
    alike = 0
    for number, pair in enumerate(itertools.pairwise(written)):
        alike += len(renames(git, tmp_path / f"pair {number}", [pair[0]], [pair[1]]))
    assert alike <= 2
    plain = segments_with(words(length), tmp_path / "unwritten", [20] * 2, padding=False)
    assert renames(git, tmp_path / "plain", plain[:1], plain[1:]) != []


@pytest.mark.parametrize("column", [15, 22, 30, 38])
def test_padded_lines_are_not_similar(tmp_path: Path, git, column: int) -> None:
    """Lines of every length up to where padding is a good part of them, with the same words in the same column."""
    for length in range(0, 400, 9):
        for kind, text in (("words", words(length)), ("letter", "=" * length)):
            folder = tmp_path / kind / str(length)
            found = segments_with(text, folder / "written", [column] * 6)
            assert renames(git, folder / "likeness", found[:3], found[3:]) == [], f"{length} bytes of {kind}"


def likeness(repo: Any, one: Path, other: Path) -> int:
    """The similarity of two files for libgit2, in percent: a rename has 50."""

    def tree(path: Path) -> Any:
        made = repo.TreeBuilder()
        made.insert(path.name, repo.create_blob(path.read_bytes()), 0o100644)
        return repo.get(made.write())

    found = tree(one).diff_to_tree(tree(other))
    found.find_similar(rename_threshold=1)
    return max(patch.delta.similarity for patch in found)


@pytest.fixture
def bare(tmp_path: Path) -> Any:
    """A libgit2 repository."""
    pygit2 = pytest.importorskip("pygit2")
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)


@pytest.mark.parametrize("kind", SAID)
def test_the_same_column_is_not_similar_to_libgit2(tmp_path: Path, bare: Any, kind: str) -> None:
    """The same for libgit2, which compares samples of two files."""
    written = segments_with(SAID[kind], tmp_path / "written", [20] * 6)
    assert max(likeness(bare, one, other) for one, other in itertools.combinations(written, 2)) < 50
    plain = segments_with(SAID[kind], tmp_path / "unwritten", [20] * 2, padding=False)
    assert likeness(bare, *plain) >= 50


@pytest.mark.parametrize("column", [15, 22, 30, 38])
def test_padded_lines_are_not_similar_to_libgit2(tmp_path: Path, bare: Any, column: int) -> None:
    """The same with lines of every length."""
    for length in range(0, 400, 9):
        found = segments_with(words(length), tmp_path / str(length), [column] * 2)
        assert likeness(bare, *found) < 50, f"{length} bytes"


@pytest.mark.parametrize("kind", REPEATED)
def test_repetitive_text_is_similar_in_no_column(tmp_path: Path, git, kind: str) -> None:
    """Of 24 segments with the same text in 24 columns none are similar to git; without padding some are."""
    written = segments_with(REPEATED[kind], tmp_path / "written", list(range(15, 39)))
    assert renames(git, tmp_path / "written", written[::2], written[1::2]) == []
    assert renames(git, tmp_path / "again", written[:12], written[12:]) == []
    plain = segments_with(REPEATED[kind], tmp_path / "unwritten", list(range(15, 39)), padding=False)
    assert renames(git, tmp_path / "plain", plain[:12], plain[12:]) != []


@pytest.mark.parametrize("strategy", ["ort", "recursive"])
def test_another_writer_with_the_same_text_in_the_same_column(
    place: str, repository: Path, git, tmp_path: Path, strategy: str
) -> None:
    """Both branches remove a segment, then both get another writer's with the same words: no conflict."""
    written = segments_with(TEXT, tmp_path / "written", [30] * 12)
    folder = repository / ".state" / "events" / "project"
    folder.mkdir(parents=True, exist_ok=True)
    for path in written[:4]:
        shutil.copy(path, folder)
    commit(git, "to be removed")
    for number, branch in enumerate(("one", "two"), 1):
        git("checkout", "-q", "-b", branch, "main")
        take_back(git, branch)
        folder.mkdir(parents=True, exist_ok=True)
        for path in written[4 * number : 4 * number + 4]:
            shutil.copy(path, folder)
        commit(git, f"again on {branch}")
    git("merge", "--no-edit", "-s", strategy, "one", ok=False)
    assert conflicts(git) == set()
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in written[4:])


def test_an_archive_resembles_nothing(place: str, repository: Path, git, tmp_path: Path) -> None:
    """A joined segment resembles neither its sources nor one that was joined later."""
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


def test_a_copys_open_segment_is_not_similar(place: str, repository: Path, git, tmp_path: Path) -> None:
    """A copied folder renames the open segment, with the same commits: git does not match the two."""
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


def test_a_restored_segment_is_not_similar(place: str, repository: Path, git, tmp_path: Path) -> None:
    """Commits restored after a reset are in a new segment, which git does not detect as the old one renamed."""
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
