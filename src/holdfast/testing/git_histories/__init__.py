"""Random git histories over several clones and worktrees."""
