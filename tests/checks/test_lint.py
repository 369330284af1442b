"""Every rule of lint: what triggers it, and what does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.checks import finding, lint, lint_memory

SESSION = ".state/sessions/alice/2026-01-21-a1b2c3d4"
STATE = f"{SESSION}/state.json"


def state(**fields: Any) -> str:
    """A state.json of another tool that no rule complains about, with other fields."""
    plain = {
        "version": 1,
        "session_id": "2026-01-21-a1b2c3d4",
        "created_at": "2026-01-21T14:00:00Z",
        "updated_at": "2026-01-21T14:30:00Z",
        "phase": "design",
    }
    return json.dumps({k: v for k, v in {**plain, **fields}.items() if v is not ...}, indent=1)


def page(extra: str = "", *, front: bool = True, stack: int = 0, used: int = 10) -> str:
    """A STATE.md of the template."""
    head = "---\nversion: 1\nupdated: 2026-01-21\nsession: x\n---\n" if front else ""
    sections = [
        "## Current Context",
        "## Active Loops",
        f"## Token Budget\n\n**Status:** 10 / 100 tokens ({used}%) - x",
        "## Available Actions",
        f"## Context Stack\n\n**Depth:** {stack}",
        "## Recent Updates",
    ]
    return head + "\n\n".join(sections) + "\n" + extra


def entry(bullets: int) -> str:
    return "# A\n\n### 2026-01-21 - Done\n" + "\n".join(f"- point {n}" for n in range(bullets)) + "\n"


MD = f"{SESSION}/STATE.md"
BAD: dict[str, dict[str, str | bytes]] = {
    "HF001": {".state/global-state.json": "{}"},
    "HF002": {".state/queue.json": "[]"},
    "HF003": {".state/artifacts/out.md": "x"},
    "HF004": {".state/state.json": state(session_id=...)},
    "HF005": {".state/sessions/2026-01-21/state.json": state(session_id="2026-01-21")},
    "HF006": {STATE: state(session_id="2026-01-21-other000")},
    "HF007": {".state/current-session.json": '{"active_session": "a", "updated_at": "b", "goal": "c"}'},
    "HF008": {f"{SESSION}/context/image.png": b"\x89PNG\0\0"},
    "HF009": {f"{SESSION}/state.lock": ""},
    "HF010": {f"{SESSION}/state.json.tmp": ""},
    "HF011": {"\\private\\var\\batch_state.json": state()},
    "HF012": {STATE: state()},
    "HF013": {".state/events/sessions/alice/2026-01-21-a1b2c3d4/aaaaaaaa-1.jsonl": ""},
    "HF014": {f".state/sessions/alice/2026-01-21-{n:08d}/context/a.md": "x" for n in range(201)},
    "HF015": {f"{SESSION}/history.jsonl": '{"agent": "a"}\n{"agent": "b"}\n'},
    "HF016": {f"{SESSION}/context/a.md": "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"},
    "HF101": {STATE: state(notes=["x" * 900] * 12)},
    "HF102": {STATE: state()[:-10]},
    "HF103": {STATE: state(a={"b": {"c": {"d": 1}}})},
    "HF104": {STATE: state(created_at=...)},
    "HF105": {STATE: state(updated_at="21.01.2026")},
    "HF106": {STATE: state(phase=...)},
    "HF107": {STATE: state(version=...)},
    "HF108": {STATE: state(out="/home/alice/project/x.md")},
    "HF109": {STATE: state(log="line\n" * 30)},
    "HF110": {STATE: state(features=["a"], total_features=1)},
    "HF111": {STATE: state(context={"request": "context/request.md"})},
    "HF112": {STATE: state(checkpoint={"last_completed_step": "a", "can_resume": True})},
    "HF113": {"state/session-state.json": '{"goal": "g", "last_updated": "2026-01-21"}'},
    "HF114": {f"{SESSION}/context/a.md": "key: " + "AKIA" + "Z7WCTAYQ5PRKLM2X" + "\n"},
    "HF115": {"events.yaml": "events:\n" + "  - a\n" * 10_001},
    "HF116": {"events.yaml": "events:\n  - summary: x\n    backrefs: [a, [id]]\n"},
    "HF117": {"backlog.yaml": "items:\n  - id: B-1\n    title: a\n  - id: B-1\n    title: b\n"},
    "HF118": {MD: page().replace("## Available Actions", "## Menu")},
    "HF119": {MD: page(front=False)},
    "HF120": {MD: page(stack=2)},
    "HF121": {MD: page("".join(f"**2026-01-2{n} 10:00**\n- x\n" for n in range(6)))},
    "HF122": {MD: page(used=50)},
    "HF123": {MD: page("- the same long decision again\n" * 4)},
    "HF201": {".opencode/instructions/a.md": "x\n" * 201},
    "HF202": {"AGENTS.md": "x" * (75 * 1024 + 1)},
    "HF203": {"AGENTS.md": "x" * (100 * 1024 + 1)},
    "HF204": {"AGENTS.md": entry(6)},
    "HF205": {"AGENTS.md": "### 21.01.2026 Done\n"},
}
GOOD: dict[str, dict[str, str | bytes]] = {
    "HF001": {f"{SESSION}/global.json": "{}"},
    "HF002": {f"{SESSION}/queue.json": "[]"},
    "HF003": {f"{SESSION}/artifacts/out.md": "x"},
    "HF004": {STATE: state()},
    "HF005": {STATE: state()},
    "HF006": {STATE: state()},
    "HF007": {".state/current-session.json": '{"active_session": "a", "updated_at": "2026-01-21T14:30:00Z"}'},
    "HF008": {f"{SESSION}/context/text.md": "é🦀"},
    "HF009": {f"{SESSION}/context/locks.md": ""},
    "HF010": {f"{SESSION}/context/a.md": ""},
    "HF011": {"state/batch_state.json": state()},
    "HF012": {STATE: state(), ".state/README.md": "x"},
    "HF013": {
        ".state/events/sessions/alice/2026-01-21-a1b2c3d4/aaaaaaaa-1.jsonl": "",
        ".state/.gitignore": "local/\n",
    },
    "HF014": {f".state/sessions/alice/2026-01-21-{n:08d}/context/a.md": "x" for n in range(200)},
    "HF015": {f"{SESSION}/history.jsonl": '{"agent": "a"}\n{"agent": "a"}\nnot json\n'},
    "HF016": {f"{SESSION}/context/a.md": "=======\n"},
    "HF101": {STATE: state(notes=["x" * 900] * 9)},
    "HF102": {STATE: state()},
    "HF103": {STATE: state(a={"b": {"c": [1, [2]]}})},
    "HF104": {STATE: state()},
    "HF105": {STATE: state(updated_at="2026-01-21", closed_at=None)},
    "HF106": {STATE: state(phase=None)},
    "HF107": {STATE: state(version=..., format=1)},
    "HF108": {STATE: state(out="context/x.md", rate="5/home")},
    "HF109": {STATE: state(log="one line")},
    "HF110": {STATE: state(features=["a"], total=1)},
    "HF111": {STATE: state(context={"request": "context/request.md"}), f"{SESSION}/context/request.md": "x"},
    "HF112": {STATE: state(checkpoint={"can_resume": True, "resume_instruction": "go on"})},
    "HF113": {
        "state/session-state.json": json.dumps(
            {key: [] for key in ["decisions", "open_risks", "blocked_by", "next_actions", "artifacts"]}
            | {"goal": "g", "current_phase": "p", "last_updated": "2026-01-21T00:00:00Z"}
        )
    },
    "HF114": {f"{SESSION}/context/a.md": "key: none\n"},
    "HF115": {"events.yaml": "events:\n" + "  - a\n" * 100},
    "HF116": {"events.yaml": 'events:\n  - summary: "x [id]"\n    backrefs: [a, b]\n'},
    "HF117": {"backlog.yaml": "items:\n  - id: B-1\n    title: a\n  - id: B-2\n    title: b\n"},
    "HF118": {MD: page()},
    "HF119": {MD: page()},
    "HF120": {MD: page(stack=1)},
    "HF121": {MD: page("".join(f"**2026-01-2{n} 10:00**\n- x\n" for n in range(5)))},
    "HF122": {MD: page(used=49)},
    "HF123": {MD: page("- the same long decision again\n" * 3)},
    "HF201": {".opencode/instructions/a.md": "x\n" * 200},
    "HF202": {"AGENTS.md": "x" * (75 * 1024)},
    "HF203": {"AGENTS.md": "x" * (100 * 1024)},
    "HF204": {"AGENTS.md": entry(5)},
    "HF205": {"AGENTS.md": "### 2026-01-21 Done\n"},
}


def make(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_every_rule_has_both_tests() -> None:
    """No rule without something that triggers it and something that does not; those about records are in
    test_lint_memory."""
    about_records = {rule.id for rule, _ in lint_memory.CHECKS}
    assert set(BAD) == set(GOOD) == set(lint.RULES) - about_records


@pytest.mark.parametrize("rule", sorted(BAD))
def test_rule_applies(tmp_path: Path, rule: str) -> None:
    """What the rule is about is found, in the file that has it."""
    make(tmp_path, BAD[rule])
    found = lint.lint(str(tmp_path), only={rule})
    assert found
    assert {f.rule.id for f in found} == {rule}
    for f in found:
        assert any(
            name == f.path or name.startswith(f.path + "/") or f.path.startswith(".state")
            for name in BAD[rule]
        )
        if f.line:
            content = BAD[rule][f.path]
            text = content if isinstance(content, str) else content.decode()
            assert f.line <= text.count("\n") + 1


@pytest.mark.parametrize("rule", sorted(GOOD))
def test_rule_does_not_apply(tmp_path: Path, rule: str) -> None:
    """Correct files are not reported."""
    make(tmp_path, GOOD[rule])
    assert lint.lint(str(tmp_path), only={rule}) == []


@pytest.mark.parametrize("rule", sorted(GOOD))
def test_line_ends_do_not_count(tmp_path: Path, rule: str) -> None:
    """Correct files whose pages git turned to CRLF are not reported."""
    make(
        tmp_path,
        {
            name: content.replace("\n", "\r\n")
            if name.endswith(".md") and isinstance(content, str)
            else content
            for name, content in GOOD[rule].items()
        },
    )
    assert lint.lint(str(tmp_path), only={rule}) == []


def test_a_session_with_views_and_segments_counts_once(tmp_path: Path) -> None:
    """Its files are in two folders; 150 sessions are not too many."""
    for folder in (".state/sessions/alice", ".state/events/sessions/alice"):
        make(tmp_path, {f"{folder}/2026-01-21-{n:08d}/x.jsonl": "" for n in range(150)})
    assert lint.lint(str(tmp_path), only={"HF014"}) == []


def test_a_clean_workspace_has_no_findings(project: Path) -> None:
    """A workspace with all kinds of events is clean."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work", phases=["look", "fix"])
        (project / "notes.md").write_text("x")
        session.decide("A", because="b", action="c", alternatives=["d"])
        session.settle("D-1", "done")
        session.decide("E", because="f")
        session.add_task("T")
        session.start_task("T-1")
        session.add_loop("Why?")
        session.add_risk("R")
        session.add_blocker("B")
        session.checkpoint("half", pending=["x"], instruction="go on")
        session.create_batch(["a", "b"])
        session.note("n")
        workspace.project.add_item("Item")
        done = workspace.start("Other")
        done.complete("ok")
        from holdfast.workspace import upkeep

        upkeep.archive(workspace)
    assert lint.lint(str(project)) == []


