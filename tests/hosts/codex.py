"""Codex CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from .fake_model import ToolCall
from .host import Command, Host, Json, Run


class Codex(Host):
    """The native `codex` program, `codex exec`."""

    name = "codex"
    events: ClassVar[tuple[str, ...]] = (
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PreCompact",
        "PostCompact",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "SubagentStart",
        "SubagentStop",
        "Stop",
    )

    def configure(self) -> None:
        """A provider of our own, over plain HTTP."""
        self.folder = self.home / ".codex"
        self.folder.mkdir(exist_ok=True)
        (self.folder / "config.toml").write_text(
            'model = "gpt-5.5"\n'
            'model_provider = "fake"\n'
            'approval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n'
            "check_for_update_on_startup = false\n"
            "\n[analytics]\nenabled = false\n"
            "\n[features]\nplugins = false\napps = false\n"
            "\n[model_providers.fake]\n"
            'name = "fake"\n'
            f'base_url = "{self.model.url}/v1"\n'
            'wire_api = "responses"\n'
            'env_key = "FAKE_KEY"\n'
            "supports_websockets = false\n"
            "request_max_retries = 0\n"
            "stream_max_retries = 0\n"
        )

    def settings(self) -> Mapping[str, str]:
        """The provider's key."""
        return {"FAKE_KEY": "dummy", "CODEX_HOME": str(self.folder)}

    def argv(self, prompt: str, resume: bool, *more: str) -> list[str]:
        """Unapproved hooks do not run, so the tests waive the approval."""
        options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json", *more]
        middle = ["resume", "--last"] if resume else []
        return [str(self.entry), "exec", *options, *middle, prompt]

    def set_hooks(self, command: Command) -> None:
        """In the user's hooks.json."""
        entry = {
            e: [{"hooks": [{"type": "command", "command": command(e), "timeout": 3}]}] for e in self.events
        }
        (self.folder / "hooks.json").write_text(json.dumps({"hooks": entry}, indent=2))

    def add_mcp_server(self, name: str, command: list[str]) -> None:
        """A table in config.toml."""
        with open(self.folder / "config.toml", "a") as handle:
            handle.write(f"\n[mcp_servers.{name}]\n")
            handle.write(f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n")

    def mcp_call(self, server: str, tool: str, arguments: Json) -> ToolCall:
        """Tools of a server are in a namespace named after it."""
        return ToolCall(tool, arguments, namespace=f"mcp__{server}")

    def write_call(self, path: str, text: str) -> ToolCall:
        """The patch tool takes free text."""
        body = "".join(f"+{line}\n" for line in text.splitlines())
        return ToolCall("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n")

    def edit_call(self, path: str, old: str, new: str) -> ToolCall:
        """A patch that updates a file."""
        body = f"@@\n-{old}\n+{new}\n"
        return ToolCall("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n")

    def shell_call(self, command: str) -> ToolCall:
        """The unified exec tool."""
        return ToolCall("exec_command", {"cmd": command})

    def compact(self) -> Run:
        """A limit of ten tokens makes the next turn of the session compact first."""
        command = self.argv("go on", True, "-c", "model_auto_compact_token_limit=10")
        return self.run(command)
