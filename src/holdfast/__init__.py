"""Durable working memory for AI agents.

import holdfast

with holdfast.open() as workspace:
    session = workspace.start("Ship the release")
    with session.acting("Tag v1.0", because="all checks are green", action="git tag v1.0"):
        ...
"""

from __future__ import annotations

from holdfast.typed import TYPE_CHECKING, Any
from holdfast.version import __version__

__all__ = ["HoldfastError", "Session", "Workspace", "__version__", "checkpoint", "open"]

if TYPE_CHECKING:
    from holdfast.checkpointing import checkpoint
    from holdfast.errors import HoldfastError
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace
    from holdfast.workspace.workspace import open_workspace as open

_HOMES = {
    "HoldfastError": ("holdfast.errors", "HoldfastError"),
    "Session": ("holdfast.workspace.session", "Session"),
    "Workspace": ("holdfast.workspace.workspace", "Workspace"),
    "checkpoint": ("holdfast.checkpointing", "checkpoint"),
    "open": ("holdfast.workspace.workspace", "open_workspace"),
}


def __getattr__(name: str) -> Any:
    """Names load when they are first used: a hook that needs little must not wait for the rest."""
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value
