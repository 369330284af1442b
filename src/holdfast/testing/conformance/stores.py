"""Guarantees about a store: cursors, notes, names, and the store as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.core.codec import decode
from holdfast.errors import Conflict, HoldfastError
from holdfast.store.protocol import Store
from holdfast.testing import hostile
from holdfast.testing.conformance.engine import (
    OTHER,
    USER,
    Engine,
    append_all,
    everything,
    in_threads,
    never,
    refused,
    remembering,
)
from holdfast.testing.plans import saying, texts

GARBAGE: list[Any] = [
    *(0, 1, -1, 2**80, 1.5, True, "", "x", [], [0], [1, "x"], [1, None], [-1, "x"], [2**80, "x"], ["1", "x"]),
    *(
        {},
        {"x": 1},
        {"n": 1},
        [[]],
        [None, None],
        [True, "0" * 32],
        [1, "0" * 32, 2],
        [0, "x"],
        [1, "\ud800"],
    ),
    {"g": 1, "n": "x", "h": [], "s": {"x": 1}, "f": 0},
    {"g": None, "n": 1, "h": "", "s": {"../x": [1, 2, 3]}, "f": []},
]


class TestCursors:
    """Cursors: a reader's position."""

    def test_reading_from_a_cursor(self, engine: Engine) -> None:
        """A cursor gives the commits after it, even after a round trip through JSON and after reopening."""
        store = engine.fresh()
        start_cursor = store.read(USER).cursor
        append_all(store, USER, "a", "b")
        cursor = json.loads(json.dumps(store.read(USER, start_cursor).cursor))
        append_all(store, USER, "c")
        if store.capabilities.survives_exit:
            store.close()
            store = engine.again(store)
        tail = store.read(USER, cursor)
        assert (texts(tail), tail.version, tail.restarted) == (["c"], 3, False)
        assert isinstance(tail.lines, list)
        again = store.read(USER, tail.cursor)
        assert (texts(again), again.version, again.head, again.restarted) == ([], 3, tail.head, False)

    def test_no_cursor_means_the_whole_stream(self, store: Store) -> None:
        """Without a cursor the reader starts at the beginning, and is told so."""
        append_all(store, USER, "a", "b")
        tail = store.read(USER)
        assert (texts(tail), tail.restarted) == (["a", "b"], True)

    @pytest.mark.parametrize("cursor", GARBAGE, ids=repr)
    def test_garbage_restarts(self, store: Store, cursor: Any) -> None:
        """A malformed cursor gives the whole stream, for reads and appends."""
        append_all(store, USER, "a", "b")
        tail = store.read(USER, cursor)
        assert (texts(tail), tail.restarted, tail.version) == (["a", "b"], True, 2)
        seen: list[Any] = []
        store.append(USER, remembering(seen, saying("c")), cursor=cursor)
        assert (texts(seen[0]), seen[0].restarted) == (["a", "b"], True)

    def test_a_foreign_cursor_restarts(self, engine: Engine) -> None:
        """A cursor of another store or another stream does not fit, even where its numbers would."""
        store, foreign = engine.fresh(), engine.fresh()
        append_all(store, USER, "a", "b", "c")
        for done in (append_all(foreign, USER, "x", "y"), append_all(store, OTHER, "x", "y")):
            tail = store.read(USER, done.cursor)
            assert (texts(tail), tail.restarted) == (["a", "b", "c"], True)

    def test_a_cursor_of_a_forgotten_history_restarts(self, store: Store) -> None:
        """A stream that was forgotten and started again does not continue an old cursor."""
        old = append_all(store, USER, "a", "b").cursor
        store.forget(USER)
        assert store.read(USER, old).restarted is True
        seen: list[Any] = []
        assert store.append(USER, remembering(seen, saying("x")), cursor=old, expect=0).version == 1
        assert (texts(seen[0]), seen[0].restarted) == ([], True)
        append_all(store, USER, "y", "z")
        tail = store.read(USER, old)
        assert (texts(tail), tail.restarted, tail.version) == (["x", "y", "z"], True, 3)


class TestNotes:
    """Notes: small named values outside of the streams."""

    NAMES = ("local/current", "local/a/b", f"{USER}/STATE.md", f"{OTHER}/state.json", "project/state.json")

    def test_put_get_remove(self, store: Store) -> None:
        """A note persists until replaced or removed, with arbitrary bytes."""
        for name in self.NAMES:
            assert store.get(name) is None
            for data in (b"", b"\0\xff\n", name.encode(), b"x" * (1 << 20), b"last"):
                store.put(name, data)
                assert store.get(name) == data
        store.put(self.NAMES[0], None)
        store.put(self.NAMES[0], None)
        assert [store.get(name) for name in self.NAMES] == [None, b"last", b"last", b"last", b"last"]

    def test_a_note_does_not_create_a_stream(self, store: Store) -> None:
        """A view of an empty stream does not create the stream."""
        store.put(f"{USER}/STATE.md", b"x")
        assert store.streams() == []

    def test_notes_are_replaced_atomically(self, store: Store) -> None:
        """Readers see one complete note or another, never a mixture, while several threads replace it."""
        letters = b"abcd"
        store.put("local/note", letters[:1] * 50_000)
        torn = []

        def write(letter: int) -> None:
            for _ in range(20):
                store.put("local/note", bytes([letter]) * 50_000)

        def read() -> None:
            for _ in range(60):
                data = store.get("local/note")
                if data is None or len(data) != 50_000 or len(set(data)) != 1:
                    torn.append(data)

        in_threads([*(lambda letter=letter: write(letter) for letter in letters), read, read])
        assert torn == []

    def test_forgetting_deletes_the_notes(self, store: Store) -> None:
        """Views and caches of a forgotten stream are deleted; those of other streams stay."""
        gone = (f"{USER}/STATE.md", f"local/snapshots/{USER.replace('/', '+')}")
        kept = ("users/anna/STATE.md", "local/current", "local/snapshots/users+anna")
        append_all(store, USER, "a")
        append_all(store, "users/anna", "b")
        for name in (*gone, *kept):
            store.put(name, b"x")
        store.forget(USER)
        assert [store.get(name) for name in (*gone, *kept)] == [None, None, b"x", b"x", b"x"]
        assert everything(store, "users/anna") == ["b"]