def test_sarif_has_rules_places_and_fingerprints(tmp_path: Path) -> None:
    """The log has what code scanning needs, and a finding keeps its fingerprint."""
    make(tmp_path, BAD["HF105"])
    found = lint.lint(str(tmp_path), only={"HF105"})
    log = finding.sarif(found, lint.RULES.values())
    run = log["runs"][0]
    result = run["results"][0]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "HF105"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 5
    assert finding.sarif(found, lint.RULES.values())["runs"][0]["results"][0] == result


SARIF = Path(sys.executable).parent / "sarif"


def test_sarif_is_read_by_other_tools(tmp_path: Path) -> None:
    """A reader of SARIF finds each finding under its level and rule."""
    make(tmp_path, BAD["HF002"])
    log = finding.sarif(lint.lint(str(tmp_path), only={"HF002"}), lint.RULES.values())
    (tmp_path / "log.sarif").write_text(json.dumps(log))
    done = subprocess.run(
        [str(SARIF), "summary", str(tmp_path / "log.sarif")], check=True, capture_output=True, text=True
    )
    assert "error: 1" in done.stdout
    assert "HF002" in done.stdout


def test_github_annotations_cannot_be_broken_out_of() -> None:
    """A message with line feeds and colons stays one annotation."""
    rule = finding.Rule("HF999", "note", "s", "a")
    text = finding.github([finding.Finding(rule, "a,b:c%.md", 3, "one\n::error::two")])
    assert text == "::notice file=a%2Cb%3Ac%25.md,line=3,title=holdfast HF999::one%0A::error::two"


def test_links_and_huge_files_are_not_followed(tmp_path: Path) -> None:
    """A link out of the project is not read; a huge file is judged by its size."""
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "README.md").symlink_to("/etc/passwd")
    with open(tmp_path / "AGENTS.md", "wb") as file:
        file.truncate(64 * 1024 * 1024)
    assert {f.rule.id for f in lint.lint(str(tmp_path))} == {"HF203"}
