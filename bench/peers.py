"""Alternatives that a user might pick: real libraries, used as documented."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Collection, Iterator
from time import perf_counter_ns
from typing import Any
from uuid import UUID

from bench.contender import RAW_SQLITE, Appender, Contender, Racer, RefusedError, Step, record
from bench.raw import settle

LANGGRAPH = ("langgraph.checkpoint.sqlite",)
OPENAI = ("agents",)
EVENTSOURCING = ("eventsourcing.sqlite",)
SESSION = "bench"
AGGREGATE = UUID(int=7)
_encode = json.JSONEncoder(separators=(",", ":")).encode


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, name)


# LangGraph


def _saver(folder: str) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver(sqlite3.connect(_path(folder, "checkpoints.db"), check_same_thread=False))


def _checkpoint(number: int, value: Any) -> dict[str, Any]:
    from langgraph.checkpoint.base import empty_checkpoint

    checkpoint: dict[str, Any] = dict(empty_checkpoint())
    checkpoint["channel_values"] = {"state": value}
    checkpoint["channel_versions"] = {"state": number + 1}
    return checkpoint


def _put(saver: Any, config: Any, number: int, value: Any) -> Any:
    metadata = {"source": "loop", "step": number, "parents": {}}
    return saver.put(config, _checkpoint(number, value), metadata, {"state": number + 1})


def _thread() -> dict[str, Any]:
    return {"configurable": {"thread_id": SESSION, "checkpoint_ns": ""}}


class LangGraph(Contender):
    name = "langgraph"
    about = "SqliteSaver.put of a checkpoint with a small constant state"
    limit = RAW_SQLITE
    needs = LANGGRAPH

    def fill(self, folder: str, count: int) -> None:
        """One real checkpoint, copied under earlier ids: the same table as after ``count`` puts."""
        saver = _saver(folder)
        saver.setup()
        if count:
            _put(saver, _thread(), count, record(count))
            row = saver.conn.execute("SELECT type, checkpoint, metadata FROM checkpoints").fetchone()
            names = (f"00000000-0000-6000-8000-{number:012x}" for number in range(count - 1))
            saver.conn.executemany(
                "INSERT INTO checkpoints VALUES (?, '', ?, NULL, ?, ?, ?)",
                ((SESSION, name, *row) for name in names),
            )
            saver.conn.commit()
            settle(saver.conn)
        saver.conn.close()

    def appender(self, folder: str) -> Appender:
        return _LangGraphAppender(folder)

    def load(self, folder: str) -> int:
        saver = _saver(folder)
        found = saver.get_tuple(_thread())
        saver.conn.close()
        return int(found.metadata["step"])


class _LangGraphAppender(Appender):
    def __init__(self, folder: str) -> None:
        self.saver = _saver(folder)
        self.config: Any = _thread()
        self.number = 0

    def append(self) -> None:
        self.number += 1
        self.config = _put(self.saver, self.config, self.number, record(self.number))

    def close(self) -> None:
        self.saver.conn.close()


class LangGraphUpdate(Racer):
    name = "langgraph update"
    about = "SqliteSaver: get_tuple, add one, put, as two runs of one thread do"
    needs = LANGGRAPH
    counts_updates = True

    def prepare(self, folder: str) -> None:
        saver = _saver(folder)
        _put(saver, _thread(), 0, 0)
        saver.conn.close()

    def worker(self, folder: str, index: int) -> Step:
        saver = _saver(folder)

        def step(number: int) -> None:
            found = saver.get_tuple(_thread())
            _put(saver, found.config, number, found.checkpoint["channel_values"]["state"] + 1)

        return step

    def survivors(self, folder: str) -> int:
        saver = _saver(folder)
        value = saver.get_tuple(_thread()).checkpoint["channel_values"]["state"]
        saver.conn.close()
        return int(value)


# OpenAI Agents


def _item(number: int, worker: int = 0) -> Any:
    return {"role": "user", "content": _encode(record(number, worker))}


def _openai(folder: str) -> Any:
    from agents import SQLiteSession

    return SQLiteSession(SESSION, _path(folder, "sessions.db"))


class OpenAI(Contender):
    name = "openai agents"
    about = "SQLiteSession.add_items of one message, inside a running event loop; opening gets all items"
    limit = RAW_SQLITE
    needs = OPENAI
    last: int | None = None

    def fill(self, folder: str, count: int) -> None:
        session = _openai(folder)
        if count:
            asyncio.run(session.add_items([_item(number) for number in range(count)]))
        session.close()
        connection = sqlite3.connect(_path(folder, "sessions.db"))
        settle(connection)
        connection.close()

    def appender(self, folder: str) -> Appender:
        return _OpenAIAppender(folder)

    def load(self, folder: str) -> int:
        session = _openai(folder)
        items = _loop().run_until_complete(session.get_items(self.last))
        session.close()
        return int(json.loads(items[-1]["content"])["n"]) + 1


class OpenAILast(OpenAI):
    name = "openai agents, last 50"
    about = "SQLiteSession.get_items(50)"
    append_reach = -1
    last = 50


_loops: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all: creating one per opening would be charged to the library."""
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    return _loops[0]


