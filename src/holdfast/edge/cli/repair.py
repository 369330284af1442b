"""Four commands that are easily confused, in one table."""

from __future__ import annotations

REPAIR = (
    ("recover", "a program died while acting", "lists decisions without an outcome"),
    ("restore", "you need an archived session", "moves it out of the archive"),
    ("heal", "git merged, rebased or reset", "repairs what git left, and stages it"),
    ("doctor", "you suspect damage", "checks every file; --fix repairs"),
)
"""Name, when to use it, what it does."""


def repair_table() -> str:
    """The table, for help."""
    rows = [("command", "use it when", "what it does"), *REPAIR]
    return "\n".join(f"  {name.ljust(8)} {use.ljust(28)}  {does}" for name, use, does in rows)
