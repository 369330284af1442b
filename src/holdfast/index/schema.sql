-- The tables of the index. Timestamps are UTC, ISO 8601 with milliseconds; lists and objects are JSON text.
-- A row's "stream" is the number of its stream: join with sessions or streams USING (stream).

-- Every stream of the workspace, live and archived, and how far it is indexed.
CREATE TABLE streams (
    stream INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,                  -- project, users/<user>, sessions/<user>/<session>
    kind TEXT NOT NULL CHECK (kind IN ('session', 'project', 'user')),
    commits INTEGER NOT NULL CHECK (commits >= 0),
    head TEXT NOT NULL,                         -- id of the latest commit
    stamp TEXT NOT NULL,                        -- internal: changes whenever the stream does
    cursor TEXT NOT NULL,                       -- internal: where reading continues
    state TEXT NOT NULL,                        -- internal: the folded state up to the cursor
    problem TEXT                                -- why the stream could not be read
) STRICT;

-- Every session, live and archived.
CREATE TABLE sessions (
    stream INTEGER PRIMARY KEY REFERENCES streams (stream) ON DELETE CASCADE,
    session TEXT NOT NULL,                      -- 2026-01-21-abcdefgh
    user TEXT NOT NULL,
    status TEXT CHECK (
        status IN ('working', 'blocked', 'awaiting-input', 'discussion', 'paused', 'complete', 'abandoned')
    ),
    archived INTEGER NOT NULL CHECK (archived IN (0, 1)),
    goal TEXT,
    focus TEXT,
    phase TEXT,
    outcome TEXT,                               -- as recorded when the session was completed
    started TEXT,
    updated TEXT,
    by TEXT,                                    -- the last actor
    commits INTEGER NOT NULL
) STRICT;

-- Every commit, in any order; ids are unique within a stream and sort by time.
CREATE TABLE commits (
    number INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL CHECK (length(id) = 25),
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('human', 'agent', 'tool', 'import')),
    op TEXT
) STRICT;

-- Every event of every commit.
CREATE TABLE events (
    commit_number INTEGER NOT NULL REFERENCES commits (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,                     -- from 0, within the commit
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,                         -- JSON
    PRIMARY KEY (commit_number, place)
) STRICT, WITHOUT ROWID;

-- Decisions: a choice announces no action; an open one announces an action that has no outcome yet.
CREATE TABLE decisions (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'choice', 'settled', 'failed')),
    text TEXT,
    because TEXT,
    action TEXT,
    alternatives TEXT,                          -- JSON list
    revisit_when TEXT,
    loop TEXT,
    task TEXT,
    risk TEXT,
    supersedes TEXT,
    superseded_by TEXT,                         -- ids, separated by commas
    outcome TEXT,
    choice INTEGER,                             -- 1 if it announces no action, also when it has an outcome
    settled_at TEXT,
    settled_by TEXT,
    exit_code INTEGER,                          -- of a command that was run
    rivals TEXT,                                -- JSON list: outcomes that other clones recorded
    done_when TEXT,                             -- JSON: what tells that the action is done
    recovery TEXT,                              -- what may be done if its outcome stays unknown
    once TEXT,                                  -- the key of an action that is done once
    anchors TEXT,                               -- JSON list: the places that it is about
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,                     -- the commit that added it
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Tasks.
CREATE TABLE tasks (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'working', 'blocked', 'done', 'skipped')),
    title TEXT,
    depends_on TEXT,                            -- JSON list
    blocked_by TEXT,
    result TEXT,
    reason TEXT,
    started TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Plans.
CREATE TABLE plans (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('proposed', 'approved', 'rejected', 'superseded')),
    title TEXT,
    text TEXT,
    revision INTEGER,
    reason TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Open questions.
CREATE TABLE loops (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'clarifying', 'closed')),
    title TEXT,
    context TEXT,
    outcome TEXT,
    decision TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- What hooks took from conversations.
CREATE TABLE captures (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'confirmed', 'dropped')),
    kind TEXT,
    text TEXT,
    because TEXT,
    source TEXT,
    host TEXT,
    agent TEXT,
    said TEXT,
    became TEXT,
    reason TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Risks.
