"""Long texts are content-addressed files next to the segments: durable before their line, reported when missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import codec, long_texts
from holdfast.core.codec import Draft, Event
from holdfast.errors import Forbidden, HoldfastError
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.protocol import AppendContext, PreparedCommit
from holdfast.testing.plans import saying, texts, wall_clock
from holdfast.workspace import upkeep
from holdfast.workspace.setup import init

LONG = "A long text, line by line.\n" * 400
NAME = long_texts.hash_of(LONG.encode())
FOLDER = Path("events", "project", "blobs")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".state"


@pytest.fixture
def store(root: Path) -> Any:
    opened = FilesStore(str(root), clock=wall_clock)
    yield opened
    opened.close()


def again(root: Path, clock: Callable[[], int] = wall_clock) -> FilesStore:
    return FilesStore(str(root), clock=clock)


def segment_in(root: Path) -> Path:
    (path,) = (root / "events" / "project").glob("*.jsonl")
    return path


def test_a_long_text_leaves_its_line(store: FilesStore, root: Path) -> None:
    """The file has the text unchanged and is named by its hash; the line is short, still JSON, and names the hash."""
    store.append("project", saying(LONG))
    assert (root / FOLDER / NAME).read_text() == LONG
    stored = segment_in(root).read_bytes()
    assert len(stored) < 700
    record = json.loads(stored)
    assert list(record) == ["v", "id", "at", "by", "origin", "events", "blobs", "full", "check", "sum"]
    assert record["events"][0]["data"] == {"text": ""}
    assert [entry[1:] for entry in record["blobs"]] == [[NAME, len(LONG)]]


@pytest.mark.parametrize(("length", "files"), [(4096, 0), (4097, 1)])
@pytest.mark.parametrize("character", ["x", "é"])
def test_the_limit_is_4096_bytes_of_utf8(
    store: FilesStore, root: Path, length: int, files: int, character: str
) -> None:
    """A text of 4,096 bytes stays in its line, one of 4,097 does not."""
    size = len(character.encode())
    store.append("project", saying(character * (length // size) + "y" * (length % size)))
    assert len(list((root / FOLDER).glob("*"))) == files


def test_the_same_text_is_one_file(store: FilesStore, root: Path) -> None:
    """The same text in one or several commits is written once."""
    draft = Draft((Event("x.twice", {"a": LONG, "b": [LONG]}),), "ann", "agent")
    store.append("project", lambda context: PreparedCommit(draft, {}))
    written = (root / FOLDER / NAME).stat()
    store.append("project", saying(LONG))
    assert [path.name for path in (root / FOLDER).iterdir()] == [NAME]
    assert (root / FOLDER / NAME).stat().st_ino == written.st_ino


@pytest.mark.parametrize("torn", [b"", LONG.encode()[:5000], b"x" * len(LONG)])
def test_a_torn_file_under_the_name_is_replaced(store: FilesStore, root: Path, torn: bytes) -> None:
    """Whatever is at a text's path before it is written, the text is correct afterwards."""
    (root / FOLDER).mkdir(parents=True)
    (root / FOLDER / NAME).write_bytes(torn)
    store.append("project", saying(LONG))
    assert texts(store.read("project")) == [LONG]


@pytest.mark.parametrize("damage", ["missing", "changed", "cut"])
def test_a_lost_text_is_a_fault_and_nothing_else_is_lost(store: FilesStore, root: Path, damage: str) -> None:
    """The fault names the file, the commit shows a placeholder, all others are complete, and appending works."""
    for text in ("before", LONG, "after"):
        store.append("project", saying(text))
    path = root / FOLDER / NAME
    if damage == "missing":
        path.unlink()
    elif damage == "changed":
        path.write_text(LONG.replace("long", "lang", 1))
    else:
        path.write_text(LONG[:-1])
    other = again(root)
    tail = other.read("project")
    before, lost, after = texts(tail)
    assert (before, after) == ("before", "after")
    assert NAME in lost
    assert "missing" in lost
    (fault,) = tail.faults
    assert (fault.where, fault.harmless) == (f"events/project/blobs/{NAME}", False)
    assert NAME in texts(other.read("project", newest_first=True))[1]
    done = other.append("project", saying("more"), cursor=tail.cursor)
    assert done.version == 4
    assert [fault.where for fault in other.check() if not fault.harmless] == [fault.where]
    path.write_text(LONG)
    tail = other.read("project", done.cursor)
    assert (texts(tail), tail.faults) == (["before", LONG, "after", "more"], ())
    other.close()


