"""Checkpoints of named agents, for scripts that run with and without a workspace."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.checkpointing import checkpoint


class AgentTracker:
    """Checkpoints under an agent's own name. Nothing here raises, and without a workspace nothing is made."""

    @staticmethod
    def save_agent_checkpoint(agent_name: str, message: str, tools_used: Iterable[str] = ()) -> bool:
        """Save a checkpoint of an agent in the workspace around; returns whether it was saved."""
        return checkpoint(message, tools_used, by=agent_name)
