"""Errors of PostgreSQL, as errors of holdfast: what happened, to what, and what to do."""

from __future__ import annotations

from holdfast.errors import Damaged, Forbidden, HoldfastError, Unavailable

FOREIGN_KEY, READ_ONLY, SERIALIZATION, DEADLOCK = "23503", "25006", "40001", "40P01"
UNDEFINED_TABLE, UNDEFINED_SCHEMA, UNDEFINED_COLUMN = "42P01", "3F000", "42703"
DENIED, CANCELLED, LOCKED, UNIQUE = "42501", "57014", "55P03", "23505"
DUPLICATE_TABLE, DUPLICATE_SCHEMA = "42P07", "42P06"
MISSING = frozenset([UNDEFINED_TABLE, UNDEFINED_SCHEMA, UNDEFINED_COLUMN])
RETRY = frozenset([SERIALIZATION, DEADLOCK])
_DAMAGED = ("XX001", "XX002", "23")

_HINTS = {
    "53100": "Free space on the server's disk, then retry.",
    "53200": "The server is out of memory; retry when it has some.",
    "53300": "Raise max_connections, or put a pooler such as PgBouncer in between and add profile=portable to the URL.",
    CANCELLED: "Look for a long transaction or a full disk on the server; a longer statement_timeout can be set with "
    "options=-c%20statement_timeout=… in the URL.",
    LOCKED: "Some client holds the stream: pg_stat_activity on the server names it. Retry when it is gone.",
}
_BUSY = (
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "starting up",
    "shutting down",
    "not yet accepting",
    "in recovery mode",
)
"""Parts of messages of a server that may soon be there again."""


class Lost(Exception):
    """The connection ended: whether the statement took effect is not known."""


class Failed(Exception):
    """The server refused a statement, which had no effect."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.state = state
        self.text = text


def is_busy(text: str) -> bool:
    """Whether a connection that was refused with this message may succeed soon."""
    return any(part in text for part in _BUSY)


def unreachable(label: str, text: str, *, password: bool) -> HoldfastError:
    """The error for a connection that cannot be made."""
    said = " ".join(text.split())
    if password:
        return Forbidden(
            f"{label} refused the login: {said}",
            hint="Give the password in PGPASSWORD or in ~/.pgpass, and the user as postgresql://user@host/database.",
        )
    hint = "Check that the server runs, and the host, the port and the database in the URL; then retry."
    if "too many" in said or "connection slots" in said:
        hint = _HINTS["53300"]
    if "certificate" in said or "SSL" in said or "TLS" in said:
        hint = "Check sslmode and sslrootcert in the URL."
    return Unavailable(f"{label} cannot be reached: {said}", hint=hint)


def translated(error: Failed, label: str, outcome: str = "nothing was written") -> HoldfastError:
    """The holdfast error for a refused statement."""
    said = f"{label}: {error.text.rstrip('.')}; {outcome}."
    if error.state == READ_ONLY:
        return Forbidden(
            f"{label} can be read but not written to (a standby, or a read-only database); {outcome}.",
            hint="Connect to the primary: target_session_attrs=read-write in the URL finds it among several hosts.",
        )
    if error.state == DENIED:
        return Forbidden(said, hint="GRANT the user what is missing, or connect as another one.")
    if error.state in MISSING or error.state.startswith(_DAMAGED):
        return Damaged(said)
    hint = _HINTS.get(error.state)
    return Unavailable(said, hint=hint) if hint else Unavailable(said)
