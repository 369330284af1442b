"""Ready-made CI: the hooks and the action are valid, and the commands in them exist and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.edge.cli import COMMANDS

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
HOOKS, ACTION = ROOT / ".pre-commit-hooks.yaml", ROOT / "action.yml"


def test_the_hooks_are_a_valid_manifest() -> None:
    """pre-commit itself accepts the manifest."""
    subprocess.run([str(TOOLS / "pre-commit"), "validate-manifest", str(HOOKS)], check=True)


def test_the_action_has_the_form_of_an_action() -> None:
    """The schema of GitHub's actions accepts it, and rejects it without a step's shell."""
    checker = [str(TOOLS / "check-jsonschema"), "--builtin-schema", "vendor.github-actions"]
    subprocess.run([*checker, str(ACTION)], check=True)


@pytest.mark.parametrize("path", [HOOKS, ACTION], ids=["hooks", "action"])
def test_every_command_in_them_exists(path: Path) -> None:
    """Every command and option in both files exists."""
    from holdfast.edge.cli import load
    from holdfast.edge.cli.command import parser

    words = re.findall(r"\bholdfast ([a-z-]+)((?: --[a-z-]+| github| sarif)*)", path.read_text())
    known = [(name, options) for name, options in words if name in COMMANDS]
    assert len({name for name, _ in known}) >= 2
    for name, options in known:
        help_text = parser(name, load(name)).format_help()
        for option in re.findall(r"--[a-z-]+", options):
            assert option in help_text


def test_no_input_is_pasted_into_a_script() -> None:
    """Inputs reach scripts through the environment: text of a pull request cannot become code."""
    for block in re.findall(r"run: \|\n((?:        .*\n|\n)+)", ACTION.read_text()):
        assert "${{" not in block


def test_the_check_step_runs(project: Path, tmp_path: Path) -> None:
    """The action's script, unchanged: it passes on a clean workspace and fails on another."""
    script = re.search(r"id: check\n.*?run: \|\n((?:        .*\n|\n)+)", ACTION.read_text(), re.DOTALL)
    assert script is not None
    text = re.sub(r"^        ", "", script[1], flags=re.MULTILINE)
    tools = tmp_path / "bin"
    tools.mkdir()
    code = "import sys; from holdfast.edge.cli import main; sys.exit(main())"
    (tools / "holdfast").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
    (tools / "holdfast").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    output = tmp_path / "output"
    environment = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "FOLDER": str(project),
        "VERIFY": "yes",
        "REPORT": str(tmp_path / "report.sarif"),
        "GITHUB_OUTPUT": str(output),
    }

    def run() -> int:
        output.write_text("")
        return subprocess.run(
            ["bash", "-e", "-c", text], env=environment, capture_output=True, check=False
        ).returncode

    assert run() == 0
    assert "findings=0" in output.read_text()
    (project / ".state" / "queue.json").write_text("[]")
    assert run() == 1
    assert "findings=1" in output.read_text()
