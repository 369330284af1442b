"""Hints as commands: ``holdfast settle D-1 OUTCOME``."""

from __future__ import annotations

from holdfast.errors import Hint, Use

FORMS = {
    "batch.create": "holdfast batch create {file}",
    "budget.drop": "holdfast budget drop {name}",
    "budget.show": "holdfast budget show",
    "complete": "holdfast complete",
    "continue": "holdfast continue",
    "discuss": "holdfast discuss {topic}",
    "do": "holdfast do",
    "doctor": "holdfast doctor",
    "doctor.fix": "holdfast doctor --fix",
    "fact.drop": "holdfast fact drop {id}",
    "handoff": "holdfast handoff",
    "heal": "holdfast heal",
    "import": "holdfast import {file}",
    "init": "holdfast init",
    "install": "holdfast install {host}",
    "install.user": "holdfast install {host} --user",
    "lease.anyway": "holdfast claim --anyway --session {session|id}",
    "loop.add": "holdfast loop add {title}",
    "message.add": "holdfast message add {role} {text}",
    "order.lift": "holdfast order lift {id}",
    "pause": "holdfast pause",
    "phase.enter": "holdfast phase enter {name}",
    "phase.skip": "holdfast phase skip {name|phase} --because {because|why}",
    "plan.edit": "holdfast plan edit {text} --id {id}",
    "plan.propose": "holdfast plan propose {title}",
    "plan.show": "holdfast plan show",
    "prefer": "holdfast prefer",
    "recover": "holdfast recover",
    "ref.drop": "holdfast ref drop {path}",
    "ref.list": "holdfast ref list",
    "restore": "holdfast restore {session|id}",
    "return": "holdfast return",
    "secrets.allow": "--allow-secret",
    "sessions": "holdfast sessions",
    "sessions.close_abandoned": "holdfast sessions --close-abandoned",
    "sessions.all": "holdfast sessions --all",
    "settle": "holdfast settle {id} {outcome}",
    "settle.done": "holdfast settle {id} {outcome} --session {session|id}",
    "settle.failed": "holdfast settle {id} {outcome} --failed --session {session|id}",
    "start": "holdfast start {goal}",
    "status": "holdfast status",
    "switch": "holdfast switch {session|id}",
    "sync": "holdfast sync",
    "take_over": "holdfast resume --claim --take-over",
    "task.list": "holdfast task list",
    "task.start": "holdfast task start {id}",
    "task.unblock": "holdfast task unblock {id}",
    "usage": "--help",
    "who": "holdfast who",
}
"""Every use case that a hint can name, as a command."""


def command(use: Use) -> str:
    """A use case as a command, in backticks."""
    return f"`{use.fill(FORMS[use.name], _quoted, str.upper)}`"


def text(hint: Hint) -> str:
    """A hint for a shell user."""
    return hint.render(command)


def _quoted(value: str) -> str:
    from shlex import quote

    return quote(value)
