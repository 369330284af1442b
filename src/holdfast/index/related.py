"""What other sessions wrote that concerns a piece of work: by the files that they share, and by its words."""

from __future__ import annotations

import re
import sqlite3

from holdfast.core.timestamps import from_iso
from holdfast.index.words import Word
from holdfast.typed import Any, Record

_WORDS = 24
"""Words of the work that are looked for."""
_CANDIDATES = 200
_SHORTEST = 3
_COMMON = frozenset(
    """
    about add after again all also and any are because been before bug but can change check code could
    did does done error file files find fix for from get had has have how into issue its just let like
    look make may more most must need new not now off one only other our out over please problem run
    session set should since some such task test tests than that the their them then there these they
    this update use used using via want was way were what when where which while who why will with
    without work would write yet you your
    """.split()  # noqa: SIM905
)
"""Words that tell nothing about a piece of work."""
_FILE, _RARE, _USUAL = 3.0, 1.0, 0.5
"""What a shared file counts, a word that few entries have, and any other word; 1 is enough."""
_FEW = 3
_DAY_MS = 86_400_000
_WAITING = """
    SELECT 'decision', id, text, at, decisions.by, origin, name FROM decisions JOIN streams USING (stream)
    JOIN sessions USING (stream)
    WHERE decisions.status = 'open' AND archived = 0 AND name <> :own
    UNION ALL
    SELECT 'handoff', id, message, at, handoffs.by, origin, name FROM handoffs JOIN streams USING (stream)
    JOIN sessions USING (stream)
    WHERE handoffs.status = 'open' AND archived = 0 AND name <> :own
    ORDER BY 4 DESC LIMIT :limit
"""
_MEANWHILE = """
    SELECT 'decision', id, text, because, at, decisions.by, origin, name FROM decisions JOIN streams USING (stream)
    JOIN sessions USING (stream)
    WHERE archived = 0 AND name <> :own AND superseded_by IS NULL AND at >= :since
    UNION ALL
    SELECT 'capture', id, text, because, at, captures.by, origin, name FROM captures JOIN streams USING (stream)
    JOIN sessions USING (stream)
    WHERE captures.status = 'open' AND captures.kind = 'decision' AND archived = 0 AND name <> :own AND at >= :since
    ORDER BY 5 DESC LIMIT :limit
"""
_ENTRIES = """
    SELECT texts.kind, texts.id, name, texts.at, texts.by, texts.origin,
        coalesce(decisions.text, errors.text), because, outcome, remedy, lower(texts.text)
    FROM texts JOIN streams USING (stream)
    LEFT JOIN decisions ON texts.kind = 'decision' AND decisions.stream = texts.stream AND decisions.id = texts.id
    LEFT JOIN errors ON texts.kind = 'error' AND errors.stream = texts.stream AND errors.id = texts.id
    WHERE number IN ({}) AND name <> ? AND streams.kind = 'session' AND superseded_by IS NULL
"""


class Work(Record):
    """The work that something may concern."""

    stream: str
    text: str
    """Its goal, its focus, its last requests."""
    files: tuple[str, ...]


def waiting(db: sqlite3.Connection, own: str, limit: int = 20) -> list[dict[str, Any]]:
    """Unsettled decisions and unclaimed handoffs of other sessions, newest first."""
    rows = db.execute(_WAITING, {"own": own, "limit": limit}).fetchall()
    return [
        {"kind": kind, "id": short_id, "text": text or "", "at": at, "by": by, "origin": origin}
        | {"session": stream.removeprefix("sessions/")}
        for kind, short_id, text, at, by, origin, stream in rows
    ]


def meanwhile(db: sqlite3.Connection, own: str, since: str, limit: int = 3) -> list[dict[str, Any]]:
    """What was decided in other sessions since a time, newest first, captured decisions among it."""
    names = ("kind", "id", "text", "because", "at", "by", "origin", "stream")
    rows = db.execute(_MEANWHILE, {"own": own, "since": since, "limit": limit}).fetchall()
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [entry | {"session": entry["stream"].removeprefix("sessions/")} for entry in found]


