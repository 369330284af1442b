"""The four wire formats that agent hosts speak to a model: how to read a request and how to stream a reply.

Each dialect turns a request body into plain turns and tool names, and a reply into the chunks of its stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

Body = dict[str, Any]


class Turn(NamedTuple):
    """One message of the conversation as the model sees it. Roles: user, assistant, tool, system."""

    role: str
    text: str


class ToolCall(NamedTuple):
    """A tool call that the model makes. Text arguments are for tools that take free text instead of JSON."""

    name: str
    arguments: Body | str
    namespace: str = ""


class Reply(NamedTuple):
    """What the model answers: text, or one tool call, with the usage that it reports.

    `hang` keeps the turn open after the first chunk; a `status` other than 200 is an error of the service.
    """

    text: str = "All done."
    call: ToolCall | None = None
    input_tokens: int = 100
    output_tokens: int = 10
    hang: bool = False
    status: int = 200


class Dialect(Protocol):
    """One wire format."""

    name: str

    def turns(self, body: Body) -> list[Turn]:
        """The conversation in a request body."""
        ...

    def tools(self, body: Body) -> list[str]:
        """Names of the tools that the request offers."""
        ...

    def stream(self, body: Body, reply: Reply, number: int) -> Iterator[str]:
        """The chunks of a streamed reply; the first one alone must already open the stream."""
        ...

    def whole(self, body: Body, reply: Reply, number: int) -> Body:
        """The same reply as one JSON object, for requests that do not ask for a stream."""
        ...


def text_of(content: object) -> str:
    """All text inside a content value of any dialect, in order."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in map(text_of, content) if part)
    if isinstance(content, dict):
        for key in ("text", "content", "parts", "output", "functionResponse", "response"):
            if key in content:
                return text_of(content[key])
    return ""


def _sse(event: str, data: Body) -> str:
    return f"event: {event}\ndata: {json.dumps({'type': event, **data})}\n\n"


def _data(data: Body) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _arguments(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


class Anthropic:
    """Messages: `POST /v1/messages`."""

    name = "anthropic"

    def turns(self, body: Body) -> list[Turn]:
        """System prompt first; a user message that carries a tool result counts as a tool turn."""
        found = [Turn("system", text_of(body.get("system", "")))]
        for message in body.get("messages", []):
            content = message["content"]
            blocks = content if isinstance(content, list) else []
            is_result = any(block.get("type") == "tool_result" for block in blocks)
            found.append(Turn("tool" if is_result else message["role"], text_of(content)))
        return found

    def tools(self, body: Body) -> list[str]:
        """Names as they stand in `tools`."""
        return [tool["name"] for tool in body.get("tools", []) if "name" in tool]

    def _block(self, reply: Reply, number: int) -> Body:
        if reply.call is None:
            return {"type": "text", "text": reply.text}
        return {
            "type": "tool_use",
            "id": f"toolu_{number:04d}",
            "name": reply.call.name,
            "input": reply.call.arguments,
        }

    def whole(self, body: Body, reply: Reply, number: int) -> Body:
        """One finished message."""
        return {
            "id": f"msg_{number:04d}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "fake"),
            "content": [self._block(reply, number)],
            "stop_reason": "tool_use" if reply.call else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }

    def stream(self, body: Body, reply: Reply, number: int) -> Iterator[str]:
        """message_start, one content block, message_delta, message_stop."""
        message = self.whole(body, reply, number)
        block = message["content"][0]
        yield _sse("message_start", {"message": {**message, "content": [], "stop_reason": None}})
        if reply.call is None:
            empty: Body = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": reply.text}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": _arguments(reply.call)}
        yield _sse("content_block_start", {"index": 0, "content_block": empty})
        yield _sse("content_block_delta", {"index": 0, "delta": delta})
        yield _sse("content_block_stop", {"index": 0})
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield _sse("message_delta", {"delta": ending, "usage": message["usage"]})
        yield _sse("message_stop", {})


class Responses:
    """OpenAI Responses: `POST /v1/responses`."""

    name = "responses"

    def turns(self, body: Body) -> list[Turn]:
        """Input items; outputs of tool calls of every kind are tool turns."""
        found = [Turn("system", text_of(body.get("instructions", "")))]
        items = body.get("input", [])
        if isinstance(items, str):
            return [*found, Turn("user", items)]
        for item in items:
            kind = item.get("type", "message")
            if kind == "message":
                role = "system" if item["role"] == "developer" else item["role"]
                found.append(Turn(role, text_of(item["content"])))
            elif kind.endswith("_output"):
                found.append(Turn("tool", text_of(item.get("output", ""))))
        return found

    def tools(self, body: Body) -> list[str]:
        """Plain names; tools inside a namespace appear under their own name as well as `namespace.name`."""
        names: list[str] = []
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                inner = [each["name"] for each in tool.get("tools", [])]
                names += inner + [f"{tool['name']}.{name}" for name in inner]
            else:
                names.append(tool.get("name", tool.get("type", "")))
        return names

    def _item(self, reply: Reply, number: int) -> Body:
        call = reply.call
        if call is None:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            return {"type": "message", "id": f"msg_{number:04d}", "role": "assistant", "content": content}
        base: Body = {"id": f"fc_{number:04d}", "call_id": f"call_{number:04d}", "name": call.name}
        if call.namespace:
            base["namespace"] = call.namespace
        if isinstance(call.arguments, str):
            return {**base, "type": "custom_tool_call", "input": call.arguments}
        return {**base, "type": "function_call", "arguments": json.dumps(call.arguments)}

    def whole(self, body: Body, reply: Reply, number: int) -> Body:
        """One completed response."""
        return {
            "id": f"resp_{number:04d}",
            "object": "response",
            "status": "completed",
            "model": body.get("model", "fake"),
            "output": [self._item(reply, number)],
            "usage": {
                "input_tokens": reply.input_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": reply.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": reply.input_tokens + reply.output_tokens,
            },
        }

    def stream(self, body: Body, reply: Reply, number: int) -> Iterator[str]:
        """created, one output item, completed."""
        response = self.whole(body, reply, number)
        opened = {**response, "status": "in_progress", "output": [], "usage": None}
        yield _sse("response.created", {"response": opened})
        yield _sse("response.output_item.done", {"output_index": 0, "item": response["output"][0]})
        yield _sse("response.completed", {"response": response})


