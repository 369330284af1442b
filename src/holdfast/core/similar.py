"""Whether two short texts say the same: compared by their words, not by their spelling."""

from __future__ import annotations

ALIKE = 0.75
"""The share of words that two texts have in common, from which on they count as the same."""
_LENGTH = 600
_SMALL = frozenset(
    [
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "is", "it", "of", "on", "or",
        "our", "so", "that", "the", "this", "to", "was", "we", "will", "with",
    ]
)  # fmt: skip


def words(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning, in small letters."""
    spelled = "".join(letter if letter.isalnum() else " " for letter in text[:_LENGTH].lower())
    found = spelled.split()
    return frozenset([word for word in found if word not in _SMALL] or found)


def key(text: str) -> str:
    """A text as it is compared for being the same: its letters and digits."""
    from holdfast.core.hashing import blake2b

    plain = "".join(letter for letter in text.lower() if letter.isalnum())
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts have nearly the same words."""
    return bool(one) and bool(other) and len(one & other) >= ALIKE * len(one | other)
