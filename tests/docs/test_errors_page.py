"""docs/reference/errors.md lists every error with its code and status."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast import errors

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text()


def below(error: type[errors.HoldfastError]) -> list[type[errors.HoldfastError]]:
    return [error, *(found for child in error.__subclasses__() for found in below(child))]


def test_every_error_is_listed() -> None:
    """The table has one row for each error class of holdfast.errors, with its code and exit status."""
    rows = re.findall(r"^\| (HF-[A-Z-]+) \| `(\w+)` \| (\d) \|", PAGE, re.MULTILINE)
    real = [error for error in below(errors.HoldfastError) if error.__module__ == errors.__name__]
    assert sorted(rows) == sorted((error.code, error.__name__, str(error.status)) for error in real)
