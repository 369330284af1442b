"""User text: validated on input, shortened for the state, never changed in the log."""

from __future__ import annotations

from holdfast.errors import Refused, TooLarge

TEXT_CAP = 1 << 20
"""The longest text, in characters."""
NAME_CAP = 200
"""The longest name, such as that of a phase or a tag, in characters."""
EXCERPT = 600
"""Characters of a text that the state keeps; the log has the full text."""


def checked_text(text: object, what: str, *, cap: int = TEXT_CAP, empty: bool = False) -> str:
    """``text`` itself, if it may be stored as a ``what``."""
    if not isinstance(text, str):
        raise Refused(f"The {what} must be text, not {type(text).__name__}; nothing was written.")
    if not empty and not text.strip():
        raise Refused(f"The {what} is empty; nothing was written.")
    if len(text) > cap:
        raise TooLarge(f"The {what} has {len(text):,} characters; the limit is {cap:,}. Nothing was written.")
    return text


def checked_texts(texts: object, what: str, *, cap: int = TEXT_CAP, most: int = 100) -> list[str]:
    """A list of texts, each of which may be stored as a ``what``."""
    if isinstance(texts, str) or not isinstance(texts, (list, tuple)):
        raise Refused(f"The {what} list must be a list of texts; nothing was written.")
    if len(texts) > most:
        raise TooLarge(
            f"There are {len(texts):,} entries of {what}; the limit is {most:,}. Nothing was written."
        )
    return [checked_text(text, what, cap=cap) for text in texts]


def excerpt(text: str, length: int = EXCERPT) -> str:
    """The beginning of a text, and how much was cut."""
    if len(text) <= length:
        return text
    return f"{text[:length]}… [{len(text) - length:,} more characters in the log]"


def both_ends(text: str, length: int) -> str:
    """A text, or its beginning and its end: a long answer often has its result in one of them."""
    if len(text) <= length:
        return text
    head = length * 2 // 3
    return f"{text[:head].rstrip()} … {text[len(text) - (length - head) :].lstrip()}"


def one_line(text: str, length: int = 120) -> str:
    """The first ``length`` characters of a text on one line, for headlines and tables."""
    head = text[: 8 * length]  # do not split a megabyte for one line
    line = " ".join(head.split())
    return line if len(line) <= length and len(head) == len(text) else line[: length - 1] + "…"
