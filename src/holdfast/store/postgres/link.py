"""One connection to a PostgreSQL server, at the level of libpq: made when needed, and made again after it was lost.

psycopg's own cursors cost more time than a short statement takes on the server, so this speaks to its libpq wrapper.
Every wait has an end, and Ctrl-C ends it too. A statement is prepared when it is used for the second time: a command
that appends once saves the trip.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable

from holdfast.errors import Unavailable, Usage
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.failures import Failed, Lost, is_busy, unreachable
from holdfast.store.postgres.statements import BYTES, INT, TEXT, Statement
from holdfast.typed import TYPE_CHECKING, Any, Record

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

_DEFAULTS = {
    "application_name": "holdfast",
    "client_encoding": "UTF8",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
_PAUSE = 0.05
_BINARY = 1
_OIDS: dict[int, Callable[[bytes], Any]] = {
    INT: lambda data: int.from_bytes(data, "big", signed=True),
    TEXT: bytes.decode,
    BYTES: bytes,
}
_NO_PASSWORD = ("password authentication failed", "no password supplied")


class Timeouts(Record):
    """How long to wait, in seconds."""

    connect: float = 10.0
    """For a connection, also while the server restarts or has none to give."""
    statement: float = 30.0
    """For one statement; the server ends it."""
    lock: float = 30.0
    """For a stream that others write to; the server ends it."""
    idle: float = 60.0
    """For a client that was stopped while it held a stream; the server ends its connection."""
    answer: float = 45.0
    """For an answer of a server that does not even end a statement in time."""


class Link:
    """The connection of one store. Not for several threads at once."""

    __slots__ = ("_greet", "_pg", "_poll", "_portable", "_settings", "_timeouts", "_used", "label", "met")

    def __init__(self, address: Address, timeouts: Timeouts, greet: Callable[[], None]) -> None:
        self._timeouts = timeouts
        self._portable = address.profile == "portable"
        self._settings = self._settings_in(address)
        self._greet = greet
        self._pg: PGconn | None = None
        self._poll = select.poll()
        self._used: dict[str, int] = {}
        self.met = 0
        """How many connections were made: another number means that no transaction is open any more."""
        host, port, database = (self._settings.get(name, "") for name in ("host", "port", "dbname"))
        self.label = (
            "PostgreSQL"
            + (f" at {host}" if host else "")
            + (f", port {port}" if port else "")
            + (f", database {database}" if database else "")
        )
        """What messages call the server."""

    def _settings_in(self, address: Address) -> dict[str, str]:
        pq = _pq()
        try:
            found = {
                option.keyword.decode(): option.val.decode()
                for option in pq.Conninfo.parse(address.conninfo.encode())
                if option.val is not None
            }
        except Exception:
            raise Usage(  # and libpq's own message may repeat a part of the URL
                "libpq does not understand the PostgreSQL URL.",
                hint="postgresql://user@host:5432/database?schema=name; special characters in it are percent-encoded.",
            ) from None
        if not self._portable:  # a pooler refuses them
            wait = self._timeouts
            limits = {
                "statement_timeout": wait.statement,
                "lock_timeout": wait.lock,
                "idle_in_transaction_session_timeout": wait.idle,
            }
            own = [f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items()]
            own.append("-c default_transaction_isolation=read\\ committed -c client_min_messages=error")
            own.append(
                "-c plan_cache_mode=force_generic_plan"
            )  # every statement has one plan that is always right
            found["options"] = " ".join([*own, found.get("options", "")])
        return {**_DEFAULTS, **found}

    # -- statements ---------------------------------------------------------------------------------------

    def run(self, statement: Statement, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises ``Lost`` or ``Failed``, or ``Unavailable`` before anything was sent."""
        pg = self._pg or self._connected()
        sent = [
            value.to_bytes(8, "big", signed=True)
            if kind == INT and value is not None
            else value.encode()
            if kind == TEXT
            else value
            for kind, value in zip(statement.types, values, strict=True)
        ]
        formats = [_BINARY] * len(sent)
        name = statement.name
        used = self._used.get(name, 0)
        try:
            if used == 1 and not self._portable:
                pg.send_prepare(name.encode(), statement.sql.encode(), statement.types)
                self._answers(pg)
            self._used[name] = used + 1
            if used and not self._portable:
                pg.send_query_prepared(name.encode(), sent, formats, _BINARY)
            else:
                pg.send_query_params(statement.sql.encode(), sent, statement.types, formats, _BINARY)
        except Failed:
            raise
        except Exception as error:
            raise self._lost(error) from error
        (result,) = self._answers(pg)
        return _rows(result)

    def simple(self, sql: str) -> list[tuple[Any, ...]]:
        """Run statements without parameters; the rows of the last one, as texts."""
        pg = self._pg or self._connected()
        try:
            pg.send_query(sql.encode())
        except Exception as error:
            raise self._lost(error) from error
        result = self._answers(pg)[-1]
        return [
            tuple(
                None if (value := result.get_value(row, column)) is None else value.decode()
                for column in range(result.nfields)
            )
            for row in range(result.ntuples)
        ]

    def _answers(self, pg: PGconn) -> list[PGresult]:
        """Wait for the results of what was sent."""
        results: list[PGresult] = []
        end = 0.0
        try:
            while pg.flush():
                self._wait(pg, select.POLLIN | select.POLLOUT, self._timeouts.answer)
                pg.consume_input()
            while True:
                if pg.is_busy():
                    now = time.monotonic()
                    end = end or now + self._timeouts.answer
                    if now > end or not self._poll.poll((end - now) * 1000):
                        raise TimeoutError(f"no answer within {self._timeouts.answer:g} seconds")
                    pg.consume_input()
                elif (result := pg.get_result()) is None:
                    break
                else:
                    results.append(result)
        except Exception as error:
            raise self._lost(error) from error
        for result in results:
            if result.status == _pq().ExecStatus.FATAL_ERROR:
                raise self._failure(result)
        return results

    def _failure(self, result: PGresult) -> Exception:
        field = _pq().DiagnosticField
        state, severity, text = (
            (result.error_field(name) or b"").decode(errors="replace")
            for name in (field.SQLSTATE, field.SEVERITY_NONLOCALIZED, field.MESSAGE_PRIMARY)
        )
        if not state or severity in ("FATAL", "PANIC"):
            said = text or result.error_message.decode(errors="replace")
            return self._lost(ConnectionError(" ".join(said.split())))
        return Failed(state, text)

    def _lost(self, error: Exception) -> Lost:
        self.drop()
        return Lost(" ".join(str(error).split()) or type(error).__name__)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open that can still be committed."""
        return self._pg is not None and self._pg.transaction_status == _pq().TransactionStatus.INTRANS

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self._pg is None or self._pg.transaction_status == _pq().TransactionStatus.IDLE

    # -- the connection -----------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the connection, unless there is one."""
        if self._pg is None:
            self._connected()

    def drop(self) -> None:
        """Close the connection; the server ends its transaction."""
        pg, self._pg = self._pg, None
        self._used.clear()
        if pg is not None:
            pg.finish()

    def abandon(self) -> None:
        """Forget the connection without closing it: it belongs to the parent of this process."""
        self._pg = None
        self._used.clear()

    def _connected(self) -> PGconn:
        end = time.monotonic() + self._timeouts.connect
        reason = ""
        while True:
            pg, text = self._tried(end)
            if not text:
                break
            if reason and time.monotonic() >= end:
                text = reason  # that it took too long says less
            reason = text
            password = pg.needs_password or any(part in text for part in _NO_PASSWORD)
            pg.finish()
            # A server that this store has already used may just be restarting.
            if password or not (self.met or is_busy(text)) or time.monotonic() + _PAUSE > end:
                raise unreachable(self.label, text, password=password)
            time.sleep(_PAUSE)
        pg.nonblocking = 1
        self._pg = pg
        self._poll = select.poll()
        self._poll.register(pg.socket, select.POLLIN)
        self.met += 1
        try:
            self._greet()
        except Lost as error:
            raise Unavailable(f"{self.label}: {error}; nothing was written.") from error
        except BaseException:
            self.drop()
            raise
        return pg

    def _tried(self, end: float) -> tuple[PGconn, str]:
        """A connection, and what is wrong with it; empty if it can be used."""
        pq = _pq()
        info = " ".join(f"{name}='{_quoted(value)}'" for name, value in self._settings.items())
        pg = pq.PGconn.connect_start(info.encode())
        waits = {pq.PollingStatus.READING: select.POLLIN, pq.PollingStatus.WRITING: select.POLLOUT}
        state: Any = pq.PollingStatus.WRITING
        try:
            while pg.status != pq.ConnStatus.BAD and state in waits:
                self._wait(pg, waits[state], end - time.monotonic())
                state = pg.connect_poll()
        except TimeoutError:
            return pg, f"no connection within {self._timeouts.connect:g} seconds"
        except BaseException:
            pg.finish()
            raise
        if state == pq.PollingStatus.OK:
            return pg, ""
        return pg, pg.error_message.decode(errors="replace") or "no reason given"

    @staticmethod
    def _wait(pg: PGconn, events: int, seconds: float) -> None:
        waiting = select.poll()
        waiting.register(pg.socket, events)
        if seconds <= 0 or not waiting.poll(seconds * 1000):
            raise TimeoutError(f"no answer within {max(seconds, 0):g} seconds")


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


def _rows(result: PGresult) -> list[tuple[Any, ...]]:
    columns = range(result.nfields)
    kinds = [_OIDS[result.ftype(column)] for column in columns]
    value = result.get_value
    return [
        tuple([None if (data := value(row, column)) is None else kinds[column](data) for column in columns])
        for row in range(result.ntuples)
    ]


def _pq() -> Any:
    """psycopg's wrapper of libpq."""
    global _module
    if _module is None:
        try:
            from psycopg import pq
        except ImportError as error:
            raise Unavailable(
                f"The PostgreSQL engine needs psycopg, which is not installed or finds no libpq ({error}).",
                hint="pip install 'holdfast[postgres]'",
            ) from error
        _module = pq
    return _module


_module: Any = None