def test_no_snapshot_hides_a_lost_text(tmp_path: Path) -> None:
    """While a text is missing, every opening reports it; once it is back, the state is correct without a repair."""
    init(str(tmp_path))
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("Write much")
        session.discuss(LONG[:6000])
        name = f"{session.user}/{session.id}"
        version = session.version
    (path,) = (tmp_path / ".state" / "events").rglob("blobs/*")
    kept = path.read_bytes()
    path.unlink()
    for snapshot in (tmp_path / ".state" / "local" / "snapshots").iterdir():
        snapshot.unlink()
    for _ in range(2):
        with holdfast.open(tmp_path) as workspace:
            session = workspace.session(name)
            assert [fault.where for fault in session.peek().faults] == [
                str(path.relative_to(tmp_path / ".state"))
            ]
            assert session.version >= version
            session.note("and so on")
    path.write_bytes(kept)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.session(name)
        assert session.peek().faults == ()
        state = session.state
    assert path.name not in json.dumps(state)
    for snapshot in (tmp_path / ".state" / "local" / "snapshots").iterdir():
        snapshot.unlink()
    with holdfast.open(tmp_path) as workspace:
        assert workspace.session(name).state == state


def test_a_repeated_operation_has_the_whole_text(store: FilesStore, root: Path) -> None:
    """The commit that a repeated operation returns is the first one, with its text."""
    first = store.append("project", saying(LONG, op="o"), op="o")
    other = again(root)
    assert other.append("project", saying("never", op="o"), op="o").commit == first.commit
    other.close()


def test_every_byte_of_the_stored_line_is_checked(store: FilesStore, root: Path) -> None:
    """A flipped bit anywhere in a line without its texts is detected."""
    store.append("project", saying(LONG))
    line = line_of(segment_in(root).read_bytes()[:-1])
    assert codec.fault_of(line, codec.GENESIS) is None
    for at in range(len(line)):
        flipped = line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]
        try:
            assert codec.fault_of(flipped, codec.GENESIS), f"byte {at}: {line[at : at + 20]!r}"
        except HoldfastError:
            pass  # of a newer format


def test_a_stored_line_can_be_tied_to_another(store: FilesStore, root: Path) -> None:
    """Archiving and restoring rechain lines; a line without its texts stays valid."""
    store.append("project", saying(LONG))
    line = line_of(segment_in(root).read_bytes()[:-1])
    tied, line_sum = codec.rechained(line, "5" * 32)
    assert codec.fault_of(tied[:-1], "5" * 32) is None
    whole, right = long_texts.attach(tied[:-1], lambda reference: LONG)
    assert right
    assert codec.fault_of(whole, "5" * 32) is None
    assert codec.sum_of(whole) == line_sum


@pytest.mark.parametrize(
    "references",
    [
        "[]",
        "7",
        "[[1]]",
        '[["1","2","3"]]',
        f'[[-5,"{NAME}",10800]]',
        f'[[99999,"{NAME}",10800]]',
        '[[150,"../../../config.toml",10800]]',
        f'[[150,"{NAME}",true]]',
        f'[[150,"{NAME}",9999999999]]',
        f'[[150,"{NAME}",10800],[120,"{NAME}",10800]]',
        "[" + ",".join([f'[150,"{NAME}",10800]'] * 1000) + "]",
        "[" * 5000 + "]" * 5000,
    ],
)
def test_malformed_references_do_no_harm(store: FilesStore, root: Path, references: str) -> None:
    """A malformed reference in a cloned repository is reported, and nothing else is touched."""
    store.append("project", saying(LONG))
    path = segment_in(root)
    line = line_of(path.read_bytes()[:-1])
    draft = Draft((Event("note.added", {"text": ""}),), "ann", "agent")
    forged = codec.Detached(codec.content_of(draft) + f',"blobs":{references}'.encode())
    forged.whole = b"x"
    later = codec.id_of(line)[:15] + "f" + codec.id_of(line)[16:]
    body, end, _ = codec.finish_line(forged, later, "2026-01-21T14:30:00.123Z", codec.sum_of(line))
    path.write_bytes(line + b"\n" + body + end)
    other = again(root)
    tail = other.read("project")
    assert len(list(tail.lines)) == 2
    assert texts(tail)[0] == LONG
    other.append("project", saying("and so on"), cursor=tail.cursor)
    faults = [fault for fault in other.check(fix=True) if not fault.harmless]
    assert [fault for fault in faults if later in fault.what]
    assert texts(other.read("project"))[::2] == [LONG, "and so on"]
    other.close()


