"""Tools: definition, listing and calls."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.edge.mcp import arguments as check
from holdfast.edge.mcp import hints, wire
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.wire import Json, compact
from holdfast.errors import HoldfastError
from holdfast.typed import Record
from holdfast.views.markdown import visible, visible_json


class ToolResult(Record):
    """The result of a tool: data, and a text for the model if it differs from the data."""

    data: Json
    text: str = ""


class Tool(Record):
    name: str
    description: str
    takes: Json
    required: tuple[str, ...]
    gives: Json
    run: Callable[[WorkspacePool, str, Json], ToolResult]
    reads: bool = False
    """The tool writes nothing."""
    slow: bool = False
    always: bool = False
    """Claude Code has the tool in every request; it looks up all others before it can call them."""

    def shown(self) -> Json:
        """The tool's entry in ``tools/list``."""
        annotations: Json = {"readOnlyHint": True} if self.reads else {"destructiveHint": False}
        schema = self.schema()
        always = [name for name, kind in self.gives.items() if not kind.get("optional")]
        gives = {
            name: {k: v for k, v in kind.items() if k != "optional"} for name, kind in self.gives.items()
        }
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema,
            "outputSchema": {"type": "object", "properties": gives, "required": always},
            "annotations": {**annotations, "openWorldHint": False},
            **({"_meta": {wire.ALWAYS_KEY: True}} if self.always else {}),
        }

    def schema(self) -> Json:
        schema: Json = {"type": "object", "properties": self.takes}
        if self.required:
            schema["required"] = list(self.required)
        return {**schema, "additionalProperties": False}


def call(tool: Tool, pool: WorkspacePool, client: str, given: Json) -> Json:
    """Run a tool. A refusal is a result that says what is allowed."""
    try:
        said = tool.run(pool, client, check.checked(tool.name, tool.takes, tool.required, given))
    except HoldfastError as error:
        text = visible(f"{error.code}: {error.message} {hints.text(error.hint)}".rstrip())
        return {"content": [{"type": "text", "text": text}], "isError": True}
    text = said.text or visible_json(compact(said.data))
    return {"content": [{"type": "text", "text": text}], "structuredContent": said.data, "isError": False}
