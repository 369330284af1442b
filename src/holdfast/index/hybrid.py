"""Ranking by words and meaning: two rankings of the same texts, fused by reciprocal rank."""

from __future__ import annotations

import sqlite3

from holdfast.index import search, vectors
from holdfast.index.words import words_of
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.index.embedding import Model

_K = 60
"""The constant of reciprocal rank fusion: a text at place n of a ranking gets 1 / (k + n)."""
_NEAREST = 100
_LEAST = 0.15
"""Texts that are less similar have nothing to do with the query: of unrelated ones, one in a hundred is nearer."""


def search_hybrid(
    db: sqlite3.Connection, query: search.Query, now: int, model: Model, without: int
) -> search.Answer:
    """The best matches by words and meaning. Quoted words, signs and a path must be in the text."""
    words = words_of(query.words)
    open_words = " ".join(word.text for word in words if word.has_letters)
    ranking = search.ranked(db, query, now, common=False)
    if not open_words:
        return search.answer(db, query, ranking)
    near = vectors.nearest(db, model, open_words, search.condition(query), _LEAST, _NEAREST)
    scores: dict[int, float] = {}
    by_words = [row[0] for row in ranking.rows]
    for numbers in (by_words, [number for number, _ in near]):
        for place, number in enumerate(numbers, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (_K + place)
    best = sorted(scores, key=lambda number: scores[number], reverse=True)
    fused = search.Ranking(
        [(number, "", scores[number]) for number in best], ranking.more, ranking.some or not ranking.rows
    )
    return search.answer(db, query, fused)._replace(ranking=search.HYBRID, without=without)