def test_no_link_is_followed(store: FilesStore, root: Path, tmp_path: Path) -> None:
    """A folder of texts or a text that is a symlink is not used."""
    outside = tmp_path / "outside"
    outside.mkdir()
    store.append("project", saying("short"))
    (root / FOLDER).symlink_to(outside)
    with pytest.raises(Forbidden):
        store.append("project", saying(LONG))
    assert list(outside.iterdir()) == []
    (root / FOLDER).unlink()
    store.append("project", saying(LONG))
    (root / FOLDER / NAME).rename(outside / NAME)
    (root / FOLDER / NAME).symlink_to(outside / NAME)
    assert NAME in texts(again(root).read("project"))[1]


def test_removing_a_stream_removes_its_texts(store: FilesStore, root: Path) -> None:
    """Removing a stream removes its texts, but not the same text of another stream."""
    stream = "sessions/ada/2026-01-21-a1b2c3d4"
    for name in ("project", stream):
        store.append(name, saying(LONG))
    store.forget(stream)
    assert [path.parts[-3] for path in root.rglob(NAME)] == ["project"]


@pytest.mark.parametrize("age", [1, 30])
def test_an_unused_text_is_harmless_and_removed_after_a_day(root: Path, store: FilesStore, age: int) -> None:
    """A crash between a text and its line leaves a file: doctor reports it, and removes it after a day."""
    store.append("project", saying(LONG))
    unused = root / FOLDER / long_texts.hash_of(b"unused")
    unused.write_bytes(b"unused")
    os.utime(unused, ns=(0, (wall_clock() - age * 3_600_000) * 1_000_000))
    os.utime(root / FOLDER / NAME, ns=(0, 0))
    for fix in (False, True):
        faults = [fault for fault in store.check(fix=fix) if unused.name in fault.where]
        assert [fault.harmless for fault in faults] == [True]
    assert unused.exists() == (age < 24)
    assert texts(store.read("project")) == [LONG]


@pytest.mark.parametrize("restored", [False, True])
def test_an_archived_session_keeps_its_texts(tmp_path: Path, restored: bool) -> None:
    """Texts stay in place when a session is archived; reading, checking, restoring and pruning include them."""
    init(str(tmp_path))
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("Write much")
        name = f"{session.user}/{session.id}"
        session.note(LONG)
        upkeep.archive(workspace, name)
        if restored:
            upkeep.restore(workspace, name)
            workspace.session(name).note(LONG + "more")
        found = [
            event.data.get("text") for commit in workspace.session(name).log() for event in commit.events
        ]
        assert LONG in found
        assert [fault for fault in workspace.store.check() if not fault.harmless] == []
        workspace.store.forget(workspace.session(name).stream)
    assert list((tmp_path / ".state" / "events").rglob("blobs/*")) == []


def test_many_long_texts_are_read_in_bounded_memory(
    store: FilesStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond a size, the texts of a whole stream are read lazily."""
    monkeypatch.setattr("holdfast.store.files.blobs._IN_MEMORY", 20_000)
    wanted = [f"{number} {LONG}" for number in range(5)]
    for text in wanted:
        store.append("project", saying(text))
    tail = again(root).read("project")
    assert not isinstance(tail.lines, list)
    assert texts(tail) == wanted


def test_a_plan_that_raises_leaves_no_text(store: FilesStore, root: Path) -> None:
    """A refused command writes nothing, not even its long text."""

    def plan(context: AppendContext) -> PreparedCommit:
        raise Forbidden("no")

    with pytest.raises(Forbidden):
        store.append("project", plan)
    assert segments.EVENTS not in os.listdir(root) or not (root / FOLDER).exists()
