"""Controls: an engine with errors after the last acknowledged commit is caught."""

from __future__ import annotations

import pytest

from holdfast.testing import scale
from holdfast.testing.conformance import broken
from holdfast.testing.crash.harness import Fixture, Protocol, check_protocol
from holdfast.testing.crash.oracle import Opened
from holdfast.testing.crash.protocols import PROTOCOLS
from holdfast.testing.crash.workload import Violation

BY_NAME = {protocol.name: protocol for protocol in PROTOCOLS}
MISTAKES: list[tuple[Opened, str, str]] = [
    (broken.HalfCommits, "large commits", "holds a commit that nobody wrote so"),
    (broken.PlayedTwice, "append more", "holds op[0-9]+ twice"),
    (broken.CutTooLate, "append more", "acknowledged commit successor .* is missing"),
    (broken.Silent, "append more", "nobody reports the (unreadable line|torn tail)"),
    (broken.Vague, "append more", "a fault names no line"),
    (broken.Renamer, "append more", "acknowledged commit op1 .* is changed"),
]


@pytest.mark.parametrize(
    ("engine", "protocol", "said"), MISTAKES, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_mistake_in_recovery_is_found(engine: Opened, protocol: str, said: str) -> None:
    """Half a commit, a duplicate, a lost successor, a fault without its position: each is rejected."""
    with pytest.raises(Violation, match=said):
        check_protocol(BY_NAME[protocol], seed=scale.seed(), limit=6, opened=engine)


def test_other_words_are_found_in_commits_that_were_joined() -> None:
    """Where archiving may rechain commits, a changed commit with a valid checksum is still detected."""

    def joined(fixture: Fixture) -> None:
        fixture.joined = True
        BY_NAME["append more"].run(fixture)

    with pytest.raises(Violation, match=r"acknowledged commit op1 .* is changed"):
        check_protocol(Protocol("joined", joined), seed=scale.seed(), limit=6, opened=broken.Renamer)
