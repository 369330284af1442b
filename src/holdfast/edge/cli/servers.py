"""mcp."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output


def _mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", action="store_true", help="answer HTTP on the loopback instead of standard input"
    )
    parser.add_argument(
        "--port", type=int, default=8722, metavar="N", help="with --http (default: 8722; 0: any free one)"
    )


def _mcp(arguments: argparse.Namespace) -> Output:
    from holdfast.edge.mcp.offer import WorkspaceOffer
    from holdfast.edge.mcp.pool import WorkspacePool
    from holdfast.edge.mcp.protocol import Server

    pool = WorkspacePool(arguments.workspace, arguments.session)
    server = Server(WorkspaceOffer(pool))
    try:
        if arguments.http:
            from holdfast.edge.mcp.http import serve_here

            serve_here(server, pool, arguments.port)
        else:
            from holdfast.edge.mcp.stdio import serve

            serve(server)
    finally:
        pool.close()
    return Output("", {})


COMMANDS = {
    "mcp": Command(
        "Run the MCP server for this workspace.",
        _mcp_arguments,
        _mcp,
        ("holdfast mcp", "holdfast mcp --workspace ~/project", "holdfast mcp --http --port 8722"),
    ),
}
