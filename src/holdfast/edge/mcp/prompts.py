"""Prompts: one per slash action, so that a person can choose it from the client's menu.

A prompt changes nothing itself, because clients fetch prompts to show them. It tells the model which tool to call.
"""

from __future__ import annotations

import json

from holdfast.core import actions
from holdfast.edge.mcp import wire
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.wire import Failure, Json
from holdfast.errors import HoldfastError
from holdfast.workspace.session import Session

_TEXT_CAP = 20_000


def listed() -> list[Json]:
    """What ``prompts/list`` shows."""
    found = []
    for action in actions.CATALOGUE.values():
        prompt: Json = {"name": action.name, "description": _sentence(action)}
        if action.takes:
            argument = {"name": "text", "description": action.takes}
            prompt["arguments"] = [{**argument, "required": _needs_text(action)}]
        found.append(prompt)
    return found


def _sentence(action: actions.Action) -> str:
    return f"{action.does[0].upper()}{action.does[1:]}."


def _needs_text(action: actions.Action) -> bool:
    return any(not word.startswith("[") for word in action.takes.split())


def prompt(pool: WorkspacePool, client: str, name: str, arguments: Json) -> Json:
    """A prompt, filled in."""
    action = actions.CATALOGUE.get(name)
    if action is None:
        raise Failure(wire.INVALID_PARAMS, f"There is no prompt {name[:80]}.")
    text = arguments.get("text", "")
    unknown = [key for key in arguments if key != "text"]
    if unknown or not isinstance(text, str) or len(text) > _TEXT_CAP:
        raise Failure(
            wire.INVALID_PARAMS, f"The prompt {name} takes one string of at most {_TEXT_CAP:,} characters."
        )
    if not text.strip() and _needs_text(action):
        raise Failure(wire.INVALID_PARAMS, f"The prompt {name} needs text: {action.takes}.")
    line = f"/{name} {text}".strip()
    try:
        said: str = pool.on_session(client, lambda session: _said(session, line))
    except HoldfastError as error:
        from holdfast.edge.mcp import hints

        said = f"{line} is not possible now: {error.message} {hints.text(error.hint)}".rstrip()
    message = {"role": "user", "content": {"type": "text", "text": said}}
    return {"description": _sentence(action), "messages": [message]}


def _said(session: Session, line: str) -> str:
    call = actions.call(session.peek().state, line)
    if call.method in actions.READS:
        from holdfast.workspace.handover import make_brief

        go_on = "Continue from here." if call.method == "resume" else "Summarise the status in a few lines."
        return f"{make_brief(session).text}\n{go_on}"
    return (
        f"Call the holdfast tool `act` with action {json.dumps(line, ensure_ascii=False)}, "
        "then say in one line what changed."
    )
