"""The protocol byte by byte: hostile input never stops a server, and standard output has only messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from wire_client import MODERN, Refusal, WireClient, envelope, environment

import holdfast
from holdfast.core.text import TEXT_CAP
from holdfast.testing.hostile import TEXTS

DESIGN = [
    "$2",
    r"\1",
    r"\g<0>",
    "|",
    "---",
    "<<<<<<<",
    "`",
    "a\rb",
    "🙂",
    "\u202eabc\u202c",
    "[id]",
    "\0",
    "a\nb",
]


def test_texts_are_stored_unchanged(project: Path) -> None:
    """The log has exactly what a client stores; only an empty text is refused."""
    texts = list(dict.fromkeys([*DESIGN, *TEXTS]))
    with WireClient(project, MODERN) as client:
        client.do("start", goal="x")
        kept = [text for text in texts if not client.call("note", text=text)["isError"]]
    with holdfast.open(project) as workspace:
        notes = [
            e.data["text"] for c in workspace.session().log() for e in c.events if e.type == "note.added"
        ]
    assert notes == kept
    assert [text for text in texts if text not in kept] == ["", " "]


def test_an_unpaired_surrogate_is_handled(project: Path) -> None:
    """An unpaired surrogate is refused or stored, and the server keeps running."""
    with WireClient(project, MODERN) as client:
        client.do("start", goal="x")
        client.call("note", text="\ud800")
        client.refused("note", text="x", session="\udfff")
        client.do("note", text="goes on")


def test_a_text_up_to_the_cap_is_kept_and_one_over_it_is_refused(working: WireClient) -> None:
    """A megabyte of escapes is stored; one character more is refused with an alternative."""
    working.do("note", text="\u20ac" * TEXT_CAP)
    said = working.refused("note", text="x" * (TEXT_CAP + 1))
    assert "HF-TOO-LARGE" in said
    assert "file" in said


def garbage() -> list[bytes]:
    """Lines that are no messages, or malformed messages."""
    deep = b'{"jsonrpc":"2.0","id":1,"method":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    odd: list[Any] = [
        [],
        [[]],
        [1],
        None,
        True,
        7,
        "text",
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": {}, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": 7, "name": "x"}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/list",
            "params": {"_meta": {**envelope(), "x": 1}, "cursor": "z"},
        },
        {"jsonrpc": "2.0", "id": 1, "method": "x" * 100_000},
        {"jsonrpc": "2.0", "id": 1, "method": "__class__"},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 7}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"_meta": envelope(), "name": ["brief"]},
        },
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"_meta": envelope(), "name": "brief", "arguments": []},
        },
        {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": envelope()}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {"_meta": envelope(), "notifications": {"resourceSubscriptions": "all"}},
        },
    ]
    lines = [b"{", b"\xff\xfe", b"\0", b'{"jsonrpc":"2.0","id":1,"method":NaN}', b"9" * 10_000, deep]
    return lines + [json.dumps(message).encode() for message in odd]


def test_garbage_gets_an_error_and_the_server_continues(project: Path) -> None:
    """Each bad line gets one error with a protocol code, and the next good one is answered."""
    with WireClient(project, MODERN) as client:
        for line in garbage():
            client.write(line + b"\n")
            answer = client.line()
            assert answer["error"]["code"] in (-32700, -32600, -32601, -32602), line[:80]
            assert len(json.dumps(answer)) < 2_000
        client.do("start", goal="still here")


def test_notifications_and_blank_lines_are_not_answered(project: Path) -> None:
    """Blank lines, notifications and stray responses are ignored."""
    with WireClient(project, MODERN) as client:
        client.write(b"\n  \n\r\n")
        client.send({"jsonrpc": "2.0", "method": "notifications/anything"})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
        client.send({"jsonrpc": "2.0", "id": 5, "result": {}})
        assert client.ask("server/discover")["supportedVersions"] == [MODERN]


def test_an_overlong_message_is_refused_and_skipped(project: Path) -> None:
    """A message over the limit gets one error, the rest of its line is skipped, and the server continues."""
    with WireClient(project, MODERN) as client:
        chunk = b"x" * (1 << 20)
        for _ in range(40):
            client.write(chunk)
        client.write(b"\n")
        assert "at most" in client.line()["error"]["message"]
        client.do("start", goal="still here")


def test_a_message_may_come_in_pieces(project: Path) -> None:
    """A line that arrives byte by byte is the same line; two in one piece are two."""
    with WireClient(project, MODERN) as client:
        message = {"jsonrpc": "2.0", "id": 900, "method": "tools/list", "params": {"_meta": envelope()}}
        line = json.dumps(message).encode() + b"\n"
        for place in range(len(line)):
            client.write(line[place : place + 1])
        assert len(client.wait(900)["tools"]) == 13
        client.write(line + line)
        client.wait(900)
        client.wait(900)


def test_the_envelope_is_checked(project: Path) -> None:
    """Without handshake, missing capabilities or an unknown revision is an error that lists the supported ones."""
    with WireClient(project, MODERN) as client:
        number = client.begin("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"})
        with pytest.raises(Refusal) as wrong:
            client.wait(number)
        assert wrong.value.code == -32022
        assert wrong.value.data == {"supported": [MODERN], "requested": "2099-01-01"}
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN}
        client.send({"jsonrpc": "2.0", "id": 77, "method": "tools/list", "params": {"_meta": meta}})
        with pytest.raises(Refusal) as lacking:
            client.wait(77)
        assert lacking.value.code == -32602
        for removed in ("ping", "logging/setLevel", "resources/subscribe"):
            with pytest.raises(Refusal) as gone:
                client.ask(removed, uri="holdfast://sessions", level="info")
            assert gone.value.code == -32601


def test_lists_can_be_cached_and_resources_cannot(project: Path) -> None:
    """Without handshake a list may be cached, and the contents of a resource may not."""
    with WireClient(project, MODERN) as client:
        client.do("start", goal="x")
        assert client.ask("tools/list")["ttlMs"] > 0
        read = client.ask("resources/read", uri="holdfast://current/STATE.md")
        assert (read["ttlMs"], read["cacheScope"]) == (0, "private")


def test_the_handshake_comes_first(project: Path) -> None:
    """A handshake request before initialize is refused; an unknown revision is answered with ours."""
    with WireClient(project, MODERN) as client:
        client.send({"jsonrpc": "2.0", "id": 50, "method": "tools/list"})
        with pytest.raises(Refusal) as early:
            client.wait(50)
        assert early.value.code == -32600
        about = {"name": "x", "version": "1"}
        params = {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": about}
        client.send({"jsonrpc": "2.0", "id": 51, "method": "initialize", "params": params})
        assert client.line()["result"]["protocolVersion"] == "2025-11-25"


def test_batches_belong_to_one_revision(project: Path) -> None:
    """2025-03-26 answers a list with a list; no other revision takes one."""
    ping = {"jsonrpc": "2.0", "method": "ping"}
    with WireClient(project, "2025-03-26") as client:
        client.send(
            [{**ping, "id": "a"}, {"jsonrpc": "2.0", "method": "notifications/x"}, {**ping, "id": "b"}]
        )
        assert [answer["id"] for answer in client.line()] == ["a", "b"]
    with WireClient(project, "2025-06-18") as client:
        client.send([{**ping, "id": "a"}])
        assert client.line()["error"]["code"] == -32600


def test_a_slow_query_does_not_block_others(project: Path) -> None:
    """While the whole log is searched, a decision is recorded and answered."""
    with holdfast.open(project) as workspace:
        session = workspace.start("x")
        for _ in range(80):
            session.note("Not what is looked for. " * 40_000)
    with WireClient(project, MODERN) as client:
        client.do("status")
        slow = client.begin("tools/call", name="search", arguments={"text": '"not there at all"'})
        quick = client.begin("tools/call", name="note", arguments={"text": "x"})
        assert client.line()["id"] == quick
        assert client.wait(slow)["structuredContent"]["events"] == []


def test_standard_output_has_only_messages(project: Path) -> None:
    """Whatever prints goes to the log, which is standard error."""
    program = (
        "import sys; from holdfast.edge.mcp import tools, verbs; from holdfast.edge.cli import script\n"
        "def loud(session, given):\n    print('noise'); import os; os.write(1, b'more noise\\n'); 1 / 0\n"
        "tools.BY_NAME['note'] = tools.BY_NAME['note']._replace(run=verbs.on_session(loud))\n"
        "sys.argv[1:] = ['mcp']; script()"
    )
    import wire_client

    before = wire_client.COMMAND
    wire_client.COMMAND = [before[0], "-c", program]
    try:
        with WireClient(project, MODERN) as client:
            client.do("start", goal="x")
            with pytest.raises(Refusal) as failed:
                client.call("note", text="x")
            assert failed.value.code == -32603
            client.do("decide", text="goes on", because="it must")
            assert client.close() == 0
            log = client.log()
            assert "noise" in log
            assert "ZeroDivisionError" in log
    finally:
        wire_client.COMMAND = before


def test_a_server_ends_with_its_client(project: Path) -> None:
    """When standard input ends, the server writes stale views and exits with status 0."""
    with WireClient(project, MODERN) as client:
        client.do("start", goal="x")
        client.do("note", text="y")
        assert client.close() == 0
    (view,) = project.glob(".state/sessions/*/*/state.json")
    assert json.loads(view.read_text())["commits"] == 2


def test_a_server_whose_reader_is_gone_ends(project: Path) -> None:
    """When the client died, the server exits without an error."""
    client = WireClient(project, MODERN)
    client.do("start", goal="x")
    assert client.process.stdout is not None
    assert client.process.stdin is not None
    client.process.stdout.close()
    try:
        client.begin("tools/list")
        client.begin("tools/list")
    except BrokenPipeError:
        pass
    assert client.process.wait(20) == 0
    assert client.process.stderr is not None
    assert b"Traceback" not in client.process.stderr.read()
    client.process.stderr.close()
    try:
        client.process.stdin.close()
    except BrokenPipeError:
        pass


def test_the_environment_of_the_client_is_not_stored(project: Path) -> None:
    """Nothing of the environment that a server was started with is in any file of the workspace."""
    with WireClient(project, MODERN, SOME_VALUE="a-value-that-nobody-may-find") as client:
        client.do("start", goal="x")
        client.do("brief")
        client.do("handoff")
        client.close()
    found = [
        path for path in project.rglob("*") if path.is_file() and b"nobody-may-find" in path.read_bytes()
    ]
    assert found == []


def test_a_client_cannot_choose_a_harmful_name(project: Path) -> None:
    """A client's name is cut to one visible line."""
    with WireClient(project, MODERN, name="a\x1b[31m\u202e\nb" + "c" * 500) as client:
        client.do("start", goal="x")
    with WireClient(project, MODERN, name="") as client:
        client.do("note", text="x")
    with holdfast.open(project) as workspace:
        first, second = (commit.by for commit in workspace.session().log())
    assert first.startswith("a[31m b")
    assert len(first) <= 60
    assert second == "mcp"


