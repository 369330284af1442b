"""Token counts: the estimate is close, never far too low, and clipping stays within its budget."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import tokens
from holdfast.edge.cli import hints
from holdfast.errors import Usage

# Text that the constants were not fitted on, with the count of o200k_base.
KNOWN = [
    (22, "The store takes the lock, reads what is new, checks the rules, writes one line and lets go."),
    (26, "def append(self, stream: str, draft: Draft, *, expect: int | None = None) -> Commit:\n    pass"),
    (18, "Хранилище принимает блокировку, читает новое и записывает одну строку."),
    (21, "存储先获取锁，读取新的内容，检查规则，写入一行，然后释放锁。"),
]


LETTERS = {ord("0") + digit: ord("a") + digit for digit in range(10)}


def words_in(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(("real", "text"), KNOWN)
def test_estimate_is_near_the_real_count(real: int, text: str) -> None:
    """Prose, code and two other scripts are estimated within a quarter, even in a single sentence."""
    assert 0.85 * real <= tokens.estimate(text) <= 1.25 * real + 1


def test_empty_text_costs_nothing() -> None:
    """No text, no tokens."""
    assert tokens.estimate("") == 0


@given(st.text(max_size=300))
def test_every_text_has_an_estimate(text: str) -> None:
    """Any text is counted: at least one token when there is something, and not many times its bytes."""
    count = tokens.estimate(text)
    assert (count > 0) == (text != "")
    assert count <= 3 * len(text.encode("utf-8", "surrogatepass")) + 1


@given(st.text(max_size=200), st.text(max_size=200))
def test_parts_cost_about_what_the_whole_costs(left: str, right: str) -> None:
    """Joining two texts never saves or adds more than the pieces at the seam."""
    seam = 6 + max((len(word) for word in [*left.split()[-1:], *right.split()[:1]]), default=0) * 2
    assert abs(tokens.estimate(left + "\n" + right) - tokens.estimate(left) - tokens.estimate(right)) <= seam


def test_estimate_forgets_old_pieces() -> None:
    """The cache of pieces stays bounded, and evicting changes no result."""
    rng = random.Random(1)
    texts = [" ".join(str(rng.getrandbits(32)).translate(LETTERS) for _ in range(400)) for _ in range(80)]
    first = [tokens.estimate(text) for text in texts]
    assert first == [tokens.estimate(text) for text in texts]
    assert len(tokens._costs) <= tokens._MEMORY


def test_slices_do_not_change_long_texts() -> None:
    """A text of many slices costs what its parts cost."""
    line = "The quick brown fox decided to keep its state.\n"
    count = 20_000
    assert (
        abs(tokens.estimate(line * count) - tokens.estimate(line * 100) * count / 100) <= count * 0.002 + 10
    )


@given(st.text(max_size=300), st.integers(-2, 60), st.sampled_from([tokens.estimate, len, words_in]))
def test_clip_fits_and_is_a_prefix(text: str, budget: int, counter: tokens.Counter) -> None:
    """The result is a prefix within the budget; a text that fits is unchanged."""
    clipped = tokens.clip(text, budget, counter)
    assert text.startswith(clipped)
    assert counter(clipped) <= max(budget, 0)
    if budget > 0 and counter(text) <= budget:
        assert clipped == text


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=40), st.integers(9, 200))
def test_clip_is_the_longest_at_a_word_boundary(words: list[str], budget: int) -> None:
    """With an exact counter, one more word would not fit."""
    text = " ".join(words)
    clipped = tokens.clip(text, budget, len)
    kept = len(clipped.split())
    assert clipped == " ".join(words[:kept])
    assert kept == len(words) or len(" ".join(words[: kept + 1])) > budget


def test_clip_cuts_inside_a_word_that_is_too_long() -> None:
    """One overlong word is cut, and Chinese text may end after any character."""
    assert 0 < len(tokens.clip("x" * 10_000, 50)) < 10_000
    clipped = tokens.clip("存储先获取锁然后释放" * 50, 20)
    assert 15 <= tokens.estimate(clipped) <= 20


def test_clip_keeps_graphemes_whole() -> None:
    """Joined emoji and a letter with a combining mark are kept or dropped as one."""
    family = "👩\u200d👩\u200d👧"
    assert tokens.clip(family * 3, 7, len) == family
    assert tokens.clip("e\u0301" * 5, 3, len) == "e\u0301"


def test_clip_asks_the_counter_rarely() -> None:
    """A small budget does not count the whole of a long text."""
    asked: list[int] = []

    def counter(text: str) -> int:
        asked.append(len(text))
        return words_in(text)

    assert len(tokens.clip("word and another " * 100_000, 100, counter).split()) == 100
    assert sum(asked) < 100_000


def test_exact_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error names it."""
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    with pytest.raises(Usage, match="bpe-openai") as caught:
        tokens.exact()
    assert "holdfast[tokens]" in hints.text(caught.value.hint)


@pytest.fixture
def exact() -> Callable[[str], int]:
    return tokens.exact("o200k_base")


def test_known_counts_are_exact(exact: Callable[[str], int]) -> None:
    """The real counts in this file are what the tokenizer says."""
    assert [real for real, _ in KNOWN] == [exact(text) for _, text in KNOWN]


def test_estimate_of_the_standard_library_is_close(exact: Callable[[str], int]) -> None:
    """Real modules are never estimated below 0.9 nor above 1.25 of their count."""
    for name in ("json.decoder", "argparse", "heapq", "textwrap", "zipfile"):
        module = importlib.import_module(name)
        with open(str(module.__file__), encoding="utf-8") as file:
            text = file.read()
        assert 0.9 <= tokens.estimate(text) / exact(text) <= 1.25


def test_unknown_encoding_is_refused(exact: Callable[[str], int]) -> None:
    """The error for an unknown encoding lists the known ones."""
    with pytest.raises(Usage, match="not a known encoding") as caught:
        tokens.exact("o200k_bass")
    assert "o200k_base" in hints.text(caught.value.hint)
