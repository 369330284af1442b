"""The smallest MCP server over stdio: its one tool, `note`, appends a text to the file named as argument."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "note",
    "description": "Keep a note.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of one request, or None for a method that this server does not have."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tiny", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with open(sys.argv[1], "a") as handle:
            handle.write(params["arguments"]["text"] + "\n")
        return {"content": [{"type": "text", "text": "noted"}]}
    return {} if method == "ping" else None


def main() -> None:
    """Answer line by line until the client closes."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        result = answer(message["method"], message.get("params", {}))
        if result is None:
            reply["error"] = {"code": -32601, "message": "no such method"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
