"""The commands in groups, the module of each, and the texts of the general help."""

from __future__ import annotations

from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.edge.cli.command import Command

EVERYDAY = ("init", "start", "status", "resume", "decide", "settle", "recover", "task", "note", "handoff")
"""What ``holdfast`` alone shows."""

GROUPS = {
    "Sessions": {
        "init": "setup",
        "start": "sessions",
        "status": "sessions",
        "resume": "sessions",
        "brief": "sessions",
        "pause": "breaks",
        "continue": "breaks",
        "complete": "breaks",
        "handoff": "handoffs",
        "sessions": "sessions",
        "switch": "sessions",
        "archive": "upkeep",
        "restore": "upkeep",
    },
    "Work": {
        "decide": "decisions",
        "settle": "decisions",
        "recover": "decisions",
        "run": "runs",
        "decisions": "decisions",
        "goal": "goals",
        "phase": "phases",
        "task": "tasks",
        "plan": "plans",
        "checkpoint": "checkpoints",
        "discuss": "breaks",
        "return": "breaks",
        "do": "acts",
    },
    "Notes and open questions": {
        "note": "notes",
        "capture": "captures",
        "loop": "loops",
        "next": "concerns",
        "blocker": "concerns",
        "risk": "concerns",
        "error": "concerns",
        "legal": "concerns",
        "message": "messages",
        "ref": "references",
        "budget": "budgets",
    },
    "Project memory": {
        "backlog": "backlogs",
        "order": "rules",
        "fact": "rules",
        "control": "rules",
        "prefer": "rules",
        "agents-md": "handoffs",
    },
    "History": {
        "search": "recall",
        "log": "history",
        "show": "history",
        "diff": "history",
        "why": "why",
        "view": "handoffs",
        "sql": "recall",
        "export": "exports",
        "import": "imports",
    },
    "Working with others": {
        "who": "team",
        "claim": "team",
        "release": "team",
    },
    "Checks and repair": {
        "doctor": "setup",
        "heal": "team",
        "validate": "checks",
        "lint": "checks",
        "verify": "checks",
        "sync": "checks",
        "schema": "checks",
        "index": "recall",
    },
    "Agents, programs and shells": {
        "install": "hosts",
        "uninstall": "hosts",
        "mcp": "servers",
        "batch": "batches",
        "advise": "checks",
        "completion": "completions",
        "help": "overview",
    },
    "Plumbing": {
        "hook": "hosts",
        "hook-commit-message": "team",
        "record": "notes",
        "compaction": "concerns",
    },
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}

EXIT_STATUS = (
    (0, "fine"),
    (1, "a check found something, or a rule refused"),
    (2, "usage"),
    (3, "version conflict"),
    (4, "not found"),
    (5, "damaged store"),
    (6, "engine unavailable"),
    (7, "forbidden"),
    (125, "`run` did not start its command; else it exits as the command does"),
)
EXAMPLE = (
    "holdfast init",
    'holdfast start "Ship the billing rewrite"',
    'holdfast decide "Move to SQLite" --because "8 writers" --action "migrate"',
    'holdfast settle D-1 "migrated, 214 rows"',
)


def load(name: str) -> Command:
    """The command of that name."""
    from importlib import import_module

    module = import_module(f"holdfast.edge.cli.{COMMANDS[name]}")
    command: Command = module.COMMANDS[name]
    return command
