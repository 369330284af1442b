"""Token counts: an estimate without a vocabulary, or an exact count.

The estimate splits a text as current tokenizers pre-tokenize it: words with the one mark before them, groups of three
digits, runs of punctuation, line ends. Most pieces are one token. The average cost of a longer piece, by script, case
and length, was fitted against o200k_base and validated on other text: docs/tokens.md has the errors,
``bench/tokens.py`` measures them. The estimate leans high, which is the safe side for a budget.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache

from holdfast.errors import Usage

Counter = Callable[[str], int]

_SLICE = 1 << 18  # a long text is processed in slices to bound memory
_MEMORY = 1 << 14
_MARK = r"!-/:-@\[-`{-~"
_SMALL = "ß-öø-ɏḀ-ỿ"  # accented letters
_LARGE = "À-ÖØ-Þ"

# Hundredths of a token by number of letters, from one letter on; then so many for each further letter.
_WORDS: dict[tuple[str, str], tuple[tuple[int, ...], int]] = {
    ("small", " "): ((100, 100, 102, 105, 114, 118, 125, 135, 151, 169, 185, 204, 220, 270, 311), 48),
    ("small", "mark"): ((102, 127, 130, 130, 137, 151, 180, 191, 216, 222, 239, 270, 288, 310, 364), 40),
    ("small", ""): ((100, 100, 114, 116, 138, 140, 151, 160, 185, 207, 220, 259, 272, 310, 390), 40),
    ("title", " "): ((100, 101, 104, 111, 123, 130, 135, 164, 172, 197, 233, 248, 270, 305, 328), 40),
    ("title", "mark"): ((126, 190, 184, 170, 178, 201, 210, 240, 248, 250, 260, 285, 300, 320, 340), 40),
    ("title", ""): ((100, 118, 128, 132, 134, 146, 150, 182, 193, 211, 238, 265, 328, 400, 440), 40),
    ("mixed", " "): ((100, 110, 120, 168, 212, 215, 225, 240, 260, 300, 340), 40),
    ("mixed", "mark"): ((130, 280, 357, 382, 420, 435, 440, 440, 440, 440, 450), 40),
    ("mixed", ""): ((100, 230, 293, 326, 379, 426, 450, 460, 460, 460, 470), 40),
    ("large", " "): ((100, 101, 131, 147, 192, 200, 205, 225, 253, 270, 290), 45),
    ("large", "mark"): ((126, 139, 154, 168, 191, 200, 222, 264, 308, 341, 365), 45),
    ("large", ""): ((100, 104, 143, 164, 192, 204, 220, 265, 280, 310, 350), 45),
    ("accented", " "): ((103, 114, 116, 125, 147, 178, 209, 234, 251, 270, 290, 315, 361), 45),
    ("accented", "mark"): ((166, 218, 245, 250, 285, 290, 311, 335, 350, 400, 413, 430, 460), 45),
    ("accented", ""): ((173, 197, 200, 215, 225, 277, 292, 330, 340, 362, 391, 420, 480), 45),
}
# Some languages' unaccented words cost more than English ones too; their special letters carry that extra cost.
_FOREIGN = {
    **dict.fromkeys("ąćęłńśźż", 130),
    **dict.fromkeys("äö", 140),
    **dict.fromkeys("ğışİ", 40),
    **dict.fromkeys("čšž", 190),
    **dict.fromkeys("ďěňřťůľĺŕāēģīķļņūėįųđðþ", 110),
    **dict.fromkeys("șțţõ", 230),
    **dict.fromkeys("őű", 330),
    **dict.fromkeys("æø", 180),
    **dict.fromkeys("іїєґ", 30),
    **dict.fromkeys("јљњћђџъ", 90),
    "ў": 230,
}
_RUN = 42  # hundredths for a run of letters of another script, and for each letter of a block that starts at
_BLOCKS = (
    *(
        (0x80, 78),
        (0x250, 200),
        (0x370, 36),
        (0x400, 26),
        (0x530, 40),
        (0x590, 40),
        (0x600, 33),
        (0x700, 200),
    ),
    *(
        (0x900, 37),
        (0xA00, 53),
        (0xA80, 39),
        (0xB00, 105),
        (0xB80, 36),
        (0xC00, 45),
        (0xC80, 39),
        (0xD00, 36),
    ),
    *(
        (0xD80, 55),
        (0xE00, 41),
        (0xE80, 160),
        (0x1000, 55),
        (0x10A0, 37),
        (0x1100, 160),
        (0x1780, 62),
        (0x1800, 160),
    ),
    *((0x2000, 62), (0x3000, 92), (0x3040, 64), (0x3100, 79), (0xAC00, 60), (0xD7B0, 200), (0xFB00, 90)),
    *((0xFF00, 50), (0x10000, 180)),
)


def estimate(text: str) -> int:
    """About how many tokens ``text`` costs, rather too many than too few."""
    cost = _costs.__getitem__
    hundredths = 0
    for at in range(0, len(text), _SLICE):
        part = text[at : at + _SLICE]
        hundredths += sum(map(cost, _piece(part.isascii()).findall(part)))
    return -(-hundredths // 100)


def exact(encoding: str = "o200k_base") -> Counter:
    """A counter with the real vocabulary of ``encoding``; needs the extra ``tokens``."""
    from importlib import import_module

    try:
        library = import_module("bpe_openai")
    except ImportError as missing:
        hint = 'Install the extra, `pip install "holdfast[tokens]"`, or use the estimate.'
        raise Usage("Exact token counts need the package bpe-openai.", hint=hint) from missing
    names: list[str] = library.list_encoding_names()
    if encoding not in names:
        raise Usage(f"{encoding!r} is not a known encoding.", hint=f"Known are {', '.join(names)}.")
    encode: Callable[[str], list[int]] = library.get_encoding(encoding).encode_ordinary
    return lambda text: len(encode(text))


def clip(text: str, tokens: int, counter: Counter = estimate) -> str:
    """The longest prefix of ``text`` that ends at a word boundary and costs at most ``tokens``.

    A first word that is too long by itself is cut inside, but never inside a grapheme.
    """
    if tokens <= 0:
        return ""
    size = tokens * 8
    while size < len(text) and counter(text[:size]) <= tokens:
        size *= 2
    if size >= len(text):
        if counter(text) <= tokens:
            return text
        size = len(text)
    ends = [0, *(found.end() for found in _word().finditer(text, 0, size))]
    if size < len(text) and len(ends) > 2 and not text[size - 1].isspace() and not text[size].isspace():
        ends.pop()
    cut = _last_fit(text, ends, tokens, counter)
    if cut == 0 and len(ends) > 1:
        inside = [at for at in range(ends[1] + 1) if at == len(text) or not _joins(text, at)]
        cut = _last_fit(text, inside, tokens, counter)
    return text[:cut]


def _last_fit(text: str, ends: list[int], tokens: int, counter: Counter) -> int:
    index = bisect_right(ends, tokens, key=lambda end: counter(text[:end])) - 1
    # A longer text can cost one token less than a shorter one, so check the end that was found.
    while index > 0 and counter(text[: ends[index]]) > tokens:
        index -= 1
    return ends[max(index, 0)]


def _joins(text: str, at: int) -> bool:
    """Whether the characters around ``at`` form one grapheme."""
    from unicodedata import category

    return category(text[at])[0] == "M" or text[at] == "\u200d" or (at > 0 and text[at - 1] == "\u200d")


@cache
def _piece(ascii_only: bool) -> re.Pattern[str]:
    """The pattern of a piece; ASCII has its own because small character sets match faster."""
    small, large = ("a-z", "A-Z") if ascii_only else (f"a-z{_SMALL}", f"A-Z{_LARGE}")
    cuts = [
        rf"[ \t{_MARK}]?[{large}]*[{small}]+(?:'(?:s|t|re|ve|m|ll|d)\b)?",
        rf"[ \t{_MARK}]?[{large}]+",
        r"[0-9]{1,3}",
        *([] if ascii_only else [rf" ?[^\x00-\x7f{small}{large}]+"]),
        rf" ?[{_MARK}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
        r"[\x00-\x1f\x7f]",
    ]
    return re.compile("|".join(cuts))


@cache
def _word() -> re.Pattern[str]:
    """The pattern of a word; scripts without spaces may be cut after every character."""
    unspaced = "\u0e00-\u0eff\u1000-\u109f\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
    return re.compile(rf"[{unspaced}](?:[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])*|[^\s{unspaced}]+")


class _Costs(dict[str, int]):
    """The cost of pieces in hundredths of a token, memoised because most text repeats its words."""

    def __init__(self, cost: Callable[[str], int]) -> None:
        super().__init__()
        self._cost = cost

    def __missing__(self, piece: str) -> int:
        cost = self._cost(piece)
        if len(piece) < 24:
            if len(self) >= _MEMORY:
                self.clear()
            self[piece] = cost
        return cost


def _cost(piece: str) -> int:
    if piece.isspace():
        return 100 * (1 + len(piece) // 80)
    body = piece if piece[0].isalpha() or len(piece) == 1 else piece[1:]
    first = body[0]
    if first.isalpha() and (first < "\u0250" or "\u1e00" <= first <= "\u1eff"):
        lead = "" if body is piece else " " if piece[0] in " \t" else "mark"
        return _word_cost(body, lead)
    if not piece.isascii():
        return _script_cost(piece)
    if piece[0] in "0123456789":
        return 100
    return _mark_cost(piece.strip())


def _word_cost(word: str, lead: str) -> int:
    if not word.isascii():
        letters = "accented"
    elif word.islower():
        letters = "small"
    elif word.isupper():
        letters = "large"
    else:
        letters = "title" if word[1:].islower() else "mixed"
    costs, further = _WORDS[letters, lead]
    extra = len(word) - len(costs)
    cost = costs[-1] + extra * further if extra > 0 else costs[len(word) - 1]
    if letters == "accented":
        cost += sum(_FOREIGN.get(letter, 0) for letter in word)
    return cost


def _script_cost(run: str) -> int:
    return max(100, _RUN + sum(map(_letters.__getitem__, run.strip())))


def _letter_cost(letter: str) -> int:
    return _BLOCKS[bisect_left(_BLOCKS, (ord(letter), 1 << 30)) - 1][1] + _FOREIGN.get(letter, 0)


def _mark_cost(run: str) -> int:
    if len(run) < 4:
        return 118 if len(run) == 3 else 102
    if len(set(run)) <= 2:
        return 120 + 6 * len(run)
    return 50 + 35 * len(run)


_costs = _Costs(_cost)
_letters = _Costs(_letter_cost)
