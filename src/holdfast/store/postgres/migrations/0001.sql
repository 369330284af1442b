-- The log. {schema} is the schema's quoted name. A later version is a file with the next number.

CREATE TABLE {schema}.meta (
    key text COLLATE "C" NOT NULL PRIMARY KEY CHECK (key <> ''),
    value text NOT NULL
);

-- Numbers are random: no two streams of a database ever have the same one, and no lock is needed to find one.
CREATE TABLE {schema}.streams (
    name text COLLATE "C" NOT NULL PRIMARY KEY
        CHECK (name = 'project' OR name LIKE 'users/_%' OR name LIKE 'sessions/_%/_%'),
    number bigint NOT NULL UNIQUE
);

CREATE TABLE {schema}.commits (
    stream bigint NOT NULL REFERENCES {schema}.streams (number) ON DELETE CASCADE,
    seq bigint NOT NULL CHECK (seq >= 1),
    id text COLLATE "C" NOT NULL CHECK (length(id) = 25),
    -- random for every try to append: whoever lost the connection finds out whose row it is
    attempt bigint NOT NULL,
    -- a hash of the operation id, which can be longer than an index takes
    op bytea CHECK (length(op) = 16),
    line bytea NOT NULL CHECK (length(line) > 0),
    PRIMARY KEY (stream, seq)
);

CREATE UNIQUE INDEX commits_by_op ON {schema}.commits (stream, op) WHERE op IS NOT NULL;

CREATE TABLE {schema}.notes (
    name text COLLATE "C" NOT NULL PRIMARY KEY CHECK (name LIKE '_%/_%'),
    data bytea NOT NULL
);
