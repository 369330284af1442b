"""Vectors of texts: made when a search by meaning asks for them, kept in the index, and removed with their texts.

Triggers of the database remove the vector of a text that changes or is deleted. All vectors are of one model, whose
name is kept with them; another model makes all of them again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.index.database import is_busy
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.index.embedding import Model

MOST = 50_000
"""The newest texts, which have vectors: every search compares with all of them. Older ones are found by words."""
_BATCH = 1_000
"""Texts per transaction: what a process that is killed loses, and how long others wait."""
_KNOWN = "SELECT number FROM vectors"
_INSERT = "INSERT OR REPLACE INTO vectors SELECT number, ? FROM texts WHERE number = ? AND text = ?"
"""Only if the text is still the one that the vector was made from: another process may have changed it meanwhile."""


def nearest(
    db: sqlite3.Connection,
    model: Model,
    words: str,
    condition: tuple[str, list[Any]],
    least: float,
    limit: int,
) -> list[tuple[int, float]]:
    """Number and similarity of the texts that meet the condition and are similar enough, the nearest first."""
    import numpy as np

    where, values = condition
    join = f"vectors JOIN texts ON texts.number = vectors.number WHERE {where}" if where else "vectors"
    rows = db.execute(f"SELECT vectors.number, vector FROM {join}", values).fetchall()  # noqa: S608 - our own
    if not rows:
        return []
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), np.float16).reshape(len(rows), -1)
    scores = matrix.astype(np.float32) @ model.embed([words])[0]
    best = np.argsort(-scores, kind="stable")[:limit]
    return [(rows[place][0], float(scores[place])) for place in best if scores[place] >= least]


def update(db: sqlite3.Connection, model: Model, progress: Callable[[int, int], None] | None = None) -> int:
    """Make the vectors that are missing; returns how many are missing still, because another process is writing."""
    missing = _missing(db, model)
    done = 0
    try:
        _use(db, model)
        while done < len(missing):
            if progress is not None:
                progress(done, len(missing))
            _make(db, model, missing[done : done + _BATCH])
            done += _BATCH
        if missing:
            _drop_oldest(db)
            if progress is not None:
                progress(len(missing), len(missing))
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    return max(0, len(missing) - done)


def _model_of(db: sqlite3.Connection) -> str:
    found = db.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
    return str(found[0]) if found else ""


def _use(db: sqlite3.Connection, model: Model) -> None:
    """Delete the vectors of another model."""
    if _model_of(db) == model.name:
        return
    db.execute("BEGIN IMMEDIATE")
    if _model_of(db) != model.name:
        db.execute("DELETE FROM vectors")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('vectors', ?)", (model.name,))
    db.execute("COMMIT")


def _drop_oldest(db: sqlite3.Connection) -> None:
    """Delete the vectors of texts that are no longer among the newest."""
    (count,) = db.execute("SELECT count(*) FROM vectors").fetchone()
    if count <= MOST:
        return
    import numpy as np

    db.execute("BEGIN IMMEDIATE")
    old = np.setdiff1d(_numbers(db, _KNOWN), _newest(db))
    db.executemany("DELETE FROM vectors WHERE number = ?", [(int(number),) for number in old])
    db.execute("COMMIT")


def _numbers(db: sqlite3.Connection, sql: str, *values: Any) -> NDArray[np.int64]:
    import numpy as np

    return np.fromiter((number for (number,) in db.execute(sql, values)), np.int64)


def _newest(db: sqlite3.Connection) -> NDArray[np.int64]:
    return _numbers(db, "SELECT number FROM texts ORDER BY at DESC, number DESC LIMIT ?", MOST)


def _missing(db: sqlite3.Connection, model: Model) -> list[int]:
    import numpy as np

    if _model_of(db) != model.name:
        return [int(number) for number in _newest(db)]
    known, texts = db.execute(
        "SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM texts)"
    ).fetchone()
    if known == texts <= MOST:
        return []  # every vector has a text
    newest = _newest(db)
    return [int(number) for number in newest[~np.isin(newest, _numbers(db, _KNOWN))]]


def _make(db: sqlite3.Connection, model: Model, numbers: list[int]) -> None:
    """The vectors of some texts, unless another process uses another model by now."""
    import numpy as np

    marks = ", ".join("?" * len(numbers))
    texts = db.execute(f"SELECT number, text FROM texts WHERE number IN ({marks})", numbers).fetchall()  # noqa: S608
    rows = model.embed([text for _, text in texts]).astype(np.float16) if texts else ()
    db.execute("BEGIN IMMEDIATE")
    if _model_of(db) == model.name:
        values = [(row.tobytes(), number, text) for row, (number, text) in zip(rows, texts, strict=True)]
        db.executemany(_INSERT, values)
    db.execute("COMMIT")
