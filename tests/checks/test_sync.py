"""A STATE.md edited by hand: compared with the log, shown, imported or left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import Refused
from holdfast.workspace import sync
from holdfast.workspace.imports import original


@pytest.fixture
def session(project: Path) -> Any:
    """A session with a published STATE.md."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Ship *it*", phases=["look", "fix", "prove"])
        session.set_focus("Read the code")
        session.add_loop("Is it | mixed?")
        session.add_loop("How far back?")
        session.set_budget(5000)
        workspace.publish()
        yield session


def page_of(session: holdfast.Session) -> Path:
    return Path(session.workspace.where) / session.stream / "STATE.md"


def edit(session: holdfast.Session, *changes: tuple[str, str]) -> None:
    path = page_of(session)
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text)


def test_nothing_edited(session: holdfast.Session) -> None:
    """An untouched page has no drift, even after new commits."""
    assert sync.drift(session) == sync.Drift(False, [], [])
    with pytest.raises(Refused, match="not edited"):
        sync.accept(session)


def test_changes_are_shown_and_nothing_is_written(session: holdfast.Session) -> None:
    """Without --accept neither the page nor the log changes."""
    edit(session, ("Read the code", "Write `the` test"), ("**Phase:** look", "**Phase:** fix"))
    before, text = session.version, page_of(session).read_text()
    seen = sync.drift(session)
    assert [(c.kind, c.before, c.after) for c in seen.changes] == [
        ("phase", "look (1 of 3)", "fix (1 of 3)"),
        ("focus", "Read the code", "Write `the` test"),
    ]
    session.workspace.touch(session)
    session.workspace.publish()
    assert (session.version, page_of(session).read_text()) == (before, text)
    assert main(["sync"]) == 1


def test_accepting(session: holdfast.Session) -> None:
    """Focus, phase, status, loops and budget are imported in one commit; the page is regenerated."""
    edit(
        session,
        ("Read the code", "Write the test"),
        ("**Phase:** look", "**Phase:** fix"),
        ("**Status:** Working", "**Status:** Blocked"),
        ("| LOOP-002 | How far back? | open |", "| LOOP-002 | How far back? | clarifying |"),
        ("| LOOP-002", "| LOOP-003 | A new one | open | now |\n| LOOP-002"),
        ("5,000 tokens", "6,000 tokens"),
    )
    edited = page_of(session).read_bytes()
    before = session.version
    assert main(["sync", "--accept"]) == 0
    state = session.state
    value = {name: register["value"] for name, register in state["registers"].items()}
    assert session.version == before + 1
    assert (value["focus"], value["phase"], value["status"]) == ("Write the test", "fix", "blocked")
    assert [(x["title"], x["status"]) for x in state["loops"]["open"].values()] == [
        ("Is it | mixed?", "open"),
        ("How far back?", "clarifying"),
        ("A new one", "open"),
    ]
    assert state["budget"]["total"] == 6000
    assert sync.drift(session).edited is False
    from holdfast.core.hashing import blake2b

    assert original(session, blake2b(edited, digest_size=16).hexdigest()) == edited


def test_a_removed_loop_is_closed(session: holdfast.Session) -> None:
    """A row that a person removed closes the loop, and says so."""
    text = page_of(session).read_text()
    page_of(session).write_text("\n".join(line for line in text.split("\n") if "LOOP-001" not in line))
    assert [(c.kind, c.what, c.after) for c in sync.drift(session).changes] == [("loop", "LOOP-001", "")]
    sync.accept(session)
    assert session.state["loops"]["closed"][0]["outcome"] == "taken out of STATE.md by hand"


def test_the_log_moved_on_meanwhile(session: holdfast.Session) -> None:
    """Only what the person changed is imported: a later change of something else stays; of the same it is shown."""
    edit(session, ("Read the code", "By hand"))
    session.add_loop("Added meanwhile")
    session.set_focus("By the agent")
    (change,) = sync.drift(session).changes
    assert (change.before, change.after, change.also) == ("Read the code", "By hand", "By the agent")
    sync.accept(session)
    state = session.state
    assert state["registers"]["focus"]["value"] == "By hand"
    assert "Added meanwhile" in [loop["title"] for loop in state["loops"]["open"].values()]


def test_a_change_that_a_rule_refuses(session: holdfast.Session) -> None:
    """One refused change rejects all of them, and its line is named."""
    edit(session, ("**Phase:** look", "**Phase:** prove"), ("Read the code", "x"))
    before, text = session.version, page_of(session).read_text()
    with pytest.raises(Refused, match=r"STATE\.md:\d+: Phase prove"):
        sync.accept(session)
    assert (session.version, page_of(session).read_text()) == (before, text)


def test_lines_that_cannot_be_imported_are_reported(session: holdfast.Session) -> None:
    """A line that cannot be imported is reported by its number, and stored with the text."""
    path = page_of(session)
    path.write_text(path.read_text() + "\nA remark by hand.\n")
    seen = sync.drift(session)
    assert any("A remark by hand." in left.text for left in seen.left)
    sync.accept(session)
    assert b"A remark by hand." not in path.read_bytes()
