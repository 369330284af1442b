"""References to files, and messages whose text is a file."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

import holdfast
from holdfast.core.concepts.message import KEPT, LONG, SUMMARY_CAP
from holdfast.core.text import TEXT_CAP
from holdfast.errors import Forbidden, NotFound, Refused, TooLarge
from holdfast.fs import posix
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.testing.hostile import TEXTS
from holdfast.workspace.attachments import Attachments
from holdfast.workspace.session import Session


@pytest.fixture
def session(project: Path) -> Session:
    """A session of a workspace in a folder."""
    return holdfast.open(str(project)).start("Ship it")


def test_a_reference_has_size_and_hash_and_no_copy(session: Session, project: Path) -> None:
    """The state names the file; its content is not copied to the workspace."""
    (project / "docs").mkdir()
    (project / "docs" / "plan.md").write_bytes(b"the secret plan")
    session.refer("./docs//plan.md", kind="artifact")
    (entry,) = session.state["references"]["open"].values()
    assert (entry["path"], entry["kind"], entry["size"]) == ("docs/plan.md", "artifact", 15)
    assert entry["hash"] == sha256(b"the secret plan").hexdigest()
    assert not any(
        b"the secret plan" in p.read_bytes() for p in (project / ".state").rglob("*") if p.is_file()
    )


def test_stale_names_what_is_gone_or_changed(session: Session, project: Path) -> None:
    """An untouched file is not listed; a changed one of the same size, a removed one and a replaced one are."""
    for name in ("same", "changed", "gone", "link"):
        (project / name).write_text("12345")
        session.refer(name)
    assert session.stale() == []
    (project / "changed").write_text("54321")
    (project / "gone").unlink()
    (project / "link").unlink()
    (project / "link").symlink_to("same")
    found = {entry.path: entry.problem for entry in session.stale()}
    assert found.keys() == {"changed", "gone", "link"}
    assert (found["changed"], found["gone"]) == ("changed", "gone")
    assert "link" in found["link"]
    session.refer("changed")
    session.unrefer("gone")
    assert {entry.path for entry in session.stale()} == {"link"}


def test_the_same_path_again_is_one_reference(session: Session, project: Path) -> None:
    """Referring again takes the new hash."""
    (project / "a").write_text("1")
    session.refer("a")
    (project / "a").write_text("22")
    session.refer(str(project / "a"))
    (entry,) = session.state["references"]["open"].values()
    assert entry["size"] == 2
    assert session.state["references"]["count"] == 1


def test_files_of_the_session_folder_are_distinguished(session: Session, project: Path) -> None:
    """A file in the session's own folder is named relative to it, so that it can move with the session."""
    own = project / ".state" / session.stream / "artifacts"
    own.mkdir()
    (own / "report.md").write_text("done")
    session.refer("artifacts/report.md", kind="artifact")
    session.refer(str(own / "report.md"), kind="artifact")
    assert list(session.state["references"]["open"]) == ["session:artifacts/report.md"]
    assert session.stale() == []


def test_nothing_outside_can_be_referred_to(session: Session, project: Path, tmp_path: Path) -> None:
    """No path upwards, no absolute path elsewhere, no symlink in or at the end of a path, no folder, no pipe."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("x")
    (project / "linked-folder").symlink_to(outside)
    (project / "linked-file").symlink_to(outside / "x")
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe")
    version = session.version
    for path in ("../outside/x", "a/../../outside/x", "folder", "pipe"):
        with pytest.raises(Refused):
            session.refer(path)
    for path in (str(outside / "x"), "linked-folder/x", "linked-file", str(project / "linked-folder" / "x")):
        with pytest.raises(Forbidden):
            session.refer(path)
    with pytest.raises(NotFound):
        session.refer("missing")
    with pytest.raises(NotFound):
        session.unrefer("missing")
    (project / "ok").write_text("x")
    with pytest.raises(Refused, match="context or artifact"):
        session.refer("ok", kind="secret")
    assert session.version == version


def test_a_project_reached_through_a_symlink_finds_its_files(project: Path, tmp_path: Path) -> None:
    """A symlink above the project's folder is allowed: it does not lead out of the project."""
    (tmp_path / "short").symlink_to(project)
    (project / "a").write_text("x")
    session = holdfast.open(str(project)).start("Ship it")
    session.refer(str(tmp_path / "short" / "a"))
    assert list(session.state["references"]["open"]) == ["a"]


@pytest.mark.parametrize("text", [t for t in TEXTS if t.strip()], ids=lambda text: ascii(text[:20]))
def test_a_message_round_trips(session: Session, text: str) -> None:
    """A message of any text and length is the same when read again, also by another process."""
    session.add_message("user", text)
    again = holdfast.open(session.workspace.where).session(session.id)
    assert [message.text for message in again.recent()] == [text]


