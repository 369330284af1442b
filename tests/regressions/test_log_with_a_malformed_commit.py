"""The log of a session with a malformed commit that has a right checksum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import codec
from holdfast.store.files.segments import name_of

ID = "02000000000000ff-abcdefgh"
WRONG: list[dict[str, Any]] = [
    {"events": "x"},
    {"by": 5},
    {"at": 5},
    {"events": [{"type": 5, "v": 1, "data": {}}]},
    {"events": [{"type": "note.added", "v": 1, "data": [1]}]},
]


@pytest.mark.parametrize("parts", WRONG, ids=str)
def test_the_log_shows_all_other_commits(project: Path, parts: dict[str, Any]) -> None:
    """`log`, `show --at` and `diff` skip such a commit, as the state does; they neither crash nor show it."""
    with holdfast.open() as workspace:
        session = workspace.start("go on")
    record = {"v": 1, "id": ID, "at": "2026-01-21T14:30:00.000Z", "by": "mallory", "origin": "agent"}
    body = json.dumps({**record, "events": [], **parts}, separators=(",", ":")).encode()[:-1]
    segment = project / ".state" / "events" / session.stream / name_of(session.stream, "abcdefgh", 1)
    segment.write_bytes(body + b',"sum":"%b"}\n' % codec.chain(codec.GENESIS, body).encode())
    with holdfast.open() as workspace:
        again = workspace.session(session.id)
        again.note("after")
        assert [commit.events[0].type for commit in again.log()] == ["session.started", "note.added"]
        assert again.at("2999-01-01T00:00:00.000Z")["notes"]["count"] == 1
