"""OpenCode."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from .fake_model import ToolCall
from .host import Command, Host, Json, Run, kill

# OpenCode has no hook commands, only plug-ins. This one hands what each hook was given to the shell command
# of that event, and puts what the command prints where a plug-in would put text for the model.
PLUGIN = """\
import { spawnSync } from "node:child_process"
const commands = %s
const call = (event, input, output) => {
  const done = spawnSync("/bin/sh", ["-c", commands[event]], { input: JSON.stringify({ input, output }) })
  return done.stdout.toString()
}
export const Recorder = async () => {
  const noise = /^(plugin|catalog|integration|reference|file\\.watcher|message\\.part|session\\.diff)\\b/
  const hooks = { event: async ({ event }) => { noise.test(event.type) || call("event", event, undefined) } }
  for (const name of Object.keys(commands).filter((name) => name !== "event")) {
    hooks[name] = async (input, output) => {
      const text = call(name, input, output)
      if (!text) return
      if (name === "experimental.chat.system.transform") output.system.push(text)
      if (name === "experimental.session.compacting") output.context.push(text)
    }
  }
  return hooks
}
"""


class OpenCode(Host):
    """The native `opencode` program: `run` for a turn, `serve` to force a compaction."""

    name = "opencode"
    events: ClassVar[tuple[str, ...]] = (
        "event",
        "chat.message",
        "command.execute.before",
        "tool.execute.before",
        "tool.execute.after",
        "experimental.chat.system.transform",
        "experimental.session.compacting",
        "experimental.compaction.autocontinue",
    )

    def configure(self) -> None:
        """A provider of our own; all tools allowed."""
        for folder in (self.home / ".config" / "opencode", self.project / ".opencode"):
            self._settle(folder)
        model = {"name": "fake", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
        self._config: Json = {
            "model": "fake/fake",
            "small_model": "fake/fake",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "permission": {"edit": "allow", "bash": "allow"},
            "provider": {
                "fake": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "fake",
                    "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "dummy"},
                    "models": {"fake": model},
                }
            },
        }
        self._write()

    def _settle(self, folder: Path) -> None:
        """Make a configuration folder look installed: else every start tries for ten seconds to download."""
        (folder / "node_modules").mkdir(parents=True, exist_ok=True)
        root = {"dependencies": {"@opencode-ai/plugin": "*"}}
        (folder / "package-lock.json").write_text(json.dumps({"packages": {"": root}}))

    def _write(self) -> None:
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "opencode.json").write_text(json.dumps(self._config, indent=2))

    def settings(self) -> Mapping[str, str]:
        """No updates, no lists of models, no language servers."""
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    def argv(self, prompt: str, resume: bool, *more: str) -> list[str]:
        """One turn and out."""
        return [str(self.entry), "run", *(["--continue"] if resume else []), *more, prompt]

    def fork(self, prompt: str) -> Run:
        """One turn in a fork of the last session."""
        return self.run(self.argv(prompt, True, "--fork"))

    def set_hooks(self, command: Command) -> None:
        """As a plug-in in the project."""
        folder = self.project / ".opencode" / "plugin"
        folder.mkdir(parents=True, exist_ok=True)
        table = json.dumps({event: command(event) for event in self.events}, indent=2)
        (folder / "recorder.js").write_text(PLUGIN % table)

    def add_mcp_server(self, name: str, command: list[str]) -> None:
        """In the user's configuration."""
        self._config["mcp"] = {name: {"type": "local", "command": command, "enabled": True}}
        self._write()

    def mcp_call(self, server: str, tool: str, arguments: Json) -> ToolCall:
        """`server_tool`."""
        return ToolCall(f"{server}_{tool}", arguments)

    def write_call(self, path: str, text: str) -> ToolCall:
        """The write tool."""
        return ToolCall("write", {"filePath": str(self.project / path), "content": text})

    def edit_call(self, path: str, old: str, new: str) -> ToolCall:
        """The edit tool."""
        return ToolCall("edit", {"filePath": str(self.project / path), "oldString": old, "newString": new})

    def shell_call(self, command: str) -> ToolCall:
        """The bash tool."""
        return ToolCall("bash", {"command": command, "description": "run a command"})

    def compact(self) -> Run:
        """Ask the server to summarise the newest session, then wait until it has."""
        before, started = len(self.model.requests), time.monotonic()
        process = self.launch([str(self.entry), "serve", "--port", "0", "--hostname", "127.0.0.1"])
        try:
            port = self._port(process)
            where = f"?directory={quote(str(self.project))}"
            sessions = self._ask(port, "GET", f"/session{where}")
            newest = max(sessions, key=lambda each: each["time"]["updated"])["id"]
            body = {"providerID": "fake", "modelID": "fake"}
            answer = self._ask(port, "POST", f"/session/{newest}/summarize{where}", body)
        finally:
            process.terminate()
            try:
                stdout, stderr = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                kill(process)
                stdout, stderr = process.communicate()
        status = 0 if answer is True else 1
        return Run(status, stdout, stderr, time.monotonic() - started, self.model.requests[before:])

    def _port(self, process: subprocess.Popen[str]) -> int:
        """The server prints its address when it is ready."""
        assert process.stdout is not None
        for line in process.stdout:
            if "listening on" in line:
                return int(line.strip().rsplit(":", 1)[1])
        raise RuntimeError("opencode serve ended before it listened")

    def _ask(self, port: int, method: str, path: str, body: Json | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            headers = {"content-type": "application/json"}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            text = response.read().decode()
            if response.status != 200:
                raise RuntimeError(f"{method} {path}: {response.status} {text[:300]}")
            return json.loads(text)
        finally:
            connection.close()
