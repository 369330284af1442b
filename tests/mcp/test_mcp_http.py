"""MCP over HTTP: the three checks before every request, revisions with and without handshake, and streams."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from http_client import HttpServer
from wire_client import COMMAND, MODERN, PATIENCE, envelope, environment

import holdfast

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture
def server(project: Path) -> Iterator[HttpServer]:
    """A server on an empty workspace."""
    with HttpServer(project) as running:
        yield running


def test_a_decision_is_recorded(server: HttpServer, project: Path) -> None:
    """With the token and the right headers the tools work as over stdio."""
    assert not server.call("start", goal="x")["isError"]
    made = server.call("decide", text="Use SQLite", because="one file", action="migrate")
    assert made["structuredContent"]["id"] == "D-1"
    with holdfast.open(project) as workspace:
        assert "D-1" in workspace.session().state["decisions"]["open"]


@pytest.mark.parametrize(
    "shown",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic {}",
        "{}",
        "Bearer {}x",
        "bearer",
        "Bearer é",
        "Bearer {},{}",
    ],
)
def test_a_request_without_the_token_gets_401(server: HttpServer, shown: str | None) -> None:
    """Anything but the exact token gets 401, before anything is read or run."""
    given = shown.format(server.token, server.token) if shown is not None else None
    answer = server.ask("tools/list", Authorization=given)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "tools" not in json.dumps(answer.body)
    for method in ("GET", "DELETE", "OPTIONS"):
        assert server.request(method, Authorization=given).status == 401


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:{}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{}",
        "127.0.0.2:{}",
    ],
)
def test_another_host_name_is_refused(server: HttpServer, host: str | None) -> None:
    """A foreign host name that resolves to the loopback (DNS rebinding) is refused, even with the token."""
    given = host.format(server.port) if host is not None else None
    assert server.ask("tools/list", Host=given).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost.evil.example",
        "null",
        "file://",
        "http://127.0.0.1.evil.example:80",
        "x",
    ],
)
def test_foreign_origins_are_refused(server: HttpServer, origin: str) -> None:
    """A request from a web page of another origin is refused, even with the token."""
    assert server.ask("tools/list", Origin=origin).status == 403


@pytest.mark.parametrize("origin", ["http://localhost", "http://127.0.0.1:3000", "https://[::1]:8080"])
def test_local_origins_are_allowed(server: HttpServer, origin: str) -> None:
    """Tools in a local page work with the token; no CORS permission is given to anybody."""
    answer = server.ask("tools/list", Origin=origin, Host=f"localhost:{server.port}")
    assert answer.status == 200
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_two_host_headers_are_refused(server: HttpServer) -> None:
    """A request with two Host headers is refused: a proxy may have checked the other one."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        own = f"Host: 127.0.0.1:{server.port}\r\n"
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n".encode())
        assert b" 403 " in connection.recv(1000)


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="only Linux shows its sockets there")
def test_only_the_loopback_is_served(server: HttpServer) -> None:
    """The server does not listen on any other address of this machine."""
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{server.port:04X}")
    ]
    assert listening == [f"0100007F:{server.port:04X}"]


