"""GitHub Copilot CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from .fake_model import ToolCall
from .host import Command, Host, Json, Run


class Copilot(Host):
    """The native `copilot` program with `-p`."""

    name = "copilot"
    events: ClassVar[tuple[str, ...]] = (
        "sessionStart",
        "sessionEnd",
        "userPromptSubmitted",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "agentStop",
        "subagentStart",
        "subagentStop",
        "preCompact",
        "errorOccurred",
        "notification",
        "permissionRequest",
    )

    def configure(self) -> None:
        """All of it is in the environment."""

    def settings(self) -> Mapping[str, str]:
        """Offline mode with a provider of our own."""
        return {
            "COPILOT_HOME": str(self.home / ".copilot"),
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": self.model.url,
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "gpt-5.4",
            "COPILOT_ALLOW_ALL": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def argv(self, prompt: str, resume: bool, *more: str) -> list[str]:
        """Prompt mode; `--continue` takes the last session."""
        return [str(self.entry), *(["--continue"] if resume else []), *more, "-p", prompt]

    def set_hooks(self, command: Command) -> None:
        """In the project, as repositories ship them."""
        folder = self.project / ".github" / "hooks"
        folder.mkdir(parents=True, exist_ok=True)
        entry = {e: [{"type": "command", "bash": command(e), "timeoutSec": 20}] for e in self.events}
        (folder / "recorder.json").write_text(json.dumps({"version": 1, "hooks": entry}, indent=2))

    def add_mcp_server(self, name: str, command: list[str]) -> None:
        """In the project's `.mcp.json`."""
        server = {"type": "stdio", "command": command[0], "args": command[1:], "tools": ["*"]}
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": {name: server}}))

    def mcp_call(self, server: str, tool: str, arguments: Json) -> ToolCall:
        """`server-tool`."""
        return ToolCall(f"{server}-{tool}", arguments)

    def write_call(self, path: str, text: str) -> ToolCall:
        """The patch tool takes free text."""
        body = "".join(f"+{line}\n" for line in text.splitlines())
        return ToolCall("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n")

    def edit_call(self, path: str, old: str, new: str) -> ToolCall:
        """A patch that updates a file."""
        body = f"@@\n-{old}\n+{new}\n"
        return ToolCall("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n")

    def shell_call(self, command: str) -> ToolCall:
        """The bash tool."""
        return ToolCall("bash", {"command": command, "description": "run a command"})

    def compact(self) -> Run:
        """The slash command in prompt mode."""
        return self.turn("/compact", resume=True)


class CopilotWithClaudeSettings(Copilot):
    """The same program, given nothing but the hooks of a project that was set up for Claude Code."""

    name = "copilot-claude-settings"
    tool = "copilot"
    events: ClassVar[tuple[str, ...]] = (
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "PostCompact",
        "Stop",
    )

    def set_hooks(self, command: Command) -> None:
        """In the project's Claude Code settings."""
        folder = self.project / ".claude"
        folder.mkdir(parents=True, exist_ok=True)
        entry = {
            e: [{"hooks": [{"type": "command", "command": command(e), "timeout": 20}]}] for e in self.events
        }
        (folder / "settings.json").write_text(json.dumps({"hooks": entry}, indent=2))
