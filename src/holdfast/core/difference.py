"""What changed between two states."""

from __future__ import annotations

from typing import Any


def difference(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    """Each changed value with its path: ``{"path", "before", "after"}``; a missing side is absent.

    Objects are compared key by key. Lists are values: what was in one and not in the other is told apart.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        changes = []
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}.{key}" if path else key
            if key not in before:
                changes.append({"path": inner, "after": after[key]})
            elif key not in after:
                changes.append({"path": inner, "before": before[key]})
            else:
                changes += difference(before[key], after[key], inner)
        return changes
    if isinstance(before, list) and isinstance(after, list):
        gone = [item for item in before if item not in after]
        new = [item for item in after if item not in before]
        return [{"path": path, "before": item} for item in gone] + [
            {"path": path, "after": item} for item in new
        ]
    if before != after:
        return [{"path": path, "before": before, "after": after}]
    return []
