"""Malformed commits with a right checksum: skipped, and reported by file and line."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import codec, ids
from holdfast.store.files.padding import line_of
from holdfast.store.files.segments import name_of
from holdfast.testing.crash.run import opener
from holdfast.workspace.workspace import Workspace

WRITER = "abcdefgh"
ID = f"02000000000000ff-{WRITER}"


def body(commit_id: str = ID, **parts: Any) -> bytes:
    """The part before the checksum of a line with replaced fields; ``...`` omits one."""
    record: dict[str, Any] = {"v": 1, "id": commit_id, "at": "2026-01-21T14:30:00.000Z", "by": "mallory"}
    record |= {"origin": "agent", "events": [event("note.added", {"text": "x"})], **parts}
    record = {key: value for key, value in record.items() if value is not ...}
    return json.dumps(record, separators=(",", ":")).encode()[:-1]


def event(kind: Any, data: Any, version: Any = 1) -> dict[str, Any]:
    return {"type": kind, "v": version, "data": data}


NONSENSE = {
    "events are no list": body(events="x"),
    "no events": body(events=[]),
    "an event is a number": body(events=[1]),
    "data is a list": body(events=[event("x.y", [1])]),
    "data is null": body(events=[event("note.added", None)]),
    "a version is text": body(events=[event("note.added", {"text": "x"}, "1")]),
    "a version is 0": body(events=[event("note.added", {"text": "x"}, 0)]),
    "a type is a number": body(events=[event(5, {})]),
    "by is a number": body(by=5),
    "by is missing": body(by=...),
    "by is long": body(by="x" * 201),
    "at is a number": body(at=5),
    "at is no timestamp": body(at="yesterday"),
    "an unknown origin": body(origin="the user says: trust me"),
    "op is a number": body(op=5),
    "deep": body(events=[event("x.y", {"a": 0})]).replace(b'"a":0', b'"a":' + b"[" * 9000 + b"]" * 9000),
    "rather deep": body(events=[event("x.y", {"a": 0})]).replace(b'"a":0', b'"a":' + b"[" * 300 + b"]" * 300),
    "no JSON": b'{"v":1,"id":"%b","at":"x",broken' % ID.encode(),
    "no number": body(events=[event("x.y", {"a": float("nan")})]),
    "no UTF-8": body().replace(b'"x"', b'"\xff\xfe"'),
    "half a pair": body().replace(b'"x"', b'"\\ud800"'),
    "two ids": body(by="m").replace(b'"by":', b'"id":"02000000000000fe-abcdefgh","by":'),
}
"""Commits that make no sense whatever release reads them."""

STRANGE = {
    "a note without text": body(events=[event("note.added", {})]),
    "a note whose text is a number": body(events=[event("note.added", {"text": 5})]),
    "a decision of numbers": body(events=[event("decision.made", {"id": 5, "text": [], "because": {}})]),
    "a phase that is an object": body(events=[event("phase.entered", {"phase": {"a": 1}})]),
    "a task without anything": body(events=[event("task.added", {})]),
    "another session's start": body(
        events=[event("session.started", {"session": "../../x", "user": "../y", "goal": "z"})]
    ),
}
"""Commits whose data is not what the types of their events promise."""


@pytest.fixture(params=["files", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    return request.param, tmp_path


def work(place: tuple[str, Path]) -> holdfast.Session:
    """A session with two commits, one of them a decision."""
    engine, folder = place
    with Workspace(opener(engine)(str(folder)), user="alice", by="me") as workspace:
        session = workspace.start("go on")
        session.decide("this", because="that", action="do it")
    return session


def smuggle(place: tuple[str, Path], stream: str, content: bytes) -> str:
    """Append a line with a right checksum to a session's commits; return its location as reported."""
    engine, folder = place
    if engine == "files":
        segment = folder / ".state" / "events" / stream / name_of(stream, WRITER, 1)
        segment.write_bytes(content + b',"sum":"%b"}\n' % codec.chain(codec.GENESIS, content).encode())
        return f"events/{stream}/{segment.name}:1"
    db = sqlite3.connect(folder / "state.db", isolation_level=None)
    (number,) = db.execute("SELECT number FROM streams WHERE name = ?", (stream,)).fetchone()
    seq, last = db.execute(
        "SELECT seq, line FROM commits WHERE stream = ? ORDER BY seq DESC", (number,)
    ).fetchone()
    line = content + b',"sum":"%b"}' % codec.chain(codec.sum_of(line_of(last)), content).encode()
    db.execute("INSERT INTO commits VALUES (?, ?, ?, NULL, ?)", (number, seq + 1, codec.id_of(content), line))
    db.close()
    return f"table commits, stream {stream}, row {seq + 1}"


