"""Captures: proposals from conversations, and the texts that they are read from."""

from __future__ import annotations

import pytest
from capture_corpus import HELD_OUT, TUNED
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import stated, summary_lines
from holdfast.core.concepts import capture
from holdfast.errors import NotFound, Refused
from holdfast.testing.strategies import Replica

FROM_SUMMARY = capture.Lineage("summary", "claude", "claude")


def propose(session: Replica, *texts: str, kind: str = "decision") -> None:
    found = [capture.Candidate(kind, text) for text in texts]
    session.commit(lambda state, mint: capture.propose(state, mint, found, FROM_SUMMARY))


def open_texts(session: Replica) -> list[str]:
    return [entry["text"] for entry in session.state["captures"]["open"].values()]


def test_a_capture_is_confirmed_as_what_its_kind_says(session: Replica) -> None:
    """A decision and a constraint become choices, an open question a loop, work in flight a next action."""
    found = [capture.Candidate(kind, f"about {kind} alone") for kind in capture.KINDS]
    session.commit(lambda state, mint: capture.propose(state, mint, found, FROM_SUMMARY))
    for number in range(1, 5):
        session.confirm_capture(f"C-{number}")
    became = [entry["became"] for entry in session.state["captures"]["closed"]]
    assert became == ["D-1", "D-2", "LOOP-001", "N-1"]
    assert session.state["decisions"]["open"] == {}, "nothing waits for an outcome"
    assert session.state["captures"]["open"] == {}


def test_a_correction_confirms_in_the_same_commit(session: Replica) -> None:
    """The decision has the right words; the capture keeps the ones that were captured, in the log."""
    propose(session, "use the WAL mod")
    count = len(session.commits)
    session.confirm_capture("C-1", text="Use WAL mode", because="two readers")
    assert len(session.commits) == count + 1
    (decision,) = session.state["decisions"]["closed"]
    assert (decision["text"], decision["because"]) == ("Use WAL mode", "two readers")


def test_a_decision_can_correct_a_capture(session: Replica) -> None:
    """A decision that supersedes a capture settles it."""
    propose(session, "use the WAL mod")
    session.decide("Use WAL mode", because="two readers", supersedes="C-1")
    (closed,) = session.state["captures"]["closed"]
    assert (closed["outcome"], closed["became"], closed["text"]) == ("confirmed", "D-1", "Use WAL mode")


def test_what_was_proposed_dropped_or_decided_is_not_proposed_again(session: Replica) -> None:
    """The same text, nearly the same words, a dropped one, and what is decided already."""
    propose(session, "Use WAL mode for the cache", "use wal mode, for the cache!")
    assert open_texts(session) == ["Use WAL mode for the cache"]
    session.drop_capture("C-1", "only an idea")
    session.decide("Store amounts as integers of cents", because="floats lose them")
    again = [
        capture.Candidate("decision", text)
        for text in ("USE WAL MODE FOR THE CACHE", "We store amounts as integers of cents")
    ]
    assert capture.propose(session.state, lambda prefix: f"{prefix}-9", again, FROM_SUMMARY) == []


def test_captures_stay_bounded(session: Replica) -> None:
    """The oldest make room; a thousand proposals leave a few, the newest."""
    for part in range(25):
        propose(session, *[f"choice number{part * 40 + n} about thing{part * 40 + n}" for n in range(40)])
    assert len(open_texts(session)) == capture.MOST
    assert "choice number999 about thing999" in open_texts(session)
    assert len(session.state["captures"]["known"]) <= capture.KNOWN


def test_a_settled_capture_cannot_be_settled_again(session: Replica) -> None:
    """The error says that it is closed; an unknown one is not found."""
    propose(session, "use WAL mode")
    session.confirm_capture("C-1")
    with pytest.raises(Refused, match="closed already"):
        session.drop_capture("C-1")
    with pytest.raises(NotFound):
        session.confirm_capture("C-9")


# -- the lines of a summary ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "DECISION: use WAL BECAUSE: two readers",
        "- DECISION: use WAL BECAUSE: two readers",
        "1. **DECISION:** use WAL **BECAUSE:** two readers",
        "* **Decision**: use WAL because two readers",
        "decision: use WAL\nbecause: two readers",
        "DECISION 1: use WAL\n  BECAUSE: two\n  readers",
        "DECISION: use\n  WAL BECAUSE: two readers",
        "Entscheidung: use WAL. Weil: two readers".replace(". Weil:", "\nWeil:"),
        "## Decisions:\n- use WAL because two readers",
        "DECISIONS:\n\n* use WAL because two readers",
        "```\nDECISION: use WAL BECAUSE: two readers\n```",
        "<analysis>DECISION: a draft</analysis>\n<summary>\nDECISION: use WAL BECAUSE: two readers\n</summary>",
        "DECISION\uff1a use WAL BECAUSE: two readers",
    ],
)
def test_the_fixed_form_is_read_in_its_variants(text: str) -> None:
    """Bullets, bold, numbers, small letters, headings with lists, wrapped lines, other languages."""
    (found,) = summary_lines.read(text)
    assert (found.kind, found.text, found.because) == ("decision", "use WAL", "two readers")


