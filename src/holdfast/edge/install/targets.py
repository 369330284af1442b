"""The settings files of each host, and what is installed there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from holdfast.errors import Unavailable, Usage
from holdfast.packages import hosts as tables
from holdfast.typed import Any, Record

HOSTS = ("claude", "codex", "opencode", "gemini", "copilot", "vscode", "cursor")
PROGRAMS = {"vscode": "code"}
_FOLDERS = {
    "claude": (".claude",),
    "codex": (".codex",),
    "opencode": (".config/opencode", ".opencode"),
    "gemini": (".gemini",),
    "copilot": (".copilot",),
    "vscode": (".vscode",),
    "cursor": (".cursor",),
}
"""Folders that a host creates in the home or the project."""
ALLOWED = ("claude", "gemini")
"""Hosts whose settings can say that our tools need no question."""
_COMMAND = "const COMMAND = "
"""Begins the one line of the OpenCode plug-in that differs between installations."""
_OPENCODE_SCHEMA = "https://opencode.ai/config.json"
NOTES = {
    "claude": "Claude Code asks once whether to use the project's MCP server.",
    "codex": "Codex asks you to approve the hooks at its next start (`/hooks` lists them).",
    "gemini": "Gemini CLI reads project settings only in trusted folders.",
    "copilot": "Copilot runs project hooks only in trusted folders.",
    "vscode": "VS Code support follows its documentation and is untested.",
    "cursor": "Cursor support follows its documentation and is untested.",
}


class Place(Record):
    """Where to install: for this user, or in one project."""

    user: bool
    project: str
    home: str
    environment: Mapping[str, str]
    allow: bool = True
    """Whether the host may call our tools without a question."""

    def at(self, *parts: str, variable: str = "") -> str:
        """A file in the user's home (or in the folder of the variable), or in the project."""
        if self.user and variable and (named := self.environment.get(variable)):
            return os.path.join(named, *parts[1:])
        return os.path.join(self.home if self.user else self.project, *parts)


class Target(Record):
    """One file, and what to install there."""

    path: str
    wanted: dict[str, Any]
    """Keys of a JSON file, or the server of a TOML file."""
    kind: str = "json"
    """``json``, ``toml``, or ``own``: a file that is entirely ours."""
    text: str = ""
    """The text of an ``own`` file."""
    skeleton: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """What a new file must contain besides."""

    def is_own(self, data: bytes) -> bool:
        """Whether these are the bytes of an ``own`` file, whatever command it calls."""
        return _but_command(data.decode("utf-8", "replace")) == _but_command(self.text)


def present(place: Place) -> list[str]:
    """The hosts that are installed, or that the project has settings for."""
    found = []
    for host in HOSTS:
        there = shutil.which(PROGRAMS.get(host, host), path=place.environment.get("PATH"))
        folders = [
            os.path.join(base, name) for base in (place.home, place.project) for name in _FOLDERS[host]
        ]
        if there or any(os.path.isdir(folder) for folder in folders):
            found.append(host)
    return found


def targets(host: str, place: Place, command: str) -> list[Target]:
    """The files of a host, and what to install in each."""
    if host not in HOSTS:
        raise Usage(f"Unknown host {host[:40]!r}. Known hosts: {', '.join(HOSTS)}.")
    found: list[Target] = _TARGETS[host](place, command)
    return found


def _hooks(host: str, command: str) -> dict[str, Any]:
    return {"hooks": tables.hooks(host, command)}


def _server(host: str, command: str, table: str = "mcpServers") -> dict[str, Any]:
    servers = tables.server(host)
    for entry in servers.values():
        words = entry["command"]
        entry["command"] = [command, *words[1:]] if isinstance(words, list) else command
    return {table: servers}


def _claude(place: Place, command: str) -> list[Target]:
    settings = place.at(".claude", "settings.json", variable="CLAUDE_CONFIG_DIR")
    if place.user:
        named = place.environment.get("CLAUDE_CONFIG_DIR")
        servers = os.path.join(named or place.home, ".claude.json")
    else:
        servers = os.path.join(place.project, ".mcp.json")
    rules = {"permissions": tables.CLAUDE_RULES} if place.allow else {}
    return [
        Target(settings, {**_hooks("claude", command), **rules}),
        Target(servers, _server("claude", command)),
    ]