def reopened(place: tuple[str, Path]) -> Workspace:
    engine, folder = place
    return Workspace(opener(engine)(str(folder)), user="alice", by="me")


@pytest.mark.parametrize("what", [*NONSENSE, *STRANGE])
def test_one_bad_commit_does_not_hide_the_others(place: tuple[str, Path], what: str) -> None:
    """Whatever a line with a right checksum contains, the rest of the session is read, and work continues."""
    session = work(place)
    smuggle(place, session.stream, (NONSENSE | STRANGE)[what])
    with reopened(place) as workspace:
        again = workspace.session(session.id)
        assert [found.decision.text for found in workspace.recover()] == ["this"]
        again.note("after")
        again.settle("D-1", "done")
        assert len(workspace.sessions()) == 1
    with reopened(place) as workspace:
        state = workspace.session(session.id).state
        assert state["notes"]["last"][-1]["text"] == "after"
        assert state["decisions"]["settled"] == 1
        assert state["commits"] == 5
        json.dumps(state, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize("what", NONSENSE)
def test_doctor_reports_a_malformed_commit(place: tuple[str, Path], what: str) -> None:
    """Doctor reports its location, by file and line or by table and row, and leaves it there."""
    session = work(place)
    where = smuggle(place, session.stream, NONSENSE[what])
    with reopened(place) as workspace:
        for fix in (False, True):
            (fault,) = [fault for fault in workspace.doctor(fix=fix) if not fault.harmless]
            assert fault.where == where
            assert "commit" in fault.what


@pytest.mark.parametrize("clock", [ids.LAST, "fffffffffffffffe", "0800000000000000"])
def test_a_session_goes_on_beside_an_id_of_the_far_future(place: tuple[str, Path], clock: str) -> None:
    """A commit with such an id, which anybody can merge, is left out and reported, and everybody goes on writing."""
    session = work(place)
    where = smuggle(place, session.stream, body(f"{clock}-{WRITER}"))
    for turn in range(2):
        with reopened(place) as workspace:
            again = workspace.session(session.id)
            again.note("kept")
            assert again.state["notes"]["count"] == turn + 1
            assert again.state["notes"]["last"][-1]["text"] == "kept"
            assert {commit.by for commit in again.log()} == {"me"}
            assert [commit.id for commit in again.log()] == sorted(commit.id for commit in again.log())
            (fault,) = [fault for fault in workspace.doctor(fix=bool(turn)) if not fault.harmless]
            assert fault.where == where
            assert "100 years in the future" in fault.what


def test_a_page_of_ids_of_the_far_future_hides_nothing(place: tuple[str, Path]) -> None:
    """However many such commits there are, the next one goes on after the last that counts."""
    session = work(place)
    for number in range(1 if place[0] == "files" else 300):
        smuggle(place, session.stream, body(f"{0xFFFFFFFFFFFF0000 + number:016x}-{WRITER}"))
    with reopened(place) as workspace:
        again = workspace.session(session.id)
        again.note("kept")
        assert [commit.id for commit in again.log()] == sorted(commit.id for commit in again.log())
        assert len(list(again.log())) == 3


def test_clocks_a_year_apart_keep_working(place: tuple[str, Path]) -> None:
    """A commit from a clock that is a year ahead counts, and later commits follow it."""
    session = work(place)
    ahead = (int(time.time() * 1000) + 365 * 86_400_000) << 16
    smuggle(place, session.stream, body(f"{ahead:016x}-{WRITER}"))
    with reopened(place) as workspace:
        again = workspace.session(session.id)
        again.note("after")
        assert [note["text"] for note in again.state["notes"]["last"]] == ["x", "after"]
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []


@pytest.mark.parametrize("now", [-1, -(1 << 50), 1 << 48, 1 << 60])
def test_an_impossible_clock_gives_valid_ids(now: int) -> None:
    """Whatever the wall clock says, an id is valid and later than the last one."""
    for last in (ids.ZERO, ID):
        new = ids.next_id(last, now, WRITER)
        assert ids.is_commit_id(new)
        assert new > last
