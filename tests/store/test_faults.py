"""Faults are data: a stable kind, the values for its sentence, and the outcome."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import hints, main
from holdfast.store import faults
from holdfast.store.protocol import Fault

CONSTANTS = {name: value for name, value in vars(faults).items() if name.isupper() and isinstance(value, str)}
KINDS, OUTCOMES = set(faults._WHAT), set(faults._DONE)
DATA = {
    "bytes": 1,
    "command": "holdfast",
    "commit": "0001-writer",
    "commits": 2,
    "errors": 1,
    "id": "D-2",
    "host": "claude",
    "last": 3,
    "others": 1,
    "own": True,
    "parent": "streams",
    "problem": "a problem",
    "report": "a report",
    "used": False,
    "user": False,
}
TOOL = Path(__file__).parents[2] / "tools" / "fault_reference.py"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_reads_as_a_sentence(kind: str) -> None:
    """Each kind has a sentence, and its action is rendered for a shell."""
    fault = Fault(kind, "project", "somewhere", DATA)
    assert fault.what
    assert not fault.what.endswith(".")
    assert not hints.text(fault.action).endswith(".")
    assert fault.as_json(hints.text) == {
        "kind": kind,
        "stream": "project",
        "where": "somewhere",
        "what": fault.what,
        "harmless": False,
        "done": "",
        "action": hints.text(fault.action),
        "data": DATA,
    }


@pytest.mark.parametrize("done", sorted(OUTCOMES))
def test_every_outcome_reads_as_a_sentence(done: str) -> None:
    """The outcome replaces the suggested action."""
    fault = Fault(faults.DAMAGED_SEGMENT, "project", "somewhere", DATA, done=done)
    assert str(fault.action)
    assert fault.action.uses == ()


def test_kinds_are_stable_words() -> None:
    """A kind is the name of its constant in lower case, so neither changes without the other."""
    assert all(value == name.lower().replace("_", "-") for name, value in CONSTANTS.items())
    assert set(CONSTANTS.values()) == KINDS | OUTCOMES


def test_the_reference_page_is_current() -> None:
    """`python tools/fault_reference.py` writes the page; it has a row for every kind and outcome."""
    tool = runpy.run_path(str(TOOL))
    assert tool["page"]() == tool["PAGE"].read_text()
    assert all(f"| `{word}` |" in tool["page"]() for word in KINDS | OUTCOMES)


def test_numbers_have_their_plural() -> None:
    """One commit is not "1 commits"."""
    one, two = (Fault(faults.BEHIND_GIT, "project", "x", {"commits": count}).what for count in (1, 2))
    assert (one, two) == ("it lacks 1 commit that git has", "it lacks 2 commits that git has")


def test_a_restored_segment_names_its_sources() -> None:
    """The sentence says where the commits came from, and where the damaged file is."""
    data = {"commits": 3, "sources": {"HEAD": 2, "the index": 1}, "saved_as": "local/quarantine/x"}
    fault = Fault(faults.DAMAGED_SEGMENT, "project", "x", data, done=faults.RESTORED, harmless=True)
    assert str(fault.action) == (
        "restored 3 commits (2 from HEAD, 1 from the index); the damaged file is local/quarantine/x"
    )


def test_doctor_and_heal_report_the_kind(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` of both has the kind next to the sentences."""
    with holdfast.open(project) as workspace:
        session = workspace.start("a goal")
    segment = next((project / ".state" / "events" / session.stream).glob("*.jsonl"))
    with segment.open("ab") as file:
        file.write(b"a torn tail")
    (project / ".state" / session.stream / "state.json").write_bytes(b"")
    capsys.readouterr()
    assert main(["doctor", "--json"]) == 0
    found = {fault["kind"]: fault for fault in json.loads(capsys.readouterr().out)["faults"]}
    assert found[faults.TORN_TAIL]["what"] == "11 bytes after the last complete line"
    assert "`holdfast doctor --fix`" in found[faults.TORN_TAIL]["action"]
    assert main(["heal", "--json"]) == 0
    done = {fault["kind"]: fault["done"] for fault in json.loads(capsys.readouterr().out)["faults"]}
    assert done == {faults.TORN_TAIL: faults.CUT_OFF, faults.STALE_VIEW: faults.REGENERATED}
