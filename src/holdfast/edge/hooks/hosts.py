"""Which host is calling: the one that the command names, unless the payload shows another.

Hosts read each other's settings: Copilot CLI, VS Code and Cursor run the hooks of a project's ``.claude`` folder, and
VS Code those of Copilot CLI. The output must be in the dialect of the actual caller.
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
    """The interface of a host's module."""

    PROJECT: str
    """The environment variable with the project's folder; empty if there is none."""
    AGAIN_AT_PROMPT: bool
    """Whether the brief comes with the first prompt after a compaction, because no start follows it."""
    COUNT_BEFORE: str
    """Which compactions are counted before they happen, because the host does not report their end: ``all``, those with
    this trigger, or none."""
    LOADS: str
    """The file with instructions that the host itself puts into every conversation."""
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
        return named  # only our own plug-in calls this
    if "cursor_version" in payload or ("conversation_id" in payload and "workspace_roots" in payload):
        return "cursor"
    if "hookEventName" in payload:
        return "vscode"
    if "sessionId" in payload:
        return "copilot"
    if "timestamp" in payload:
        name = str(payload.get("hook_event_name"))
        # Both have a transcript, but at the start and the end only Gemini CLI gives its path.
        at_the_edge = name in ("SessionStart", "SessionEnd") and "transcript_path" in payload
        return "gemini" if at_the_edge or name in _GEMINI else "copilot"
    if "turn_id" in payload:
        return "codex"
    return named
