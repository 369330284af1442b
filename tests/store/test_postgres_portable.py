"""The portable profile of the PostgreSQL engine keeps every promise, without what other servers lack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holdfast.store.url import open_store
from holdfast.testing.conformance import *  # noqa: F403
from holdfast.testing.conformance import Engine
from holdfast.testing.servers import place_url

pytestmark = pytest.mark.postgres
ROLE = "portable"
FORBIDDEN = (
    *(
        f"pg_{call}advisory_{kind}lock{shared}({types})"
        for call in ("", "try_")
        for kind in ("", "xact_")
        for shared in ("", "_shared")
        for types in ("bigint", "integer, integer")
    ),
    "pg_notify(text, text)",
    "nextval(regclass)",
    "set_config(text, text, boolean)",
    "pg_is_in_recovery()",
    "pg_current_xact_id()",
    "pg_current_snapshot()",
)
"""What CockroachDB, YugabyteDB, Citus or a pooler in front of Neon does not have, or has in name only."""


@pytest.fixture(scope="module")
def poor_server(postgres_server: str) -> str:
    """A role of the server that may call nothing of it, in a database of its own."""
    name = f"db_{ROLE}"
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute("SELECT pg_advisory_lock(4711)")  # the workers of one run share the server
        if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            admin.execute(f"CREATE ROLE {ROLE} LOGIN")
            # As CockroachDB has it: then the server asks for retries (40001).
            admin.execute(f"ALTER ROLE {ROLE} SET default_transaction_isolation = 'serializable'")
            admin.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
            with psycopg.connect(
                postgres_server.replace("/postgres?", f"/{name}?"), autocommit=True
            ) as inside:
                for function in FORBIDDEN:
                    inside.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
    return postgres_server.replace("/postgres?", f"/{name}?").replace("user=holdfast", f"user={ROLE}")


@pytest.fixture
def engine(tmp_path: Path, poor_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = f"{poor_server}&profile=portable"
    with Engine(lambda place, clock: open_store(place_url(url, place), clock=clock), str(tmp_path)) as engine:
        yield engine


def test_the_features_are_really_forbidden(poor_server: str) -> None:
    """Control: the role of these tests cannot take an advisory lock, notify or use a sequence."""
    with psycopg.connect(poor_server, autocommit=True) as db:
        for call in ("pg_try_advisory_xact_lock(1)", "pg_notify('a', 'b')", "pg_advisory_xact_lock(1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(f"SELECT {call}")