def test_the_token_is_readable_by_its_owner_only(project: Path) -> None:
    """The file is created once with mode 0600, is not tracked by git, is not printed, and is reused by the next
    server."""
    with HttpServer(project) as first:
        path = project / ".state" / "local" / "mcp-token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len(first.token) == 43
        assert first.token not in first.said
    with HttpServer(project) as second:
        assert second.token == first.token
    path.chmod(0o644)
    done = subprocess.run(
        [*COMMAND, "--http"], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 7
    assert "is readable by others" in done.stderr
    path.unlink()
    path.symlink_to("/etc/hostname")
    done = subprocess.run(
        [*COMMAND, "--http"], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 7


def test_a_token_that_came_with_a_clone_is_refused(project: Path) -> None:
    """A file that was not created here holds a token that its author knows."""
    local = project / ".state" / "local"
    with HttpServer(project):
        pass
    brought = local / "brought"
    brought.write_text("a-token-that-somebody-else-knows\n")
    brought.chmod(0o600)
    brought.replace(local / "mcp-token")
    done = subprocess.run(
        [*COMMAND, "--http"], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 7
    assert "not created here" in done.stderr
    (local / "mcp-token").unlink()
    with HttpServer(project) as server:
        assert server.ask("tools/list").status == 200
    assert sorted(path.name for path in local.glob("mcp-token*")) == ["mcp-token", "mcp-token.place"]


def test_servers_that_start_concurrently_share_one_token(project: Path) -> None:
    """Whichever server creates the token, all of them use it."""
    with ThreadPoolExecutor(5) as pool:
        servers = list(pool.map(lambda _: HttpServer(project), range(5)))
    try:
        assert len({server.token for server in servers}) == 1
        assert [server.ask("tools/list").status for server in servers] == [200] * 5
    finally:
        for server in servers:
            server.__exit__(None, None, None)


def test_the_token_can_come_from_the_environment(project: Path, tmp_path: Path) -> None:
    """A given token is used and not stored; a short one is refused; without a workspace one is generated and
    printed."""
    given = "a-token-of-our-own-making"
    with HttpServer(project, HOLDFAST_MCP_TOKEN=given) as server:
        assert server.ask("tools/list").status == 200
        assert not (project / ".state" / "local" / "mcp-token").exists()
    short = environment(HOLDFAST_MCP_TOKEN="short")
    done = subprocess.run([*COMMAND, "--http"], cwd=project, env=short, capture_output=True, text=True)
    assert done.returncode == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    with HttpServer(empty) as server:
        server.token = server.said.rsplit(maxsplit=1)[-1]
        assert server.ask("tools/list").status == 200


def test_invalid_requests_get_their_status(server: HttpServer) -> None:
    """Wrong paths, methods, types, sizes and bodies get the matching HTTP status."""
    assert server.request("POST", PING, path="/").status == 404
    assert server.request("PUT", PING).status == 501
    assert server.request("POST", PING, Content_Type="text/plain").status == 415
    assert server.request("POST").status == 411
    assert server.request("POST", Content_Length=str(1 << 40)).status == 413
    assert server.request("POST", Content_Length="-1").status == 411
    assert server.request("POST", b"{").status == 400
    assert server.request("POST", b"[" * 100_000).status == 400
    assert server.request("POST", b"[]").status == 400
    assert server.request("POST", PING).status == 400
    assert server.request("POST", PING, Mcp_Session_Id="guess").status == 404
    assert server.request("GET").status == 400
    assert server.request("GET", MCP_Protocol_Version=MODERN).status == 405
    assert server.request("GET", Accept="text/html").status == 406
    assert server.request("DELETE", MCP_Protocol_Version=MODERN).status == 405
    assert server.request("DELETE").status == 400
    assert server.ask("tools/list").status == 200


def test_headers_must_match_the_body(server: HttpServer) -> None:
    """A routing header that differs from the body is refused."""
    for wrong in (
        {"Mcp_Method": "tools/call"},
        {"Mcp_Method": None},
        {"MCP_Protocol_Version": "2027-01-01"},
        {"MCP_Protocol_Version": None},
    ):
        answer = server.ask("tools/list", **wrong)
        assert answer.status == 400, wrong
        assert answer.body["error"]["code"] == -32020
    call = {"name": "brief", "arguments": {}}
    for name in ("status", None, "=?base64?!!!?=", "=?base64?c3RhdHVz?="):
        assert server.ask("tools/call", call, Mcp_Name=name).body["error"]["code"] == -32020
    assert server.ask("tools/call", call, Mcp_Name="=?base64?YnJpZWY=?=").status == 200
    assert server.ask("no/such").status == 404
    assert server.ask("initialize").status == 404


def test_a_handshake_opens_a_session_that_can_be_closed(server: HttpServer, project: Path) -> None:
    """With a handshake over HTTP there is a session id, the client's name is kept with it, and it can be deleted."""
    about = {"name": "old-editor", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    opened = server.request("POST", json.dumps(hello).encode())
    assert opened.body["result"]["protocolVersion"] == "2025-06-18"
    session = opened.headers["Mcp-Session-Id"]
    started = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert server.request("POST", started, Mcp_Session_Id=session).status == 202
    call = {"name": "start", "arguments": {"goal": "x"}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    version = {"MCP_Protocol_Version": "2025-06-18"}
    answer = server.request("POST", json.dumps(message).encode(), Mcp_Session_Id=session, **version)
    assert answer.body["result"]["isError"] is False
    with holdfast.open(project) as workspace:
        assert [commit.by for commit in workspace.session().log()] == ["old-editor"]
    assert server.request("DELETE", Mcp_Session_Id=session).status == 200
    assert server.request("POST", PING, Mcp_Session_Id=session).status == 404


def events(response: http.client.HTTPResponse) -> Iterator[dict[str, object]]:
    """The messages of a stream."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


@pytest.mark.parametrize("era", ["2025-11-25", MODERN])
def test_a_stream_delivers_changes(server: HttpServer, project: Path, era: str) -> None:
    """With and without handshake, a change by another process arrives on the stream."""
    server.call("start", goal="x")
    uri = "holdfast://current/STATE.md"
    headers = {
        "Host": f"127.0.0.1:{server.port}",
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "MCP-Protocol-Version": era,
    }
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    if era == MODERN:
        params = {"_meta": envelope(), "notifications": {"resourceSubscriptions": [uri]}}
        listen = {"jsonrpc": "2.0", "id": "L", "method": "subscriptions/listen", "params": params}
        headers["Mcp-Method"] = "subscriptions/listen"
        connection.request("POST", "/mcp", json.dumps(listen), headers)
    else:
        params = {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        session = server.request("POST", json.dumps(hello).encode()).headers["Mcp-Session-Id"]
        headers["Mcp-Session-Id"] = session
        subscribe = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": uri}}
        assert server.request("POST", json.dumps(subscribe).encode(), Mcp_Session_Id=session).status == 200
        connection.request("GET", "/mcp", headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    stream = events(response)
    if era == MODERN:
        assert next(stream)["method"] == "notifications/subscriptions/acknowledged"
    else:
        assert response.readline() == b": open\n"
    with holdfast.open(project) as workspace:
        workspace.session().note("by another process")
    told = next(stream)
    assert told["method"] == "notifications/resources/updated"
    assert told["params"]["uri"] == uri  # type: ignore[index]
    connection.close()
    assert server.call("note", text="the server goes on")["isError"] is False


def test_many_idle_connections_do_not_stop_the_server(server: HttpServer) -> None:
    """Connections over the limit are closed, and when others close there is room again."""
    idle = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(100)]
    for connection in idle:
        connection.close()
    for _ in range(50):
        try:
            assert server.ask("tools/list").status == 200
            break
        except (http.client.HTTPException, ConnectionError):
            continue
    else:
        pytest.fail("no room again")


def test_clients_without_a_token_do_not_lock_others_out(server: HttpServer) -> None:
    """However many connections stay silent, a client with the token is answered."""
    silent = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(80)]
    try:
        assert server.ask("tools/list").status == 200
    finally:
        for connection in silent:
            connection.close()


def test_views_are_updated_over_http_too(server: HttpServer, project: Path) -> None:
    """The views show what was written while the server is still running."""
    import time

    server.call("start", goal="x")
    server.call("note", text="y")
    until = time.monotonic() + 10
    while [json.loads(v.read_text())["commits"] for v in project.glob(".state/sessions/*/*/state.json")] != [
        2
    ]:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_port_in_use_is_reported(server: HttpServer, project: Path) -> None:
    """A second server on the same port says so and exits."""
    done = subprocess.run(
        [*COMMAND, "--http", "--port", str(server.port)],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 6
    assert "cannot be used" in done.stderr


def test_a_signal_shuts_the_server_down_cleanly(project: Path) -> None:
    """SIGTERM: status 0, no traceback, views written."""
    with HttpServer(project) as server:
        server.call("start", goal="x")
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    assert len(list(project.glob(".state/sessions/*/*/state.json"))) == 1
    assert os.path.exists(project / ".state" / "local" / "mcp-token")
