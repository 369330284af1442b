"""Search: ranked full text over all streams, with the match marked."""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from math import exp
from time import monotonic

from holdfast.core import anchors
from holdfast.core.timestamps import from_iso
from holdfast.errors import HoldfastError, Unavailable, Usage
from holdfast.index.rows import SHIFT
from holdfast.index.words import Word, segmented, words_of
from holdfast.typed import Any, Record

RANKED = 1_000
"""The newest matches that are ranked: of a word that is everywhere, only these."""
_HALF_LIFE_DAYS = 60.0
"""A match that much older needs a better text to be ahead."""
_SCANNED = 20_000
"""The newest texts that are read for a word that nothing begins with."""
_SHORTEST = 3
_COMMON, _FEW = 0.05, 3
"""A word is common if more than this share of the texts has it, and more than a few."""
SECONDS = 20.0
"""The longest that a search may take: only one for signs, which no table helps to find, comes near it."""
_BETWEEN = " · "
"""Between the lines of a text, in a snippet."""
_BEFORE, _AFTER = 60, 140
"""Characters of a snippet around the first match."""
_DAY_MS = 86_400_000
WORDS, HYBRID = "words", "hybrid"
"""How matches are ranked."""
KINDS = (
    "backlog",
    "batch",
    "blocker",
    "budget",
    "capture",
    "checkpoint",
    "compaction",
    "control",
    "decision",
    "discussion",
    "error",
    "fact",
    "git",
    "handoff",
    "import",
    "legal",
    "loop",
    "message",
    "next",
    "note",
    "order",
    "own",
    "phase",
    "plan",
    "preference",
    "reference",
    "risk",
    "secret",
    "session",
    "task",
)


class Query(Record):
    """What is looked for; None matches anything."""

    words: str = ""
    kinds: tuple[str, ...] = ()
    stream: str | None = None
    user: str | None = None
    by: str | None = None
    since: str | None = None
    until: str | None = None
    """Timestamps."""
    status: str | None = None
    path: str | None = None
    """A file that the text names."""
    limit: int = 20


class Found(Record):
    """One match."""

    kind: str
    id: str
    """Such as D-3; empty for what has no id of its own."""
    session: str
    """``user/id``; empty for what belongs to no session."""
    stream: str
    commit: str
    at: str
    by: str
    origin: str
    status: str | None
    text: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    """Where the snippet matches: start and end of each place."""
    anchors: tuple[dict[str, Any], ...] = ()
    """The places that it is about, as they were recorded."""
    places: tuple[str, ...] = ()
    """The same as text, with what became of each; the workspace knows that."""


class Answer(Record):
    """The matches, best first, and how many there are."""

    found: tuple[Found, ...]
    total: int
    """All matches; at least this many if ``more``."""
    more: bool
    some: bool
    """No text has all words: these have some of them, or are near in meaning."""
    ranking: str = WORDS
    """How they were ranked: ``words``, or ``hybrid``, which is by words and meaning."""
    without: int = 0
    """Texts that could only be ranked by words, because another process is making their vectors."""


class Ranking(Record):
    """Number, time and score of every match, best first."""

    rows: list[tuple[int, str, float]]
    more: bool
    some: bool


def search(db: sqlite3.Connection, query: Query, now: int) -> Answer:
    """The best matches by words."""
    return answer(db, query, ranked(db, query, now))


def answer(db: sqlite3.Connection, query: Query, ranking: Ranking) -> Answer:
    """The first matches of a ranking, in full."""
    rows, more, some = ranking
    return Answer(_founds(db, rows[: query.limit], _words(query)), len(rows), more, some)


def _words(query: Query) -> list[Word]:
    return words_of(query.words) + ([Word(query.path, True)] if query.path else [])


def has_words(query: Query) -> bool:
    """Whether anything is asked for besides filters and signs."""
    return any(word.has_letters for word in words_of(query.words))


def ranked(db: sqlite3.Connection, query: Query, now: int, *, common: bool = True) -> Ranking:
    """All matches by words, as far as they are ranked. If no text has all words, those that are in many texts say
    little; without ``common`` they are not looked for then."""
    words = _words(query)
    _check(query, words)
    where, values = _filter(query)
    plain = [word for word in words if word.has_letters]
    signs = [word for word in words if not word.has_letters]
    if not plain:
        return _newest(db, words, where, values)
    for sign in signs:
        where.append("instr(texts.text, ?)")
        values.append(sign.text)
    rows, more = _matches(db, " AND ".join(word.match() for word in plain), where, values)
    if not rows:
        rows = _inside(db, plain, where, values)
    some = not rows and len(plain) > 1
    if some and not common:
        plain = _rare(db, plain)
    if some and plain:
        rows, more = _matches(db, " OR ".join(word.match() for word in plain), where, values)
    best = sorted(rows, key=lambda row: _score(row, now), reverse=True)
    return Ranking(best, more, bool(some and rows))


def _rare(db: sqlite3.Connection, words: list[Word]) -> list[Word]:
    """The words that few texts have."""
    (texts,) = db.execute("SELECT count(*) FROM texts").fetchone()
    most = max(_FEW, min(RANKED, int(texts * _COMMON)))
    sql = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
    return [word for word in words if _run(db, sql, (word.match(), most + 1))[0][0] <= most]


def condition(query: Query) -> tuple[str, list[Any]]:
    """What every match of a query must meet, besides having its words: the filters, and what is in quotes."""
    where, values = _filter(query)
    for word in _words(query):
        if not word.has_letters:
            where.append("instr(texts.text, ?)")
            values.append(word.text)
        elif word.whole:
            where.append("texts.number IN (SELECT rowid FROM search WHERE search MATCH ?)")
            values.append(word.match())
    return " AND ".join(where), values


def _check(query: Query, words: list[Word]) -> None:
    for kind in query.kinds:
        if kind not in KINDS:
            raise Usage(f"{kind[:40]!r} is not a kind.", hint=f"Kinds: {', '.join(KINDS)}.")
    filters = query.kinds, query.stream, query.user, query.by, query.since, query.until, query.status
    if not words and not any(filters):
        raise Usage("There is nothing to search for.", hint="Give words, or a filter such as a kind.")


def _filter(query: Query) -> tuple[list[str], list[Any]]:
    """The conditions besides the words."""
    where: list[str] = []
    values: list[Any] = []

    def add(condition: str, *given: Any) -> None:
        where.append(condition)
        values.extend(given)

    if query.kinds:
        add(f"texts.kind IN ({', '.join('?' * len(query.kinds))})", *query.kinds)
    if query.stream is not None:
        add("texts.stream = (SELECT stream FROM streams WHERE name = ?)", query.stream)
    if query.user is not None:
        add(
            "texts.stream IN (SELECT stream FROM streams WHERE name = ? OR name GLOB ?)",
            f"users/{query.user}",
            f"sessions/{query.user}/*",
        )
    if query.by is not None:
        add("texts.by = ?", query.by)
    if query.since is not None:
        add("texts.at >= ?", query.since)
    if query.until is not None:
        add("texts.at <= ?", query.until)
    if query.status is not None:
        add("texts.status = ?", query.status)
    return where, values


_COLUMNS = "texts.number, texts.at"
_ANCHORED = {"decision": "decisions", "fact": "facts", "error": "errors"}
"""The tables of what can have anchors, by kind."""


def _matches(
    db: sqlite3.Connection, match: str, where: list[str], values: list[Any]
) -> tuple[list[tuple[int, str, float]], bool]:
    """Number, time and rank of the newest matches, and whether there are more."""
    conditions = " AND ".join(["search MATCH ?", *where])
    join = "search JOIN texts ON texts.number = search.rowid"
    few = f"SELECT {_COLUMNS} FROM {join} WHERE {conditions} ORDER BY search.rowid DESC LIMIT ?"  # noqa: S608
    found = _run(db, few, (match, *values, RANKED + 1))
    if len(found) > RANKED:
        return [(number, at, 1.0) for number, at in found[:RANKED]], True
    ranked = f"SELECT {_COLUMNS}, -bm25(search) FROM {join} WHERE {conditions}"  # noqa: S608
    return _run(db, ranked, (match, *values)), False


def _inside(
    db: sqlite3.Connection, words: list[Word], where: list[str], values: list[Any]
) -> list[tuple[int, str, float]]:
    """The newest matches inside of words: ``lite`` in ``SQLite``."""
    if any(len(word.text) < _SHORTEST for word in words):
        return []
    conditions = " AND ".join([*where, *["texts.text LIKE ? ESCAPE char(92)"] * len(words)])
    newest = f"(SELECT * FROM texts ORDER BY number DESC LIMIT {_SCANNED}) AS texts"  # noqa: S608
    sql = f"SELECT {_COLUMNS}, 1.0 FROM {newest} WHERE {conditions} LIMIT {RANKED}"  # noqa: S608 - constants
    return _run(db, sql, (*values, *(_like(word.text) for word in words)))


def _like(text: str) -> str:
    for sign in ("\\", "%", "_"):
        text = text.replace(sign, f"\\{sign}")
    return f"%{text}%"


def _score(row: tuple[int, str, float], now: int) -> float:
    """The rank of a text, with half of its weight for how recent it is."""
    _, at, rank = row
    try:
        age = max(0, now - from_iso(at)) / _DAY_MS
    except HoldfastError:
        age = 1e6
    return max(rank, 1e-9) * (0.5 + 0.5 * exp(-age / _HALF_LIFE_DAYS))


def _newest(db: sqlite3.Connection, words: list[Word], where: list[str], values: list[Any]) -> Ranking:
    """The newest texts that contain signs without letters, or that only the filters choose."""
    for word in words:
        where.append("instr(texts.text, ?)")
        values.append(word.text)
    conditions = " AND ".join(where) or "1"
    sql = f"SELECT {_COLUMNS} FROM texts WHERE {conditions} ORDER BY texts.at DESC, number DESC LIMIT ?"  # noqa: S608
    rows = _run(db, sql, (*values, RANKED + 1))
    more = len(rows) > RANKED
    return Ranking([(number, at, 1.0) for number, at in rows[:RANKED]], more, False)


