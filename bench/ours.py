"""holdfast itself: the public call that a program makes, and the store below it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Iterator
from typing import Any

from bench.contender import RAW_SQLITE, Appender, Contender, Racer, Step, missing, record
from bench.raw import settle

FILES = "holdfast files"
FILES_STORE = "holdfast files, store"
FILES_GIT = "holdfast files, in git"
SQLITE = "holdfast sqlite"
SQLITE_STORE = "holdfast sqlite, store"
USER = "bench"
GOAL = "Measure what a durable step costs"
EVENT = "x.bench"
OTHER_WRITER = "0bench00"
"""The history is written as another clone's segment, as a merge would add it."""


def _missing() -> str | None:
    if reason := missing(("holdfast", "sqlite3")):
        return reason
    import holdfast

    return None if hasattr(holdfast, "open") else "not installed (holdfast.open)"


def _open(where: str) -> Any:
    import holdfast

    return holdfast.open(where, user=USER)


def _lines(count: int, last_id: str, last_sum: str, writer: str) -> Iterator[tuple[str, bytes]]:
    """Ids and lines of ``count`` commits after the given one, as ``record`` would write them."""
    from holdfast.core import ids, timestamps
    from holdfast.core.codec import Draft, Event, encode

    now = ids.milliseconds(last_id)
    at = timestamps.iso(now)
    for number in range(count):
        last_id = ids.next_id(last_id, now, writer)
        draft = Draft((Event(EVENT, record(number)),), USER, "agent")
        line, commit = encode(draft, last_id, at, last_sum)
        last_sum = commit.sum
        yield last_id, line


class Files(Contender):
    name = FILES
    about = 'session.record("x.bench", {...}) in a workspace folder'
    open_reach = 1_000_000
    has_target = True

    def missing(self) -> str | None:
        return _missing()

    def fill(self, folder: str, count: int) -> None:
        from holdfast.core.codec import GENESIS
        from holdfast.store.files import segments
        from holdfast.workspace import scaffold

        scaffold.create(os.path.join(folder, ".state"))
        with _open(folder) as workspace:
            session = workspace.start(GOAL)
            stream, version, head = session.stream, session.version, session.peek().head
        if count > version:
            name = segments.name_of(stream, OTHER_WRITER, 1)
            segment = os.path.join(folder, ".state", "events", stream, name)
            with open(segment, "wb") as out:
                out.writelines(line for _, line in _lines(count - version, head, GENESIS, OTHER_WRITER))
                out.flush()
                os.fsync(out.fileno())

    def where(self, folder: str) -> str:
        return folder

    def appender(self, folder: str) -> Appender:
        return _SessionAppender(self.where(folder))

    def load(self, folder: str) -> int:
        with _open(self.where(folder)) as workspace:
            state = workspace.session().state
        return int(state["commits"])


class FilesInGit(Files):
    name = FILES_GIT
    about = "the same in a git repository: each append also looks whether HEAD has moved"
    append_reach = 0
    opens = False

    def missing(self) -> str | None:
        return _missing() or (None if shutil.which("git") else "not installed (git)")

    def fill(self, folder: str, count: int) -> None:
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
        for words in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "Begin")):
            subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.DEVNULL)
        super().fill(folder, count)


class Sqlite(Files):
    name = SQLITE
    about = "the same on the SQLite engine"
    limit = RAW_SQLITE

    def where(self, folder: str) -> str:
        return f"sqlite:///{os.path.join(folder, 'holdfast.db')}"

    def fill(self, folder: str, count: int) -> None:
        from holdfast.core.codec import sum_of

        with _open(self.where(folder)) as workspace:
            version = workspace.start(GOAL).version
        if count <= version:
            return
        db = sqlite3.connect(os.path.join(folder, "holdfast.db"), isolation_level=None)
        number, last_id, line = db.execute(
            "SELECT stream, id, line FROM commits ORDER BY seq DESC"
        ).fetchone()
        lines = _lines(count - version, last_id, sum_of(line), last_id.partition("-")[2])
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO commits (stream, seq, id, line) VALUES (?, ?, ?, ?)",
            ((number, version + place, key, new[:-1]) for place, (key, new) in enumerate(lines, start=1)),
        )
        db.execute("COMMIT")
        settle(db)
        db.close()


class FilesStore(Files):
    name = FILES_STORE
    about = "store.append alone: lock, tail, encoding, write, sync"
    opens = False

    def appender(self, folder: str) -> Appender:
        return _StoreAppender(self.where(folder))


class SqliteStore(Sqlite):
    name = SQLITE_STORE
    about = "store.append alone on the SQLite engine"
    opens = False

    def appender(self, folder: str) -> Appender:
        return _StoreAppender(self.where(folder))


class _SessionAppender(Appender):
    def __init__(self, where: str) -> None:
        self.workspace = _open(where)
        self.session = self.workspace.session()
        self.number = 0

    def append(self) -> None:
        self.number += 1
        self.session.record(EVENT, record(self.number))

    def close(self) -> None:
        self.workspace.close()


class _StoreAppender(Appender):
    def __init__(self, where: str) -> None:
        from holdfast.core.codec import Draft, Event, content_of
        from holdfast.store.protocol import PrebuiltCommit, PreparedCommit

        self.workspace = _open(where)
        self.store = self.workspace.store
        self.stream = self.workspace.session().stream
        self.cursor = self.store.read(self.stream).cursor
        self.number = 0

        def plan(number: int) -> PrebuiltCommit:
            draft = Draft((Event(EVENT, record(number)),), USER, "agent")
            return PrebuiltCommit(PreparedCommit(draft, {}, content_of(draft)), lambda context: None)

        self.plan = plan

    def append(self) -> None:
        self.number += 1
        self.cursor = self.store.append(self.stream, self.plan(self.number), self.cursor).cursor

    def close(self) -> None:
        self.workspace.close()


class FilesRacer(Racer):
    name = FILES
    about = 'session.record("x.bench", {...}), one session, every process its own handle'
    contender: Files = Files()

    def missing(self) -> str | None:
        return self.contender.missing()

    def prepare(self, folder: str) -> None:
        self.contender.fill(folder, 0)

    def worker(self, folder: str, index: int) -> Step:
        session = _open(self.contender.where(folder)).session()

        def step(number: int) -> None:
            session.record(EVENT, record(number, index))

        return step

    def survivors(self, folder: str) -> Collection[tuple[int, int]]:
        with _open(self.contender.where(folder)) as workspace:
            events = [event for commit in workspace.session().log() for event in commit.events]
        return {(event.data["worker"], event.data["n"]) for event in events if event.type == EVENT}


class SqliteRacer(FilesRacer):
    name = SQLITE
    about = "the same on the SQLite engine"
    contender = Sqlite()


CONTENDERS: tuple[Contender, ...] = (Files(), FilesStore(), FilesInGit(), Sqlite(), SqliteStore())
RACERS: tuple[Racer, ...] = (FilesRacer(), SqliteRacer())


def script_path() -> str:
    """The command installed with this interpreter."""
    return os.path.join(os.path.dirname(sys.executable), "holdfast")


def script_missing() -> str | None:
    return None if os.access(script_path(), os.X_OK) else "not installed (holdfast command)"


def script_workspace(folder: str) -> str:
    """A workspace with an ordinary session."""
    for words in (
        ("init",),
        ("start", GOAL, "--phases", "prepare,measure,report"),
        ("decide", "Take turns in small blocks", "--because", "noise then hits all alike"),
        ("note", "The disk's flush is most of an append"),
    ):
        subprocess.run([script_path(), *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder
