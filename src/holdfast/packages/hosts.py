"""The hooks of every host: which events call ``holdfast hook HOST``, and for how long the host waits.

The same tables make the packages in the repository and the settings that are merged into a host's own.
"""

from __future__ import annotations

from holdfast.typed import Any, Record

SERVER = "holdfast"
"""Name of the MCP server in every host."""
SERVE = ("holdfast", "mcp")
CLIENTS = {
    "claude-code": "claude",
    "codex-mcp-client": "codex",
    "copilot-cli": "copilot",
    "gemini-cli-mcp-client": "gemini",
}
"""How hosts name themselves to an MCP server, to the name under which their hooks run: one agent has one name."""
CLAUDE_RULES = {"allow": ["mcp__holdfast"], "ask": ["mcp__holdfast__act"]}
"""Claude Code calls our tools without a question: a headless one refuses whatever it would have to ask for. The tool
that approves plans still asks."""

START, PROMPT, TOOL, COMPACT, STOP, END = 10, 5, 5, 10, 5, 3
"""Seconds per kind of event. Codex waits at most three at the end of a session."""


class Hook(Record):
    """One event of a host. A matcher keeps holdfast from being started for tools that leave nothing to remember."""

    event: str
    seconds: int
    matcher: str = ""


HOOKS: dict[str, tuple[Hook, ...]] = {
    "claude": (
        Hook("SessionStart", START),
        Hook("UserPromptSubmit", PROMPT),
        Hook(
            "PostToolUse",
            TOOL,
            "Edit|MultiEdit|Write|NotebookEdit|Bash|TodoWrite|TaskCreate|TaskUpdate|ExitPlanMode",
        ),
        Hook("PostToolUseFailure", TOOL, "Bash"),
        Hook("PreCompact", COMPACT),
        Hook("PostCompact", COMPACT),
        Hook("Stop", STOP),
        Hook("StopFailure", STOP),
        Hook("SubagentStart", PROMPT),
        Hook("SubagentStop", STOP),
        Hook("SessionEnd", END),
    ),
    "codex": (
        Hook("SessionStart", START),
        Hook("UserPromptSubmit", PROMPT),
        Hook("PostToolUse", TOOL, "apply_patch|Bash|update_plan|create_goal"),
        Hook("PreCompact", COMPACT),
        Hook("PostCompact", COMPACT),
        Hook("Stop", STOP),
        Hook("SessionEnd", END),
    ),
    "gemini": (
        Hook("SessionStart", START),
        Hook("BeforeAgent", PROMPT),
        Hook("AfterTool", TOOL, "write_file|replace|run_shell_command|write_todos|update_topic"),
        Hook("PreCompress", COMPACT),
        Hook("AfterAgent", STOP),
        Hook("SessionEnd", END),
    ),
    "copilot": (
        Hook("sessionStart", START),
        Hook("userPromptSubmitted", PROMPT),
        Hook("postToolUse", TOOL),
        Hook("preCompact", COMPACT),
        Hook("agentStop", STOP),
        Hook("errorOccurred", STOP),
        Hook("sessionEnd", END),
    ),
    "vscode": (
        Hook("SessionStart", START),
        Hook("UserPromptSubmit", PROMPT),
        Hook("PostToolUse", TOOL),
        Hook("PreCompact", COMPACT),
        Hook("Stop", STOP),
    ),
    "cursor": (
        Hook("sessionStart", START),
        Hook("beforeSubmitPrompt", PROMPT),
        Hook("afterFileEdit", TOOL),
        Hook("afterShellExecution", TOOL),
        Hook("preCompact", COMPACT),
        Hook("stop", STOP),
        Hook("sessionEnd", END),
    ),
}
"""OpenCode has no hook commands: its plug-in calls ``holdfast hook opencode`` itself."""


def command(host: str, program: str = SERVE[0]) -> str:
    """The command line of a hook. It never changes: Codex asks its user again when it does.

    Settings are shared, and outlive what they call. Where the program is missing, or its interpreter is gone, the
    line is silent and succeeds: Gemini CLI refuses every prompt at status 127. A shell of its own makes it mean the
    same in every login shell, and in a host that starts programs without one.
    """
    import shlex

    return f"sh -c {shlex.quote(f'{shlex.quote(program)} hook {host} 2>/dev/null || :')}"


def _entry(host: str, hook: Hook, program: str) -> dict[str, Any]:
    """One registration in the words of the host."""
    line = command(host, program)
    if host == "copilot":
        return {"type": "command", "bash": line, "timeoutSec": hook.seconds}
    if host == "vscode":
        return {"type": "command", "command": line, "timeout": hook.seconds}
    if host == "cursor":
        return {"command": line, "timeout": hook.seconds}
    handler: dict[str, Any] = {"type": "command", "command": line, "timeout": hook.seconds}
    if host == "gemini":
        handler = {"name": "holdfast", **handler, "timeout": hook.seconds * 1000}
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [handler]}


def hooks(host: str, program: str = SERVE[0]) -> dict[str, Any]:
    """The ``hooks`` object of a host's settings."""
    return {hook.event: [_entry(host, hook, program)] for hook in HOOKS[host]}


def server(host: str) -> dict[str, Any]:
    """The registration of the MCP server, by its name, in the words of the host."""
    name, *arguments = SERVE
    entry: dict[str, Any] = {"command": name, "args": arguments}
    if host == "opencode":
        entry = {"type": "local", "command": list(SERVE), "enabled": True}
    elif host in ("vscode", "copilot"):
        entry = {"type": "stdio", **entry, **({"tools": ["*"]} if host == "copilot" else {})}
    return {SERVER: entry}