class _OpenAIAppender(Appender):
    def __init__(self, folder: str) -> None:
        self.session = _openai(folder)
        self.number = 0

    def block(self, size: int) -> list[float]:
        return _loop().run_until_complete(self._block(size))

    async def _block(self, size: int) -> list[float]:
        times = []
        for _ in range(size):
            self.number += 1
            start = perf_counter_ns()
            await self.session.add_items([_item(self.number)])
            times.append(float(perf_counter_ns() - start))
        return times

    def close(self) -> None:
        self.session.close()


class OpenAIRacer(Racer):
    name = "openai agents"
    about = "SQLiteSession.add_items of one message"
    needs = OPENAI

    def prepare(self, folder: str) -> None:
        _openai(folder).close()

    def worker(self, folder: str, index: int) -> Step:
        session = _openai(folder)

        def step(number: int) -> None:
            _loop().run_until_complete(session.add_items([_item(number, index)]))

        return step

    def survivors(self, folder: str) -> Collection[tuple[int, int]]:
        session = _openai(folder)
        items = asyncio.run(session.get_items())
        session.close()
        return {(item["worker"], item["n"]) for item in (json.loads(each["content"]) for each in items)}


# eventsourcing


def _recorder(folder: str) -> Any:
    from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteDatastore

    recorder = SQLiteAggregateRecorder(SQLiteDatastore(_path(folder, "events.db")))
    recorder.create_table()
    return recorder


def _stored(version: int, worker: int = 0) -> Any:
    from eventsourcing.persistence import StoredEvent

    return StoredEvent(AGGREGATE, version, "bench:Noted", _encode(record(version, worker)).encode())


class EventSourcing(Contender):
    name = "eventsourcing"
    about = "SQLiteAggregateRecorder.insert_events of one event; opening selects all events"
    limit = RAW_SQLITE
    needs = EVENTSOURCING
    last: int | None = None

    def fill(self, folder: str, count: int) -> None:
        recorder = _recorder(folder)
        recorder.insert_events([_stored(version) for version in range(1, count + 1)])
        recorder.datastore.close()
        connection = sqlite3.connect(_path(folder, "events.db"))
        settle(connection)
        connection.close()

    def appender(self, folder: str) -> Appender:
        return _EventSourcingAppender(folder)

    def load(self, folder: str) -> int:
        recorder = _recorder(folder)
        stored = recorder.select_events(AGGREGATE, desc=self.last is not None, limit=self.last)
        states = [json.loads(event.state) for event in stored]
        recorder.datastore.close()
        return max(int(states[0]["n"]), int(states[-1]["n"]))


class EventSourcingLast(EventSourcing):
    name = "eventsourcing, last 50"
    about = "select_events of the last 50 events: what opening from a snapshot would read"
    append_reach = -1
    last = 50


class _EventSourcingAppender(Appender):
    def __init__(self, folder: str) -> None:
        self.recorder = _recorder(folder)
        last = self.recorder.select_events(AGGREGATE, desc=True, limit=1)
        self.version = last[0].originator_version if last else 0

    def append(self) -> None:
        self.version += 1
        self.recorder.insert_events([_stored(self.version)])

    def close(self) -> None:
        self.recorder.datastore.close()


class EventSourcingRacer(Racer):
    name = "eventsourcing"
    about = "insert_events at the next version; a taken version is refused and tried again"
    needs = EVENTSOURCING

    def prepare(self, folder: str) -> None:
        _recorder(folder).datastore.close()

    def worker(self, folder: str, index: int) -> Step:
        from eventsourcing.persistence import IntegrityError, StoredEvent

        recorder = _recorder(folder)

        def step(number: int) -> None:
            last = recorder.select_events(AGGREGATE, desc=True, limit=1)
            version = last[0].originator_version + 1 if last else 1
            state = _encode(record(number, index)).encode()
            try:
                recorder.insert_events([StoredEvent(AGGREGATE, version, "bench:Noted", state)])
            except IntegrityError:
                raise RefusedError from None

        return step

    def survivors(self, folder: str) -> Collection[tuple[int, int]]:
        return set(self._pairs(folder))

    def _pairs(self, folder: str) -> Iterator[tuple[int, int]]:
        recorder = _recorder(folder)
        for event in recorder.select_events(AGGREGATE):
            item = json.loads(event.state)
            yield item["worker"], item["n"]
        recorder.datastore.close()
