"""The pages for people in the packages: one frame, and per host what differs."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.views import guidance


class Page(NamedTuple):
    """What the README of one package says beyond the frame."""

    title: str
    holds: str
    install: str
    undo: str
    note: str = ""


PAGES = {
    "claude": Page(
        "holdfast for Claude Code",
        "Hooks (session start, prompts, edits, failed commands, before and after compaction, stop, session "
        "end), the MCP "
        "server, a skill, and one slash command per action: `/holdfast:continue`, `/holdfast:add-loop`, …",
        "claude plugin marketplace add <path or address of the holdfast repository>\n"
        "claude plugin install holdfast@holdfast",
        "claude plugin uninstall holdfast@holdfast\nclaude plugin marketplace remove holdfast",
        "To try it without installing: `claude --plugin-dir packages/claude/holdfast`.",
    ),
    "codex": Page(
        "holdfast for Codex",
        "Hooks (session start, prompts, patches and commands, before and after compaction, stop, session "
        "end), the MCP "
        "server and a skill (`$holdfast`), which also knows the actions.",
        "codex plugin marketplace add <path or address of the holdfast repository>\n"
        "codex plugin add holdfast@holdfast",
        "codex plugin remove holdfast@holdfast\ncodex plugin marketplace remove holdfast",
        "Codex runs a hook only after you approved it; it asks at the next start. Without plug-ins: merge "
        "`by-hand/hooks.json` into `~/.codex/hooks.json` and `by-hand/config.toml` into "
        "`~/.codex/config.toml`, and copy "
        "`skills/holdfast` to `~/.agents/skills/`.",
    ),
    "gemini": Page(
        "holdfast for Gemini CLI",
        "Hooks (session start, prompts, edits and commands, before compression, end of turn, session end), "
        "the MCP server, a "
        "short context file, a skill, and one slash command per action: `/holdfast:continue`, "
        "`/holdfast:add-loop`, …",
        "gemini extensions install packages/gemini/holdfast",
        "gemini extensions uninstall holdfast",
        "Gemini CLI has no event after a compression; the next prompt provides the brief again. In `gemini -p` the "
        "brief precedes the prompt, so a slash command there is not run as one.",
    ),
    "opencode": Page(
        "holdfast for OpenCode",
        "A plug-in that gives the model the brief, keeps it through compaction and reports prompts, edits "
        "and failed "
        "commands; the MCP server; a skill; and one command per action: `/holdfast-continue`, "
        "`/holdfast-add-loop`, …",
        "cp -r plugin command skill <project>/.opencode/     # or ~/.config/opencode/ for all projects",
        "rm -r .opencode/plugin/holdfast.ts .opencode/command/holdfast-*.md .opencode/skill/holdfast",
        "Merge `opencode.json` into your own for the MCP server. `npm install && npx tsc` checks the types. "
        "The plug-in never "
        "throws into OpenCode and gives up on a call after a few seconds; without `holdfast` on PATH it "
        "prints one line and "
        "does nothing.",
    ),
    "copilot": Page(
        "holdfast for GitHub Copilot CLI",
        "Hooks (session start, prompts, tool use, before compaction, stop, errors, session end) and the MCP "
        "server, as files "
        "of a project.",
        "cp -r .github <project>/\ncp .mcp.json <project>/     # merge it if the project has one",
        "rm .github/hooks/holdfast.json     # and remove `holdfast` from .mcp.json",
        "Copilot CLI also runs the hooks in `.claude/settings.json`. If both are there an event arrives "
        "twice, and holdfast "
        "records it once.",
    ),
    "vscode": Page(
        "holdfast for VS Code",
        "Hooks of agent mode (session start, prompts, tool use, before compaction, stop) and the MCP "
        "server, as files of a "
        "project.",
        "cp -r .github .vscode <project>/     # merge .vscode/mcp.json if the project has one",
        "rm .github/hooks/holdfast.json     # and remove `holdfast` from .vscode/mcp.json",
        "Made from the documentation of VS Code, where hooks are a preview; not tested in the editor. "
        "Copilot CLI reads "
        "the same folder: in a project that uses both, use only the file of the Copilot package.",
    ),
    "cursor": Page(
        "holdfast for Cursor",
        "Hooks (session start, prompts, edits, shell commands, before compaction, stop, session end), the "
        "MCP server and a "
        "rule, as files of a project.",
        "cp -r .cursor <project>/     # merge hooks.json and mcp.json if the project has them",
        "rm .cursor/rules/holdfast.mdc     # and remove holdfast from .cursor/hooks.json and .cursor/mcp.json",
        "Experimental: made from descriptions of Cursor's hooks, not tested in Cursor. The rule alone works "
        "without hooks.",
    ),
}


def readme(host: str) -> str:
    """The README of one package."""
    page = PAGES[host]
    lines = [f"# {page.title}", "", guidance.SUMMARY, "", page.holds, ""]
    lines += ["It needs the `holdfast` command on PATH (from a clone: `pipx install .`), and a"]
    lines += [
        "project in which `holdfast init` was run; anywhere else it does nothing. `holdfast install` does "
        "the same as"
    ]
    lines += ["the steps below and can undo them exactly.", ""]
    lines += [
        "## Install",
        "",
        "```sh",
        page.install,
        "```",
        "",
        "## Undo",
        "",
        "```sh",
        page.undo,
        "```",
        "",
    ]
    if page.note:
        lines += ["## Good to know", "", page.note, ""]
    lines += ["## What is stored", ""]
    lines += [
        "Decisions, tasks, open questions, names of edited files, failed commands and the first line of "
        "prompts, in"
    ]
    lines += [
        "`.state/` of the project and nowhere else. Never the environment of the host. Secrets are replaced "
        "before"
    ]
    lines += ["anything is written. Agents get stored text as quoted data."]
    return "\n".join(lines) + "\n"


OVERVIEW = "\n".join(
    [
        "# Packages for agent hosts",
        "",
        "Every file here is written by `tools/packages.py` (`make docs`); edit its sources, not these files.",
        "",
        "| Folder | For |",
        "| --- | --- |",
        *(
            f"| [{host}]({host}/) | {page.title.removeprefix('holdfast for ')} |"
            for host, page in PAGES.items()
        ),
        "| [agents-md](agents-md/AGENTS.md) | every agent that reads AGENTS.md: append the block to yours |",
        "| [the skill](../src/holdfast/packages/skill/holdfast/SKILL.md) | every agent that reads Agent "
        "Skills |",
        "",
        "How they are installed by hand and how they are built: "
        "[docs/howto/packages.md](../docs/howto/packages.md).",
        "",
    ]
)

CODEX_CONFIG = "# Merge into ~/.codex/config.toml. The hooks are in hooks.json beside it.\n\n"

OPENCODE_PACKAGE: dict[str, Any] = {
    "name": "holdfast-opencode",
    "private": True,
    "type": "module",
    "license": "Apache-2.0",
    "scripts": {"check": "tsc"},
    "devDependencies": {
        "@opencode-ai/plugin": "1.18.33",
        "@types/node": "24.10.1",
        "typescript": "5.9.3",
    },
}

OPENCODE_TSCONFIG: dict[str, Any] = {
    "compilerOptions": {
        "strict": True,
        "noUncheckedIndexedAccess": True,
        "noImplicitReturns": True,
        "noUnusedLocals": True,
        "noUnusedParameters": True,
        "noEmit": True,
        "erasableSyntaxOnly": True,
        "verbatimModuleSyntax": True,
        "module": "nodenext",
        "target": "es2023",
        "lib": ["es2023", "dom"],
        "types": ["node"],
        "skipLibCheck": True,
    },
    "files": ["plugin/holdfast.ts"],
}

ICON = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img" aria-label="holdfast">
  <rect width="64" height="64" rx="14" fill="#12343b"/>
  <g fill="none" stroke="#f4e3c1" stroke-width="5" stroke-linecap="round" stroke-linejoin="round">
    <circle cx="32" cy="15" r="5"/>
    <path d="M32 20v32M22 28h20M14 38c0 10 8 14 18 14s18-4 18-14"/>
  </g>
</svg>
"""
