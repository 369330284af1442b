"""Gemini CLI: one JSON object per line, ``~/.gemini/tmp/<project>/chats/session-….jsonl``.

A message is written again, under the same id, when its tools have run. ``$set`` replaces the whole history: after a
compression it begins with the summary, which the model acknowledges with fixed words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from holdfast.core.foreign import Left
from holdfast.edge.hooks import tools
from holdfast.edge.transcripts import Item, Numbered, Payload, is_asked, moment, part, parts, ran, text, texts
from holdfast.workspace.transcripts import Step

_GOT_IT = "Got it. Thanks for the additional context!"


def read(lines: Iterable[Numbered | Left]) -> Iterator[Item]:
    """The steps of a transcript."""
    seen: set[str] = set()
    named = False
    for item in lines:
        if isinstance(item, Left):
            yield item
            continue
        number, entry = item
        if not named and text(entry.get("sessionId")):
            named = True
            start = moment(entry.get("startTime"))
            yield Step(number, "conversation", {"id": text(entry.get("sessionId")), "folder": ""}, start)
        if "$set" in entry:
            yield from _replaced(number, parts(part(entry, "$set").get("messages")), seen)
        elif isinstance(entry.get("messages"), list):  # the form of older releases: one object
            for message in parts(entry["messages"]):
                yield from _message(number, message, seen)
        elif entry.get("type") in ("user", "gemini"):
            yield from _message(number, entry, seen)


def _replaced(number: int, messages: list[Payload], seen: set[str]) -> Iterator[Step]:
    for before, after in pairwise(messages):
        said = texts(before.get("content"))
        if after.get("type") == "gemini" and texts(after.get("content")) == _GOT_IT and said not in seen:
            seen.add(said)
            yield Step(number, "summary", {"text": said}, moment(before.get("timestamp")))


def _message(number: int, message: Payload, seen: set[str]) -> Iterator[Step]:
    name, at = text(message.get("id")), moment(message.get("timestamp"))
    said = texts(message.get("content"))
    if said.strip() and (not name or name not in seen):
        seen.add(name)
        if message.get("type") == "gemini":
            yield Step(number, "said", {"text": said}, at)
        elif is_asked(said):
            yield Step(number, "prompt", {"text": said}, at)
    for call in parts(message.get("toolCalls")):
        key = text(call.get("id"))
        if key and key not in seen:
            seen.add(key)
            yield from _call(number, call, moment(call.get("timestamp")) or at)


def _call(number: int, call: Payload, at: str) -> Iterator[Step]:
    tool, given = text(call.get("name")), part(call, "args")
    fine = call.get("status") == "success"
    if tools.is_edit(tool):
        for path in tools.edited(given) if fine else ():
            yield Step(number, "edit", {"path": path}, at)
    elif tools.is_shell(tool):
        results = [part(each, "functionResponse", "response") for each in parts(call.get("result"))]
        said = "\n".join(text(result.get("output")) or text(result.get("error")) for result in results)
        status = tools.exit_code(said) or (0 if fine else 1)
        shown = text(call.get("resultDisplay")) or said
        yield from ran(number, tools.command_of(given), status, shown, at)
    elif tool == "write_todos":
        steps = [
            [text(todo.get("description")), text(todo.get("status"))] for todo in parts(given.get("todos"))
        ]
        yield Step(number, "plan", {"steps": steps}, at)
