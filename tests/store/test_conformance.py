"""The conformance suite is complete."""

from __future__ import annotations

from holdfast.testing import conformance
from holdfast.testing.conformance import commits, sharing, stores


def test_every_promise_is_in_the_suite() -> None:
    """An unlisted promise would not be checked for any engine."""
    written = {
        name
        for module in (commits, sharing, stores)
        for name, value in vars(module).items()
        if name.startswith("Test") and value.__module__ == module.__name__
    }
    assert written == {name for name in conformance.__all__ if name.startswith("Test")}
