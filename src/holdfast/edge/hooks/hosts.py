"""Which host is calling: the one that the command names, unless the payload shows that it is another.

Hosts read each other's settings: Copilot CLI, VS Code and Cursor run the hooks of a project's ``.claude`` folder, and
VS Code those that were made for Copilot CLI. The answer must be in the dialect of whoever really asks.
"""

from __future__ import annotations

from importlib import import_module

from holdfast.edge.hooks.event import Event, Payload
from holdfast.typed import Any, Protocol

NAMES = ("claude", "codex", "opencode", "gemini", "copilot", "vscode", "cursor")
_GEMINI = frozenset(
    [
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "BeforeTool",
        "AfterTool",
        "PreCompress",
    ]
)


class Host(Protocol):
    """What the module of a host has."""

    PROJECT: str
    """The environment variable that names the project's folder; empty if there is none."""
    AGAIN_AT_PROMPT: bool
    """Whether the brief is given with the first prompt after a compaction, as no start follows it."""
    COUNT_BEFORE: str
    """Which compactions are counted when they are about to happen, as the host does not tell when they are done:
    ``all``, those with this trigger, or none."""
    CAP: int

    def size(self, said: str) -> int: ...
    def read(self, payload: Payload, name: str) -> Event: ...
    def answer(self, event: Event, said: str) -> str: ...


def load(name: str) -> Host:
    """The module of a host."""
    module: Any = import_module(f"holdfast.edge.hooks.{name}")
    host: Host = module
    return host


def caller(named: str, payload: Payload) -> str:
    """The host that is calling."""
    if named == "opencode":
        return named  # only our own plug-in calls it
    if "cursor_version" in payload or ("conversation_id" in payload and "workspace_roots" in payload):
        return "cursor"
    if "hookEventName" in payload:
        return "vscode"
    if "sessionId" in payload:
        return "copilot"
    if "timestamp" in payload:
        name = str(payload.get("hook_event_name"))
        # Both have a transcript, but at the start and the end only Gemini CLI tells where it is.
        at_the_edge = name in ("SessionStart", "SessionEnd") and "transcript_path" in payload
        return "gemini" if at_the_edge or name in _GEMINI else "copilot"
    if "turn_id" in payload:
        return "codex"
    return named
