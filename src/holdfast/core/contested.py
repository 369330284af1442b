"""Registers: single values that two clones may set concurrently.

A multi-value register. Each set names the ids that it saw and overwrites those; all others stay. The latest id is the
value, the others are its rivals: the value is contested until somebody who has seen them sets it again. No value is
dropped silently, and the order of arrival does not matter.
"""

from __future__ import annotations

from holdfast.core.codec import Commit
from holdfast.typed import Any

MAX_RIVALS = 8

Register = dict[str, Any]
"""``{"value", "id", "at", "by", "origin", "rivals": [{"value", "id", "at", "by", "origin"}]}``."""


def put(registers: dict[str, Any], name: str, value: Any, saw: list[str], commit: Commit) -> None:
    """Fold: set the register ``name``. Commits come in id order, so the newest is always the value."""
    old: Register | None = registers.get(name)
    rivals = []
    if old is not None:
        former = [*old["rivals"], {key: old[key] for key in ("value", "id", "at", "by", "origin")}]
        rivals = [rival for rival in former if rival["id"] not in saw and rival["id"] != commit.id]
        rivals = [rival for rival in rivals if rival["value"] != value]
    registers[name] = {
        "value": value,
        "id": commit.id,
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "rivals": rivals[-MAX_RIVALS:],
    }


def value(registers: dict[str, Any], name: str, default: Any = None) -> Any:
    """The current value of a register."""
    register = registers.get(name)
    return default if register is None else register["value"]


def seen(registers: dict[str, Any], name: str) -> list[str]:
    """The ids that the next set of the register must name: those of the value and of its rivals."""
    register = registers.get(name)
    if register is None:
        return []
    return [*(rival["id"] for rival in register["rivals"]), register["id"]]


def seen_value(registers: dict[str, Any], name: str) -> list[str]:
    """The ids that a set implied by another command names: rivals stay, because nobody chose among them."""
    register = registers.get(name)
    return [] if register is None else [register["id"]]


def contests(registers: dict[str, Any]) -> list[dict[str, Any]]:
    """Every contested value: its name, its current value and the rivals."""
    return [{"name": name, **register} for name, register in sorted(registers.items()) if register["rivals"]]
