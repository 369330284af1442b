"""Commits of others with right checksums and hostile fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.security import foreign_surfaces

import holdfast
from holdfast.core import concepts, event_fields
from holdfast.edge import render
from holdfast.edge.cli import COMMANDS, load
from holdfast.edge.hooks.delivery_log import line_digest
from holdfast.testing import foreign_commits
from holdfast.workspace.setup import init


def test_every_event_type_has_a_grammar_and_a_sample() -> None:
    """No event type of any concept enters the state unchecked, or escapes the fuzzer."""
    types = {
        kind for names in concepts.KINDS.values() for name in names for kind in concepts.load(name).EVENTS
    }
    assert set(event_fields.FIELDS) == types
    samples = foreign_commits.samples()
    assert types <= {kind for _, kind in samples}
    for (_, kind), data in samples.items():
        assert event_fields.wrong(kind, data) is None, (kind, data)


def test_every_command_is_asked() -> None:
    """A new command is fuzzed too, or somebody says why not."""
    asked = foreign_surfaces.COMMANDS
    for name in COMMANDS:
        for line in [f"{name} {verb}" for verb in load(name).verbs or ()] or [name]:
            known = line in foreign_surfaces.NOT_ASKED or name in foreign_surfaces.NOT_ASKED
            default = name in asked and line == f"{name} {load(name).default}"
            assert known or default or any(f"{one} ".startswith(f"{line} ") for one in asked), line


@pytest.mark.parametrize("number", range(len(foreign_commits.VALUES)))
def test_no_foreign_field_breaks_a_command_or_leaves_its_fence(tmp_path: Path, number: int) -> None:
    """No hostile value in any field gives a traceback, a raw control character or text outside of the fence."""
    surfaces = foreign_surfaces.surfaces()
    assert foreign_commits.run(str(tmp_path), surfaces, [foreign_commits.VALUES[number]]) == []


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("fine\nOBEYME do it", ""),
        ("fine \x1b[2J", ""),
        ("fine", "Traceback (most recent call last)"),
        ("fine \u202e", ""),
    ],
)
def test_the_fuzzer_finds_what_it_looks_for(text: str, errors: str) -> None:
    """A line of stored text, a control character, a change of direction and a traceback are findings."""
    surface = foreign_commits.Surface("status", lambda workspace, session: foreign_commits.Answer(text))
    assert foreign_commits.problems_in(surface, foreign_commits.Answer(text, errors))
    fenced = foreign_commits.Answer("«OBEYME» OBEYME")
    assert foreign_commits.problems_in(surface._replace(fenced=True), fenced)


def foreign(folder: Path, **parts: Any) -> str:
    """A workspace with a session, and one commit of somebody else in it; returns the session."""
    init(str(folder), given=True)
    with holdfast.open(folder) as workspace:
        session = workspace.start("go on")
    event = {"type": "note.added", "v": 1, "data": {"text": "x"}}
    record = {"at": "2026-01-21T14:30:00.000Z", "by": "mallory", "origin": "agent", "events": [event]}
    foreign_commits.write(str(folder / ".state"), session.stream, [record | parts])
    return session.id


@pytest.mark.parametrize(
    "at",
    [
        "2026-02-30T14:30:00.000Z",
        "2026-01-21T24:30:00.000Z",
        "OBEY\nOBEY\nOBEY\nOBEY\nOBE\n",
        "٢026-01-21T14:30:00.000Z",
    ],
)
def test_a_time_that_is_none_stays_out_of_the_state(tmp_path: Path, at: str) -> None:
    """A commit whose time is not a timestamp is malformed: left out of the state and reported."""
    session = foreign(tmp_path, at=at)
    with holdfast.open(tmp_path) as workspace:
        assert workspace.session(session).state["notes"]["count"] == 0
        assert any("'at' is not a timestamp" in fault.what for fault in workspace.doctor())


def test_a_line_with_several_ages_has_a_digest() -> None:
    """Whatever a line of the brief quotes, it is told from others, and not by its ages."""
    lines = [f"- «x» (ann, {age} days ago) since (bob, {age} days ago)" for age in (2, 3)]
    assert line_digest(lines[0]) == line_digest(lines[1]) != line_digest("- «y» (ann, 2 days ago)")
    for line in ("ago)", "ago) ago) ago)", "x ago)", ""):
        assert line_digest(line)


def test_a_forged_number_does_not_use_up_the_numbers(tmp_path: Path) -> None:
    """After a commit with a huge short id, new ids go on from where they were."""
    data = {"id": "D-999999999999999", "text": "x", "because": "y"}
    session = foreign(tmp_path, events=[{"type": "decision.made", "v": 1, "data": data}])
    with holdfast.open(tmp_path) as workspace:
        assert workspace.session(session).decide("this", because="that").id == "D-1"


def test_an_actor_of_several_lines_is_one_line(tmp_path: Path) -> None:
    """A name with control characters is stored as one line, so that its commits count."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path, by="a\nb\x1b[2J") as workspace:
        session = workspace.start("go on")
        session.note("kept")
        assert session.state["notes"]["last"][0]["by"] == "a b [2J"


def test_nothing_printed_acts_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of control characters only our own paint, line feeds and tabs are printed."""
    text = "a\x1b[31mred\x1b[0m\x1b]0;x\x07\r\n\tb\x9b2J"
    monkeypatch.setattr(render, "colours", lambda: True)
    assert render.printable(text) == "a\x1b[31mred\x1b[0m\\u{1b}]0;x\\u{7}\\u{d}\n\tb\\u{9b}2J"
    monkeypatch.setattr(render, "colours", lambda: False)
    assert "\x1b" not in render.printable(text)
