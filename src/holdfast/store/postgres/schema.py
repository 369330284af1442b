"""The schema of a PostgreSQL store: recognised, created and migrated; and what the server promises."""

from __future__ import annotations

import os

from holdfast.core import ids
from holdfast.core.hashing import blake2b
from holdfast.errors import Damaged, Forbidden, Newer, Refused
from holdfast.store.postgres.failures import (
    DENIED,
    DUPLICATE_SCHEMA,
    DUPLICATE_TABLE,
    MISSING,
    RETRY,
    UNDEFINED_COLUMN,
    UNIQUE,
    Failed,
    translated,
)
from holdfast.store.postgres.link import Link
from holdfast.typed import Any, Record

MIGRATIONS: tuple[str, ...] = ("0001.sql",)
"""Each leads from one version of the schema to the next."""
_TRIES = 10
_LOST_RACE = RETRY | {UNIQUE, DUPLICATE_SCHEMA, DUPLICATE_TABLE}

_KEEP = "current_setting('synchronous_commit', true)"
_RAISE = (
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, false)"
)
_GREETING = """
SELECT {commit}, current_setting('fsync', true), current_setting('full_page_writes', true), {standby}::text,
(SELECT value FROM {schema}.meta WHERE key = 'version'), (SELECT value FROM {schema}.meta WHERE key = 'writer')
"""


class Server(Record):
    """What a server said when it was greeted."""

    writer: str
    limits: tuple[str, ...]
    """What it does not keep, in sentences."""
    survives_power_cut: bool


def greeted(link: Link, schema: str, *, portable: bool) -> Server:
    """What the server promises; the schema is created or migrated if need be."""
    sql = _GREETING.format(
        commit=_KEEP if portable else _RAISE,
        standby="false" if portable else "pg_is_in_recovery()",
        schema=schema,
    )
    for _ in range(2):
        try:
            ((commit, fsync, pages, standby, version, writer),) = link.simple(sql)
        except Failed as error:
            if error.state not in MISSING:
                raise translated(error, link.label, "the store was not opened") from error
            version = None
        if version is not None and _known(link, schema, version) == len(MIGRATIONS):
            if not ids.is_writer(writer or ""):
                raise Damaged(f"{link.label}: schema {schema} has lost its writer: table meta, row writer.")
            return _promises(writer, fsync, commit, pages, standby)
        _migrate(link, schema, portable=portable)
    raise Damaged(f"{link.label}: schema {schema} does not keep its version: table meta, row version.")


def _promises(writer: str, fsync: Any, commit: Any, pages: Any, standby: Any) -> Server:
    limits = []
    if standby == "true":
        limits.append("The server is a standby: it can be read, not written to.")
    for name, value in (("fsync", fsync), ("full_page_writes", pages), ("synchronous_commit", commit)):
        if value == "off":
            limits.append(
                f"The server has {name} = off: a power cut can take commits that were acknowledged."
            )
    return Server(writer, tuple(limits), "off" not in (fsync, commit, pages))


def _known(link: Link, schema: str, version: str) -> int:
    if not version.isdecimal():
        raise Damaged(f"{link.label}: the version of schema {schema} is no number: table meta, row version.")
    if int(version) > len(MIGRATIONS):
        raise Newer(
            f"{link.label}: schema {schema} has version {version}; this release of holdfast knows {len(MIGRATIONS)}. "
            "Nothing was changed."
        )
    return int(version)


def _migrate(link: Link, schema: str, *, portable: bool) -> None:
    for attempt in range(_TRIES):
        try:
            link.simple("BEGIN" if portable else f"BEGIN; SELECT pg_advisory_xact_lock({_lock_of(schema)})")
            _migrate_in_turn(link, schema)
            link.simple("COMMIT")
            return
        except Failed as error:
            link.simple("ROLLBACK")
            if error.state == DENIED:
                raise Forbidden(
                    f"{link.label}: schema {schema} cannot be created or changed: {error.text}.",
                    hint=f"As an owner of the database: CREATE SCHEMA {schema} AUTHORIZATION the_user; "
                    "or name another schema with schema=… in the URL.",
                ) from error
            # Without an advisory lock two may create it at once; the loser finds it made.
            if error.state not in _LOST_RACE or attempt == _TRIES - 1:
                raise translated(error, link.label, "the store was not opened") from error
        except BaseException:
            link.drop()
            raise


def _migrate_in_turn(link: Link, schema: str) -> None:
    ((namespace, table),) = link.simple(
        f"SELECT to_regnamespace('{schema}')::text, to_regclass('{schema}.meta')::text"
    )
    version = 0
    if table is not None:
        try:
            found = link.simple(f"SELECT value FROM {schema}.meta WHERE key = 'version'")  # noqa: S608 - a checked name
        except Failed as error:
            if error.state == UNDEFINED_COLUMN:
                found = []
            else:
                raise
        if not found:
            raise Refused(
                f"{link.label}: schema {schema} has a table meta of another program; nothing was changed.",
                hint="Name another schema with schema=… in the URL.",
            )
        version = _known(link, schema, found[0][0])
    if namespace is None:
        link.simple(f"CREATE SCHEMA {schema}")
    for name in MIGRATIONS[version:]:
        link.simple(_script(name).replace("{schema}", schema))
    if not version:
        writer = ids.random_text(int.from_bytes(os.urandom(8), "big"), ids.WRITER_LENGTH)
        link.simple(f"INSERT INTO {schema}.meta VALUES ('version', '0'), ('writer', '{writer}')")  # noqa: S608
    link.simple(f"UPDATE {schema}.meta SET value = '{len(MIGRATIONS)}' WHERE key = 'version'")  # noqa: S608


def _lock_of(schema: str) -> int:
    """The number of the lock that orders migrations of a schema."""
    digest = blake2b(f"holdfast migrates {schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _script(name: str) -> str:
    import pkgutil  # only for a new database

    script = pkgutil.get_data("holdfast.store.postgres", f"migrations/{name}")
    assert script is not None
    return script.decode()
