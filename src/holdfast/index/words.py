"""Words of texts and queries: what the full-text table is fed with, and asked for.

The tokenizer splits at everything that is no letter or digit. Scripts that are written without spaces would become one
long word, so their characters are separated first: each is a word, and a query for several is a query for a phrase.
"""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.typed import Record

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff\u3100-\u31bf\u31f0-\u31ff"  # radicals, kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"  # ideographs, hangul
    "\U00016fe0-\U0001b2ff\U00020000-\U0003ffff"
)
MOST = 40
"""Words of a query; the rest is left out."""


@lru_cache(maxsize=1)
def _splitter() -> re.Pattern[str]:
    return re.compile(f"([{_UNSPACED}])")


def segmented(text: str) -> str:
    """A text for the tokenizer."""
    text = text.replace("\0", " ")
    return text if text.isascii() else _splitter().sub(r" \1 ", text)


class Word(Record):
    """A word or a quoted phrase of a query."""

    text: str
    whole: bool
    """Quoted: the last word of it is not a prefix."""

    @property
    def has_letters(self) -> bool:
        """Whether the tokenizer finds anything in it."""
        return any(character.isalnum() for character in self.text)

    def match(self) -> str:
        """The word as the full-text table takes it."""
        inside = segmented(self.text).replace('"', '""')
        return f'"{inside}"' if self.whole else f'"{inside}"*'


def words_of(query: str) -> list[Word]:
    """The words of a query; quotes join them to a phrase. Nothing in it is an operator."""
    found: list[Word] = []
    for place, part in enumerate(query.replace("\0", " ").split('"')):
        if place % 2 and query.count('"') > place:
            found += [Word(" ".join(part.split()), True)] if part.strip() else []
        else:
            found += [Word(word, False) for word in part.split()]
    return found[:MOST]
