"""Ready-made CI: the hooks and the action are valid, and the commands in them exist and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.edge.cli import COMMANDS

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
HOOKS, ACTION = ROOT / ".pre-commit-hooks.yaml", ROOT / "action.yml"
GITLAB = ROOT / "ci" / "holdfast.gitlab-ci.yml"


def test_the_hooks_are_a_valid_manifest() -> None:
    """pre-commit itself accepts the manifest."""
    subprocess.run([str(TOOLS / "pre-commit"), "validate-manifest", str(HOOKS)], check=True)


def test_the_action_has_the_form_of_an_action() -> None:
    """The schema of GitHub's actions accepts it, and rejects it without a step's shell."""
    checker = [str(TOOLS / "check-jsonschema"), "--builtin-schema", "vendor.github-actions"]
    subprocess.run([*checker, str(ACTION)], check=True)


@pytest.mark.parametrize("path", [HOOKS, ACTION, GITLAB], ids=["hooks", "action", "gitlab"])
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


def script_of(step: str) -> str:
    """The script of a step of the action, unchanged."""
    import yaml

    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    return str(next(found["run"] for found in steps if found.get("name") == step))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As a runner has it: holdfast and python on the path, no settings of a person."""
    tools = tmp_path / "bin"
    tools.mkdir()
    code = "import sys; from holdfast.edge.cli import main; sys.exit(main())"
    (tools / "holdfast").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
    (tools / "holdfast").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    (tmp_path / "home").mkdir()
    return {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "CI": "true",
        "VERIFY": "yes",
        "REPORT": str(tmp_path / "report.sarif"),
        "TARGET": str(tmp_path / "handoff"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }


def run(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", script],
        env=environment | {"FOLDER": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def fresh_clone(project: Path, tmp_path: Path) -> Path:
    """A clone, as a runner makes it, of a project in which alice works."""
    import holdfast

    git = ["git", "-c", "user.name=Alice", "-c", "user.email=a@example.org", "-C", str(project)]
    with holdfast.open() as workspace:
        session = workspace.start("Move the invoices")
        session.decide("Run the migration", because="tests are green", action="upgrade head")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Work"]):
        subprocess.run([*git, *words], check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(project), str(clone)], check=True)
    return clone


def test_the_check_step_runs(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """The action's script, unchanged: it passes on a clean workspace and fails on another."""
    output = tmp_path / "output"
    output.write_text("")
    assert run(script_of("Check"), project, environment).returncode == 0
    assert "findings=0" in output.read_text()
    (project / ".state" / "queue.json").write_text("[]")
    assert run(script_of("Check"), project, environment).returncode == 1
    assert "findings=1" in output.read_text()


def test_the_check_step_without_a_workspace(tmp_path: Path, environment: dict[str, str]) -> None:
    """A project that has only state/session-state.json is validated where it lies, and AGENTS.md fails over 100 KB."""
    folder = tmp_path / "plain"
    (folder / "state").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("# Page\n" + "a line of it\n" * 100)
    (folder / "state" / "session-state.json").write_text('{"goal": "x"}')
    refused = run(script_of("Check"), folder, environment)
    assert refused.returncode == 1
    assert "current_phase" in refused.stdout
    (folder / "state" / "session-state.json").write_text(
        '{"goal": "g", "current_phase": "p", "decisions": [], "open_risks": [], "blocked_by": [], '
        '"next_actions": [], "artifacts": [], "last_updated": "2026-01-21T14:30:00Z"}'
    )
    passed = run(script_of("Check"), folder, environment)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    (folder / "AGENTS.md").write_text("# Page\n" + "a line of it\n" * 9_000)
    assert run(script_of("Check"), folder, environment).returncode == 1


def test_the_handoff_step_in_a_fresh_clone(
    fresh_clone: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """A runner has no current session: handoff and brief are those of the newest unfinished one of anybody."""
    done = run(script_of("Handoff"), fresh_clone, environment)
    assert done.returncode == 0, done.stderr
    for name in ("latest.md", "brief.md"):
        text = (tmp_path / "handoff" / name).read_text()
        assert "Move the invoices" in text
        assert "Run the migration" in text
    assert "Run the migration" in (tmp_path / "summary").read_text()


def test_the_handoff_step_says_that_there_is_nothing(
    project: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Without a session there is a notice and no empty file; a store that cannot be opened fails the step."""
    done = run(script_of("Handoff"), project, environment)
    assert done.returncode == 0
    assert "::notice" in done.stdout
    assert os.listdir(tmp_path / "handoff") == []
    elsewhere = environment | {"HOLDFAST_URL": f"sqlite:///{tmp_path}/no-such-folder/memory.db"}
    assert run(script_of("Handoff"), project, elsewhere).returncode != 0


def test_the_gitlab_job(fresh_clone: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """GitLab's schema accepts the job; its script checks a fresh clone and publishes handoff and brief."""
    import yaml

    checker = [str(TOOLS / "check-jsonschema"), "--builtin-schema", "vendor.gitlab-ci"]
    subprocess.run([*checker, str(GITLAB)], check=True)
    job = yaml.safe_load(GITLAB.read_text())["holdfast"]
    settings = {name: str(value) for name, value in job["variables"].items()}
    settings |= {"CI_PROJECT_DIR": str(tmp_path), "HOLDFAST_FOLDER": str(fresh_clone)}
    done = run("\n".join(job["script"]), fresh_clone, environment | settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert job["artifacts"]["paths"] == ["holdfast-handoff/"]
    for name in ("latest.md", "brief.md"):
        assert "Run the migration" in (tmp_path / "holdfast-handoff" / name).read_text()
    (fresh_clone / ".state" / "queue.json").write_text("[]")
    assert run("\n".join(job["script"]), fresh_clone, environment | settings).returncode == 1


def test_the_hook_writes_the_handoff_page(fresh_clone: Path, environment: dict[str, str]) -> None:
    """In a fresh clone too; it records nothing, and leaves a page that a person wrote."""
    entry = re.search(r"id: holdfast-handoff\n.*?entry: (.*)", HOOKS.read_text(), re.DOTALL)
    assert entry is not None
    command = entry[1].splitlines()[0]
    assert run(command, fresh_clone, environment).returncode == 0
    page = fresh_clone / "handoff" / "latest.md"
    assert "Run the migration" in page.read_text()
    changed = subprocess.run(
        ["git", "-C", str(fresh_clone), "status", "--short", ".state"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert changed.stdout == ""
    page.write_text("my own words\n")
    refused = run(command, fresh_clone, environment)
    assert refused.returncode == 1
    assert page.read_text() == "my own words\n"


def test_the_latest_session_of_anybody(project: Path) -> None:
    """``latest`` is the unfinished session that was written to last; if all are finished, the newest one."""
    import holdfast

    with holdfast.open(user="bob") as workspace:
        with pytest.raises(holdfast.NoSession):
            workspace.session("latest")
        first = workspace.start("First")
    with holdfast.open(user="alice") as workspace:
        second = workspace.start("Second")
        assert workspace.session("latest").name == second.name
        workspace.session(first.name).note("still at it")
        assert workspace.session("latest").name == first.name
        workspace.session(first.name).complete()
        assert workspace.session("latest").name == second.name
        second.complete()
        assert workspace.session("latest").name in (first.name, second.name)


def test_scripts_of_a_package_json(fresh_clone: Path, environment: dict[str, str]) -> None:
    """The script names that the how-to gives run with npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    page = (ROOT / "docs" / "howto" / "checks.md").read_text()
    scripts = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert scripts is not None
    (fresh_clone / "package.json").write_text(scripts[1])
    (fresh_clone / "state").mkdir()
    (fresh_clone / "state" / "session-state.json").write_text('{"goal": "x"}')
    assert run("npm run --silent validate:session", fresh_clone, environment).returncode == 1
    done = run("npm run --silent handoff:generate", fresh_clone, environment)
    assert done.returncode == 0, done.stderr
    assert "Run the migration" in (fresh_clone / "handoff" / "latest.md").read_text()
