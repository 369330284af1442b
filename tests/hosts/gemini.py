"""Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from . import setup
from .fake_model import ToolCall
from .host import Command, Host, Json, Run


class Gemini(Host):
    """The JavaScript bundle on Node, with `-p`."""

    name = "gemini"
    events: ClassVar[tuple[str, ...]] = (
        "SessionStart",
        "SessionEnd",
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "BeforeTool",
        "AfterTool",
        "PreCompress",
        "Notification",
    )

    def configure(self) -> None:
        """Key sign-in, no telemetry, no updates."""
        self._settings: Json = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            # A fixed model: the automatic choice asks a model first, which doubles the requests.
            "model": {"name": "gemini-2.5-flash"},
        }
        self._write()

    def _write(self) -> None:
        folder = self.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(self._settings, indent=2))

    def settings(self) -> Mapping[str, str]:
        """Loopback model; no second process, so that a kill hits the host."""
        return {
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
        }

    def argv(self, prompt: str, resume: bool, *more: str) -> list[str]:
        """Trusted folder, all tools allowed."""
        node = setup.node_folder()
        assert node is not None
        start = [str(node / "bin" / "node"), str(self.entry), "--skip-trust", "--approval-mode", "yolo"]
        return [*start, *(["--resume", "latest"] if resume else []), *more, "-p", prompt]

    def set_hooks(self, command: Command) -> None:
        """In the user's settings; timeouts are in milliseconds."""
        entry = {
            e: [{"hooks": [{"name": "recorder", "type": "command", "command": command(e), "timeout": 20000}]}]
            for e in self.events
        }
        self._settings["hooks"] = entry
        self._write()

    def add_mcp_server(self, name: str, command: list[str]) -> None:
        """In the user's settings."""
        self._settings["mcpServers"] = {name: {"command": command[0], "args": command[1:]}}
        self._write()

    def mcp_call(self, server: str, tool: str, arguments: Json) -> ToolCall:
        """`mcp_server_tool`."""
        return ToolCall(f"mcp_{server}_{tool}", arguments)

    def write_call(self, path: str, text: str) -> ToolCall:
        """The write_file tool."""
        return ToolCall("write_file", {"file_path": str(self.project / path), "content": text})

    def edit_call(self, path: str, old: str, new: str) -> ToolCall:
        """The replace tool."""
        where = str(self.project / path)
        change = {"instruction": "change a line", "old_string": old, "new_string": new}
        return ToolCall("replace", {"file_path": where, **change})

    def shell_call(self, command: str) -> ToolCall:
        """The run_shell_command tool."""
        return ToolCall("run_shell_command", {"command": command})

    def compact(self) -> Run:
        """A threshold of nearly nothing makes the next turn of a long enough session compress first."""
        path = self.home / ".gemini" / "settings.json"
        before = path.read_text()
        changed = json.loads(before)
        changed["model"]["compressionThreshold"] = 0.000001
        path.write_text(json.dumps(changed))
        done = self.turn("go on", resume=True)
        path.write_text(before)
        return done
