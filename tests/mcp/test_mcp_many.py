"""Several servers on one workspace, and servers that are killed: no acknowledged call is lost."""

from __future__ import annotations

import random
import signal
import threading
from pathlib import Path

from wire_client import MODERN, WireClient

import holdfast

SERVERS = 7
CALLS = 200


def test_seven_servers_lose_nothing(project: Path) -> None:
    """200 concurrent calls through 7 server processes, all sent before any is awaited: each is in the log once."""
    clients = [
        WireClient(project, MODERN if n % 2 else "2025-11-25", name=f"agent-{n}") for n in range(SERVERS)
    ]
    try:
        clients[0].do("start", goal="x")
        given: dict[str, str] = {}
        failed: list[object] = []

        def work(number: int) -> None:
            client = clients[number]
            try:
                texts = [f"decision {call}" for call in range(number, CALLS, SERVERS)]
                begun = [
                    client.begin("tools/call", name="decide", arguments={"text": text, "because": "y"})
                    for text in texts
                ]
                for text, request in zip(texts, begun, strict=True):
                    given[text] = client.wait(request)["structuredContent"]["id"]
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(SERVERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
    finally:
        for client in clients:
            client.__exit__(None, None, None)
    with holdfast.open(project) as workspace:
        made = [e.data for c in workspace.session().log() for e in c.events if e.type == "decision.made"]
        state = workspace.session().state
    assert len(made) == len(given) == CALLS
    assert {data["text"]: data["id"] for data in made} == given
    assert len(set(given.values())) == CALLS
    assert state["decisions"]["made"] == CALLS


def test_concurrent_starts_under_one_op(project: Path) -> None:
    """Seven servers start a session under one op concurrently: there is one session."""
    clients = [WireClient(project, MODERN) for _ in range(SERVERS)]
    try:
        begun = [c.begin("tools/call", name="start", arguments={"goal": "x", "op": "first"}) for c in clients]
        names = {
            c.wait(request)["structuredContent"]["session"] for c, request in zip(clients, begun, strict=True)
        }
    finally:
        for client in clients:
            client.__exit__(None, None, None)
    assert len(names) == 1


def test_acknowledged_calls_survive_kill_9(project: Path) -> None:
    """kill -9 at random times, even during calls: every acknowledged note is there, none twice."""
    chance = random.Random(7)
    answered: list[str] = []
    with WireClient(project, MODERN) as client:
        client.do("start", goal="x")
    for turn in range(12):
        client = WireClient(project, MODERN)
        try:
            texts = [f"note {turn}.{n}" for n in range(8)]
            begun = [
                client.begin("tools/call", name="note", arguments={"text": text, "op": text})
                for text in texts
            ]
            for text, request in zip(texts[: chance.randrange(9)], begun, strict=False):
                client.wait(request)
                answered.append(text)
            client.process.send_signal(signal.SIGKILL)
            client.process.wait()
        finally:
            client.__exit__(None, None, None)
    with WireClient(project, MODERN) as client:
        again = [client.do("note", text=text, op=text)["repeated"] for text in answered]
        assert all(again)
        client.do("brief")
    with holdfast.open(project) as workspace:
        notes = [
            e.data["text"] for c in workspace.session().log() for e in c.events if e.type == "note.added"
        ]
        assert workspace.doctor() == []
    assert set(answered) <= set(notes)
    assert len(notes) == len(set(notes))
