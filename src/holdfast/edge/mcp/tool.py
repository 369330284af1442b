"""Tools: definition, listing and calls."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.edge.mcp import arguments as check
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.wire import Json, compact
from holdfast.errors import HoldfastError, NoSession
from holdfast.typed import Record
from holdfast.views.markdown import visible


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

    def shown(self) -> Json:
        """The tool's entry in ``tools/list``."""
        hints: Json = {"readOnlyHint": True} if self.reads else {"destructiveHint": False}
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
            "annotations": {**hints, "openWorldHint": False},
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
        text = visible(f"{error.code}: {error.message} {in_tools(error)}".rstrip())
        return {"content": [{"type": "text", "text": text}], "isError": True}
    text = said.text or compact(said.data)
    return {"content": [{"type": "text", "text": text}], "structuredContent": said.data, "isError": False}


_IN_TOOLS = (
    ("`holdfast skip-to PHASE --because WHY` jumps", "The tool phase with do=skip_to jumps"),
    ("`holdfast phase NAME` enters one", "The tool phase with do=enter enters one"),
    ("Choose one with `holdfast phase NAME`", "Choose one with the tool phase, do=enter"),
    ("Add --help to see the arguments and examples.", ""),
    ("Run `holdfast sessions` to see what there is.", "The resource holdfast://sessions lists the sessions."),
)


def in_tools(error: HoldfastError) -> str:
    """What the caller can do, in terms of tools where the error speaks of commands."""
    if isinstance(error, NoSession):
        return "Call the tool start with the goal of the work, or name a session of holdfast://sessions."
    hint = error.hint
    for words, instead in _IN_TOOLS:
        hint = hint.replace(words, instead)
    return hint
