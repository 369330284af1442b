"""Claude Code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from .fake_model import ToolCall
from .host import Command, Host, Json, Run


class Claude(Host):
    """The native `claude` program in print mode."""

    name = "claude"
    events: ClassVar[tuple[str, ...]] = (
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Notification",
        "UserPromptSubmit",
        "UserPromptExpansion",
        "SessionStart",
        "SessionEnd",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "PermissionRequest",
        "PermissionDenied",
        "TaskCreated",
        "TaskCompleted",
        "InstructionsLoaded",
    )

    def configure(self) -> None:
        """Tools that the tests use are allowed; everything else stays at its default."""
        self._settings: Json = {"permissions": {"allow": ["Bash", "Write", "Edit", "Read", "Task", "Agent"]}}
        self._write()

    def _write(self) -> None:
        folder = self.home / ".claude"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(self._settings, indent=2))

    def settings(self) -> Mapping[str, str]:
        """Loopback model, no telemetry, no updates."""
        return {
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def argv(self, prompt: str, resume: bool, *more: str) -> list[str]:
        """Print mode with machine-readable output."""
        words = [str(self.entry), "-p", prompt, "--output-format", "stream-json", "--verbose"]
        return [*words, *(["--continue"] if resume else []), *more]

    def fork(self, prompt: str) -> Run:
        """One turn in a fork of the last session."""
        return self.run(self.argv(prompt, True, "--fork-session"))

    def set_hooks(self, command: Command) -> None:
        """In the user's settings."""
        entry = {
            e: [{"hooks": [{"type": "command", "command": command(e), "timeout": 20}]}] for e in self.events
        }
        self._settings["hooks"] = entry
        self._write()

    def add_mcp_server(self, name: str, command: list[str]) -> None:
        """In the user's configuration, where it needs no approval."""
        servers = {name: {"type": "stdio", "command": command[0], "args": command[1:]}}
        (self.home / ".claude" / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
        self.allow_server(name)

    def allow_server(self, name: str) -> None:
        """Let the tools of an MCP server be called without a question."""
        self._settings["permissions"]["allow"].append(f"mcp__{name}")
        self._write()

    def mcp_call(self, server: str, tool: str, arguments: Json) -> ToolCall:
        """`mcp__server__tool`."""
        return ToolCall(f"mcp__{server}__{tool}", arguments)

    def write_call(self, path: str, text: str) -> ToolCall:
        """The Write tool wants an absolute path."""
        return ToolCall("Write", {"file_path": str(self.project / path), "content": text})

    def edit_call(self, path: str, old: str, new: str) -> ToolCall:
        """The Edit tool."""
        where = str(self.project / path)
        return ToolCall("Edit", {"file_path": where, "old_string": old, "new_string": new})

    def shell_call(self, command: str) -> ToolCall:
        """The Bash tool."""
        return ToolCall("Bash", {"command": command, "description": "run a command"})

    def compact(self) -> Run:
        """The slash command works in print mode."""
        return self.turn("/compact keep the ids", resume=True)

    def clear(self) -> Run:
        """The slash command that empties the conversation."""
        return self.turn("/clear", resume=True)
