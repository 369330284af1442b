"""Relative paths as text."""

from __future__ import annotations

import pytest

from holdfast.core.paths import PATH_CAP, checked_path
from holdfast.errors import Refused


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("a/./b", "a/b"),
        ("session:./context/x", "session:context/x"),
        ("a b\n\u202e", "a b\n\u202e"),
        ("..a/b..", "..a/b.."),
        ("~/x", "~/x"),
    ],
)
def test_a_path_has_one_normal_form(given: str, plain: str) -> None:
    """Different spellings of a path inside the project are one path."""
    assert checked_path(given) == plain
    assert checked_path(plain) == plain


@pytest.mark.parametrize(
    "given",
    [
        "",
        ".",
        "/",
        "..",
        "../a",
        "a/../b",
        "a/..",
        "/etc/passwd",
        "session:",
        "session:/etc",
        "session:../x",
        "a\0b",
    ],
)
def test_a_path_that_leaves_the_project_is_refused(given: str) -> None:
    """Absolute paths, ".." and empty names are refused."""
    with pytest.raises(Refused):
        checked_path(given)


def test_an_overlong_path_is_refused() -> None:
    """The length of a path is limited, so that the state is bounded."""
    assert checked_path("x" * PATH_CAP)
    with pytest.raises(Refused):
        checked_path("x" * (PATH_CAP + 1))
