"""OpenCode: what ``opencode export`` writes, one message per line: ``{"info": …, "parts": […]}``.

The conversation itself is the first line, ``{"info": …}`` without parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.core.foreign import Left
from holdfast.edge.hooks import tools
from holdfast.edge.transcripts import Item, Numbered, Payload, is_asked, moment, part, parts, ran, text
from holdfast.workspace.transcripts import Step


def read(lines: Iterable[Numbered | Left]) -> Iterator[Item]:
    """The steps of a transcript."""
    for item in lines:
        if isinstance(item, Left):
            yield item
            continue
        number, entry = item
        info, at = part(entry, "info"), moment(part(entry, "info", "time").get("created"))
        if not info:
            yield Left(number, str(entry)[:200], "neither a conversation nor a message")
        elif "parts" not in entry:
            found = {"id": text(info.get("id")), "folder": text(info.get("directory"))}
            yield Step(number, "conversation", found, at)
            if "messages" in entry:  # the file as it was exported
                for message in parts(entry["messages"]):
                    created = moment(part(message, "info", "time").get("created"))
                    yield from _message(number, message, created)
        else:
            yield from _message(number, entry, at)


def _message(number: int, entry: Payload, at: str) -> Iterator[Step]:
    info, found = part(entry, "info"), parts(entry.get("parts"))
    said = "\n".join(
        text(each.get("text")) for each in found if each.get("type") == "text" and not each.get("synthetic")
    )
    if info.get("role") == "user" and is_asked(said):
        yield Step(number, "prompt", {"text": said}, at)
    for each in found:
        if each.get("type") == "tool":
            yield from _call(number, each, at)
    if info.get("role") == "assistant" and said.strip():
        yield Step(number, "summary" if info.get("summary") is True else "said", {"text": said}, at)


def _call(number: int, call: Payload, at: str) -> Iterator[Step]:
    tool, state = text(call.get("tool")), part(call, "state")
    given = part(state, "input")
    at = moment(part(state, "time").get("end")) or at
    if tools.is_edit(tool) and state.get("status") == "completed":
        for path in tools.edited(given):
            yield Step(number, "edit", {"path": path}, at)
    elif tools.is_shell(tool):
        code = part(state, "metadata").get("exit")
        status = code if isinstance(code, int) else int(state.get("status") == "error")
        said = text(state.get("output")) or text(state.get("error"))
        yield from ran(number, tools.command_of(given), status, said, at)
    elif tool == "todowrite":
        steps = [[text(todo.get("content")), text(todo.get("status"))] for todo in parts(given.get("todos"))]
        yield Step(number, "plan", {"steps": steps}, at)
