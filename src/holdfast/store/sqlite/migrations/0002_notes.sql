-- Notes beside the streams: pointers, snapshots and views.

CREATE TABLE notes (
    name TEXT NOT NULL PRIMARY KEY CHECK (name GLOB '?*/?*'),
    data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
