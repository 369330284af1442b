"""The secrets filter on the command line: every command, its messages, its override and its cost."""

from __future__ import annotations

import io
import json
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.concepts import capture
from holdfast.edge.cli import COMMANDS, load, main

sys.path.insert(0, str(Path(__file__).parent))
from secret_samples import SAMPLES

TEXT, SECRET = SAMPLES["github-personal-token"][0](random.Random(7))
QUIET = frozenset(
    """init status resume brief sessions switch log show diff view who recover validate lint verify schema advise
    doctor heal export archive restore agents-md hook-commit-message sync import release continue
    why decisions index search sql run mcp hook install uninstall completion help""".split()  # noqa: SIM905
)
"""Commands that store no text from their arguments (sync, import, mcp and hook take theirs from elsewhere;
run replaces secrets)."""


MORE = {
    "capture": [["capture", "correct", "C-1", f"use {TEXT}"]],
    "ref": [["ref", "add", TEXT]],
    "error": [["error", "remedy", "E-1", TEXT]],
    "record": [["record", "x.y", json.dumps({"a": {"b": TEXT}})]],
    "return": [["discuss", "x"], ["return", "--summary", TEXT]],
    "settle": [["settle", "D-1", TEXT]],
    "phase": [["phase", "declare", "look", "fix"], ["phase", "skip", "fix", "--because", TEXT]],
}
"""What the examples, which name things that are not there, do not reach."""


def stored(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def started(project: Path) -> None:
    """A workspace with an open entry of each concept."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Ship it")
        session.add_task("a task")
        session.start_task("T-1")
        session.propose_plan("a plan", "steps")
        session.decide("a decision", because="why")
        for title in range(13):
            session.add_loop(f"loop {title}")
        session.add_risk("a risk")
        session.add_blocker("a blocker")
        session.add_next("a step")
        session.add_error("an error")
        session.create_batch(["x"])
        session.add_message("user", "x")
        found = [capture.Candidate("decision", f"Use {name}") for name in ("alpha", "beta", "gamma", "delta")]
        session.commit(lambda state, mint: capture.propose(state, mint, found, capture.Lineage("message")))
        session.set_budget(5000)
        workspace.project.add_item("an item")
        workspace.project.order("an order")
        workspace.project.add_fact("a fact")
    (project / TEXT).write_text("x")


def variants(example: str) -> Iterator[list[str]]:
    """An example's words, with the secret inserted into one word after the other."""
    words = shlex.split(example)[1:]
    for place in range(1, len(words)):
        if words[place] in ("|", ">", "&&", ";"):
            return
        if not words[place].startswith("-"):
            yield [*words[:place], f"{words[place]} {TEXT}", *words[place + 1 :]]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_command_stores_a_secret(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each example of each command with a secret in any of its words: no byte of it is stored."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    command = load(name)
    refused = 0
    inner = command.verbs or {name: command}
    for verb in inner.values():
        for example in verb.examples:
            for words in variants(example):
                if words[0] in ("batch", "init") and words[1:2] == ["run"]:
                    continue  # runs a real command: tests/security/test_secrets_filter.py does that
                main([*words, "--json"])
                printed = capsys.readouterr().out
                if '"HF-SECRET"' in printed:
                    refused += 1
                    assert SECRET not in printed
                assert SECRET.encode() not in stored(project / ".state")
    for words in MORE.get(name, ()):
        main(words)
        refused += "holds what looks like a secret" in capsys.readouterr().err
        assert SECRET.encode() not in stored(project / ".state")
    assert bool(refused) == (name not in QUIET)


def test_refusal_and_override(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal names kind and field and what to do; --allow-secret writes it, and the log records it."""
    assert main(["note", f"Use {TEXT}"]) == 1
    said = capsys.readouterr()
    assert "note.added.text holds what looks like a secret (github-personal-token" in said.err
    assert "--allow-secret" in said.err
    assert SECRET not in said.err + said.out
    assert main(["note", f"Use {TEXT}", "--allow-secret"]) == 0
    assert main(["log", "--json"]) == 0
    log = capsys.readouterr().out
    assert "secret.allowed" in log
    for words in (["start", "g"], ["import", "x"], ["sync"]):
        main([*words, "--help"])
        assert "--allow-secret" in capsys.readouterr().out


def test_an_import_reports_the_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, line and kind are printed; the secret is in no output and in no file."""
    (project / "STATE.md").write_text(f"# S\n\n## Decisions\n\n- Use {TEXT}\n- Keep it\n- stray {TEXT}\n")
    assert main(["import", "STATE.md"]) == 0
    said = capsys.readouterr().out
    assert "STATE.md:5: looks like a secret (github-personal-token): a placeholder was kept" in said
    assert SECRET not in said
    assert main(["import", "STATE.md", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["imports"][0]
    assert [found["line"] for found in report["secrets"]] == [5, 7]
    assert SECRET.encode() not in stored(project / ".state")


def test_an_ordinary_command_does_not_load_the_finder(project: Path) -> None:
    """Start-up does not load the rules unless the text has a sign of a secret."""
    script = (
        "import sys; from holdfast.edge.cli import main; "
        "status = main(['decide', 'Use SQLite in src/holdfast/store/sqlite/engine.py', '--because', "
        "'one file survives; see https://sqlite.org/wal.html and 0c5f1a52 (tests pass)', '--json']); "
        "print([name for name in sys.modules if 'secret' in name or name == 'tomllib'], status)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(holdfast.__file__).parents[1])},
    )
    assert (
        ran.stdout.splitlines()[-1]
        == "['holdfast.core.secrets', 'holdfast.core.secrets.signs', 'holdfast.workspace.secrets_filter'] 0"
    )
