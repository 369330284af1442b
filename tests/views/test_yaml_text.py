"""The YAML emitter and the TSV lines: an independent reader gets back every value."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.testing.hostile import TEXTS
from holdfast.views import tsv_text, yaml_text

AMBIGUOUS = [
    *(
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "N",
        "true",
        "False",
        "null",
        "NULL",
        "~",
        "",
        " ",
        "-",
        "?",
        ":",
        "- x",
    ),
    *(
        "1",
        "-1",
        "+1",
        "0x1f",
        "0o7",
        "010",
        "1_000",
        "1.5",
        "1e3",
        ".5",
        "5.",
        ".inf",
        "-.INF",
        ".nan",
        "1:30:00",
    ),
    *(
        "2026-01-21",
        "2026-01-21T14:30:00Z",
        "<<",
        "=",
        "!tag",
        "&anchor",
        "*alias",
        "@at",
        "`tick`",
        "%dir",
        "#x",
    ),
    *(
        "a: b",
        "a #b",
        "[a]",
        "{a: b}",
        "'single'",
        '"double"',
        "| block",
        "> fold",
        "trailing ",
        " leading",
        "a:",
    ),
    *("...", "---", "--- x", "a\n", "\n", "a\n\nb", "\ta", "NaN", "Infinity", "None", "e1", "E-5"),
]
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.sampled_from(AMBIGUOUS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("text", [*TEXTS, *AMBIGUOUS], ids=lambda text: ascii(text[:20]))
def test_every_text_round_trips_in_every_position(text: str) -> None:
    """A text is the same after reading as a value, a key, a list entry and a whole document."""
    if len(text) > 10_000:  # PyYAML reads a megabyte a second: once is enough
        value: dict[str, object] = {"value": text}
    else:
        value = {
            "value": text,
            "list": [text, [text], {"inner": text}],
            text + "key": {"deep": [{text + "2": text}]},
        }
        assert yaml.safe_load(yaml_text.dump(text)) == text
    assert yaml.safe_load(yaml_text.dump(value)) == value


@given(values)
@settings(max_examples=300, deadline=None)
def test_any_value_round_trips(value: object) -> None:
    """Every value of JSON is the same after reading, its types included."""
    found = yaml.safe_load(yaml_text.dump(value))
    assert found == value
    assert repr(found) == repr(value)


def test_a_line_is_ascii_visible_where_text_could_deceive() -> None:
    """Direction marks, escapes and line separators are written as escapes, never literally."""
    shown = yaml_text.text("a\u202eb\x1b[31m\u2028\ufeff\x9b")
    assert shown == '"a\\u202eb\\e[31m\\u2028\\ufeff\\x9b"'


def test_what_is_not_a_value_of_json_is_refused() -> None:
    """Nothing is written for a set, bytes or a number that is not finite."""
    for value in ({1}, b"x", float("nan"), float("inf"), float("-inf")):
        with pytest.raises(TypeError):
            yaml_text.dump([value])


@given(st.lists(texts | st.text("\\tnr0\t\n\r\0"), min_size=1, max_size=5))
@settings(max_examples=300, deadline=None)
def test_cells_round_trip_and_a_record_is_one_line(cells: list[str]) -> None:
    """Whatever the cells hold, the record is one line that round-trips."""
    line = tsv_text.line(cells)
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert "\r" not in line
    assert line.count("\t") == len(cells) - 1
    assert tsv_text.cells(line) == cells