CREATE TABLE risks (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    text TEXT,
    severity TEXT,
    outcome TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Blockers.
CREATE TABLE blockers (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    text TEXT,
    outcome TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Errors that were met, with their remedies.
CREATE TABLE errors (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'remedied')),
    text TEXT,
    tried TEXT,
    remedy TEXT,
    anchors TEXT,                               -- JSON list: the places that it is about
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Next actions.
CREATE TABLE next_actions (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'done')),
    text TEXT,
    outcome TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Handoffs.
CREATE TABLE handoffs (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'claimed', 'consumed')),
    message TEXT,
    claimed_by TEXT,
    claimed_at TEXT,
    consumed_by TEXT,
    consumed_at TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Facts of the project.
CREATE TABLE facts (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'dropped')),
    text TEXT,
    "check" TEXT,                               -- JSON
    anchors TEXT,                               -- JSON list: the places that it is about
    reason TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Standing orders.
CREATE TABLE orders (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'lifted')),
    text TEXT,
    reason TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- The backlog.
CREATE TABLE backlog (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('todo', 'doing', 'blocked', 'done', 'dropped')),
    title TEXT,
    priority TEXT,
    epic TEXT,
    tags TEXT,                                  -- JSON list
    depends_on TEXT,                            -- JSON list
    result TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Batches of items.
CREATE TABLE batches (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    title TEXT,
    total INTEGER,
    done INTEGER,
    failed INTEGER,
    outcome TEXT,
    reason TEXT,
    closed_at TEXT,
    closed_by TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- References of sessions to files.
CREATE TABLE refs (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,                           -- the path
    status TEXT NOT NULL CHECK (status IN ('open', 'dropped')),
    kind TEXT,
    size INTEGER,
    hash TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Preferences of users.
CREATE TABLE preferences (
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    id TEXT NOT NULL,                           -- the key
    status TEXT NOT NULL CHECK (status IN ('open', 'dropped')),
    value TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- Checkpoints.
CREATE TABLE checkpoints (
    commit_number INTEGER NOT NULL REFERENCES commits (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    message TEXT,
    last_completed TEXT,
    pending TEXT,                               -- JSON list
    can_resume INTEGER,
    instruction TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    PRIMARY KEY (commit_number, place)
) STRICT, WITHOUT ROWID;

-- Notes.
CREATE TABLE notes (
    commit_number INTEGER NOT NULL REFERENCES commits (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    text TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    PRIMARY KEY (commit_number, place)
) STRICT, WITHOUT ROWID;

-- Messages of conversations.
CREATE TABLE messages (
    commit_number INTEGER NOT NULL REFERENCES commits (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    role TEXT,
    text TEXT,
    tool TEXT,
    file TEXT,                                  -- of a long message: the context file that has all of it
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    PRIMARY KEY (commit_number, place)
) STRICT, WITHOUT ROWID;

-- Events of programs (types x.…).
CREATE VIEW own_events AS
    SELECT commits.stream, commits.id AS commit_id, place, type, version, data, at, by, origin
    FROM events JOIN commits ON commits.number = events.commit_number
    WHERE type >= 'x.' AND type < 'x/';

-- What a search looks through: one row per entry, or per commit for what has no id.
CREATE TABLE texts (
    number INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES streams (stream) ON DELETE CASCADE,
    kind TEXT NOT NULL,                         -- decision, task, note, session, own, …
    id TEXT NOT NULL,                           -- D-3, T-1, …; a commit's id for what has none
    status TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- Vectors of texts, for ranking by meaning: empty until a search asks for it. meta has the name of the model.
CREATE TABLE vectors (
    number INTEGER PRIMARY KEY REFERENCES texts (number) ON DELETE CASCADE,
    vector BLOB NOT NULL                        -- 16-bit floating-point numbers; its length is 1
) STRICT;
-- A vector is removed when its text changes.
CREATE TRIGGER text_deleted AFTER DELETE ON texts BEGIN
    DELETE FROM vectors WHERE number = old.number;
END;
CREATE TRIGGER text_changed AFTER UPDATE OF text ON texts BEGIN
    DELETE FROM vectors WHERE number = old.number;
END;

-- Full text over texts, by number.
CREATE VIRTUAL TABLE search USING fts5 (
    text, content = '', tokenize = 'unicode61 remove_diacritics 2'
);