def related(db: sqlite3.Connection, work: Work, now: int, limit: int = 12) -> list[dict[str, Any]]:
    """Decisions, and errors with their remedy, of other sessions: those that concern the work most come first."""
    words = words_of(work.text)
    numbers = {*_with_words(db, words, work.files), *_with_files(db, work)}
    entries = _entries(db, numbers, work.stream)
    having = {word: _entries_with(word, entries) for word in words}
    sharing = {stream: _files_of(db, stream, work.files) for stream in {entry["stream"] for entry in entries}}
    found = []
    for place, entry in enumerate(entries):
        same = [word for word in words if place in having[word]]
        weight = sum(_RARE if len(having[word]) <= _FEW else _USUAL for word in same)
        named = [path for path in work.files if path.rpartition("/")[2].lower() in entry["all"]]
        shared = named or sharing[entry["stream"]]
        score = weight + (_FILE if named else _RARE if shared else 0)
        if score >= 1:
            reason = f"about {shared[0]}" if shared else f"same words: {', '.join(same[:4])}"
            found.append((score * _freshness(entry["at"], now), {**entry, "why": reason}))
    found.sort(key=lambda item: item[0], reverse=True)
    once: dict[tuple[str, str], dict[str, Any]] = {}
    for _, entry in found:
        once.setdefault((entry["kind"], " ".join(entry["text"].lower().split())), entry)
    return list(once.values())[:limit]


def _entries(db: sqlite3.Connection, numbers: set[int], own: str) -> list[dict[str, Any]]:
    """The decisions and remedied errors of other sessions among some texts."""
    sql = _ENTRIES.format(",".join("?" * len(numbers)))
    names = ("kind", "id", "stream", "at", "by", "origin", "text", "because", "outcome", "remedy", "all")
    found = []
    for row in db.execute(sql, (*numbers, own)):
        entry = dict(zip(names, row, strict=True))
        if entry["text"] and (entry["kind"] == "decision" or entry["remedy"]):
            entry["session"] = entry["stream"].removeprefix("sessions/")
            found.append(entry)
    return found


def _entries_with(word: str, entries: list[dict[str, Any]]) -> set[int]:
    """The places of the entries that have a word, or one that begins with it."""
    begins = re.compile(rf"(?<![^\W_]){re.escape(word)}")
    return {place for place, entry in enumerate(entries) if begins.search(entry["all"])}


def words_of(text: str) -> list[str]:
    """The words of a text that tell something about it, each once."""
    found = dict.fromkeys(word.lower() for word in re.findall(r"[^\W_][\w.-]*[^\W_]", text))
    return [word for word in found if len(word) >= _SHORTEST and word not in _COMMON][:_WORDS]


def _with_words(db: sqlite3.Connection, words: list[str], files: tuple[str, ...]) -> list[int]:
    """The numbers of the texts that match best."""
    names = (path.rpartition("/")[2] for path in files)
    terms = [Word(word, True).match() for word in (*words, *names)]
    if not terms:
        return []
    rows = db.execute(
        "SELECT number FROM search JOIN texts ON number = search.rowid WHERE search MATCH ? "
        "AND kind IN ('decision', 'error') ORDER BY bm25(search) LIMIT ?",
        (" OR ".join(terms), _CANDIDATES),
    )
    return [number for (number,) in rows]


def _with_files(db: sqlite3.Connection, work: Work) -> list[int]:
    """The numbers of the newest decisions and errors of sessions that refer to the same files."""
    if not work.files:
        return []
    marks = ",".join("?" * len(work.files))
    rows = db.execute(
        f"SELECT number FROM texts WHERE kind IN ('decision', 'error') AND stream IN "  # noqa: S608 - only marks
        f"(SELECT stream FROM refs WHERE id IN ({marks})) ORDER BY at DESC LIMIT ?",
        (*work.files, _CANDIDATES),
    )
    return [number for (number,) in rows]


def _files_of(db: sqlite3.Connection, stream: str, files: tuple[str, ...]) -> list[str]:
    if not files:
        return []
    marks = ",".join("?" * len(files))
    rows = db.execute(
        f"SELECT id FROM refs JOIN streams USING (stream) WHERE name = ? AND id IN ({marks})",  # noqa: S608
        (stream, *files),
    )
    return [path for (path,) in rows]


def _freshness(at: str, now: int) -> float:
    """Between a half and one: of two that concern the work alike, the newer comes first."""
    days = max(0, now - from_iso(at)) / _DAY_MS
    return 0.5 + 0.5 / (1 + days / 30)
