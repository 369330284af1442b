-- The schema of version 1. Later versions are made from it by database.MIGRATIONS.

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY CHECK (key <> ''),
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE streams (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (name = 'project' OR name GLOB 'users/?*' OR name GLOB 'sessions/?*/?*')
) STRICT;

CREATE TABLE commits (
    stream INTEGER NOT NULL REFERENCES streams (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    id TEXT NOT NULL CHECK (length(id) = 25),
    op TEXT,
    line BLOB NOT NULL CHECK (length(line) > 0),
    PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX commits_by_op ON commits (stream, op) WHERE op IS NOT NULL;

CREATE TABLE notes (
    name TEXT NOT NULL PRIMARY KEY CHECK (name GLOB '?*/?*'),
    data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
