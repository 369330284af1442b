"""What is special about the SQLite engine: its file, its queue, its errors."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.codec import decode
from holdfast.errors import Damaged, Forbidden, HoldfastError, Newer, Refused, Unavailable, UnknownOutcome
from holdfast.store.protocol import AppendContext, PreparedCommit
from holdfast.store.sqlite.engine import SqliteStore, database
from holdfast.testing.conformance.engine import in_threads, start
from holdfast.testing.plans import saying, texts, wall_clock

USER = "users/ann"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    store = SqliteStore(path, clock=wall_clock)
    yield store
    store.close()


def fill(store: SqliteStore, count: int = 5) -> None:
    for number in range(count):
        store.append(USER, saying(str(number)))


def append_until_it_fails(store: SqliteStore, tag: str, acknowledged: list[str]) -> None:
    for number in range(500):
        text = f"{tag}-{number}-" + "x" * 3000
        store.append(USER, saying(text))
        acknowledged.append(text)


def raw(path: str, sql: str, *values: Any) -> list[Any]:
    """Change the database without the engine."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


class TestFile:
    def test_settings(self, store: SqliteStore) -> None:
        """Every connection uses WAL, syncs fully, checks references and wipes deleted data."""
        wanted = {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "secure_delete": 1,
            "trusted_schema": 0,
            "application_id": database.APPLICATION,
            "user_version": database.newest(),
        }
        store.put("local/note", b"x")
        assert {name: store._rows(f"PRAGMA {name}")[0][0] for name in wanted} == wanted

    def test_every_table_is_strict(self, store: SqliteStore) -> None:
        """All tables are STRICT, and their constraints reject malformed rows."""
        fill(store, 1)
        assert {row[5] for row in store._rows("PRAGMA table_list") if not row[1].startswith("sqlite_")} == {1}
        for sql in (
            "INSERT INTO streams (name) VALUES ('nonsense')",
            "INSERT INTO commits VALUES (1, 0, '0123456789abcdef-01234567', NULL, x'00')",
            "INSERT INTO commits VALUES (1, 2, 'short', NULL, x'00')",
            "INSERT INTO commits VALUES (99, 1, '0123456789abcdef-01234567', NULL, x'00')",
            "INSERT INTO notes VALUES ('x', x'00')",
            "INSERT INTO commits VALUES (1, 2, '0123456789abcdef-01234567', NULL, 'text')",
        ):
            with pytest.raises(Damaged):
                store._run(sql)

    def test_the_writer_stays(self, store: SqliteStore, path: str) -> None:
        """A database keeps its random writer identity."""
        first = store.append(USER, saying("x")).commit.id
        store.close()
        again = SqliteStore(path, clock=wall_clock)
        assert again.append(USER, saying("y")).commit.id[-8:] == first[-8:]
        again.close()
        other = SqliteStore(path + "2", clock=wall_clock)
        assert other.append(USER, saying("y")).commit.id[-8:] != first[-8:]
        other.close()

    @pytest.mark.parametrize("name", ["a?b#c%20 d&mode=ro.db", "ünïcode 😀.db", "-x", "file:x"])
    def test_odd_file_names(self, tmp_path: Path, name: str) -> None:
        """A file name is only a name, whatever it would mean in a SQLite URI."""
        store = SqliteStore(str(tmp_path / name), clock=wall_clock)
        fill(store, 1)
        store.close()
        assert sorted(os.listdir(tmp_path)) == sorted([name, name + "-lock"])

    def test_a_link_leads_to_the_same_queue(self, tmp_path: Path, path: str, store: SqliteStore) -> None:
        """A store opened through a symlink uses the files next to the real database."""
        fill(store, 1)
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "link.db").symlink_to(path)
        linked = SqliteStore(str(tmp_path / "sub" / "link.db"), clock=wall_clock)
        assert linked.append(USER, saying("x")).version == 2
        linked.close()
        assert os.listdir(tmp_path / "sub") == ["link.db"]

    def test_leftovers_of_a_process_that_died_while_creating(self, path: str) -> None:
        """Partial files of a dead process are no obstacle."""
        for name in ("-new", "-new-wal", "-new-journal", ""):
            Path(path + name).write_bytes(b"garbage" if name else b"")
        store = SqliteStore(path, clock=wall_clock)
        fill(store)
        assert store.check() == []
        store.close()
        assert not os.path.exists(path + "-new")