class Chat:
    """OpenAI Chat Completions: `POST …/chat/completions`."""

    name = "chat"

    def turns(self, body: Body) -> list[Turn]:
        """Messages one to one; developer messages count as system."""
        names = {"developer": "system"}
        return [
            Turn(names.get(message["role"], message["role"]), text_of(message.get("content") or ""))
            for message in body.get("messages", [])
        ]

    def tools(self, body: Body) -> list[str]:
        """Function names, and names of free-text tools."""
        return [tool.get("function", tool.get("custom", {}))["name"] for tool in body.get("tools") or []]

    def _message(self, reply: Reply, number: int) -> Body:
        if reply.call is None:
            return {"role": "assistant", "content": reply.text}
        identity: Body = {"index": 0, "id": f"call_{number:04d}"}
        if isinstance(reply.call.arguments, str):
            custom = {"name": reply.call.name, "input": reply.call.arguments}
            call = {**identity, "type": "custom", "custom": custom}
        else:
            function = {"name": reply.call.name, "arguments": _arguments(reply.call)}
            call = {**identity, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _usage(self, reply: Reply) -> Body:
        return {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
        }

    def _frame(self, body: Body, number: int, kind: str, choices: list[Body]) -> Body:
        return {
            "id": f"chatcmpl-{number:04d}",
            "object": kind,
            "created": 0,
            "model": body.get("model", "fake"),
            "choices": choices,
        }

    def whole(self, body: Body, reply: Reply, number: int) -> Body:
        """One finished completion."""
        finish = "tool_calls" if reply.call else "stop"
        choice = {"index": 0, "message": self._message(reply, number), "finish_reason": finish}
        return {
            **self._frame(body, number, "chat.completion", [choice]),
            "usage": self._usage(reply),
        }

    def stream(self, body: Body, reply: Reply, number: int) -> Iterator[str]:
        """Role, content, finish reason, usage, [DONE]."""
        kind = "chat.completion.chunk"
        finish = "tool_calls" if reply.call else "stop"
        opening: Body = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
        yield _data(self._frame(body, number, kind, [opening]))
        delta = self._message(reply, number)
        yield _data(self._frame(body, number, kind, [{"index": 0, "delta": delta, "finish_reason": None}]))
        yield _data(self._frame(body, number, kind, [{"index": 0, "delta": {}, "finish_reason": finish}]))
        yield _data({**self._frame(body, number, kind, []), "usage": self._usage(reply)})
        yield "data: [DONE]\n\n"


class Gemini:
    """Google: `POST …/models/<name>:streamGenerateContent?alt=sse` and `:generateContent`."""

    name = "gemini"

    def turns(self, body: Body) -> list[Turn]:
        """Contents; one that carries a function response counts as a tool turn."""
        found = [Turn("system", text_of(body.get("systemInstruction", "")))]
        for content in body.get("contents", []):
            parts = content.get("parts", [])
            role = "assistant" if content.get("role") == "model" else "user"
            if any("functionResponse" in part for part in parts):
                role = "tool"
            found.append(Turn(role, text_of(parts)))
        return found

    def tools(self, body: Body) -> list[str]:
        """Names of all function declarations."""
        groups = body.get("tools") or []
        return [each["name"] for group in groups for each in group.get("functionDeclarations", [])]

    def whole(self, body: Body, reply: Reply, number: int) -> Body:
        """One candidate."""
        text = reply.text
        if "json" in str(body.get("generationConfig", {}).get("responseMimeType", "")):
            # Side requests (who speaks next, which model) want an object; this one fits them all.
            text = json.dumps({"next_speaker": "user", "reasoning": text, "model_choice": "flash"})
        part: Body = {"text": text}
        if reply.call is not None:
            part = {"functionCall": {"name": reply.call.name, "args": reply.call.arguments}}
        return {
            "candidates": [
                {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {
                "promptTokenCount": reply.input_tokens,
                "candidatesTokenCount": reply.output_tokens,
                "totalTokenCount": reply.input_tokens + reply.output_tokens,
            },
            "modelVersion": "fake",
            "responseId": f"resp_{number:04d}",
        }

    def stream(self, body: Body, reply: Reply, number: int) -> Iterator[str]:
        """A text comes before the end of the stream, so that a host can hang in between."""
        final = self.whole(body, reply, number)
        if reply.call is None:
            content = final["candidates"][0]["content"]
            yield _data({"candidates": [{"index": 0, "content": content}]})
            final["candidates"][0]["content"] = {"role": "model", "parts": []}
        yield _data(final)


def dialect_of(path: str) -> Dialect | None:
    """The dialect that a request path belongs to."""
    bare = path.split("?")[0]
    if bare.endswith("/messages"):
        return Anthropic()
    if bare.endswith("/responses"):
        return Responses()
    if bare.endswith("/chat/completions"):
        return Chat()
    if bare.endswith((":streamGenerateContent", ":generateContent")):
        return Gemini()
    return None


def wants_stream(path: str, body: Body) -> bool:
    """Whether the client asked for a stream."""
    return bool(body.get("stream")) or ":streamGenerateContent" in path
