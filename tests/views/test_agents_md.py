"""The block in AGENTS.md: current between its markers, with no byte changed elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.views.example import mid_task, started

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import Refused
from holdfast.views import agents_md

OLD = agents_md.block(started().peek().state)
NEW = agents_md.block(mid_task().peek().state)

LINES = st.binary(max_size=40).filter(
    lambda line: b"holdfast:" not in line and not line.startswith((b"<<<<<<<", b">>>>>>>"))
)


@settings(deadline=None)
@given(st.lists(LINES, max_size=6), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_the_rest_of_the_file_stays_as_it_is(lines: list[bytes], line_end: bytes, final: bool) -> None:
    """Adding the block only appends bytes; changing it only changes what is between its markers."""
    found = line_end.join(lines) + (line_end if final and lines else b"")
    if found.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\n<<<<<<< " in found or b"\n>>>>>>> " in found:
        return
    first = agents_md.merged(found, OLD)
    assert first.startswith(found)
    assert agents_md.merged(first, OLD) == first
    tail = line_end + b"more below, no line end"
    second = agents_md.merged(first + tail, NEW)
    assert second.startswith(found)
    assert second.endswith(tail)
    assert NEW.encode() in second.replace(b"\r\n", b"\n")
    assert agents_md.merged(second, OLD) == first + tail


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace(agents_md.END, b""), "damaged block"),
        (lambda text: text.replace(agents_md.BEGIN, b"<!-- other"), "damaged block"),
        (lambda text: text + text, "damaged block"),
        (lambda text: agents_md.END + b"\n" + text.replace(agents_md.END, b""), "damaged block"),
        (lambda text: b"words " + text, "damaged block"),
        (lambda text: text.replace(b"Working memory", b"My own words"), "edited by hand"),
        (
            lambda text: text.replace(b"## Work", b"<<<<<<< HEAD\n## Work") + b"=======\n>>>>>>> other\n",
            "conflict",
        ),
        (lambda text: text + b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", "conflict"),
        (lambda text: text.decode().encode("utf-16"), "UTF-16"),
    ],
)
def test_ambiguous_blocks_are_reported(damage: object, message: str) -> None:
    """Half a block, two blocks, an edit or conflict markers are refused with their lines; nothing is guessed."""
    with pytest.raises(Refused, match=message):
        agents_md.merged(damage(OLD.encode()), NEW)  # type: ignore[operator]


def test_a_block_with_converted_line_endings_is_still_ours() -> None:
    """A checkout that converts every line ending does not look like an edit."""
    turned = OLD.replace("\n", "\r\n").encode()
    assert agents_md.merged(turned, NEW) == NEW.replace("\n", "\r\n").encode()


def test_the_command_writes_checks_and_refuses(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes the block, says whether it is current, and leaves a damaged file alone."""
    (project / "AGENTS.md").write_bytes(b"# Ours\r\n\r\nno final line end")
    holdfast.open().start("Ship it").workspace.close()
    assert main(["agents-md", "--check"]) == 1
    assert (project / "AGENTS.md").read_bytes() == b"# Ours\r\n\r\nno final line end"
    assert main(["agents-md"]) == 0
    assert main(["agents-md", "--check"]) == 0
    assert main(["start", "Another goal"]) == 0
    assert main(["agents-md", "--check"]) == 1
    assert main(["handoff"]) == 0  # which keeps an existing block current
    assert "Another goal" in (project / "AGENTS.md").read_text()
    edited = (project / "AGENTS.md").read_bytes().replace(b"Another", b"My")
    (project / "AGENTS.md").write_bytes(edited)
    assert main(["agents-md"]) == 1
    assert "edited by hand" in capsys.readouterr().err
    assert main(["handoff", "--json"]) == 0
    assert "edited by hand" in capsys.readouterr().out
    assert (project / "AGENTS.md").read_bytes() == edited


def test_a_link_is_not_followed(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If AGENTS.md or the handoff folder is a symlink, nothing is written through it."""
    outside = tmp_path / "outside.md"
    outside.write_text("mine")
    os.symlink(outside, project / "AGENTS.md")
    os.symlink(tmp_path, project / "handoff")
    holdfast.open().start("Ship it").workspace.close()
    assert main(["agents-md"]) == 7
    assert main(["agents-md", "--file", "../outside.md"]) == 2
    assert main(["handoff"]) == 0
    assert "not a folder of its own" in capsys.readouterr().out
    assert outside.read_text() == "mine"
    assert not (tmp_path / "latest.md").exists()


def test_a_persons_handoff_page_is_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A handoff/latest.md that holdfast did not write, or that was edited, is not overwritten; ours is."""
    session = holdfast.open().start("Ship it")
    session.workspace.close()
    assert main(["handoff"]) == 0
    first = (project / "handoff/latest.md").read_text()
    assert main(["handoff", "again"]) == 0
    second = (project / "handoff/latest.md").read_text()
    assert first != second
    (project / "handoff/latest.md").write_text("my own words\n")
    assert main(["handoff"]) == 0
    assert "left as it is" in capsys.readouterr().out
    assert (project / "handoff/latest.md").read_text() == "my own words\n"
