"""Codex: one JSON object per line, ``~/.codex/sessions/<year>/<month>/<day>/rollout-….jsonl``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from holdfast.core.foreign import Left
from holdfast.edge.hooks import tools
from holdfast.edge.transcripts import Item, Numbered, Payload, is_asked, moment, part, parts, ran, text, texts
from holdfast.workspace.transcripts import Step

_CODE = "Process exited with code "
_INSTRUCTIONS = "# AGENTS.md instructions"
"""How Codex begins the prompt in which it hands over a project's instructions."""


def read(lines: Iterable[Numbered | Left]) -> Iterator[Item]:
    """The steps of a transcript."""
    calls: dict[str, Payload] = {}
    for item in lines:
        if isinstance(item, Left):
            yield item
            continue
        number, entry = item
        kind, inside, at = text(entry.get("type")), part(entry, "payload"), moment(entry.get("timestamp"))
        if not inside and kind in ("session_meta", "response_item", "compacted"):
            yield Left(number, str(entry)[:200], f"a {kind} without a payload")
        elif kind == "session_meta":
            found = {"id": text(inside.get("id")), "folder": text(inside.get("cwd"))}
            yield Step(number, "conversation", found, at)
        elif kind == "compacted":
            yield Step(number, "summary", {"text": summary(text(inside.get("message")))}, at)
        elif kind == "response_item":
            yield from _of_item(number, inside, entry, calls, at)


def summary(said: str) -> str:
    """A summary without the words that Codex puts before it."""
    before, found, after = said.partition("your own analysis:")
    return after.strip() if found and before.startswith("Another language model") else said


def _of_item(
    number: int, inside: Payload, entry: Payload, calls: dict[str, Payload], at: str
) -> Iterator[Step]:
    kind = text(inside.get("type"))
    if kind == "message":
        said, role = texts(inside.get("content")), text(inside.get("role"))
        if role == "user" and is_asked(said) and not said.startswith(_INSTRUCTIONS):
            yield Step(number, "prompt", {"text": said}, at)
        elif role == "assistant" and said.strip() and not part(entry, "metadata").get("compaction_output"):
            yield Step(number, "said", {"text": said}, at)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        given = _arguments(inside)
        calls[text(inside.get("call_id"))] = {"name": text(inside.get("name")), "input": given}
        if text(inside.get("name")) == "update_plan" and isinstance(given, dict):
            steps = [[text(step.get("step")), text(step.get("status"))] for step in parts(given.get("plan"))]
            yield Step(number, "plan", {"steps": steps}, at)
    elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        yield from _outcome(number, inside.get("output"), calls.pop(text(inside.get("call_id")), {}), at)


def _arguments(inside: Payload) -> Payload | str:
    """What a tool was called with: JSON as text, free text, or an object."""
    if action := part(inside, "action"):
        return action
    given = text(inside.get("arguments")) or text(inside.get("input"))
    if given.lstrip()[:1] == "{":
        try:
            found = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return found if isinstance(found, dict) else given
    return given


def _outcome(number: int, output: object, call: Payload, at: str) -> Iterator[Step]:
    said, status = _status(output)
    name, given = text(call.get("name")), call.get("input")
    if tools.is_edit(name):
        for path in tools.edited(given) if not status else ():
            yield Step(number, "edit", {"path": path}, at)
    elif isinstance(given, dict) and (command := tools.command_of(given)):
        if patch := tools.edited(given) if "*** " in command else ():
            for path in patch if not status else ():
                yield Step(number, "edit", {"path": path}, at)
        elif status is not None:
            yield from ran(number, _inner(command), status, said, at)


def _inner(command: str) -> str:
    """A command without the shell that it was handed to."""
    for shell in ("/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "sh -c "):
        command = command.removeprefix(shell)
    return command


def _status(output: object) -> tuple[str, int | None]:
    """What a command wrote, and its exit status."""
    said = (
        texts(output)
        if not isinstance(output, dict)
        else text(output.get("output")) or text(output.get("content"))
    )
    if said[:1] == "{":
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            code = part(found, "metadata").get("exit_code")
            return text(found.get("output")), code if isinstance(code, int) else None
    head, _, rest = said.partition("\nOutput:\n")
    if not rest:
        return said, tools.exit_code(head)
    if _CODE in head:
        code = head.partition(_CODE)[2].split(maxsplit=1)[0] if head.partition(_CODE)[2].strip() else ""
        return rest, int(code) if code.lstrip("-").isdigit() else None
    return rest, tools.exit_code(head)
