"""What a tool is, how a client sees it, and how it is called."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.edge.mcp import arguments as check
from holdfast.edge.mcp import hints
from holdfast.edge.mcp.pool import Desk
from holdfast.edge.mcp.wire import Json, compact
from holdfast.errors import HoldfastError
from holdfast.typed import Record
from holdfast.views.markdown import visible


class Said(Record):
    """What a tool answers: data, and a text for the model if it should read something else than the data."""

    data: Json
    text: str = ""


class Tool(Record):
    name: str
    description: str
    takes: Json
    required: tuple[str, ...]
    gives: Json
    run: Callable[[Desk, str, Json], Said]
    reads: bool = False
    """Writes nothing."""
    slow: bool = False

    def shown(self) -> Json:
        """The tool as ``tools/list`` shows it."""
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
        }

    def schema(self) -> Json:
        schema: Json = {"type": "object", "properties": self.takes}
        if self.required:
            schema["required"] = list(self.required)
        return {**schema, "additionalProperties": False}


def call(tool: Tool, desk: Desk, client: str, given: Json) -> Json:
    """Run a tool. What a rule refuses comes back as a result that says what is allowed."""
    try:
        said = tool.run(desk, client, check.checked(tool.name, tool.takes, tool.required, given))
    except HoldfastError as error:
        text = visible(f"{error.code}: {error.message} {hints.text(error.hint)}".rstrip())
        return {"content": [{"type": "text", "text": text}], "isError": True}
    text = said.text or compact(said.data)
    return {"content": [{"type": "text", "text": text}], "structuredContent": said.data, "isError": False}
