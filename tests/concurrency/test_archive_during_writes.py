"""Archiving a session while other processes write to it: every acknowledged commit stays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.workspace import scaffold, upkeep

RECORDER = """
import sys
import holdfast
from holdfast.errors import Forbidden
worker, session = sys.argv[1], holdfast.open(user="ada").session(sys.argv[2])
number = 0
try:
    while True:
        session.record("x.step", {"worker": worker, "number": number})
        print(number, flush=True)
        number += 1
        if number == 3000:
            break
except Forbidden:
    print("refused", flush=True)
"""
WORKERS = ("1", "2", "3")


@contextmanager
def recorders(folder: Path, session: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Three processes that record to a session, each past its first commit."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RECORDER, worker, session],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for worker in WORKERS
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "0\n"
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def acknowledged(running: list[subprocess.Popen[str]]) -> tuple[set[tuple[str, int]], list[bool]]:
    """What each process had acknowledged, and whether it was refused in the end."""
    known, refused = {(worker, 0) for worker in WORKERS}, []
    for worker, process in zip(WORKERS, running, strict=True):
        said, errors = process.communicate(timeout=60)
        assert errors == ""
        lines = said.split()
        known |= {(worker, int(line)) for line in lines if line.isdigit()}
        refused.append("refused" in lines)
    return known, refused


def stored(folder: Path, session: str) -> list[tuple[str, int]]:
    with holdfast.open(folder, user="ada") as workspace:
        events = [event for commit in workspace.session(session).log() for event in commit.events]
    return [(e.data["worker"], e.data["number"]) for e in events if e.type == "x.step"]


@pytest.mark.parametrize("attempt", range(4))
def test_writers_are_refused_once_the_session_is_archived(tmp_path: Path, attempt: int) -> None:
    """Writers to an archived session are refused in time, and nothing acknowledged is lost."""
    scaffold.create(str(tmp_path / ".state"))
    with holdfast.open(tmp_path, user="ada") as workspace:
        session = workspace.start("put away")
        for number in range(200):
            session.record("x.before", {"number": number})
        with recorders(tmp_path, session.id) as running:
            upkeep.archive(workspace, session.id)
            known, refused = acknowledged(running)
    assert refused == [True, True, True]
    found = stored(tmp_path, session.id)
    assert set(found) >= known
    assert len(found) == len(set(found))
    with holdfast.open(tmp_path, user="ada") as workspace:
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []


def test_joining_segments_during_writes_loses_nothing(tmp_path: Path) -> None:
    """An engine that repeatedly joins the segments of a stream keeps concurrent appends."""
    scaffold.create(str(tmp_path / ".state"))
    with holdfast.open(tmp_path, user="ada") as workspace:
        session = workspace.start("joined")
        with recorders(tmp_path, session.id) as running:
            for _ in range(6):
                workspace.store.archive(session.stream)  # type: ignore[attr-defined]
            for process in running:
                process.terminate()
            known, _ = acknowledged(running)
    found = stored(tmp_path, session.id)
    assert set(found) >= known
    assert len(found) == len(set(found))
