"""A program's own events have any shape: the pre-check of a commit misses nothing in them."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.core.codec import Draft, Event, content_of
from holdfast.core.secrets import finder as secrets
from holdfast.core.secrets import signs
from holdfast.core.secrets.signs import MARKS, MARKS_OF_EVENT, MARKS_OF_NAME, may_be_in
from holdfast.errors import SecretFound
from holdfast.workspace import secrets_filter

sys.path.insert(0, str(Path(__file__).parent))
from secret_samples import ALNUM, some
from test_secrets import PIECES, corpus

TEXTS = [text for _, text, _, _ in corpus(1)]
NAMES = (
    "password",
    "api_key",
    "DB_PASSWORD",
    "client-secret",
    "authToken",
    "credentials",
    "Pwd",
    "private_key",
)
VALUE = some(random.Random(1), ALNUM, 18)


def plain() -> st.SearchStrategy[Any]:
    """Harmless values, some with characters that could confuse the pre-check."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**6), 10**6),
        st.sampled_from(
            ["", "done", "a: b", "x = {y}", 'quote " here', "back\\slash", "a\nb", "--flag", "zwölf ☃"]
        ),
        st.text(max_size=20),
        PIECES,
    )


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["a", "text", "list", "it is", "n:", "k=v", "ключ", "steps"])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(keys, inner, max_size=3),
            st.tuples(plain(), inner, plain()).map(list),
        ),
        max_leaves=6,
    )


def data_with(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(
        st.sampled_from(["a", "b", "step", "files", "n", "what: now"]), nested(leaf), max_size=4
    )


HIDDEN = st.one_of(
    st.sampled_from(TEXTS),
    st.sampled_from(TEXTS).map(lambda text: {text: 1}),
    st.sampled_from(NAMES).map(lambda name: {name: VALUE}),
    st.sampled_from(NAMES).map(lambda name: {"deep": [{name: VALUE}]}),
    st.sampled_from(NAMES).map(lambda name: f"{name}={VALUE}"),
    st.sampled_from(NAMES).map(lambda name: f"{name}: {VALUE}"),
    plain(),
)


@pytest.fixture
def session() -> Iterator[holdfast.Session]:
    with holdfast.open("memory:", user="alice", by="me") as workspace:
        yield workspace.start("Ship it")


@pytest.fixture(scope="module")
def handle() -> Iterator[holdfast.Session]:
    """One handle for all examples: nothing is written through it."""
    with holdfast.open("memory:", user="alice", by="me") as workspace:
        yield workspace.start("Ship it")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(data_with(HIDDEN), min_size=1, max_size=3),
    st.one_of(st.none(), st.just("step-1"), st.sampled_from(TEXTS)),
)
def test_what_the_finder_finds_is_refused(
    handle: holdfast.Session, data: list[dict[str, Any]], op: str | None
) -> None:
    """Wherever a secret or a telling name is, in a text, a key or a list, the commit is refused; others pass."""
    draft = Draft(tuple(Event("x.own", part) for part in data), "me", "agent", op)
    found = secrets.find_in(op) + [hit for part in data for hit in secrets.find_in(part)]
    if found:
        with pytest.raises(SecretFound):
            secrets_filter.passed(handle, draft)
    else:
        assert secrets_filter.passed(handle, draft) == (draft, content_of(draft))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "shape",
    [
        lambda name, value: {name: value},
        lambda name, value: {"a": {name: value}},
        lambda name, value: {"a": [1, [{"b": None, name: value}]]},
        lambda name, value: {"a": "text", "b": {"c": {name: [value]}}},
        lambda name, value: {"a": f"{name}={value}"},
    ],
    ids=["top", "object", "list", "deep", "text"],
)
def test_a_telling_name_is_seen_at_every_depth(session: holdfast.Session, name: str, shape: Any) -> None:
    """A value that is a secret only by its name is refused, whatever surrounds it."""
    data = shape(name, VALUE)
    with pytest.raises(SecretFound):
        session.record("x.own", data)
    with pytest.raises(SecretFound):
        session.record_all([("x.fine", {"n": 1}), ("x.own", data)])
    session.record("x.own", {"a": "nothing special"})


@pytest.mark.parametrize("text", TEXTS)
def test_every_kind_is_refused_in_keys_lists_and_texts(session: holdfast.Session, text: str) -> None:
    """Each kind of secret, as a value, inside a list, inside an object, and as a name."""
    for data in ({"a": text}, {"a": ["x", text]}, {"a": {"b": {"c": text}}}, {text: 1}, {"a": [{text: 1}]}):
        with pytest.raises(SecretFound):
            session.record("x.own", data)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.one_of(PIECES, st.sampled_from(TEXTS)), max_size=4))
def test_the_check_of_the_whole_commit_has_no_false_negatives(data: dict[str, str]) -> None:
    """``may_be_in`` may be undecided, but it never says no to a commit with a secret."""
    content = content_of(Draft((Event("x.own", data),), "me", "agent", None))
    marks = MARKS + MARKS_OF_EVENT + len(data) * MARKS_OF_NAME
    if secrets.find_in(data):
        assert may_be_in(content, marks) is not False


@pytest.mark.parametrize(("part", "contexts"), signs._CONTEXTS.items())
def test_every_context_is_found_by_its_part(part: str, contexts: tuple[str, ...]) -> None:
    """The pre-check looks for a part that several contexts share, so that part is in each of them."""
    for context in contexts:
        assert part in context
        assert signs.may_hold(f"before {context} after")
