"""The URL of a PostgreSQL store: libpq's own, with two parameters of holdfast's.

``postgresql://[user[:password]@][host][:port]/[database][?schema=name&profile=portable&…]``. Everything that libpq
understands (several hosts, ``sslmode``, ``service``, ``passfile``, PG* variables) works as it does in ``psql``. No
message and no capability repeats a password.
"""

from __future__ import annotations

import re

from holdfast.errors import Usage
from holdfast.typed import Record

SCHEMA = "holdfast"
"""The schema, if the URL names none."""
PROFILES = ("postgresql", "portable")
_OWN = ("schema", "profile")
_SECRET = ("password", "sslpassword", "oauth_client_secret")
_NAME = r"[a-z_][a-z0-9_]{0,62}"


class Address(Record):
    """Where a store is."""

    conninfo: str
    """What libpq is given, the password included."""
    schema: str
    """A name that needs no quoting."""
    profile: str
    url: str
    """The URL without passwords."""


def parsed(rest: str) -> Address:
    """The address in a URL, given what follows its scheme and colon."""
    if not rest.startswith("//") or "\0" in rest:
        raise Usage(
            "A PostgreSQL URL has two slashes after its scheme.",
            hint="postgresql://user@host/database?schema=name, or postgresql:///database for the local server.",
        )
    base, question, query = rest.partition("?")
    pairs = [pair.partition("=")[::2] for pair in query.split("&")] if question else []
    own = {name: value for name, value in pairs if name in _OWN}
    schema, profile = own.get("schema", SCHEMA), own.get("profile", PROFILES[0])
    if re.fullmatch(_NAME, schema) is None or schema.startswith("pg_"):
        raise Usage(
            "The schema in a PostgreSQL URL is 1 to 63 characters out of a-z, 0-9 and '_'. It begins with a letter, "
            "and not with pg_."
        )
    if profile not in PROFILES:
        raise Usage(f"The profile in a PostgreSQL URL is one of {', '.join(PROFILES)}.")
    libpq = [(name, value) for name, value in pairs if name not in _OWN]
    shown = [(name, value) for name, value in pairs if name not in _SECRET]
    return Address(
        f"postgresql:{base}{_query(libpq)}",
        schema,
        profile,
        f"postgresql:{_without_password(base)}{_query(shown)}",
    )


def _query(pairs: list[tuple[str, str]]) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else ""


def _without_password(base: str) -> str:
    """``//user:password@host/database`` without the password. The user ends at the first colon, the host begins after
    the last @ before the path."""
    login, at, rest = base[2:].rpartition("@")
    return f"//{login.partition(':')[0]}{at}{rest}"
