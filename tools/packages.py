"""Write the packages for agent hosts from their one source. `--check` names the files that are not up to date.

Texts come from `holdfast.views.guidance`, actions from `holdfast.core.actions`, hooks and servers from
`holdfast.packages.hosts`, pages for people from `package_pages` beside this file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import package_pages as pages

from holdfast import __version__
from holdfast.core.actions import CATALOGUE
from holdfast.packages import hosts
from holdfast.views import agents_md, guidance

ROOT = Path(__file__).resolve().parents[1]
DATA = "src/holdfast/packages"
PLUGIN = f"{DATA}/opencode/holdfast.ts"
"""The one file that is written by hand."""

NAME = "holdfast"
AUTHOR = {"name": "The holdfast developers"}
KEYWORDS = ["memory", "agents", "decisions", "handoff", "compaction"]
LICENSE_ID = "Apache-2.0"

Files = dict[str, str]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _does(name: str) -> str:
    text = CATALOGUE[name].does
    return text[0].upper() + text[1:] + "."


def _markdown_command(name: str, *lines: str) -> str:
    """A slash command in the form that Claude Code and OpenCode share."""
    head = ["---", f"description: {json.dumps(_does(name))}", *lines, "---", ""]
    return "\n".join(head) + "\n" + guidance.command(name, "$ARGUMENTS" if CATALOGUE[name].takes else "")


def _toml_command(name: str) -> str:
    """A slash command of Gemini CLI. JSON strings are TOML strings too."""
    prompt = guidance.command(name, "{{args}}" if CATALOGUE[name].takes else "")
    return f"description = {json.dumps(_does(name))}\nprompt = '''\n{prompt}'''\n"


def _skill() -> str:
    return guidance.skill(__version__)


def _manifest() -> dict[str, Any]:
    return {
        "name": NAME,
        "version": __version__,
        "description": guidance.SUMMARY,
        "author": AUTHOR,
        "license": LICENSE_ID,
        "keywords": KEYWORDS,
    }


def _license() -> str:
    return (ROOT / "LICENSE").read_text()


def claude() -> Files:
    """The Claude Code plug-in, and the marketplace that offers it."""
    at = "packages/claude/holdfast"
    files = {
        f"{at}/.claude-plugin/plugin.json": _json({**_manifest(), "icon": "./icon.svg"}),
        f"{at}/icon.svg": pages.ICON,
        f"{at}/hooks/hooks.json": _json({"description": guidance.SUMMARY, "hooks": hosts.hooks("claude")}),
        f"{at}/.mcp.json": _json({"mcpServers": hosts.server("claude")}),
        f"{at}/skills/holdfast/SKILL.md": _skill(),
        f"{at}/README.md": pages.readme("claude"),
        f"{at}/LICENSE": _license(),
    }
    for name, action in CATALOGUE.items():
        # These are for people. The model does not need them in its list, where each would cost tokens.
        lines = ["disable-model-invocation: true", 'allowed-tools: "Bash(holdfast do:*)"']
        if action.takes:
            lines.insert(0, f"argument-hint: {json.dumps(action.takes)}")
        files[f"{at}/commands/{name}.md"] = _markdown_command(name, *lines)
    offer = {"name": NAME, "source": f"./{at}", "description": guidance.SUMMARY}
    market = {"name": NAME, "description": guidance.SUMMARY, "owner": AUTHOR, "plugins": [offer]}
    return {**files, ".claude-plugin/marketplace.json": _json(market)}


def codex() -> Files:
    """The Codex plug-in, the marketplace that offers it, and the same set-up by hand.

    Codex reads the marketplace of Claude Code when it finds none of its own, and would then run hooks that
    speak another dialect: so it has one of its own.
    """
    at = "packages/codex/holdfast"
    hooks = {"hooks": hosts.hooks("codex")}
    plugin = {**_manifest(), "skills": "./skills", "hooks": "./hooks/hooks.json", "mcpServers": "./.mcp.json"}
    offer = {"name": NAME, "source": {"source": "local", "path": f"./{at}"}}
    name, *arguments = hosts.SERVE
    table = f"[mcp_servers.{hosts.SERVER}]\ncommand = {json.dumps(name)}\nargs = {json.dumps(arguments)}\n"
    return {
        f"{at}/.codex-plugin/plugin.json": _json(plugin),
        f"{at}/hooks/hooks.json": _json(hooks),
        f"{at}/.mcp.json": _json({"mcpServers": hosts.server("codex")}),
        f"{at}/skills/holdfast/SKILL.md": _skill(),
        f"{at}/README.md": pages.readme("codex"),
        f"{at}/LICENSE": _license(),
        "packages/codex/by-hand/hooks.json": _json(hooks),
        "packages/codex/by-hand/config.toml": pages.CODEX_CONFIG + table,
        ".agents/plugins/marketplace.json": _json({"name": NAME, "plugins": [offer]}),
    }


def gemini() -> Files:
    """The Gemini CLI extension."""
    at = "packages/gemini/holdfast"
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": guidance.SUMMARY,
        "contextFileName": "GEMINI.md",
        "mcpServers": hosts.server("gemini"),
    }
    files = {
        f"{at}/gemini-extension.json": _json(manifest),
        f"{at}/hooks/hooks.json": _json({"hooks": hosts.hooks("gemini")}),
        f"{at}/GEMINI.md": guidance.context(),
        f"{at}/skills/holdfast/SKILL.md": _skill(),
        f"{at}/README.md": pages.readme("gemini"),
        f"{at}/LICENSE": _license(),
    }
    return {**files, **{f"{at}/commands/holdfast/{name}.toml": _toml_command(name) for name in CATALOGUE}}


def opencode() -> Files:
    """The OpenCode plug-in as a folder to copy into `.opencode/`, and what type-checks it."""
    at = "packages/opencode"
    files = {
        f"{at}/plugin/holdfast.ts": (ROOT / PLUGIN).read_text(),
        f"{at}/opencode.json": _json({"mcp": hosts.server("opencode")}),
        f"{at}/skill/holdfast/SKILL.md": _skill(),
        f"{at}/package.json": _json(pages.OPENCODE_PACKAGE),
        f"{at}/tsconfig.json": _json(pages.OPENCODE_TSCONFIG),
        f"{at}/README.md": pages.readme("opencode"),
    }
    return {**files, **{f"{at}/command/holdfast-{name}.md": _markdown_command(name) for name in CATALOGUE}}


def editors() -> Files:
    """Copilot CLI, VS Code and Cursor: files to copy into a project."""
    rule = f"---\ndescription: {json.dumps(guidance.SUMMARY)}\nalwaysApply: true\n---\n\n{guidance.context()}"
    return {
        "packages/copilot/.github/hooks/holdfast.json": _json(
            {"version": 1, "hooks": hosts.hooks("copilot")}
        ),
        "packages/copilot/.mcp.json": _json({"mcpServers": hosts.server("copilot")}),
        "packages/copilot/README.md": pages.readme("copilot"),
        "packages/vscode/.github/hooks/holdfast.json": _json({"hooks": hosts.hooks("vscode")}),
        "packages/vscode/.vscode/mcp.json": _json({"servers": hosts.server("vscode")}),
        "packages/vscode/README.md": pages.readme("vscode"),
        "packages/cursor/.cursor/hooks.json": _json({"version": 1, "hooks": hosts.hooks("cursor")}),
        "packages/cursor/.cursor/mcp.json": _json({"mcpServers": hosts.server("cursor")}),
        "packages/cursor/.cursor/rules/holdfast.mdc": rule,
        "packages/cursor/README.md": pages.readme("cursor"),
    }


def files() -> Files:
    """Every generated file by its path in the repository."""
    return {
        f"{DATA}/skill/holdfast/SKILL.md": _skill(),
        **claude(),
        **codex(),
        **gemini(),
        **opencode(),
        **editors(),
        "packages/agents-md/AGENTS.md": agents_md.block(None),
        "packages/README.md": pages.OVERVIEW,
    }


def stray(expected: Files) -> list[str]:
    """Files under `packages/` that nothing makes."""
    found = (
        path for path in (ROOT / "packages").rglob("*") if path.is_file() and "node_modules" not in path.parts
    )
    return sorted(name for path in found if (name := path.relative_to(ROOT).as_posix()) not in expected)


def main() -> int:
    """Write what differs and take away what nothing makes any more; with `--check`, only say so."""
    expected = files()
    differing = [
        name
        for name, text in expected.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text() != text
    ]
    superfluous = stray(expected)
    if "--check" in sys.argv:
        for name in [*differing, *superfluous]:
            sys.stderr.write(f"{name} is not up to date: run `make docs`.\n")
        return 1 if differing or superfluous else 0
    for name in differing:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(expected[name])
    for name in superfluous:
        (ROOT / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
