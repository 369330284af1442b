"""The server that the conformance suite expects (its tools, resources and prompts), on our own protocol and transport.

What it tests is therefore `holdfast.edge.mcp.protocol` and `holdfast.edge.mcp.http`, not the things served here. Run it
as `python everything.py`: it prints its address and serves until it is ended.
"""

from __future__ import annotations

import time
from typing import Any

from holdfast.edge.mcp import wire
from holdfast.edge.mcp.http import PATH, Listener
from holdfast.edge.mcp.protocol import Server
from holdfast.edge.mcp.wire import Caller, Failure, Json, NoResource

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
EMBEDDED = {
    "type": "resource",
    "resource": {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "An embedded resource.",
    },
}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


CONTENTS: dict[str, list[Json]] = {
    "test_logging_tool": [text("This tool has nothing to log.")],
    "test_streaming_elicitation": [text("This tool asks nothing.")],
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [EMBEDDED],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        {**EMBEDDED, "resource": {**EMBEDDED["resource"], "uri": "test://mixed-content-resource"}},  # type: ignore[dict-item]
    ],
}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


class Everything:
    """The offer of the fixture."""

    name = "everything"
    version = "1"
    instructions = "A fixture of the conformance suite."

    def tools(self) -> list[Json]:
        names = [*CONTENTS, "test_error_handling", "test_tool_with_progress", "test_missing_capability"]
        plain: Json = {"type": "object", "properties": {}}
        shown = [{"name": name, "description": f"Fixture {name}.", "inputSchema": plain} for name in names]
        last = {"name": "json_schema_2020_12_tool", "description": "A schema.", "inputSchema": SCHEMA_2020}
        return [*shown, last]

    def call(self, name: str, arguments: Json, caller: Caller) -> Json:
        if name == "test_error_handling":
            return {
                "content": [text("This tool intentionally returns an error for testing")],
                "isError": True,
            }
        if name == "test_tool_with_progress":
            token = caller.meta.get("progressToken")
            for done in (0, 50, 100):
                if token is not None:
                    said = {"progressToken": token, "progress": done, "total": 100}
                    caller.notify("notifications/progress", said)
                time.sleep(0.02)
            return {"content": [text("done")]}
        if name == "test_missing_capability":
            needed = {"requiredCapabilities": {"sampling": {}}}
            raise Failure(wire.MISSING_CAPABILITY, "The client must be able to sample.", needed)
        if name not in CONTENTS:
            raise Failure(wire.INVALID_PARAMS, f"There is no tool {name[:40]}.")
        return {"content": CONTENTS[name]}

    def resources(self) -> list[Json]:
        return [
            {"uri": "test://static-text", "name": "text", "description": "Text.", "mimeType": "text/plain"},
            {
                "uri": "test://static-binary",
                "name": "binary",
                "description": "Bytes.",
                "mimeType": "image/png",
            },
            {"uri": "test://watched-resource", "name": "watched", "description": "Watched."},
        ]

    def templates(self) -> list[Json]:
        template = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "Any id."}
        return [{**template, "mimeType": "application/json"}]

    def read(self, uri: str, caller: Caller) -> list[Json]:
        if uri == "test://static-binary":
            return [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]
        if uri.startswith("test://template/") and uri.endswith("/data"):
            name = uri.split("/")[3]
            return [
                {
                    "uri": uri,
                    "mimeType": "application/json",
                    "text": f'{{"id": "{name}", "templateTest": true}}',
                }
            ]
        if uri in ("test://static-text", "test://watched-resource"):
            return [{"uri": uri, "mimeType": "text/plain", "text": "This is the content of the resource."}]
        raise NoResource(uri)

    def mark(self, uri: str) -> Any:
        return 1 if uri.startswith("test://") else None

    def prompts(self) -> list[Json]:
        return [
            {
                "name": name,
                "description": f"Fixture {name}.",
                "arguments": [
                    {"name": argument, "description": "Any.", "required": True} for argument in takes
                ],
            }
            for name, takes in PROMPTS.items()
        ]

    def prompt(self, name: str, arguments: Json, caller: Caller) -> Json:
        if name not in PROMPTS:
            raise Failure(wire.INVALID_PARAMS, f"There is no prompt {name[:40]}.")
        missing = [argument for argument in PROMPTS[name] if argument not in arguments]
        if missing:
            raise Failure(wire.INVALID_PARAMS, f"{', '.join(missing)} is missing.")
        contents: list[Json] = [text("This is a simple prompt for testing.")]
        if name == "test_prompt_with_arguments":
            contents = [text(f"arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        elif name == "test_prompt_with_embedded_resource":
            resource = {"uri": arguments["resourceUri"], "mimeType": "text/plain", "text": "Embedded."}
            contents = [{"type": "resource", "resource": resource}, text("Please process it.")]
        elif name == "test_prompt_with_image":
            contents = [IMAGE, text("Please analyse it.")]
        return {"messages": [{"role": "user", "content": content} for content in contents]}

    def slow(self, method: str, params: Json) -> bool:
        return False

    def idle(self) -> None:
        """There is no deferred work."""


def main() -> None:
    listener = Listener(Server(Everything()), 0, token=None)
    print(f"http://127.0.0.1:{listener.server_port}{PATH}", flush=True)
    listener.run()


if __name__ == "__main__":
    main()
