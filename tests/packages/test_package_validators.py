"""The hosts' own validators accept the packages, and refuse a broken copy of each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.packages.standin import PACKAGES, ROOT, need, node

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(180)]

SKILLS = sorted([*PACKAGES.rglob("SKILL.md"), ROOT / "src/holdfast/packages/skill/holdfast/SKILL.md"])
CLAUDE = PACKAGES / "claude" / "holdfast"
GEMINI = PACKAGES / "gemini" / "holdfast"


def run(home: Path, *command: str | Path, seconds: float = 90) -> subprocess.CompletedProcess[str]:
    """Run a validator in a clean home, with nothing of the caller's environment."""
    env = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CODEX_HOME": str(home / ".codex"),
        "PATH": os.pathsep.join([str(node().parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "NO_COLOR": "1",
        "LANG": "C.UTF-8",
    }
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=seconds, env=env, cwd=home)


def copied(source: Path, target: Path) -> Path:
    """A copy to be broken."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules"))
    return target


def edit(path: Path, change: Callable[[dict], object]) -> None:
    """Change a JSON file."""
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


# -- Claude Code --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [(), ("--profile", "directory")], ids=["strict", "directory"])
def test_claude_accepts_the_plug_in(tmp_path: Path, profile: tuple[str, ...]) -> None:
    """The plug-in passes the strict checks and those of the public directory, without a finding."""
    done = run(tmp_path, need("claude"), "plugin", "validate", "--strict", *profile, CLAUDE)
    assert done.returncode == 0, done.stdout
    assert "found nothing to report" in done.stdout


def test_claude_accepts_the_marketplace(tmp_path: Path) -> None:
    """The file at the top of the repository is a marketplace."""
    done = run(tmp_path, need("claude"), "plugin", "validate", "--strict", ROOT)
    assert done.returncode == 0, done.stdout
    assert "marketplace manifest" in done.stdout


BREAKS: dict[str, Callable[[Path], object]] = {
    "an unknown key": lambda at: edit(at / ".claude-plugin/plugin.json", lambda v: v.update(licence="x")),
    "an unknown event": lambda at: edit(
        at / "hooks/hooks.json", lambda v: v["hooks"].update(SessionBegin=[])
    ),
    "a server without a command": lambda at: edit(
        at / ".mcp.json", lambda v: v["mcpServers"]["holdfast"].pop("command")
    ),
    "a skill without a description": lambda at: (at / "skills/holdfast/SKILL.md").write_text(
        "---\nname: holdfast\n---\nx\n"
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_claude_refuses_a_broken_plug_in(tmp_path: Path, name: str) -> None:
    """Each mistake that would be ignored at run time fails the check."""
    at = copied(CLAUDE, tmp_path / "broken")
    BREAKS[name](at)
    done = run(tmp_path / "home", need("claude"), "plugin", "validate", "--strict", at)
    assert done.returncode == 1, done.stdout


def test_claude_directory_refuses_a_plug_in_without_a_page(tmp_path: Path) -> None:
    """Without README and LICENSE the directory's checks fail."""
    at = copied(CLAUDE, tmp_path / "broken")
    (at / "README.md").unlink()
    (at / "LICENSE").unlink()
    command = [need("claude"), "plugin", "validate", "--strict", "--profile", "directory", at]
    assert run(tmp_path / "home", *command).returncode == 1


def test_claude_installs_the_plug_in_from_the_marketplace(tmp_path: Path) -> None:
    """Added, installed, listed with all its parts, cheap at every start, and removed again."""
    claude = need("claude")
    for words in (("marketplace", "add", str(ROOT)), ("install", "holdfast@holdfast")):
        done = run(tmp_path, claude, "plugin", *words)
        assert done.returncode == 0, done.stdout + done.stderr
    listed = run(tmp_path, claude, "plugin", "list").stdout
    assert "holdfast@holdfast" in listed
    assert "enabled" in listed
    details = run(tmp_path, claude, "plugin", "details", "holdfast").stdout
    assert "Skills (18)" in details, details
    assert "Hooks (11)" in details
    assert "MCP servers (1)  holdfast" in details
    assert run(tmp_path, claude, "plugin", "uninstall", "holdfast@holdfast").returncode == 0
    assert "holdfast@holdfast" not in run(tmp_path, claude, "plugin", "list").stdout


# -- Agent Skills -------------------------------------------------------------------------------------------


def agentskills() -> Path:
    """The validator of the format, installed with the interpreter that runs the tests."""
    return Path(sys.executable).parent / "agentskills"


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_skill_is_an_agent_skill(path: Path, tmp_path: Path) -> None:
    """Every copy of the skill follows the format."""
    done = subprocess.run([agentskills(), "validate", path.parent], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [("name: holdfast", "name: Hold Fast"), ("description: ", "describes: "), ("license: ", "licence: ")],
)
def test_a_broken_skill_is_refused(old: str, new: str, tmp_path: Path) -> None:
    """A wrong name, no description and an unknown field are found."""
    at = copied(SKILLS[-1].parent, tmp_path / "holdfast")
    (at / "SKILL.md").write_text((at / "SKILL.md").read_text().replace(old, new, 1))
    assert subprocess.run([agentskills(), "validate", at], capture_output=True).returncode != 0


# -- Gemini CLI ---------------------------------------------------------------------------------------------


def test_gemini_accepts_the_extension(tmp_path: Path) -> None:
    """The extension is valid."""
    done = run(tmp_path, node(), need("gemini"), "extensions", "validate", GEMINI)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "successfully validated" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.pop("version"),
        lambda v: v.update(contextFileName="GONE.md"),
        lambda v: v.update(name="hold fast"),
    ],
    ids=["no version", "no such context file", "a name with a space"],
)
def test_gemini_refuses_a_broken_extension(tmp_path: Path, change: Callable[[dict], object]) -> None:
    """What is missing or wrong in the manifest is found."""
    at = copied(GEMINI, tmp_path / "broken")
    edit(at / "gemini-extension.json", change)
    done = run(tmp_path / "home", node(), need("gemini"), "extensions", "validate", at)
    assert done.returncode != 0, done.stdout + done.stderr


