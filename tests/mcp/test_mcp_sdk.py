"""The official Python client, in both modes, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from http_client import HttpServer
from wire_client import COMMAND, environment

import holdfast

MODES = ["auto", "legacy", "2026-07-28"]
Work = Callable[[Any], Awaitable[None]]


def over_stdio(project: Path, mode: str, work: Work, **options: Any) -> None:
    """Run ``work`` with a client of a server process."""
    from mcp.client.stdio import StdioServerParameters

    from mcp import Client

    how = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=project, env=environment())

    async def run() -> None:
        async with Client(how, mode=mode, **options) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(run(), 60))


def over_http(server: HttpServer, mode: str, work: Work) -> None:
    """Run ``work`` with a client that sends the token."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from mcp import Client

    async def run() -> None:
        shown = {"Authorization": f"Bearer {server.token}"}
        async with (
            httpx2.AsyncClient(headers=shown) as web,
            Client(streamable_http_client(server.url, http_client=web), mode=mode) as client,
        ):
            await work(client)

    asyncio.run(asyncio.wait_for(run(), 60))


async def whole_day(client: Any) -> None:
    """Every kind of request that the client has for a server like ours."""
    assert len((await client.list_tools()).tools) == 13
    refused = await client.call_tool("decide", {"text": "x", "because": "y"})
    assert refused.is_error
    assert "start" in refused.content[0].text
    await client.call_tool("start", {"goal": "Ship it"})
    made = await client.call_tool("decide", {"text": "Use SQLite", "because": "one file"})
    assert made.structured_content["id"] == "D-1"
    for tool, arguments in (
        ("brief", {}),
        ("status", {}),
        ("search", {"text": "sqlite"}),
        ("settle", {"id": "D-1", "outcome": "fine"}),
        ("checkpoint", {"message": "half way"}),
        ("note", {"text": "a fact"}),
        ("loop", {"do": "add", "text": "why?"}),
        ("task", {"do": "add", "text": "do it"}),
        ("phase", {"do": "declare", "names": ["a", "b"]}),
        ("handoff", {}),
        ("act", {}),
    ):
        result = await client.call_tool(tool, arguments)  # the client checks it against the output schema
        assert not result.is_error, (tool, result.content[0].text)
    for resource in (await client.list_resources()).resources:
        assert (await client.read_resource(resource.uri)).contents[0].text
    assert len((await client.list_resource_templates()).resource_templates) == 3
    assert len((await client.list_prompts()).prompts) == 17
    prompt = await client.get_prompt("pause", {"text": "for lunch"})
    assert "/pause for lunch" in prompt.messages[0].content.text


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_over_stdio(project: Path, mode: str) -> None:
    """Tools, resources, templates and prompts through the client that most programs use."""
    over_stdio(project, mode, whole_day)


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_over_http(project: Path, mode: str) -> None:
    """The same with the token over HTTP."""
    with HttpServer(project) as server:
        over_http(server, mode, whole_day)


def test_the_official_client_gets_notifications_without_handshake(project: Path) -> None:
    """`listen` yields when another process wrote."""
    from mcp.client.subscriptions import ResourceUpdated

    uri = "holdfast://current/state.json"

    async def work(client: Any) -> None:
        await client.call_tool("start", {"goal": "x"})
        async with client.listen(resource_subscriptions=[uri]) as stream:
            with holdfast.open(project) as workspace:
                workspace.session().note("by another process")
            async for event in stream:
                assert event == ResourceUpdated(uri=uri)
                break

    over_stdio(project, "auto", work)


def test_the_official_client_gets_notifications_with_handshake(project: Path) -> None:
    """`subscribe_resource` leads to a notification when another process wrote."""
    from mcp import MCPDeprecationWarning

    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async def work(client: Any) -> None:
        await client.call_tool("start", {"goal": "x"})
        with pytest.warns(MCPDeprecationWarning):
            await client.subscribe_resource("holdfast://current/state.json")
        with holdfast.open(project) as workspace:
            workspace.session().note("by another process")
        for _ in range(200):
            if any("state.json" in str(message) for message in heard):
                return
            await asyncio.sleep(0.05)
        pytest.fail("nothing was heard")

    over_stdio(project, "legacy", work, message_handler=hear)


def test_concurrent_calls_through_one_client(project: Path) -> None:
    """A hundred concurrent calls of one client are a hundred commits."""

    async def work(client: Any) -> None:
        await client.call_tool("start", {"goal": "x"})
        calls = [client.call_tool("note", {"text": f"note {n}"}) for n in range(100)]
        results = await asyncio.gather(*calls)
        assert sorted(result.structured_content["version"] for result in results) == list(range(2, 102))

    over_stdio(project, "auto", work)


def test_the_name_of_the_client_is_taken_from_its_handshake(project: Path) -> None:
    """The actor of the commits is the client's name."""
    from mcp_types import Implementation

    async def work(client: Any) -> None:
        await client.call_tool("start", {"goal": "x"})

    for mode in ("auto", "legacy"):
        over_stdio(project, mode, work, client_info=Implementation(name=f"editor-{mode}", version="1"))
        with holdfast.open(project) as workspace:
            assert workspace.session().peek().state["by"] == f"editor-{mode}"
    assert os.environ.get("HOLDFAST_AGENT") is None
