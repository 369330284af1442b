"""The crash-state lister itself: what it must list, and what it must not."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.fs import durable, posix
from holdfast.testing.crash.recording import Recording
from holdfast.testing.crash.states import crash_states, write_out


def _contents(recording: Recording, name: str) -> set[bytes | None]:
    return {state.files.get(name) for state in crash_states(recording, final_only=True)}


def test_unsynced_append_may_be_lost_torn_zero_or_garbage(tmp_path: Path) -> None:
    """An append without a sync can leave nothing, a part, zeros, garbage or everything, but keeps earlier bytes."""
    (tmp_path / "log").write_bytes(b"safe\n")
    recording = Recording(posix, str(tmp_path))
    fd = recording.open(str(tmp_path / "log"), durable.APPEND)
    recording.write(fd, b"0123456789\n")
    found = _contents(recording, "log")
    assert {b"safe\n", b"safe\n0", b"safe\n01234", b"safe\n0123456789\n", b"safe\n" + b"\0" * 11} <= found
    assert all(content is not None and content.startswith(b"safe\n") for content in found)
    assert any(
        content and len(content) == 16 and content[5:] not in (b"0123456789\n", b"\0" * 11)
        for content in found
    )
    recording.sync(fd)
    recording.close(fd)
    assert _contents(recording, "log") == {b"safe\n0123456789\n"}


def test_a_synced_file_without_a_synced_folder_may_have_no_name(tmp_path: Path) -> None:
    """Syncing a new file does not make its name durable; syncing its folder does."""
    recording = Recording(posix, str(tmp_path))
    fd = recording.open(str(tmp_path / "new"), durable.CREATE)
    recording.write(fd, b"x")
    recording.sync(fd)
    recording.close(fd)
    assert _contents(recording, "new") == {None, b"x"}
    recording.sync_folder(str(tmp_path))
    assert _contents(recording, "new") == {b"x"}


def test_a_file_in_an_unsynced_folder_is_lost_with_it(tmp_path: Path) -> None:
    """Every level counts: syncing an inner folder does not help while its own name is not durable."""
    recording = Recording(posix, str(tmp_path))
    recording.make_folder(str(tmp_path / "a"))
    fd = recording.open(str(tmp_path / "a" / "f"), durable.CREATE)
    recording.sync(fd)
    recording.close(fd)
    recording.sync_folder(str(tmp_path / "a"))
    assert _contents(recording, "a/f") == {None, b""}
    recording.sync_folder(str(tmp_path))
    assert _contents(recording, "a/f") == {b""}


def test_a_second_name_keeps_the_bytes(tmp_path: Path) -> None:
    """A link to a synced file leaves its bytes as they are, whether or not the new name is durable."""
    recording = Recording(posix, str(tmp_path))
    fd = recording.open(str(tmp_path / "new"), durable.CREATE)
    recording.write(fd, b"x")
    recording.sync(fd)
    recording.close(fd)
    recording.sync_folder(str(tmp_path))
    recording.link(str(tmp_path / "new"), str(tmp_path / "link"))
    assert _contents(recording, "new") == {b"x"}
    assert _contents(recording, "link") == {None, b"x"}


def test_rename_without_sync_may_leave_old_new_or_an_empty_file(tmp_path: Path) -> None:
    """A replacement whose data was not synced can lose both versions; a durable one leaves old or new."""
    (tmp_path / "view").write_bytes(b"old")
    recording = Recording(posix, str(tmp_path))
    durable.replace(recording, str(tmp_path / "view"), b"new", tag="t", durable=False)
    assert {b"old", b"new", b""} <= _contents(recording, "view")
    (tmp_path / "view").write_bytes(b"old")
    recording = Recording(posix, str(tmp_path))
    durable.replace(recording, str(tmp_path / "view"), b"new", tag="t", durable=True)
    assert _contents(recording, "view") == {b"new"}
    everywhere = {state.files.get("view") for state in crash_states(recording)}
    assert everywhere == {b"old", b"new"}


def test_unsynced_truncation_may_not_have_happened(tmp_path: Path) -> None:
    """A truncated tail can reappear until the file is synced, also below a later append."""
    (tmp_path / "log").write_bytes(b"good\nTORN")
    recording = Recording(posix, str(tmp_path))
    fd = recording.open(str(tmp_path / "log"), durable.APPEND)
    recording.truncate(fd, 5)
    assert _contents(recording, "log") == {b"good\nTORN", b"good\n"}
    recording.write(fd, b"xy\n")
    assert b"good\nxy\nN" in _contents(recording, "log")
    recording.close(fd)


def test_a_removed_name_may_reappear(tmp_path: Path) -> None:
    """A removed file reappears after a power cut, unless its folder was synced."""
    (tmp_path / "gone").write_bytes(b"x")
    recording = Recording(posix, str(tmp_path))
    recording.unlink(str(tmp_path / "gone"))
    assert _contents(recording, "gone") == {None, b"x"}
    recording.sync_folder(str(tmp_path))
    assert _contents(recording, "gone") == {None}


def test_failed_sync_loses_the_bytes_for_good(tmp_path: Path) -> None:
    """After a sync that failed as on Linux, a later one succeeds although the bytes are not on the disk."""
    (tmp_path / "log").write_bytes(b"safe\n")
    recording = Recording(posix, str(tmp_path))
    fd = recording.open(str(tmp_path / "log"), durable.APPEND)
    recording.write(fd, b"lost\n")
    recording.sync_failed(fd)
    recording.sync(fd)
    recording.close(fd)
    assert _contents(recording, "log") == {b"safe\n"}


def test_acknowledgements_are_counted_per_state(tmp_path: Path) -> None:
    """A state knows how many commits had been acknowledged when the power failed."""
    recording = Recording(posix, str(tmp_path))
    fd = recording.open(str(tmp_path / "log"), durable.CREATE)
    recording.acknowledge()
    recording.write(fd, b"x")
    recording.close(fd)
    assert {state.acknowledged for state in crash_states(recording)} == {0, 1}
    assert {state.acknowledged for state in crash_states(recording, final_only=True)} == {1}


def test_a_state_is_written_out_as_it_is(tmp_path: Path) -> None:
    """Writing a state to disk gives a folder with exactly its files."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    recording = Recording(posix, str(source))
    recording.make_folder(str(source / "a"))
    durable.replace(recording, str(source / "a" / "f"), b"data", tag="t", durable=True)
    last = list(crash_states(recording))[-1]
    write_out(last, str(target))
    found = {
        os.path.relpath(os.path.join(folder, name), target): Path(folder, name).read_bytes()
        for folder, _, names in os.walk(target)
        for name in names
    }
    assert found == last.files