# -- Codex --------------------------------------------------------------------------------------------------


def codex_installed(home: Path, marketplace: Path) -> str:
    """Add a marketplace, install the plug-in, and what Codex then lists."""
    codex = need("codex")
    run(home, codex, "plugin", "marketplace", "add", marketplace)
    run(home, codex, "plugin", "add", "holdfast@holdfast")
    return run(home, codex, "plugin", "list").stdout + run(home, codex, "mcp", "list").stdout


def test_codex_installs_its_own_plug_in(tmp_path: Path) -> None:
    """From the top of the repository Codex takes its own package, not that of Claude Code, with the server."""
    listed = codex_installed(tmp_path, ROOT)
    assert "installed, enabled" in listed
    assert str(PACKAGES / "codex" / "holdfast") in listed
    assert "holdfast  holdfast  mcp" in listed


def test_codex_does_not_install_a_broken_plug_in(tmp_path: Path) -> None:
    """A manifest that is no JSON leaves nothing installed."""
    root = tmp_path / "repository"
    copied(ROOT / ".agents", root / ".agents")
    at = copied(PACKAGES / "codex" / "holdfast", root / "packages" / "codex" / "holdfast")
    (at / ".codex-plugin" / "plugin.json").write_text("{")
    assert "installed, enabled" not in codex_installed(tmp_path / "home", root)


# -- TypeScript ---------------------------------------------------------------------------------------------


@pytest.fixture
def opencode(tmp_path: Path) -> Path:
    """The OpenCode package with the types of the host beside it."""
    at = copied(PACKAGES / "opencode", tmp_path / "opencode")
    (at / "node_modules").symlink_to(need("typecheck").parents[2])
    return at


def tsc(at: Path) -> subprocess.CompletedProcess[str]:
    """Type-check with the settings of the package."""
    return run(at, node(), need("typecheck"), "-p", at / "tsconfig.json")


def test_the_plug_in_type_checks(opencode: Path) -> None:
    """In strict mode, against the types of OpenCode's own package."""
    done = tsc(opencode)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('=== "session.compacted"', '=== "session.compressed"'),
        ("output.context.push", "output.contexts.push"),
        ("input.sessionID)", "input.session)"),
        ("let failures = 0", "let failures: string = 0"),
    ],
    ids=["no such event", "no such output", "no such input", "wrong type"],
)
def test_a_wrong_plug_in_does_not_type_check(opencode: Path, old: str, new: str) -> None:
    """An event, a field or a type that OpenCode does not have is an error."""
    source = opencode / "plugin" / "holdfast.ts"
    changed = source.read_text().replace(old, new)
    assert changed != source.read_text()
    source.write_text(changed)
    assert tsc(opencode).returncode != 0
