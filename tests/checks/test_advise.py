"""Advice: the decision framework, answer by answer."""

from __future__ import annotations

import json

import pytest

from holdfast.checks.advise import QUESTIONS, advise
from holdfast.edge.cli import main


@pytest.mark.parametrize(
    ("answers", "memory", "kind"),
    [
        ({}, False, "stateless"),
        ({"fits": True}, False, "stateless"),
        ({"steps": True}, True, "session"),
        ({"handoffs": True}, True, "persistent"),
        ({"resume": True}, True, "persistent"),
        ({"fits": False}, True, "session"),
    ],
)
def test_whether_memory_is_needed(answers: dict[str, bool], memory: bool, kind: str) -> None:
    """The first of the four questions that says yes decides."""
    advice = advise(answers)
    assert (advice.memory, advice.kind) == (memory, kind)


@pytest.mark.parametrize(
    ("answers", "isolation"),
    [
        ({}, "session"),
        ({"parallel": True}, "session"),
        ({"users": True}, "user"),
        ({"busy": True, "hosts": True}, "database"),
    ],
)
def test_how_to_keep_sessions_apart(answers: dict[str, bool], isolation: str) -> None:
    """One person, several workflows, several people, many writers."""
    assert advise({"steps": True, **answers}).isolation == isolation


@pytest.mark.parametrize(
    ("answers", "engine"),
    [
        ({}, "files"),
        ({"diffs": True, "queries": True}, "files"),
        ({"queries": True}, "sqlite"),
        ({"hosts": True}, "postgres"),
        ({"hosts": True, "queries": True}, "postgres"),
        ({"relations": True, "diffs": True}, "postgres"),
    ],
)
def test_which_engine(answers: dict[str, bool], engine: str) -> None:
    """The simplest engine that meets the requirements."""
    assert advise({"steps": True, **answers}).engine == engine


def test_flags_in_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    """With flags nothing is asked; without a terminal and flags it is an error, not a hang."""
    assert main(["advise", "--steps", "yes", "--users", "yes", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["engine"], output["isolation"]) == ("files", "user")
    assert main(["advise"]) == 2


def test_questions_at_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A question is not asked once an earlier answer has decided."""
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("y\n" + "n\n" * len(QUESTIONS)))
    assert main(["advise"]) == 0
    output = capsys.readouterr().out
    assert "hand work" not in output
    assert "Engine files" in output
