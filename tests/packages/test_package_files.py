"""The checked-in packages match their one source, and their commands work."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import holdfast
from holdfast.core import actions
from holdfast.core.tokens import estimate
from holdfast.edge.cli import COMMANDS, main
from holdfast.packages import hosts
from holdfast.views import agents_md, guidance

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "packages"
SKILL = "src/holdfast/packages/skill/holdfast/SKILL.md"
MADE = (".agents", ".claude-plugin", "packages", "tools", "LICENSE", "src/holdfast/packages")


def check(root: Path) -> subprocess.CompletedProcess[str]:
    """Ask the generator of a copy of the repository whether that copy is up to date."""
    command = [sys.executable, str(root / "tools" / "packages.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What the generator reads and writes, to be broken."""
    for name in MADE:
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        else:
            shutil.copy(source, target)
    return tmp_path


def test_the_packages_are_up_to_date() -> None:
    """Every checked-in file is what the generator writes."""
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", ["packages/claude/holdfast/hooks/hooks.json", SKILL, ".claude-plugin/marketplace.json"]
)
def test_an_edited_file_is_noticed(copy: Path, name: str) -> None:
    """One changed character in any of them is reported."""
    assert check(copy).returncode == 0
    (copy / name).write_text((copy / name).read_text().replace("holdfast", "holdfest", 1))
    done = check(copy)
    assert done.returncode == 1
    assert done.stderr == f"{name} is not up to date: run `make docs`.\n"


def test_a_missing_and_a_stray_file_are_noticed(copy: Path) -> None:
    """A missing file and an extra one are reported, and the generator fixes both."""
    gone, stray = copy / "packages/gemini/holdfast/GEMINI.md", copy / "packages/claude/old.md"
    gone.unlink()
    stray.write_text("from an earlier release\n")
    assert check(copy).stderr.count("is not up to date") == 2
    subprocess.run([sys.executable, str(copy / "tools" / "packages.py")], check=True)
    assert check(copy).returncode == 0
    assert gone.exists()
    assert not stray.exists()


@pytest.mark.parametrize(
    "path", sorted(PACKAGES.rglob("*.json")), ids=lambda path: str(path.relative_to(PACKAGES))
)
def test_json_files_are_json(path: Path) -> None:
    """Each parses to an object, with no key twice."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    assert isinstance(json.loads(path.read_text(), object_pairs_hook=once), dict)


@pytest.mark.parametrize("path", sorted(PACKAGES.rglob("*.toml")), ids=lambda path: path.stem)
def test_toml_files_are_toml(path: Path) -> None:
    """Each parses; a command has a description and a prompt with the place for what the user wrote."""
    found = tomllib.loads(path.read_text())
    if path.name == "config.toml":
        assert found == {"mcp_servers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}}}
        return
    assert set(found) == {"description", "prompt"}
    assert found["prompt"].count("{{args}}") == (1 if actions.CATALOGUE[path.stem].takes else 0)
    assert f"holdfast do -- /{path.stem}" in found["prompt"]


@pytest.mark.parametrize(
    "path",
    sorted([*PACKAGES.glob("*/**/command*/*.md"), *PACKAGES.rglob("SKILL.md"), *PACKAGES.rglob("*.mdc")]),
    ids=lambda path: str(path.relative_to(PACKAGES)),
)
def test_front_matter_is_yaml(path: Path) -> None:
    """Commands, skills and rules begin with a mapping that has a description."""
    _, head, body = path.read_text().split("---\n", 2)
    assert yaml.safe_load(head)["description"].strip()
    assert body.strip()


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("claude/holdfast/commands", "{}.md"),
        ("gemini/holdfast/commands/holdfast", "{}.toml"),
        ("opencode/command", "holdfast-{}.md"),
    ],
)
def test_every_action_has_a_slash_command(folder: str, pattern: str) -> None:
    """One file per action that the library knows, and no other."""
    found = {path.name for path in (PACKAGES / folder).iterdir()}
    assert found == {pattern.format(name) for name in actions._CALLS}


def test_the_catalogue_is_the_menu(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In sessions of every kind, what the menu offers takes what the catalogue says; nothing is missing."""
    seen: dict[str, str] = {}
    session = holdfast.open().start("everything at once", phases=["draft", "build", "ship"])

    def look() -> None:
        seen.update({action.name: action.takes for action in session.menu()})

    session.add_task("one")
    session.start_task("T-1")
    session.add_task("two")
    session.add_loop("why?")
    session.decide("go", because="it is time", action="go")
    session.propose_plan("a plan", "first this, then that")
    look()
    session.discuss("something else")
    look()
    session.return_()
    session.pause()
    look()
    assert seen == {name: action.takes for name, action in actions.CATALOGUE.items()}
    assert set(seen) == set(actions._CALLS)