def test_a_long_message_is_a_file_and_the_state_stays_small(session: Session, project: Path) -> None:
    """Its text is in the context folder, not in the segment; a change of the file is detected."""
    text = "long " * 10_000
    session.add_message("tool", text, tool="grep")
    (message,) = session.state["messages"]["recent"]
    folder = project / ".state" / session.stream
    file = folder / message["file"].removeprefix("session:")
    assert file.read_text() == text
    assert (
        sum(segment.stat().st_size for segment in (project / ".state" / "events" / session.stream).iterdir())
        < 4 * LONG
    )
    assert session.stale() == []
    file.write_text("something else")
    assert [entry.problem for entry in session.stale()] == ["changed"]
    (found,) = session.recent()
    assert found.cut
    assert text.startswith(found.text[:LONG])


def test_where_there_are_no_folders_the_log_keeps_all(project: Path) -> None:
    """On an engine without folders a long message is complete in the log."""
    session = holdfast.open("memory:").start("Ship it")
    text = "long " * 10_000
    session.add_message("user", text)
    for _ in range(KEPT + 5):
        session.add_message("assistant", "ok")
    assert session.recent(KEPT + 6)[0].text == text
    assert len(session.recent(3)) == 3
    assert session.recent(0) == []


def test_the_last_messages_and_a_summary_of_the_others(session: Session) -> None:
    """The state has twenty; a summary replaces all but those that are kept, and the previous summary."""
    for number in range(30):
        session.add_message("user", f"message {number}")
    assert [m["text"] for m in session.state["messages"]["recent"]] == [f"message {n}" for n in range(10, 30)]
    assert len(session.recent(25)) == 25
    session.summarize("thirty messages", keep=2)
    assert [m.text for m in session.recent(10)] == ["message 28", "message 29"]
    assert session.state["messages"]["summary"]["covers"] == 28
    session.add_message("user", "message 30")
    session.summarize("all of them")
    messages = session.state["messages"]
    assert (messages["recent"], messages["count"]) == ([], 31)
    assert (messages["summary"]["text"], messages["summary"]["covers"]) == ("all of them", 31)
    assert session.state["registers"]["summary"]["rivals"] == []


def test_refused_messages_leave_nothing(session: Session, project: Path) -> None:
    """An empty text, an overlong role or text, a lone surrogate, a summary of nothing: no file, no commit."""
    version = session.version
    for role, text in (
        ("", "x"),
        ("r" * 41, "x"),
        ("user", " "),
        ("user", "\ud800" + "x" * LONG),
        ("user", "\ud800"),
    ):
        with pytest.raises(Refused):
            session.add_message(role, text)
    with pytest.raises(TooLarge):
        session.add_message("user", "x" * (TEXT_CAP + 1))
    with pytest.raises(Refused, match="no message"):
        session.summarize("x")
    session.add_message("tool", "", tool="ls")
    with pytest.raises(TooLarge):
        session.summarize("x" * (SUMMARY_CAP + 1))
    with pytest.raises(Refused, match="Between 0 and 20"):
        session.summarize("x", keep=21)
    assert session.version == version + 1
    assert not (project / ".state" / session.stream / "context").exists()


def test_a_long_message_with_the_same_operation_is_one_commit(session: Session, project: Path) -> None:
    """Repeating is safe: one commit, one file."""
    first = session.add_message("user", "x" * 5000, op="m1")
    again = session.add_message("user", "x" * 5000, op="m1")
    assert (again.repeated, again.commit) == (True, first.commit)
    assert len(list((project / ".state" / session.stream / "context").iterdir())) == 1


def test_the_file_of_a_message_is_durable_before_its_commit(project: Path) -> None:
    """The bytes are synced before the name exists, and every folder up to the project's after it."""
    calls: list[tuple[str, str]] = []

    class Recorder(Wrapped):
        def sync(self, fd: int) -> None:
            calls.append(("sync", ""))
            super().sync(fd)

        def rename(self, source: str, target: str) -> None:
            calls.append(("rename", os.path.basename(target)))
            super().rename(source, target)

        def sync_folder(self, path: str) -> None:
            calls.append(("folder", os.path.basename(path)))
            super().sync_folder(path)

    folder = project / ".state" / "sessions" / "alice" / "2026-01-21-a1b2c3d4"
    attachments = Attachments(str(project), str(folder), Recorder(posix))
    path = attachments.write_context("message-1.txt", b"text")
    assert calls[:2] == [("sync", ""), ("rename", "message-1.txt")]
    above = ["context", folder.name, "alice", "sessions", ".state", project.name]
    assert [name for call, name in calls[2:] if call == "folder"][-6:] == above
    assert attachments.read(path, 10) == b"text"


def test_a_context_folder_that_is_a_link_is_not_written_into(
    session: Session, project: Path, tmp_path: Path
) -> None:
    """A long message is never written through a symlink."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".state" / session.stream / "context").symlink_to(outside)
    version = session.version
    with pytest.raises(Forbidden, match="link"):
        session.add_message("user", "x" * 5000)
    assert session.version == version
    assert list(outside.iterdir()) == []
