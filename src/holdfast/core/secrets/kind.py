"""What a kind of secret is, and how to tell a real one from a placeholder or an ordinary word.

Ignored on purpose: documentation examples that say so (``…EXAMPLE``), values of one repeated character,
words joined by dashes, references such as ``${TOKEN}`` and ``<token>``, bare UUIDs even after a word like
``token``, and values of digits only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

ALNUM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
VALUE = r"""([^\s"'`,;&=<>(){}\[\]$\\|]{8,512}+={0,2})"""
_WORD = r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
_SAYS_SO = (
    *(
        "example",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "redacted",
        "dummy",
        "xxxx",
        "your-",
        "your_",
    ),
    *(
        "-here",
        "_here",
        "***",
        "...",
        "insert-",
        "insert_",
        "not-a-real",
        "fake-",
        "fake_",
        "sample-",
        "sample_",
    ),
    *("123456789", "notreal"),
)
_DULL_PASSWORDS = (
    " pass passwd password pwd secret user username postgres root admin guest test testing example "
    "changeme token xxx foo bar baz mypassword yourpassword pw key apikey api_key hunter2 mysql redis "
    "rabbitmq minio none null mypass dbpass db_password db_pass app p w s3cr3t x y z abc 123 1234 12345 "
    "123456 ... … *** **** "
)


@cache
def compiled(pattern: str, fold: bool = False) -> re.Pattern[str]:
    """Compile on first use: a short-lived process that finds no needle compiles nothing."""
    return re.compile(pattern, re.IGNORECASE if fold else 0)


def is_dense(value: str) -> bool:
    """Whether ``value`` is neither a placeholder nor made of words: enough after a prefix that no word has."""
    return len(set(value)) > 6 and not _says_so(value) and not _is_worded(value)


def is_random(value: str) -> bool:
    """Whether ``value`` looks random: the test where only a name like ``password`` precedes it."""
    if value[0] == "/":  # a path, or one of 64 texts in base64
        joined = "".join(_pieces(value))
        return len(joined) >= 28 and _breaks(joined) >= 0.42 and _has_all(joined) and not _says_so(value)
    if value[0] in ".~%@" or "://" in value or len(set(value)) < 6:
        return False
    if _says_so(value) or compiled(UUID).fullmatch(value):
        return False
    for piece in _pieces(value):
        if _is_mixed(piece) and compiled(r"[0-9a-f]{16,}|[0-9A-F]{16,}").fullmatch(piece):
            return True
        if len(piece) >= 8 and _breaks(piece) >= (0.4 if len(piece) < 12 else 0.27) and _is_mixed(piece):
            return True
    joined = "".join(_pieces(value))
    if len(joined) >= 20 and _breaks(joined) >= 0.42 and _has_all(joined):
        return True
    has_symbol = any(symbol in value for symbol in "!@#%^*+~?")
    return has_symbol and not value.isalpha() and _breaks(value) >= 0.5 and _is_mixed(value)


def _says_so(value: str) -> bool:
    lowered = value.lower()
    return any(word in lowered for word in _SAYS_SO)


def _pieces(value: str) -> list[str]:
    return [value] if value.isalnum() else compiled(r"[A-Za-z0-9]+").findall(value)


def _is_worded(value: str) -> bool:
    word = compiled(r"[A-Z]?[a-z]+|[A-Z]{1,14}|[0-9]+")
    return all(word.fullmatch(piece) for piece in _pieces(value))


def _is_mixed(piece: str) -> bool:
    """Letters and digits, or long and in both cases without being words in camel case."""
    if any(map(str.isdigit, piece)):
        return any(map(str.isalpha, piece))
    return len(piece) >= 20 and _breaks(piece) >= 0.4


def _has_all(text: str) -> bool:
    """Small and capital letters, and digits."""
    return any(map(str.islower, text)) and any(map(str.isupper, text)) and any(map(str.isdigit, text))


def _breaks(piece: str) -> float:
    """How often letters, cases and digits change: about 0.2 in names, 0.3 to 0.7 in random text."""
    found = compiled(_WORD).findall(piece)
    return len(found) / (len("".join(found)) or 1)


def is_password(value: str) -> bool:
    """The password of a URL: anything but a word that documentation uses there, or a reference."""
    return (
        f" {value.lower()} " not in _DULL_PASSWORDS
        and len(set(value)) > 1
        and value[0] not in "$<{[*%"
        and not _says_so(value)
    )


def is_key_block(value: str) -> bool:
    return compiled(r"[A-Za-z0-9+/]{24}").search(value, value.find("KEY") + 3) is not None


class Kind:
    """One kind of secret. Its span is the pattern's group, else the whole match."""

    __slots__ = ("after", "before", "check", "fold", "left", "name", "needles", "pattern")

    def __init__(
        self,
        name: str,
        needles: tuple[str, ...],
        pattern: str,
        check: Callable[[str], bool] = is_dense,
        *,
        left: str = ALNUM,  # characters that may not precede it
        before: tuple[int, ...] = (0,),  # how far before the needle the pattern starts
        fold: bool = False,  # needles are lower case and match in any case
        after: bool = False,  # the pattern starts where the needle ends
    ) -> None:
        self.name = name
        self.needles = needles
        self.pattern = pattern
        self.check = check
        self.left = left
        self.before = before
        self.fold = fold
        self.after = after