class TestForeignFiles:
    def refused(self, path: str, error: type[HoldfastError]) -> None:
        before = {
            name: Path(path).parent.joinpath(name).read_bytes() for name in os.listdir(Path(path).parent)
        }
        with pytest.raises(error, match="othing was changed"):
            SqliteStore(path, clock=wall_clock)
        after = {
            name: Path(path).parent.joinpath(name).read_bytes() for name in os.listdir(Path(path).parent)
        }
        assert after == before

    @pytest.mark.parametrize("mode", ["wal", "delete"])
    def test_another_programs_database(self, path: str, mode: str) -> None:
        """A database of another program is refused and unchanged, and no file is created next to it."""
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA journal_mode={mode}")
        db.execute("CREATE TABLE theirs (x)")
        db.commit()
        db.close()
        self.refused(path, Refused)

    def test_a_newer_schema(self, path: str, store: SqliteStore) -> None:
        """A database of a newer release is refused and unchanged."""
        fill(store)
        store.close()
        raw(path, f"PRAGMA user_version={database.newest() + 1}")
        self.refused(path, Newer)

    def test_a_newer_schema_while_open(self, path: str, store: SqliteStore) -> None:
        """A database that a newer release upgrades meanwhile, with its log not yet checkpointed, is refused."""
        fill(store)
        newer = sqlite3.connect(path, isolation_level=None)
        newer.execute(f"PRAGMA user_version={database.newest() + 1}")
        with pytest.raises(Newer):
            SqliteStore(path, clock=wall_clock)
        assert newer.execute("SELECT count(*) FROM commits").fetchone() == (5,)
        newer.close()

    @pytest.mark.parametrize("content", [b"hello", b'{"v":1}\n' * 100, b"\0" * 4096, b"SQLite format 3\0"])
    def test_no_database_at_all(self, path: str, content: bytes) -> None:
        """A file that is not a database is refused and unchanged."""
        Path(path).write_bytes(content)
        self.refused(path, Damaged)

    def test_no_file(self, tmp_path: Path) -> None:
        """A folder is refused; a missing folder is named, with the cause."""
        with pytest.raises(Forbidden):
            SqliteStore(str(tmp_path), clock=wall_clock)
        with pytest.raises(Unavailable) as caught:
            SqliteStore(str(tmp_path / "no" / "store.db"), clock=wall_clock)
        assert isinstance(caught.value.__cause__, OSError)