def _run(db: sqlite3.Connection, sql: str, values: Iterable[Any]) -> list[Any]:
    """The rows of a query that may not take for ever."""
    end = monotonic() + SECONDS
    db.set_progress_handler(lambda: int(monotonic() > end), 10_000)
    try:
        return db.execute(sql, tuple(values)).fetchall()
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        raise Unavailable(
            f"The search took longer than {SECONDS:g} seconds and was ended; not everything was looked at.",
            hint="Add a word with letters, or a filter such as a kind.",
        ) from error
    finally:
        db.set_progress_handler(None, 0)


def _founds(db: sqlite3.Connection, rows: list[Any], words: list[Word]) -> tuple[Found, ...]:
    return tuple(_found(db, row[0], words) for row in rows)


def _found(db: sqlite3.Connection, number: int, words: list[Word]) -> Found:
    kind, entry_id, status, at, by, origin, text, stream = db.execute(
        "SELECT texts.kind, id, status, at, by, origin, text, name FROM texts JOIN streams USING (stream) "
        "WHERE number = ?",
        (number,),
    ).fetchone()
    snippet, marks = marked(text, words)
    is_commit = len(entry_id) == 25 and entry_id[16:17] == "-" and kind not in ("reference", "preference")
    return Found(
        kind,
        "" if is_commit else entry_id,
        stream.removeprefix("sessions/") if stream.startswith("sessions/") else "",
        stream,
        entry_id if is_commit else "",
        at,
        by,
        origin,
        status,
        text,
        snippet,
        marks,
        _anchors(db, number, kind, entry_id),
    )


def _anchors(db: sqlite3.Connection, number: int, kind: str, entry_id: str) -> tuple[dict[str, Any], ...]:
    table = _ANCHORED.get(kind)
    if table is None:
        return ()
    row = db.execute(
        f"SELECT anchors FROM {table} WHERE stream = ? AND id = ?",  # noqa: S608 - a constant
        (number >> SHIFT, entry_id),
    ).fetchone()
    try:
        return tuple(anchors.stored({"anchors": json.loads(row[0])})) if row and row[0] else ()
    except (ValueError, TypeError):  # a commit from elsewhere may have anything there
        return ()


# -- snippets ---------------------------------------------------------------------------------------------


def marked(text: str, words: list[Word]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The part of a text around its first match, on one line, and where it matches."""
    pattern = _pattern(words, r"(?<![^\W_])")
    if pattern is None:
        return _one_line(text[: _BEFORE + _AFTER], len(text) > _BEFORE + _AFTER), ()
    plain = _folded(text)
    first = pattern.search(plain)
    if first is None:
        pattern = _pattern(words, "") or pattern
        first = pattern.search(plain)
    start = max(0, first.start() - _BEFORE) if first else 0
    end = min(len(text), start + _BEFORE + _AFTER)
    while start and start < len(text) and not text[start - 1].isspace() and first and start < first.start():
        start += 1  # at the beginning of a word
    part = text[start:end]
    lead = "… " if start else ""

    def place(at: int) -> int:
        return at - start + len(lead) + (len(_BETWEEN) - 1) * text.count("\n", start, at)

    marks = tuple(
        (place(match.start()), place(match.end()))
        for match in pattern.finditer(plain, start, end)
        if match.end() > match.start()
    )
    return lead + _on_one_line(part) + (" …" if end < len(text) else ""), marks


def _on_one_line(part: str) -> str:
    """A text whose lines, and so the parts of an entry, are told apart by a sign."""
    return "".join(
        _BETWEEN if character == "\n" else " " if character.isspace() else character for character in part
    )


def _one_line(text: str, cut: bool) -> str:
    return _BETWEEN.join(" ".join(line.split()) for line in text.splitlines()) + (" …" if cut else "")


def _pattern(words: list[Word], start: str) -> re.Pattern[str] | None:
    parts = []
    for word in words:
        pieces = [re.escape(piece) for piece in re.split(r"[\W_]+", _folded(segmented(word.text))) if piece]
        if not pieces:
            parts.append(re.escape(word.text))
            continue
        inside = r"[\W_]*".join(pieces)
        open_end = "" if word.whole or not pieces[-1].isascii() else r"\w*"
        parts.append((start if pieces[0].isascii() else "") + inside + open_end)
    return re.compile("|".join(parts)) if parts else None


def _folded(text: str) -> str:
    """The text in lower case and without diacritics, character by character."""
    if text.isascii():
        return text.lower()
    return "".join(map(_folded_character, text))


def _folded_character(character: str) -> str:
    if character.isascii():
        return character.lower()
    base = unicodedata.normalize("NFD", character)[0].lower()
    return base if len(base) == 1 else character