def test_impossible_arguments_are_refused(working: WireClient) -> None:
    """Impossible timestamps, ids and names are reported as such, and nothing is written."""
    before = working.do("status")["version"]
    assert "HF-" in working.refused("search", since="the day before")
    assert "HF-" in working.refused("settle", id="../../etc/passwd", outcome="x")
    assert "HF-" in working.refused("note", text="x", session="../../../etc")
    assert "HF-" in working.refused("note", text="x", op="")
    assert "HF-" in working.refused("note", text="x", op="o" * 10_000)
    assert "HF-" in working.refused("loop", do="explore", id="LOOP-\0")
    assert "HF-" in working.refused("act", action="rm -rf /")
    assert working.do("search", id="D-99")["events"] == []
    assert working.do("status")["version"] == before


def test_starting_is_quick(project: Path) -> None:
    """The first answer comes well under a second after the start."""
    times = []
    for _ in range(5):
        began = time.monotonic()
        with WireClient(project, MODERN) as client:
            client.ask("server/discover")
            times.append(time.monotonic() - began)
    assert min(times) < 1.0, f"{times} ({os.cpu_count()} cores)"


def test_a_server_loads_nothing_heavy(project: Path) -> None:
    """No heavy module is loaded at start, whatever the clock of this machine says."""
    program = (
        "import sys, atexit, os; from holdfast.edge.cli import main\n"
        "main(['mcp'])\n"
        "heavy = {'asyncio', 'pydantic', 'mcp', 'inspect', 'dataclasses', 'logging', 'ssl', 'socket', 'http.server'}\n"
        "sys.stderr.write('loaded: ' + ' '.join(sorted(heavy & set(sys.modules))) + '.\\n')"
    )
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": envelope()}}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        env=environment(),
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert len(json.loads(done.stdout)["result"]["tools"]) == 13
    assert "loaded: ." in done.stderr