class TestDamage:
    def flip(self, path: str, seq: int) -> None:
        ((line,),) = raw(path, "SELECT line FROM commits WHERE seq = ?", seq)
        damaged = bytearray(line)
        damaged[len(line) // 2] ^= 1
        raw(path, "UPDATE commits SET line = ? WHERE seq = ?", bytes(damaged), seq)

    @pytest.mark.parametrize("seq", [1, 3, 5])
    def test_a_flipped_bit(self, path: str, store: SqliteStore, seq: int) -> None:
        """A damaged line is reported by table and row, the others stay readable, and appending works."""
        fill(store)
        self.flip(path, seq)
        tail = store.read(USER)
        wanted = [str(number) for number in range(5) if number != seq - 1]
        assert (texts(tail), tail.version) == (wanted, 5)
        (fault,) = tail.faults
        assert (fault.stream, fault.where) == (USER, f"table commits, stream {USER}, row {seq}")
        assert store.check() == list(tail.faults) == store.check(fix=True)
        assert texts(store.read(USER, newest_first=True)) == wanted[::-1]
        done = store.append(USER, saying("more"), expect=5)
        assert done.commit.id > tail.head
        assert texts(store.read(USER)) == [*wanted, "more"]
        assert len(store.read(USER).faults) == 1

    def test_missing_rows(self, path: str, store: SqliteStore) -> None:
        """Deleted rows are reported as missing."""
        fill(store)
        raw(path, "DELETE FROM commits WHERE seq IN (2, 3)")
        tail = store.read(USER)
        assert texts(tail) == ["0", "3", "4"]
        assert [fault.what for fault in tail.faults] == ["missing, up to row 3"]
        assert store.check() == list(tail.faults)

    def test_swapped_rows(self, path: str, store: SqliteStore) -> None:
        """Reordered rows are detected."""
        fill(store)
        for before, after in ((2, 99), (4, 2), (99, 4)):
            raw(path, "UPDATE commits SET seq = ? WHERE seq = ?", after, before)
        assert "does not follow" in store.read(USER).faults[0].what
        assert store.check()

    def test_columns_are_repaired(self, path: str, store: SqliteStore) -> None:
        """The id and op columns repeat the line: a difference is found, and repaired from the line."""
        store.append(USER, saying("a", op="o"), op="o")
        store.append(USER, saying("b"))
        raw(path, "UPDATE commits SET op = NULL WHERE seq = 1")
        raw(path, "UPDATE commits SET id = '0123456789abcdef-01234567' WHERE seq = 2")
        assert [fault.harmless for fault in store.check()] == [False, False]
        assert [fault.harmless for fault in store.check(fix=True)] == [True, True]
        assert store.check() == []
        assert store.append(USER, saying("x", op="o"), op="o").repeated is True

    def test_a_damaged_operation(self, path: str, store: SqliteStore) -> None:
        """A repeated operation whose commit is damaged is an error, never a second commit."""
        store.append(USER, saying("a", op="o"), op="o")
        self.flip(path, 1)
        with pytest.raises(Damaged, match="row 1"):
            store.append(USER, saying("a", op="o"), op="o")

    def test_garbage_in_the_file(self, path: str, store: SqliteStore) -> None:
        """Whatever bytes are overwritten, no driver error escapes, and the check reports it."""
        for number in range(400):
            store.append(USER, saying(str(number) * 100))
        store.close()
        whole = Path(path).read_bytes()
        reported = 0
        for page in range(0, len(whole) // 4096, 5):
            damaged = bytearray(whole)
            damaged[page * 4096 + 100 : page * 4096 + 2000] = b"\xa5" * 1900
            Path(path).write_bytes(damaged)
            try:
                store = SqliteStore(path, clock=wall_clock)
                reported += bool(store.check())
                store.read(USER)
                store.append(USER, saying("x"))
            except HoldfastError:
                reported += 1
            finally:
                store.close()
            for name in ("-wal", "-shm"):
                Path(path + name).unlink(missing_ok=True)
        assert reported >= len(whole) // 4096 // 5


class TestErrors:
    def test_a_full_disk(self, store: SqliteStore) -> None:
        """If writing fails, acknowledged commits stay, and the store works again once there is space."""
        acknowledged: list[str] = []
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for room in (9_000, 21_000, 50_000, 64_000):
            size = os.path.getsize(store._path + "-wal") if os.path.exists(store._path + "-wal") else 0
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
            try:
                with pytest.raises(UnknownOutcome) as caught:
                    append_until_it_fails(store, str(room), acknowledged)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert isinstance(caught.value.__cause__, sqlite3.Error)
            assert store._db is None  # the connection that failed is never used again
            found = texts(store.read(USER))
            assert [text for text in found if text in set(acknowledged)] == acknowledged
            store.append(USER, saying(f"after {room}"))
            acknowledged.append(f"after {room}")
        assert store.check() == []

    def test_a_locked_database(self, path: str, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program that holds the database too long makes it unavailable, without any other effect."""
        fill(store)
        store.close()
        monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
        store = SqliteStore(path, clock=wall_clock)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            store.append(USER, saying("x"))
        assert len(texts(store.read(USER))) == 5
        other.execute("ROLLBACK")
        other.close()
        assert store.append(USER, saying("x")).version == 6
        store.close()

    def test_errors_of_a_plan_are_its_own(self, store: SqliteStore) -> None:
        """An error from a plan's own use of SQLite is not treated as one of the store."""
        error = sqlite3.OperationalError("mine")

        def plan(context: AppendContext) -> PreparedCommit:
            raise error

        with pytest.raises(sqlite3.OperationalError) as caught:
            store.append(USER, plan)
        assert caught.value is error
        fill(store)

    def test_a_plan_must_not_write(self, store: SqliteStore) -> None:
        """A plan that tries to write is refused, and the refusal undoes nothing else."""

        def plan(context: AppendContext) -> PreparedCommit:
            for call in (
                lambda: store.append("project", saying("x")),
                lambda: store.put("local/x", b""),
                lambda: store.forget(USER),
            ):
                with pytest.raises(Refused):
                    call()
            return saying("written")(context)

        store.append(USER, plan)
        assert (texts(store.read(USER)), store.streams()) == (["written"], [USER])

    def test_a_lost_writer(self, path: str, store: SqliteStore) -> None:
        """A database without its writer identity is called damaged."""
        store.close()
        raw(path, "DELETE FROM meta")
        with pytest.raises(Damaged, match="meta"):
            SqliteStore(path, clock=wall_clock)


class TestForgotten:
    def test_no_file_holds_removed_text(self, tmp_path: Path, store: SqliteStore) -> None:
        """After removal, no file of the store has a byte of the text; other streams stay."""
        secret = "mothersmaidenname"
        for number in range(300):
            store.append(USER, saying(f"{secret} {number} " + "y" * (number * 7 % 900)))
            store.append("users/ben", saying("z" * (number * 13 % 700)))
            store.put(f"{USER}/STATE.md", f"{secret} {number}".encode() * number)
        store.forget(USER)
        for name in os.listdir(tmp_path):
            assert secret.encode() not in (tmp_path / name).read_bytes()
        assert len(texts(store.read("users/ben"))) == 300
        assert store.check() == []


class TestProcesses:
    def test_thirty_processes_open_a_fresh_database(self, path: str) -> None:
        """Thirty processes that open a missing database at once all succeed."""
        children = [start(f"sqlite:///{path}", USER, 2, f"p{number}") for number in range(30)]
        for child in children:
            child.communicate(timeout=120)
        assert [child.returncode for child in children] == [0] * 30
        store = SqliteStore(path, clock=wall_clock)
        tail = store.read(USER)
        assert tail.version == 60
        assert len({decode(line).id[-8:] for line in tail.lines}) == 1
        store.close()

    def test_a_fork(self, store: SqliteStore) -> None:
        """A store that is open during a fork works on both sides."""
        fill(store, 1)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert store._db is None  # SQLite's connections and its queue must not cross a fork
                assert store._queue is None
                fill(store, 20)
                status = 0
            finally:
                os._exit(status)
        fill(store, 20)
        assert os.waitpid(child, 0)[1] == 0
        assert store.read(USER).version == 41
        assert store.check() == []

    def test_a_second_handle_does_not_take_the_first_ones_locks(self, path: str, store: SqliteStore) -> None:
        """What a process commits through its first handle is seen by others, also after it opened a second one.

        Whoever closes any handle on a file gives up all of its process's POSIX locks on it, and SQLite relies on these:
        another process would take itself for the last one and remove the log that the first handle writes to.
        """
        fill(store, 1)
        SqliteStore(path, clock=wall_clock).close()
        other = start(f"sqlite:///{path}", USER, 1, "other")
        assert other.communicate(timeout=60)[0] == "other-0\n"
        done = store.append(USER, saying("acknowledged"))
        assert done.version == 3
        reader = "import sys; from holdfast.testing.conformance.engine import *\n"
        reader += "from holdfast.store.url import open_store\n"
        reader += "print(everything(open_store(sys.argv[1], clock=wall_clock), USER))"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-c", reader, f"sqlite:///{path}"]
        seen = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert seen.stdout == "['0', 'other-0', 'acknowledged']\n"

    def test_threads_that_open_and_close_lose_nothing(self, path: str, store: SqliteStore) -> None:
        """Threads and processes open, write and close the same database repeatedly: nothing is lost."""

        def work(tag: int) -> None:
            for number in range(15):
                own = SqliteStore(path, clock=wall_clock)
                own.append(USER, saying(f"t{tag}-{number}"))
                own.close()
                store.append(USER, saying(f"s{tag}-{number}"))

        others = [start(f"sqlite:///{path}", USER, 3, f"p{number}") for number in range(4)]
        in_threads([lambda tag=tag: work(tag) for tag in range(4)])  # type: ignore[misc]
        wanted = {f"{kind}{tag}-{number}" for kind in "ts" for tag in range(4) for number in range(15)}
        for child in others:
            wanted |= set(child.communicate(timeout=120)[0].split())
        store.close()
        again = SqliteStore(path, clock=wall_clock)
        assert set(texts(again.read(USER))) == wanted
        assert again.check() == []
        again.close()

    def test_nothing_is_left_open(self, path: str) -> None:
        """A process that opens, writes and closes many times leaks no files."""
        program = (
            "import os, sys\n"
            "from holdfast.store.sqlite.engine import SqliteStore\n"
            "from holdfast.testing.plans import saying, wall_clock\n"
            "def use():\n"
            "    store = SqliteStore(sys.argv[1], clock=wall_clock)\n"
            "    store.append('project', saying('x'))\n"
            "    store.close()\n"
            "use(); before = os.listdir('/proc/self/fd')\n"
            "for _ in range(50): use()\n"
            "assert os.listdir('/proc/self/fd') == before\n"
        )
        if not os.path.isdir("/proc/self/fd"):
            pytest.skip("needs /proc")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        subprocess.run([sys.executable, "-c", program, path], check=True, env=environment, timeout=60)
