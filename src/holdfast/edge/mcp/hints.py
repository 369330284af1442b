"""Hints as tool calls: ``settle(id="D-1", outcome=…)``. What no tool does is a command or a resource."""

from __future__ import annotations

from holdfast.edge.cli import hints as cli
from holdfast.errors import Hint, Use

FORMS = {
    "continue": "act(action=/continue)",
    "discuss": "act(action=/discuss TOPIC)",
    "do": "act()",
    "handoff": "handoff(do=give, message={message})",
    "loop.add": "loop(do=add, text={title})",
    "pause": "act(action=/pause)",
    "phase.enter": "phase(do=enter, name={name})",
    "phase.skip": "phase(do=skip_to, name={name}, because={because})",
    "recover": "brief()",
    "return": "act(action=/return)",
    "settle": "settle(id={id}, outcome={outcome})",
    "start": "start(goal={goal})",
    "status": "status()",
    "take_over": "handoff(do=claim, take_over=true)",
    "task.list": "status()",
    "task.start": "task(do=start, id={id})",
    "task.unblock": "task(do=unblock, id={id})",
}
"""The use cases that have a tool."""
NOT_TOOLS = {
    "sessions": "the resource holdfast://sessions",
    "switch": "the argument session of a tool",
    "usage": "the tool's schema",
}
"""What a client does without a tool. All others are commands, which an agent can run in a shell."""


def text(hint: Hint) -> str:
    """A hint for the client's model."""
    said = hint.render(_tool)
    return said[:1].upper() + said[1:]


def _tool(use: Use) -> str:
    if use.name in NOT_TOOLS:
        return NOT_TOOLS[use.name]
    if use.name in FORMS:
        return f"the tool {use.fill(FORMS[use.name], str, lambda parameter: '…')}"
    return cli.command(use)
