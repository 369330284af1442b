"""Copilot CLI: one event per line, ``~/.copilot/session-state/<conversation>/events.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from holdfast.core.foreign import Left
from holdfast.edge.hooks import tools
from holdfast.edge.transcripts import Item, Numbered, Payload, is_asked, moment, part, parts, ran, text
from holdfast.workspace.transcripts import Step


def read(lines: Iterable[Numbered | Left]) -> Iterator[Item]:
    """The steps of a transcript."""
    calls: dict[str, Payload] = {}
    for item in lines:
        if isinstance(item, Left):
            yield item
            continue
        number, entry = item
        kind, data, at = text(entry.get("type")), part(entry, "data"), moment(entry.get("timestamp"))
        if not data and kind in ("session.start", "user.message", "assistant.message"):
            yield Left(number, str(entry)[:200], f"a {kind} without data")
        elif kind == "session.start":
            found = {"id": text(data.get("sessionId")), "folder": text(part(data, "context").get("cwd"))}
            yield Step(number, "conversation", found, at)
        elif kind == "user.message" and is_asked(text(data.get("content"))):
            yield Step(number, "prompt", {"text": text(data.get("content"))}, at)
        elif kind == "assistant.message" and text(data.get("content")).strip():
            yield Step(number, "said", {"text": text(data.get("content"))}, at)
        elif kind == "tool.execution_start":
            calls[text(data.get("toolCallId"))] = data
        elif kind == "tool.execution_complete":
            yield from _outcome(number, data, calls.pop(text(data.get("toolCallId")), {}), at)
        elif kind == "session.compaction_complete" and text(data.get("summaryContent")).strip():
            yield Step(number, "summary", {"text": text(data.get("summaryContent"))}, at)


def _outcome(number: int, data: Payload, call: Payload, at: str) -> Iterator[Step]:
    tool, given = text(call.get("toolName")), call.get("arguments")
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return
    named = [text(each.get("path")) for each in parts(data.get("fileEdits"))]
    if data.get("success") is True:
        for path in named or (tools.edited(given) if tools.is_edit(tool) else ()):
            yield Step(number, "edit", {"path": path}, at)
    if tools.is_shell(tool) and isinstance(given, dict):
        said = text(part(data, "result").get("content"))
        code = part(data, "shellExecution").get("exitCode")
        status = code if isinstance(code, int) else tools.exit_code(said) or 0
        output = said.partition("<shellId")[0]
        yield from ran(number, tools.command_of(given), status, output, at)
