"""What is special about the PostgreSQL engine: its connection, its schema, its errors."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_proxy import Proxy

from holdfast.core.codec import decode
from holdfast.edge.cli import hints
from holdfast.errors import Conflict, Forbidden, HoldfastError, Newer, Refused, Unavailable, UnknownOutcome
from holdfast.store.postgres.address import parsed
from holdfast.store.postgres.engine import PostgresStore
from holdfast.store.postgres.link import Timeouts
from holdfast.store.protocol import AppendContext, PreparedCommit, Store
from holdfast.store.url import open_store
from holdfast.testing import hostile, servers
from holdfast.testing.conformance.engine import append_all, everything, in_threads, start
from holdfast.testing.plans import saying, texts, wall_clock
from holdfast.testing.processes import spawn

pytestmark = pytest.mark.postgres
USER = "users/ann"
SHORT = Timeouts(connect=3.0, statement=3.0, lock=1.0, idle=30.0, answer=4.0)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def url(postgres_server: str, tmp_path: Path) -> str:
    return servers.place_url(postgres_server, str(tmp_path))


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    store = opened(url)
    yield store
    store.close()


@pytest.fixture(scope="module")
def own() -> Iterator[servers.Server]:
    """A server that may be stopped, killed and configured."""
    try:
        servers.program(servers.POSTGRES)
    except servers.Missing as error:
        pytest.skip(str(error))
    with servers.own(servers.POSTGRES, "max_connections=12", "superuser_reserved_connections=2") as server:
        yield server


@pytest.fixture
def proxy(postgres_server: str) -> Iterator[Proxy]:
    folder = tempfile.mkdtemp(prefix="hf-")
    proxy = Proxy(folder, postgres_server.partition("host=")[2].partition("&")[0])
    yield proxy
    proxy.close()
    shutil.rmtree(folder)


def opened(url: str, timeouts: Timeouts = Timeouts()) -> PostgresStore:  # noqa: B008 - a value
    return PostgresStore(parsed(url.partition(":")[2]), clock=wall_clock, timeouts=timeouts)


def raw(url: str) -> psycopg.Connection[Any]:
    """A connection beside the engine."""
    return psycopg.connect(parsed(url.partition(":")[2]).conninfo, autocommit=True)


def schema_of(url: str) -> str:
    return parsed(url.partition(":")[2]).schema


def said(error: HoldfastError) -> str:
    return f"{error} {hints.text(error.hint)}"


class TestLostConnections:
    @pytest.mark.parametrize("arrives", [True, False])
    @pytest.mark.parametrize("op", [None, "op-1"])
    def test_a_cut_in_the_middle_of_an_append(
        self, proxy: Proxy, tmp_path: Path, arrives: bool, op: str | None
    ) -> None:
        """A commit whose connection is cut is there exactly once, whether or not the server got the statement."""
        store = opened(servers.place_url(proxy.url, str(tmp_path)))
        cursor = append_all(store, USER, "a", "b").cursor
        proxy.cut = (b"the marked text", arrives)
        done = store.append(USER, saying("the marked text", op=op), cursor=cursor, op=op)
        assert (done.version, done.repeated, proxy.cuts) == (3, False, 1)
        assert everything(store) == ["a", "b", "the marked text"]
        assert store.append(USER, saying("c"), cursor=done.cursor, expect=3).version == 4
        assert store.check() == []
        store.close()

    @pytest.mark.parametrize("arrives", [True, False])
    def test_a_cut_while_the_transaction_is_committed(
        self, proxy: Proxy, tmp_path: Path, arrives: bool
    ) -> None:
        """The first commit of a stream goes through a transaction; cut at its end, it is there exactly once too."""
        store = opened(servers.place_url(proxy.url, str(tmp_path)))
        proxy.cut = (b"COMMIT\0", arrives)
        done = store.append(USER, saying("first"))
        assert (done.version, proxy.cuts) == (1, 1)
        assert everything(store) == ["first"]
        store.close()

    def test_the_outcome_is_unknown_only_while_the_server_is_away(self, proxy: Proxy, url: str) -> None:
        """If nobody can be asked whether a commit arrived, the error names it; later, reading tells."""
        through = proxy.url + "&schema=" + schema_of(url)
        for number, arrives in enumerate((True, False)):
            store = opened(through, SHORT)
            cursor = append_all(store, USER, "x").cursor
            proxy.cut, proxy.refuses = (b"the marked text", arrives), False

            def refuse(context: AppendContext) -> PreparedCommit:
                proxy.refuses = True
                return saying("the marked text")(context)

            with pytest.raises(UnknownOutcome, match="may or may not") as caught:
                store.append(USER, refuse, cursor=cursor)
            proxy.refuses = False
            found = [decode(line) for line in store.read(USER).lines]
            assert (found[-1].id in str(caught.value)) is arrives, number
            store.close()

    def test_a_retried_operation_after_an_unknown_outcome(self, proxy: Proxy, tmp_path: Path) -> None:
        """With an operation id the command can be repeated without a second commit."""
        store = opened(servers.place_url(proxy.url, str(tmp_path)), SHORT)
        append_all(store, USER, "x")
        proxy.cut = (b"the marked text", True)

        def refuse(context: AppendContext) -> PreparedCommit:
            proxy.refuses = True
            return saying("the marked text", op="o")(context)

        with pytest.raises(UnknownOutcome):
            store.append(USER, refuse, op="o")
        proxy.refuses = False
        assert store.append(USER, saying("the marked text", op="o"), op="o").repeated is True
        assert everything(store) == ["x", "the marked text"]
        store.close()

    def test_an_ended_connection_is_made_again(self, store: PostgresStore, url: str) -> None:
        """Somebody ends all connections: the next read, note and append work as if nothing had happened."""
        cursor = append_all(store, USER, "a").cursor
        acts = [
            lambda: store.read(USER),
            lambda: store.put("project/STATE.md", b"x"),
            lambda: store.append(USER, saying("b"), cursor=cursor),
            lambda: store.append("project", saying("c")),
            lambda: store.forget("project"),
        ]
        for act in acts:
            with raw(url) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'holdfast'"
                    " AND pid = ANY(%s)",
                    ([backend(store)],),
                )
            act()
        assert everything(store) == ["a", "b"]

    def test_kill_9_of_the_server_under_load(self, own: servers.Server) -> None:
        """Three processes write while the server is killed and started again: nothing acknowledged is lost, nothing is
        there twice, and the processes continue without help."""
        url = own.url + "&schema=killed"
        children = [start(url, USER, 0, f"p{n}") for n in range(3)]
        heard: list[list[str]] = [[] for _ in children]
        try:
            for _ in range(3):
                for child, lines in zip(children, heard, strict=True):
                    assert child.stdout is not None
                    lines += [child.stdout.readline().strip() for _ in range(20)]
                own.kill()
                own.start()
            for child, lines in zip(children, heard, strict=True):
                assert child.stdout is not None
                lines += [child.stdout.readline().strip() for _ in range(20)]
        finally:
            for child, lines in zip(children, heard, strict=True):
                child.kill()
                assert child.stdout is not None
                lines += child.stdout.read().split()
                child.wait()
                child.stdout.close()
        store = opened(url)
        found = everything(store)
        assert len(found) == len(set(found))
        for number, lines in enumerate(heard):
            mine = [text for text in found if text.startswith(f"p{number}-")]
            assert mine[: len(lines)] == lines
            assert len(mine) - len(lines) in (0, 1)
        assert store.check() == []
        store.close()


def backend(store: PostgresStore) -> int:
    pid: int = store._link._pg.backend_pid  # type: ignore[union-attr]
    return pid


class TestWaiting:
    def test_a_stream_that_somebody_holds(self, url: str) -> None:
        """An append that cannot get its turn ends with an error that says so, and writes nothing."""
        store = opened(url, SHORT)
        append_all(store, USER, "a")
        with raw(url) as other, other.transaction():
            other.execute(f"SELECT pg_advisory_xact_lock(number) FROM {schema_of(url)}.streams")
            with pytest.raises(Unavailable, match="nothing was written") as caught:
                store.append(USER, saying("b"))
            assert not isinstance(caught.value, UnknownOutcome)
            assert "pg_stat_activity" in said(caught.value)
        assert store.append(USER, saying("c")).version == 2
        store.close()

    def test_a_statement_that_takes_too_long(self, url: str) -> None:
        """A statement over the time limit is ended by the server, and writes nothing."""
        store = opened(url, SHORT._replace(lock=30.0))
        cursor = append_all(store, USER, "a").cursor
        with raw(url) as other, other.transaction():
            other.execute(f"LOCK TABLE {schema_of(url)}.commits IN ACCESS EXCLUSIVE MODE")
            for act in (
                lambda: store.append(USER, saying("b"), cursor=cursor),
                lambda: store.read(USER),
                lambda: store.forget(USER),
            ):
                with pytest.raises(Unavailable, match="timeout") as caught:
                    act()
                assert not isinstance(caught.value, UnknownOutcome)
        assert everything(store) == ["a"]
        store.close()

    def test_a_server_that_does_not_answer(self, own: servers.Server) -> None:
        """A stopped server makes no caller hang: the outcome is unknown, and reading tells it later."""
        store = opened(own.url + "&schema=stopped", SHORT)
        cursor = append_all(store, USER, "a").cursor
        pids = [own.pid, *servers._children(own.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(UnknownOutcome):
                store.append(USER, saying("b"), cursor=cursor)
            with pytest.raises(Unavailable):
                store.read(USER)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        assert everything(store)[:1] == ["a"]
        assert store.append(USER, saying("c")).version == len(everything(store))
        store.close()

    def test_a_stopped_client_does_not_hold_a_stream_for_ever(self, url: str) -> None:
        """A client that stops inside its turn loses it to the next one, and has to plan again."""
        slow, other = opened(url, Timeouts(idle=0.5)), opened(url)
        seen = []

        def plan(context: AppendContext) -> PreparedCommit:
            seen.append(texts(context.tail))
            if len(seen) == 1:
                assert slow._link.in_transaction
                assert (
                    other.append(USER, saying("other")).version == 1
                )  # waits until the server ends the turn
            return saying("slow")(context)

        assert slow.append(USER, plan).version == 2
        assert seen == [[], ["other"]]
        assert everything(other) == ["other", "slow"]
        for store in (slow, other):
            store.close()


@pytest.fixture(scope="module")
def guarded(own: servers.Server) -> servers.Server:
    """A server on which ann needs a password."""
    with raw(own.url) as admin:
        admin.execute("CREATE ROLE ann LOGIN PASSWORD 'r1ght-s3cret'")
        admin.execute("CREATE SCHEMA hers AUTHORIZATION ann")
    hba = Path(own.data, "pg_hba.conf")
    hba.write_text("local all ann scram-sha-256\nlocal all all trust\n")
    with raw(own.url) as admin:
        admin.execute("SELECT pg_reload_conf()")
    return own


class TestLogin:
    def test_passwords(self, guarded: servers.Server, monkeypatch: pytest.MonkeyPatch) -> None:
        """A wrong or missing password is refused with what to do; no message has it, and no capability."""
        hers = guarded.url.replace("user=holdfast", "user=ann") + "&schema=hers"
        for url in (
            hers + "&password=wr0ng-s3cret",
            hers,
            hers.replace("&user=ann", "").replace("postgresql://", "postgresql://ann:wr0ng-s3cret@"),
        ):
            with pytest.raises(Forbidden, match="refused the login") as caught:
                opened(url)
            assert "s3cret" not in said(caught.value) + repr(caught.value)
            assert "PGPASSWORD" in said(caught.value)
        for url in (
            hers + "&password=r1ght-s3cret",
            hers.replace("&user=ann", "").replace("postgresql://", "postgresql://ann:r1ght-s3cret@"),
        ):
            store = opened(url)
            append_all(store, USER, "x")
            assert "s3cret" not in repr(store.capabilities)
            assert "ann" in store.capabilities.url
            store.close()
        monkeypatch.setenv("PGPASSWORD", "r1ght-s3cret")
        again = opened(store.capabilities.url)
        assert everything(again) == ["x", "x"]
        again.close()

    def test_a_user_without_the_right_to_create(self, guarded: servers.Server) -> None:
        """Whoever may not create the schema is told what an owner has to run."""
        url = guarded.url.replace("user=holdfast", "user=ann&password=r1ght-s3cret") + "&schema=not_hers"
        with pytest.raises(Forbidden) as caught:
            opened(url)
        assert "CREATE SCHEMA not_hers AUTHORIZATION" in said(caught.value)

    def test_no_connection_left(self, guarded: servers.Server) -> None:
        """A server without a free connection is unavailable, says so in time, and is used once there is one."""
        url = guarded.url.replace("user=holdfast", "user=ann&password=r1ght-s3cret") + "&schema=hers"
        taken: list[Store] = []
        try:
            refusal = None
            while refusal is None and len(taken) < 13:
                try:
                    taken.append(opened(url, SHORT))
                except Unavailable as error:
                    refusal = error
            assert refusal is not None
            assert "max_connections" in said(refusal)
            store = taken.pop()
            store.close()
            again = opened(url)
            append_all(again, "project", "x")
            again.close()
        finally:
            for one in taken:
                one.close()

    def test_nobody_there(self, tmp_path: Path) -> None:
        """Without a server the error comes at once, names it and says what to check."""
        with pytest.raises(Unavailable, match="cannot be reached") as caught:
            opened(f"postgresql:///nowhere?host={tmp_path}")
        assert caught.value.status == 6
        assert "Check that the server runs" in said(caught.value)

    def test_a_standby_can_be_read(self, own: servers.Server) -> None:
        """A standby gives what it has; writing to it is refused with the way to the primary."""
        store = opened(own.url + "&schema=copied")
        append_all(store, USER, "a", "b")
        store.put("project/STATE.md", b"x")
        store.close()
        own.stop()
        standby = servers.Server(servers.POSTGRES, tempfile.mkdtemp(prefix="hf-"))
        try:
            standby.create()
            shutil.rmtree(standby.data)
            shutil.copytree(own.data, standby.data, copy_function=copy_with_owner)
            for folder, _, _ in os.walk(standby.data):
                shutil.copystat(folder.replace(standby.data, own.data, 1), folder)
                os.chown(folder, os.stat(own.data).st_uid, os.stat(own.data).st_gid)
            Path(standby.data, "standby.signal").touch()
            standby.start()
            reader = opened(standby.url + "&schema=copied")
            assert (everything(reader), reader.get("project/STATE.md")) == (["a", "b"], b"x")
            assert any("standby" in sentence for sentence in reader.capabilities.limits)
            for act in (
                lambda: reader.append(USER, saying("c")),
                lambda: reader.append("project", saying("c")),
                lambda: reader.put("project/STATE.md", b"y"),
                lambda: reader.forget(USER),
            ):
                with pytest.raises(Forbidden, match="not written to") as caught:
                    act()
                assert "target_session_attrs" in said(caught.value)
            reader.close()
        finally:
            standby.remove()
            own.start()


def copy_with_owner(source: str, target: str) -> str:
    shutil.copy2(source, target)
    found = os.stat(source)
    os.chown(target, found.st_uid, found.st_gid)
    return target


class TestSchema:
    def test_eight_open_a_new_store_at_once(self, url: str) -> None:
        """A new schema is created once, however many open it at the same time."""
        stores: list[PostgresStore] = []
        in_threads([lambda: stores.append(opened(url))] * 8)
        assert len({store._writer for store in stores}) == 1
        for number, store in enumerate(stores):
            assert store.append(USER, saying("x")).version == number + 1
            store.close()

    def test_a_newer_schema_is_left_alone(self, store: PostgresStore, url: str) -> None:
        """A schema of a later release is refused, and nothing is changed."""
        with raw(url) as other:
            other.execute(f"UPDATE {schema_of(url)}.meta SET value = '99' WHERE key = 'version'")
            with pytest.raises(Newer, match="version 99"):
                opened(url)

    def test_a_schema_of_another_program_is_left_alone(self, url: str) -> None:
        """Tables of another program are refused, and nothing is changed."""
        name = schema_of(url)
        with raw(url) as other:
            other.execute(f"CREATE SCHEMA {name}")
            other.execute(f"CREATE TABLE {name}.meta (what text)")
            with pytest.raises(Refused, match="another program"):
                opened(url)
            assert other.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (name,)
            ).fetchall() == [("meta",)]

    def test_what_the_server_promises_is_said(self, store: PostgresStore, own: servers.Server) -> None:
        """Without fsync no power cut is promised, and the reason is named; with it, it is."""
        assert store.capabilities.survives_power_cut is False
        assert store.capabilities.limits == (
            "The server has fsync = off: a power cut can take commits that were acknowledged.",
        )
        safe = opened(own.url + "&schema=safe")
        assert (safe.capabilities.survives_power_cut, safe.capabilities.limits) == (True, ())
        safe.close()

    def test_a_database_with_hasty_commits_is_made_to_wait(self, own: servers.Server) -> None:
        """synchronous_commit = off, set for the role or the database, does not hold for commits of holdfast."""
        with raw(own.url) as admin:
            admin.execute("ALTER ROLE holdfast SET synchronous_commit = off")
            try:
                store = opened(own.url + "&schema=safe")
                assert store._link.simple("SHOW synchronous_commit") == [("on",)]
                assert store.capabilities.survives_power_cut is True
                store.put("project/STATE.md", b"hasty")
                assert store._link.simple("SHOW synchronous_commit") == [("on",)]
                store.close()
            finally:
                admin.execute("ALTER ROLE holdfast RESET synchronous_commit")

    def test_no_text_reaches_sql(self, store: PostgresStore, url: str) -> None:
        """Hostile texts as text, operation id, note and prefix change nothing but what was asked for."""
        wanted = [
            *hostile.TEXTS[:40],
            "'); DROP TABLE commits; --",
            "$1",
            "\\'; SET fsync = on; --",
            "{schema}",
            "%s",
        ]
        cursor = None
        for number, text in enumerate(wanted):
            op = f"{number} {text}"
            cursor = store.append(USER, saying(text, op=op), cursor=cursor, op=op).cursor
            store.put("project/STATE.md", text.encode())
            assert store.get("project/STATE.md") == text.encode()
            assert store.streams(text) == ([USER] if USER.startswith(text) else [])
        assert everything(store) == wanted
        # Such an operation id is malformed for readers of the log, and whole in the database.
        assert {fault.kind for fault in store.check()} <= {"malformed-commit"}


class TestDamage:
    def test_damage_is_named(self, store: PostgresStore, url: str) -> None:
        """A damaged line, missing rows and wrong columns are reported by row; columns are repaired from the line."""
        name = schema_of(url)
        for number in range(6):
            store.append(USER, saying(str(number), op=str(number)), op=str(number))
        with raw(url) as other:
            other.execute(f"UPDATE {name}.commits SET line = 'x' WHERE seq = 2")
            other.execute(f"DELETE FROM {name}.commits WHERE seq = 4")
            other.execute(f"UPDATE {name}.commits SET op = NULL WHERE seq = 6")
        kinds = [(fault.kind, fault.where.rpartition(" ")[2]) for fault in store.check()]
        assert kinds == [("damaged-line", "2"), ("missing-rows", "4"), ("wrong-columns", "6")]
        tail = store.read(USER)
        assert texts(tail) == ["0", "2", "4", "5"]
        assert len(tail.faults) == 2
        store.check(fix=True)
        assert [fault.kind for fault in store.check()] == ["damaged-line", "missing-rows"]
        assert store.append(USER, saying("again", op="5"), op="5").repeated is True

    def test_a_stream_forgotten_meanwhile(self, store: PostgresStore, url: str) -> None:
        """A store that remembers a stream which another one forgot starts it again."""
        cursor = append_all(store, USER, "a", "b").cursor
        other = opened(url)
        other.forget(USER)
        with pytest.raises(Conflict):
            store.append(USER, saying("c"), cursor=cursor, expect=2)
        assert store.append(USER, saying("c"), cursor=cursor).version == 1
        assert everything(other) == ["c"]
        other.close()


class TestProcesses:
    def test_a_fork_makes_its_own_connection(self, store: PostgresStore) -> None:
        """Parent and child both continue with a store that was opened before the fork."""
        cursor = append_all(store, USER, "before").cursor

        def child() -> None:
            for number in range(5):
                store.append(USER, saying(f"child {number}"))
            store.close()

        pid = spawn(child)
        for number in range(5):
            cursor = store.append(USER, saying(f"parent {number}"), cursor=cursor).cursor
        assert os.waitpid(pid, 0)[1] == 0
        store.append(USER, saying("after"))
        assert sorted(everything(store)) == sorted(
            ["before", "after", *(f"{who} {n}" for who in ("child", "parent") for n in range(5))]
        )

    def test_one_round_trip(self, store: PostgresStore, proxy: Proxy, url: str) -> None:
        """An append that nobody disturbs is one statement, with nothing before or after it."""
        cursor = append_all(store, USER, "a", "b", "c").cursor
        sent: list[str] = []
        run = store._link.run

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(link, name)

            def run(self, statement: Any, *values: Any) -> Any:
                sent.append(statement.name)
                return run(statement, *values)

            def simple(self, sql: str) -> Any:
                sent.append(sql)
                return link.simple(sql)

        link, store._link = store._link, Counting()  # type: ignore[assignment]
        store.append(USER, saying("d"), cursor=cursor, expect=3)
        assert sent == ["holdfast_follow"]
        store._link = link

    def test_notes_of_this_machine_stay_here(
        self, store: PostgresStore, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The current session and the like are this machine's; views and snapshots are everybody's."""
        store.put("local/current", b"mine")
        store.put("local/snapshots/users+ann", b"cache")
        store.put("project/STATE.md", b"view")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        other = opened(url)
        assert other.get("local/current") is None
        assert other.get("local/snapshots/users+ann") == b"cache"
        assert other.get("project/STATE.md") == b"view"
        other.close()
        assert store.get("local/current") == b"mine"

    def test_the_missing_driver_is_named(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without psycopg the error says which extra to install."""
        monkeypatch.setattr("holdfast.store.postgres.link._module", None)
        monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
        with pytest.raises(Unavailable) as caught:
            open_store(url, clock=wall_clock)
        assert "holdfast[postgres]" in said(caught.value)
