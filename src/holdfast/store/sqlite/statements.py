"""The statements of the SQLite engine."""

from __future__ import annotations

FROM = """
SELECT commits.seq, commits.id, commits.line FROM streams JOIN commits ON commits.stream = streams.number
WHERE streams.name = ? AND commits.seq >= ? ORDER BY commits.seq
"""
BACK = """
SELECT commits.seq, commits.id, commits.line FROM streams JOIN commits ON commits.stream = streams.number
WHERE streams.name = ? AND commits.seq <= ? ORDER BY commits.seq DESC LIMIT ?
"""
LAST_COMMITS = """
SELECT streams.name, commits.seq, commits.id FROM streams JOIN commits ON commits.stream = streams.number
WHERE commits.seq = (SELECT max(seq) FROM commits AS others WHERE others.stream = streams.number)
ORDER BY streams.name
"""
BY_OP = """
SELECT commits.seq, commits.line FROM streams JOIN commits ON commits.stream = streams.number
WHERE streams.name = ? AND commits.op = ?
"""
ADD = """
INSERT INTO commits (stream, seq, id, op, line)
VALUES ((SELECT number FROM streams WHERE name = ?), ?, ?, ?, ?)
"""
PUT = "INSERT INTO notes (name, data) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET data = excluded.data"
FORGET_NOTES = (
    "DELETE FROM notes WHERE (name >= ? AND name < ?) OR name GLOB ?"  # "0" is the character after "/"
)