class TestNames:
    """Names that could become paths."""

    def test_hostile_names_of_streams(self, store: Store) -> None:
        """Every call rejects every hostile stream name."""
        names = list(hostile.stream_names())
        assert len(names) > 100
        calls = (lambda name: store.append(name, never), store.read, store.forget)
        assert [name for call in calls for name in names if not refused(call, name)] == []
        assert store.streams() == []

    def test_hostile_names_of_notes(self, store: Store) -> None:
        """Every call rejects every hostile note name."""
        names = list(hostile.note_names())
        assert len(names) > 100
        calls = (store.get, lambda name: store.put(name, b"x"), lambda name: store.put(name, None))
        assert [name for call in calls for name in names if not refused(call, name)] == []

    def test_streams_by_prefix(self, store: Store) -> None:
        """Streams are listed sorted, by prefix."""
        names = sorted([USER, OTHER, "users/anna", "users/ben", "project", f"sessions/ann/{hostile.SESSION}"])
        for name in reversed(names):
            append_all(store, name, "x")
        assert store.streams() == names
        for prefix in (
            "users/",
            "users/ann",
            "sessions/ben/",
            "project",
            "x",
            "users/a%",
            "*",
            "\ud800",
            "\0",
            "é",
        ):
            assert store.streams(prefix) == [name for name in names if name.startswith(prefix)]


class TestStore:
    """The store as a whole."""

    def test_forget(self, store: Store) -> None:
        """A forgotten stream is empty, unlisted and can be started again; forgetting an unknown stream is no error."""
        store.forget(USER)
        store.append(USER, saying("a", op="o"), op="o")
        append_all(store, OTHER, "b")
        store.forget(USER)
        store.forget(USER)
        assert (everything(store), store.streams()) == ([], [OTHER])
        assert store.append(USER, saying("again", op="o"), op="o", expect=0).version == 1
        assert everything(store) == ["again"]

    def test_forget_expected(self, store: Store) -> None:
        """A stream that somebody wrote to since it was looked at is not forgotten; unchanged, it is."""
        append_all(store, USER, "a", "b")
        with pytest.raises(Conflict):
            store.forget(USER, expect=1)
        assert everything(store) == ["a", "b"]
        store.forget(USER, expect=2)
        assert (everything(store), store.streams()) == ([], [])

    def test_a_clean_store_has_no_faults(self, store: Store) -> None:
        """A check of a clean store finds nothing, and a repair changes nothing."""
        assert store.check() == []
        append_all(store, USER, *hostile.TEXTS[:10])
        append_all(store, OTHER, "x")
        store.append(USER, saying("op", op="o"), op="o")
        store.put(f"{USER}/STATE.md", b"x")
        before = list(store.read(USER).lines)
        assert (store.check(), store.check(fix=True), store.check()) == ([], [], [])
        assert list(store.read(USER).lines) == before

    def test_closing(self, engine: Engine) -> None:
        """A store can be closed twice, and later calls say that it is closed."""
        store = engine.fresh()
        append_all(store, USER, "a")
        store.close()
        store.close()
        for call in (lambda: store.append(USER, never), lambda: store.read(USER)):
            with pytest.raises(HoldfastError, match="closed"):
                call()

    def test_two_handles(self, engine: Engine) -> None:
        """Where commits survive, each handle immediately sees and counts what the other appended."""
        one = engine.fresh()
        if not one.capabilities.survives_exit:
            pytest.skip("each handle has a store of its own")
        two = engine.again(one)
        cursors: list[Any] = [None, None]
        for number in range(10):
            writer, reader = (one, two) if number % 2 else (two, one)
            done = writer.append(USER, saying(str(number)), cursor=cursors[number % 2], expect=number)
            cursors[number % 2] = done.cursor
            assert everything(reader) == [str(n) for n in range(number + 1)]
            with pytest.raises(Conflict):
                reader.append(USER, never, expect=number)
        found = [decode(line).id for line in one.read(USER).lines]
        assert found == sorted(set(found))
        one.forget(USER)
        assert (everything(two), two.streams()) == ([], [])
        assert two.append(USER, saying("new"), cursor=cursors[0]).version == 1
