"""The commands of references, messages, budget, project and preferences, as a person types them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.edge.cli import COMMANDS, load, main


@pytest.fixture(autouse=True)
def started(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workspace with a current session."""
    assert main(["start", "Ship it"]) == 0
    capsys.readouterr()


def run(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    """The one JSON object that a command prints."""
    assert main([*words, "--json"]) == status
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] == (status == 0)
    return dict(printed)


def test_references(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path is relative to the current folder; check fails with 1 when a file has changed."""
    (project / "docs").mkdir()
    (project / "docs" / "a.md").write_text("x")
    monkeypatch.chdir(project / "docs")
    assert run(capsys, "ref", "add", "a.md", "--kind", "artifact")["reference"]["path"] == "docs/a.md"
    assert run(capsys, "ref", "check")["stale"] == []
    (project / "docs" / "a.md").write_text("y")
    assert run(capsys, "ref", "check", status=1)["stale"][0]["problem"] == "changed"
    run(capsys, "ref", "drop", "a.md")
    assert run(capsys, "ref")["references"] == []
    assert run(capsys, "ref", "add", "../../x", status=1)["error"]["code"] == "HF-REFUSED"


def test_messages(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Text comes from the command line or from standard input, bytes unchanged."""
    text = "a\r\nb\t$2 \u202e " * 500
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    run(capsys, "message", "add", "tool", "-", "--tool", "make")
    run(capsys, "message", "add", "user", "go on")
    assert [m["text"] for m in run(capsys, "message", "recent")["messages"]] == [text, "go on"]
    run(capsys, "message", "summarize", "talked", "--keep", "1")
    shown = run(capsys, "message", "recent", "5")
    assert (shown["summary"]["text"], [m["text"] for m in shown["messages"]]) == ("talked", ["go on"])


def test_budget(capsys: pytest.CaptureFixture[str]) -> None:
    """Every change says the zone and its strategy."""
    assert run(capsys, "budget", "set", "1000", "--zones", "10,20,30")["zone"] == "comfortable"
    assert run(capsys, "budget", "add", "schema", "--tokens", "250")["zone"] == "warning"
    assert run(capsys, "budget", "exclude", "schema")["zone"] == "comfortable"
    assert run(capsys, "budget", "include", "schema")["strategy"]
    assert run(capsys, "budget")["budget"]["used"] == 250
    run(capsys, "budget", "drop", "schema")
    assert run(capsys, "budget", "set", "10", "--zones", "x", status=2)["error"]["code"] == "HF-USAGE"
    run(capsys, "budget", "add", "--tokens", "5", status=2)


def test_project(capsys: pytest.CaptureFixture[str]) -> None:
    """Backlog, orders, controls, facts, decisions and preferences by their short ids."""
    run(capsys, "backlog", "add", "first", "--priority", "high", "--tag", "a", "--epic", "v2")
    run(capsys, "backlog", "add", "second", "--after", "BL-1")
    assert [i["title"] for i in run(capsys, "backlog", "ready")["ready"]] == ["first"]
    run(capsys, "backlog", "start", "BL-2", status=1)
    run(capsys, "backlog", "edit", "BL-2", "--title", "next", "--status", "blocked")
    run(capsys, "backlog", "edit", "BL-2", status=2)
    run(capsys, "backlog", "start", "BL-1")
    run(capsys, "backlog", "done", "BL-1", "shipped")
    assert [(i["title"], i["status"]) for i in run(capsys, "backlog")["backlog"]] == [("next", "blocked")]
    run(capsys, "order", "add", "write first")
    assert len(run(capsys, "order")["orders"]) == 1
    run(capsys, "order", "lift", "SO-1", "--reason", "done")
    run(capsys, "control", "review", "only in chat", "--outcome", "written")
    assert run(capsys, "control")["controls"][0]["what"] == "only in chat"
    run(capsys, "control", "review", status=1)
    run(capsys, "fact", "add", "cut from stable", "--branch-exists", "stable")
    assert run(capsys, "fact")["facts"][0]["check"] == {"branch-exists": "stable"}
    run(capsys, "fact", "drop", "F-1")
    assert run(capsys, "decide", "all JSON", "--because", "diff", "--action", "convert", "--project")[
        "id"
    ].startswith("D-1.")
    assert main(["recover"]) == 0
    assert "--project" in capsys.readouterr().out
    run(capsys, "settle", "D-1", "done", "--project")
    run(capsys, "prefer", "tone", "short")
    assert run(capsys, "prefer")["preferences"] == {"tone": "short"}
    assert run(capsys, "prefer", "tone")["value"] == "short"
    run(capsys, "prefer", "tone", "--drop")


def test_a_fact_can_hold_while_a_file_is_unchanged(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The hash is taken when the fact is recorded."""
    (project / "schema.sql").write_text("x")
    run(capsys, "fact", "add", "the schema", "--file-unchanged", "schema.sql")
    check = run(capsys, "fact")["facts"][0]["check"]["file-hash"]
    assert (check["path"], len(check["hash"])) == ("schema.sql", 64)


def test_export(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An export is printed, or replaces a file atomically; a file that cannot be written is named."""
    run(capsys, "backlog", "add", "first")
    assert main(["export", "backlog.yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["items"][0]["title"] == "first"
    run(capsys, "export", "events.yaml", "--all", "--out", "events.yaml")
    assert len(yaml.safe_load((project / "events.yaml").read_text())["events"]) == 2
    assert (
        run(capsys, "export", "catch-log.tsv", "--out", "no/such/x", status=7)["error"]["code"]
        == "HF-FORBIDDEN"
    )
    assert sorted(p.name for p in project.iterdir()) == [".state", "events.yaml"]
    run(capsys, "export", "else", status=2)


def test_groups_explain_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    """Help lists the verbs of a group; an unknown verb names them; every verb has a summary and an example."""
    groups = [name for name in COMMANDS if load(name).verbs]
    assert {"backlog", "budget", "fact", "message", "order", "ref"} <= set(groups)
    for name in groups:
        assert main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        for verb, command in load(name).verbs.items():
            assert command.summary in shown
            assert any(f"holdfast {name} {verb}" in example for example in command.examples)
            assert main([name, verb, "--help"]) == 0
            assert f"usage: holdfast {name} {verb}" in capsys.readouterr().out
        assert main([name, "nonsense"]) == 2
        assert ", ".join(load(name).verbs) in capsys.readouterr().err


def test_stored_text_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Escape and direction characters in listed text are shown as codes."""
    evil = "\x1b[31mred\u202eder"
    run(capsys, "backlog", "add", evil)
    run(capsys, "order", "add", evil)
    run(capsys, "fact", "add", evil)
    run(capsys, "control", evil, evil)
    run(capsys, "message", "add", "user", evil)
    run(capsys, "budget", "add", evil, "--tokens", "5")
    run(capsys, "prefer", "x", evil)
    for words in (["backlog"], ["order"], ["fact"], ["control"], ["message"], ["budget"], ["prefer"]):
        assert main(words) == 0
        shown = capsys.readouterr().out
        assert "red" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