def test_all_kinds_are_read_and_words_of_others_are_not() -> None:
    """Quotations, code, tables, placeholders and empty lines give nothing."""
    found = summary_lines.read(
        "CONSTRAINT: no new tables\nOPEN: who owns it?\nIN FLIGHT: the tests\nIN-FLIGHT: the docs\n"
        "> DECISION: quoted\n| DECISION: cell |\n```sh\necho\nDECISION: code\n```\nDECISION: none\nOPEN:\n"
        "DECISION: what was decided BECAUSE: why\n«DECISION: fenced»"
    )
    assert [(each.kind, each.text) for each in found] == [
        ("constraint", "no new tables"),
        ("open", "who owns it?"),
        ("in-flight", "the tests"),
        ("in-flight", "the docs"),
    ]


LINES = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(["DECISION: x y", "BECAUSE: z", "```", "<a>", "- OPEN:", "> q", "«", "**", "1."]),
    ),
    max_size=60,
)


@given(LINES)
def test_any_text_can_be_read(lines: list[str]) -> None:
    """Whatever a text holds: bounded candidates of known kinds, each short and with content."""
    text = "\n".join(lines)
    for found, most in (
        (summary_lines.read(text), summary_lines.MOST),
        (stated.in_message(text), stated.MOST),
        (stated.in_prompt(text), stated.MOST),
    ):
        assert len(found) <= most
        for candidate in found:
            assert candidate.kind in capture.KINDS
            assert candidate.text.strip()
            assert len(candidate.text) <= summary_lines.LENGTH


@pytest.mark.parametrize(
    "piece",
    [
        "DECISION: " + "x" * 200,
        "- ",
        "**",
        "<a",
        "I'll use a because ",
        "and but also please never ",
        "(" * 50,
        "\t",
    ],
)
def test_huge_texts_are_read_in_bounded_time(piece: str) -> None:
    """All that a hook passes on, the same piece in one line and in many: quadratic work would not end in time."""
    for text in (piece * (1_000_000 // len(piece)), f"{piece}\n" * (1_000_000 // len(piece))):
        summary_lines.read(text[:100_000])
        stated.in_message(text[:100_000])
        stated.in_prompt(text[:100_000])


# -- sentences ----------------------------------------------------------------------------------------------


def measured(corpus: tuple[tuple[str, str, str | None], ...]) -> tuple[float, float]:
    """Precision and recall."""
    right = wrong = missed = 0
    for who, sentence, wanted in corpus:
        found = (stated.in_message if who == "agent" else stated.in_prompt)(sentence)
        right += bool(found) and wanted is not None
        wrong += bool(found) and wanted is None
        missed += not found and wanted is not None
    return right / (right + wrong), right / (right + missed)


@pytest.mark.parametrize("corpus", [TUNED, HELD_OUT], ids=["tuned", "held out"])
def test_statements_are_found_with_high_precision(corpus: tuple[tuple[str, str, str | None], ...]) -> None:
    """At least nine of ten that are found are statements, and at least seven of ten statements are found."""
    precision, recall = measured(corpus)
    assert precision >= 0.9
    assert recall >= 0.7


def test_the_kind_and_the_reason_are_read() -> None:
    """A decision with its reason; a person's constraint."""
    (found,) = stated.in_message("Done.\n\nI chose httpx over requests because it is async. All tests pass.")
    assert (found.kind, found.because) == ("decision", "it is async")
    assert found.text == "I chose httpx over requests"
    (demand,) = stated.in_prompt("Fix the importer. Never touch db/migrations.")
    assert (demand.kind, demand.text) == ("constraint", "Never touch db/migrations")


def test_words_of_others_are_never_statements() -> None:
    """Code, quotations, tables, tagged blocks and indented output."""
    statement = "We decided to drop the table."
    for text in (
        f"```\n{statement}\n```",
        f"> {statement}",
        f"| {statement} |",
        f"<system-reminder>\n{statement}\n</system-reminder>",
        f"    {statement}",
        f"«{statement}»",
        f"~~~\n{statement}",
    ):
        assert stated.in_message(text) == [], text
        assert stated.in_prompt(text) == [], text
