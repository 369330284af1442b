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
def test_a_path_has_one_plain_form(given: str, plain: str) -> None:
    """Different ways to write a path inside the project are one path."""
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
def test_what_may_lead_out_is_refused(given: str) -> None:
    """No absolute path, no way upwards, no empty name."""
    with pytest.raises(Refused):
        checked_path(given)


def test_an_endless_path_is_refused() -> None:
    """A path has a limit, so that the state has one."""
    assert checked_path("x" * PATH_CAP)
    with pytest.raises(Refused):
        checked_path("x" * (PATH_CAP + 1))
