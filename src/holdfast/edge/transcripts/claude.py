"""Claude Code: one JSON object per line, ``~/.claude/projects/<the project's path>/<conversation>.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.core.foreign import Left
from holdfast.edge.hooks import tools
from holdfast.edge.transcripts import (
    Item,
    Numbered,
    Payload,
    is_asked,
    moment,
    part,
    parts,
    ran,
    text,
    texts,
)
from holdfast.workspace.transcripts import Step


def read(lines: Iterable[Numbered | Left]) -> Iterator[Item]:
    """The steps of a transcript."""
    calls: dict[str, Payload] = {}
    named = ""
    for item in lines:
        if isinstance(item, Left):
            yield item
            continue
        number, entry = item
        at = moment(entry.get("timestamp"))
        if not named and (named := text(entry.get("sessionId"))):
            yield Step(number, "conversation", {"id": named, "folder": text(entry.get("cwd"))}, at)
        if entry.get("isSidechain") is True or entry.get("type") not in ("user", "assistant"):
            continue
        content = part(entry, "message").get("content")
        if content is None:
            yield Left(number, str(entry)[:200], "a message without content")
        elif entry["type"] == "user":
            yield from _of_user(number, entry, content, calls, at)
        else:
            yield from _of_agent(number, content, calls, at)


def _of_user(
    number: int, entry: Payload, content: object, calls: dict[str, Payload], at: str
) -> Iterator[Step]:
    for block in parts(content):
        if block.get("type") == "tool_result":
            yield from _outcome(number, block, calls.pop(text(block.get("tool_use_id")), {}), at)
    said = texts(content)
    if entry.get("isCompactSummary") is True:
        yield Step(number, "summary", {"text": _summary(said)}, at)
    elif entry.get("isMeta") is not True and is_asked(said):
        yield Step(number, "prompt", {"text": said}, at)


def _summary(said: str) -> str:
    """A summary without the words that Claude Code puts around it."""
    if said.startswith("This session is being continued"):
        said = said.partition("\n\n")[2]
    said = said.partition("</system-reminder>")[2] if said.lstrip().startswith("<system-reminder>") else said
    return said.partition("\nIf you need specific details")[0].strip()


def _of_agent(number: int, content: object, calls: dict[str, Payload], at: str) -> Iterator[Step]:
    for block in parts(content):
        if block.get("type") == "text" and text(block.get("text")).strip():
            yield Step(number, "said", {"text": text(block.get("text"))}, at)
        elif block.get("type") == "tool_use":
            given = part(block, "input")
            if text(block.get("name")) == "TodoWrite":
                steps = [
                    [text(todo.get("content")), text(todo.get("status"))]
                    for todo in parts(given.get("todos"))
                ]
                yield Step(number, "plan", {"steps": steps}, at)
            calls[text(block.get("id"))] = {"name": text(block.get("name")), "input": given}


def _outcome(number: int, result: Payload, call: Payload, at: str) -> Iterator[Step]:
    name, given = text(call.get("name")), part(call, "input")
    failed = result.get("is_error") is True
    if tools.is_edit(name) and not failed:
        for path in tools.edited(given):
            yield Step(number, "edit", {"path": path}, at)
    if tools.is_shell(name):
        said = texts(result.get("content"))
        status = (tools.exit_code(said) or 1) if failed else 0
        yield from ran(number, tools.command_of(given), status, said, at)
