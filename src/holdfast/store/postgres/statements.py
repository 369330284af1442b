"""The statements of the PostgreSQL engine, for one schema and profile."""

from __future__ import annotations

from holdfast.core.hashing import blake2b
from holdfast.typed import Record

INT, TEXT, BYTES = 20, 25, 17
"""Type numbers of bigint, text and bytea."""

TRY_LOCK = "", "pg_try_advisory_xact_lock($3)"
TRY_ROW = (
    "WITH held AS MATERIALIZED (SELECT number FROM {schema}.streams WHERE number = $3 FOR UPDATE SKIP LOCKED)",
    "EXISTS (SELECT FROM held)",
)
"""What stands before the statement that follows, and its last condition: asked only where all others are met."""
PUT = "VALUES ($1, $2)"
PUT_HASTILY = "SELECT $1, $2 FROM (SELECT set_config('synchronous_commit', 'off', true)) AS hasty"
"""A note need not be durable: the setting holds for this one transaction, and its commit waits for no disk."""


def hashed(op: str | None) -> bytes | None:
    """What is stored of an operation id: it may be longer than an index takes, and have zero bytes."""
    return None if op is None else blake2b(op.encode(), digest_size=16).digest()


class Statement(Record):
    """One statement with the types of its parameters."""

    name: str
    sql: str
    types: tuple[int, ...]


class Statements(Record):
    """All of them."""

    follow: Statement
    """Add a commit behind the last one that is known, in one trip. One row: done. None: somebody is at it, or was.

    PostgreSQL hands a released lock to the first who waits for it, so a try succeeds only when nobody holds it or
    waits: that is fair. Safety rests on the unique position alone: the lock only orders.
    """
    add: Statement
    """Add a commit at the end, with the lock held."""
    create: Statement
    number: Statement
    tail: Statement
    """The rows of a stream from a position on. If there are none, one row of nulls tells that the stream exists."""
    back: Statement
    at: Statement
    by_op: Statement
    names: Statement
    last_commits: Statement
    page: Statement
    reset: Statement
    put: Statement
    remove: Statement
    get: Statement
    forget: Statement
    forget_notes: Statement


def statements(schema: str, *, portable: bool) -> Statements:
    """The statements for a schema, whose name was checked."""
    (before, lock), note = (TRY_ROW, PUT) if portable else (TRY_LOCK, PUT_HASTILY)

    def made(name: str, sql: str, *types: int) -> Statement:
        for slot, text in (("{before}", before), ("{lock}", lock), ("{note}", note), ("{schema}", schema)):
            sql = sql.replace(slot, text)
        return Statement(f"holdfast_{name}", " ".join(sql.split()), types)

    return Statements(
        follow=made(
            "follow",
            """
            {before}
            INSERT INTO {schema}.commits (stream, seq, id, line, op, attempt)
            SELECT known.stream, known.seq + 1, $1, $2, $6, $7 FROM {schema}.commits AS known
            WHERE known.stream = $3 AND known.seq = $4 AND known.id = $5 AND {lock}
            ON CONFLICT DO NOTHING RETURNING seq
            """,
            *(TEXT, BYTES, INT, INT, TEXT, BYTES, INT),
        ),
        add=made(
            "add",
            "INSERT INTO {schema}.commits (stream, seq, id, line, op, attempt) VALUES ($1, $2, $3, $4, $5, $6)",
            *(INT, INT, TEXT, BYTES, BYTES, INT),
        ),
        create=made(
            "create",
            "INSERT INTO {schema}.streams (name, number) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            *(TEXT, INT),
        ),
        number=made("number", "SELECT number FROM {schema}.streams WHERE name = $1", TEXT),
        tail=made(
            "tail",
            """
            SELECT number, seq, id, line FROM {schema}.streams
            LEFT JOIN {schema}.commits ON stream = number AND seq >= $2 WHERE name = $1 ORDER BY seq
            """,
            *(TEXT, INT),
        ),
        back=made(
            "back",
            """
            SELECT seq, id, line FROM {schema}.streams JOIN {schema}.commits ON stream = number
            WHERE name = $1 AND seq <= $2 ORDER BY seq DESC LIMIT $3
            """,
            *(TEXT, INT, INT),
        ),
        at=made("at", "SELECT attempt FROM {schema}.commits WHERE stream = $1 AND seq = $2", INT, INT),
        by_op=made(
            "by_op",
            """
            SELECT seq, line FROM {schema}.streams JOIN {schema}.commits ON stream = number
            WHERE name = $1 AND op = $2
            """,
            *(TEXT, BYTES),
        ),
        names=made("names", "SELECT name, number FROM {schema}.streams ORDER BY name"),
        last_commits=made(
            "last_commits",
            """
            SELECT name, seq, id FROM {schema}.streams CROSS JOIN LATERAL (
                SELECT seq, id FROM {schema}.commits WHERE stream = number ORDER BY seq DESC LIMIT 1
            ) AS newest
            """,
        ),
        page=made(
            "page",
            "SELECT seq, id, op, line FROM {schema}.commits WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3",
            *(INT, INT, INT),
        ),
        reset=made(
            "reset",
            "UPDATE {schema}.commits SET id = $3, op = $4 WHERE stream = $1 AND seq = $2",
            *(INT, INT, TEXT, BYTES),
        ),
        put=made(
            "put",
            "INSERT INTO {schema}.notes (name, data) {note} ON CONFLICT (name) DO UPDATE SET data = excluded.data",
            *(TEXT, BYTES),
        ),
        remove=made("remove", "DELETE FROM {schema}.notes WHERE name = $1", TEXT),
        get=made("get", "SELECT data FROM {schema}.notes WHERE name = $1", TEXT),
        forget=made("forget", "DELETE FROM {schema}.streams WHERE number = $1", INT),
        forget_notes=made(
            "forget_notes",
            """
            DELETE FROM {schema}.notes WHERE left(name, length($1)) = $1
            OR (left(name, 6) = 'local/' AND right(name, length($2)) = $2)
            """,
            *(TEXT, TEXT),
        ),
    )