def _codex(place: Place, command: str) -> list[Target]:
    hooks = place.at(".codex", "hooks.json", variable="CODEX_HOME")
    config = place.at(".codex", "config.toml", variable="CODEX_HOME")
    server = _server("codex", command)["mcpServers"]["holdfast"]
    return [Target(hooks, _hooks("codex", command)), Target(config, server, kind="toml")]


def _gemini(place: Place, command: str) -> list[Target]:
    settings = place.at(".gemini", "settings.json")
    server = _server("gemini", command)
    if place.allow:
        server["mcpServers"][tables.SERVER]["trust"] = True
    return [Target(settings, {**_hooks("gemini", command), **server})]


def _copilot_hooks(place: Place, command: str) -> Target:
    """One file for Copilot CLI and VS Code, which reads the same format."""
    folder = (".copilot", "hooks") if place.user else (".github", "hooks")
    path = place.at(*folder, "holdfast.json", variable="COPILOT_HOME")
    return Target(path, _hooks("copilot", command), skeleton={"version": 1})


def _copilot(place: Place, command: str) -> list[Target]:
    servers = place.at(".copilot", "mcp-config.json", variable="COPILOT_HOME")
    if not place.user:
        servers = os.path.join(place.project, ".mcp.json")
    return [_copilot_hooks(place, command), Target(servers, _server("copilot", command))]


def _vscode(place: Place, command: str) -> list[Target]:
    if not place.user:
        servers = os.path.join(place.project, ".vscode", "mcp.json")
    elif sys.platform == "darwin":
        servers = os.path.join(place.home, "Library", "Application Support", "Code", "User", "mcp.json")
    else:
        config = place.environment.get("XDG_CONFIG_HOME") or os.path.join(place.home, ".config")
        servers = os.path.join(config, "Code", "User", "mcp.json")
    server = Target(servers, _server("vscode", command, "servers"))
    return [_copilot_hooks(place, command), server]


def _cursor(place: Place, command: str) -> list[Target]:
    return [
        Target(place.at(".cursor", "hooks.json"), _hooks("cursor", command), skeleton={"version": 1}),
        Target(place.at(".cursor", "mcp.json"), _server("cursor", command)),
    ]


def _opencode(place: Place, command: str) -> list[Target]:
    config = place.environment.get("XDG_CONFIG_HOME") or os.path.join(place.home, ".config")
    base = os.path.join(config, "opencode") if place.user else place.project
    plugins = os.path.join(base, "plugin") if place.user else os.path.join(base, ".opencode", "plugin")
    names = [os.path.join(base, name) for name in ("opencode.json", "opencode.jsonc")]
    settings = next((name for name in names if os.path.exists(name)), names[0])
    return [
        Target(os.path.join(plugins, "holdfast.ts"), {}, kind="own", text=_plugin(command)),
        # Without a schema, OpenCode adds one to the file at its next start.
        Target(settings, _server("opencode", command, "mcp"), skeleton={"$schema": _OPENCODE_SCHEMA}),
    ]


def _plugin(command: str) -> str:
    """The plug-in for OpenCode, with the command in one constant."""
    import json
    from importlib import resources

    try:
        text = resources.files("holdfast.packages").joinpath("opencode", "holdfast.ts").read_text("utf-8")
    except OSError as error:
        raise Unavailable("This installation of holdfast lacks its plug-in for OpenCode.") from error
    return text.replace(f'{_COMMAND}"holdfast"', f"{_COMMAND}{json.dumps(command)}", 1)


def plugin_command(text: str) -> str:
    """The command that a plug-in for OpenCode calls; empty if it has none."""
    import json

    for line in text.splitlines():
        if line.startswith(_COMMAND):
            try:
                return str(json.loads(line.removeprefix(_COMMAND)))
            except ValueError:
                return ""
    return ""


def _but_command(text: str) -> list[str]:
    return [line for line in text.splitlines(keepends=True) if not line.startswith(_COMMAND)]


_TARGETS = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "vscode": _vscode,
    "cursor": _cursor,
    "opencode": _opencode,
}