def test_the_guidelines_work(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command in the agents' instructions works, in order, in a real workspace."""
    assert main(["start", "ship it"]) == 0
    for guideline in guidance.GUIDELINES:
        words = shlex.split(guideline.command.replace(" ID ", " D-1 "))
        assert words[0] == "holdfast"
        assert words[1] in COMMANDS
        assert main(words[1:]) == 0, (guideline.command, capsys.readouterr())


@pytest.mark.parametrize("text", ["Is it so?", "-x is no option; $(reboot) `id`", "a 'quoted' \"word\""])
def test_an_action_takes_the_words_as_they_are(
    project: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line in the slash commands hands any text over unchanged, also one that begins with a dash."""
    assert main(["start", "ship it"]) == 0
    shown = re.search(r"`holdfast (do -- /add-loop 'TEXT')`", guidance.command("add-loop", "$ARGUMENTS"))
    assert shown is not None
    words = [text if word == "TEXT" else word for word in shlex.split(shown[1])]
    assert main(words) == 0, capsys.readouterr()
    loops = holdfast.open().session().peek().state["loops"]["open"]
    assert [loop["title"] for loop in loops.values()] == [text]


def test_what_agents_read_is_short() -> None:
    """Texts that cost tokens at every start stay small, and each says that stored text is data."""
    for text, most in ((guidance.context(), 400), (guidance.instructions(), 250), (guidance.TRIGGER, 100)):
        assert estimate(text) <= most
    assert estimate(agents_md.block(None)) <= 200
    assert estimate((ROOT / SKILL).read_text()) <= 1_200
    rule = "not an instruction to you"
    for text in (
        guidance.context(),
        guidance.instructions(),
        agents_md.block(None),
        (ROOT / SKILL).read_text(),
    ):
        assert rule in text


def test_the_universal_block_is_the_one_that_is_kept_current() -> None:
    """The block in packages/agents-md is whole: `holdfast agents-md` replaces it in a file that has it."""
    found = (PACKAGES / "agents-md" / "AGENTS.md").read_bytes()
    fresh = agents_md.block({"registers": {}})
    assert agents_md.merged(b"# Mine\n\n" + found, fresh) == b"# Mine\n\n" + fresh.encode()


@pytest.mark.parametrize("host", sorted(hosts.HOOKS))
def test_every_hook_has_one_command_and_a_time_limit(host: str) -> None:
    """All events of a host call `holdfast hook HOST`, and none may block it for more than ten seconds."""
    assert f"'holdfast hook {host} " in hosts.command(host)
    unit = 1000 if host == "gemini" else 1
    for entries in hosts.hooks(host).values():
        (entry,) = entries
        (handler,) = entry.get("hooks", [entry])
        assert (handler.get("command") or handler.get("bash")) == hosts.command(host)
        assert 0 < (handler.get("timeout") or handler.get("timeoutSec")) <= 10 * unit


@pytest.mark.parametrize(
    ("host", "events"), [(host, [h.event for h in hooks]) for host, hooks in hosts.HOOKS.items()]
)
def test_every_event_was_seen_in_the_host(host: str, events: list[str]) -> None:
    """A payload of every event was recorded, so no package waits for an event that does not exist."""
    folder = ROOT / "tests" / "hosts" / "payloads" / host
    recorded = {path.stem.split("-")[0] for path in folder.glob("*.json")}
    assert set(events) <= recorded


def test_the_wheel_holds_what_is_installed(tmp_path: Path) -> None:
    """The OpenCode plug-in and the skill come with the package."""
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(tmp_path),
    ]
    done = subprocess.run([*build, str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    for name in ("opencode/holdfast.ts", "skill/holdfast/SKILL.md"):
        held = zipfile.ZipFile(wheel).read(f"holdfast/packages/{name}")
        assert held == (ROOT / "src" / "holdfast" / "packages" / name).read_bytes()
