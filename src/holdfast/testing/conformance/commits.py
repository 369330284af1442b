"""Guarantees about commits: what is appended, under which id, and when an append is refused."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core import ids, timestamps
from holdfast.core.codec import GENESIS, Draft, Event, content_of, decode, fault_of, sum_of
from holdfast.errors import Conflict, Refused, TooLarge, Usage
from holdfast.store.protocol import AppendContext, Cursor, PrebuiltCommit, PreparedCommit, Store
from holdfast.testing import hostile
from holdfast.testing.conformance.engine import (
    MANY,
    OTHER,
    USER,
    Engine,
    append_all,
    everything,
    never,
    remembering,
)
from holdfast.testing.plans import saying, texts


class TestRoundTrip:
    """Data is read back byte for byte."""

    def test_hostile_texts(self, store: Store) -> None:
        """Every hostile text, up to a megabyte, is read back unchanged, and each line's checksum is right."""
        append_all(store, USER, *hostile.TEXTS)
        lines = list(store.read(USER).lines)
        assert [decode(line).events[0].data["text"] for line in lines] == hostile.TEXTS
        assert all(fault_of(line, None) is None and b"\n" not in line for line in lines)

    def test_the_commit_that_is_returned_is_the_one_that_is_read(self, store: Store) -> None:
        """An append returns the commit that a reader decodes, with all its events and versions."""
        events = (Event("x.one", {"deep": [[{"a": None}], 1.5, -0.0, 10**30, True]}, 3), Event("x.two", {}))
        draft = Draft(events, "ben", "human", "op-1")
        done = store.append(USER, lambda context: PreparedCommit(draft, {}), op="op-1")
        (line,) = store.read(USER).lines
        assert decode(line) == done.commit
        assert done.commit[2:6] == ("ben", "human", "op-1", events)
        assert done.repeated is False

    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
    def test_an_unpaired_surrogate_is_refused(self, store: Store, text: str) -> None:
        """Text that is not valid Unicode is refused, and nothing is written."""
        with pytest.raises(Refused):
            store.append(USER, saying(text))
        with pytest.raises(Refused):
            store.append(USER, saying("x", op=text), op=text)
        assert everything(store) == []

    def test_data_that_is_not_json_is_refused(self, store: Store) -> None:
        """Data that JSON cannot represent is refused, and nothing is written."""
        for data in ({"x": float("nan")}, {"x": b"bytes"}, {"x": {1, 2}}, {"x": object()}):
            draft = Draft((Event("x.y", data),), "ann", "agent")
            with pytest.raises(Refused):
                store.append(USER, lambda context, draft=draft: PreparedCommit(draft, {}))  # type: ignore[misc]
        assert everything(store) == []

    def test_a_commit_over_the_limit_is_refused(self, store: Store) -> None:
        """A commit over the limit is refused, and the stream stays usable."""
        with pytest.raises(TooLarge):
            store.append(USER, saying("x" * (4 << 20)))
        append_all(store, USER, "after")
        assert everything(store) == ["after"]

    def test_streams_do_not_mix(self, store: Store) -> None:
        """Commits of one stream are in no other, and a stream without writes is empty."""
        append_all(store, USER, "a", "b")
        append_all(store, OTHER, "c")
        assert (everything(store, USER), everything(store, OTHER)) == (["a", "b"], ["c"])
        empty = store.read("project")
        assert (list(empty.lines), empty.version, empty.head, empty.faults) == ([], 0, ids.ZERO, ())

    def test_newest_first(self, store: Store) -> None:
        """Reading backwards gives the whole stream in reverse, across all pages of an engine."""
        wanted = [str(number) for number in range(600)]
        append_all(store, USER, *wanted)
        backwards = store.read(USER, newest_first=True)
        assert (backwards.version, backwards.restarted) == (600, True)
        assert texts(backwards) == wanted[::-1]
        assert texts(store.read("project", newest_first=True)) == []


class TestLongTexts:
    """Texts that an engine may store apart from their commits."""

    @pytest.mark.parametrize("character", ["x", "é", "漢", "🦀", '"', "\n", "\\"])
    def test_any_length_around_the_limit(self, store: Store, character: str) -> None:
        """Texts of 4,095, 4,096 and 4,097 bytes and far more are read back unchanged, in either direction."""
        size = len(character.encode())
        wanted = [
            character * (length // size) + "y" * (length % size) for length in (4095, 4096, 4097, 40_000)
        ]
        append_all(store, USER, *wanted)
        assert everything(store) == wanted
        assert texts(store.read(USER, newest_first=True)) == wanted[::-1]

    def test_every_position(self, store: Store) -> None:
        """Long texts are the same wherever they stand in the data, how often, and in how many events."""
        long, other = "l" * 5000, "Ω" * 3000
        events = (
            Event("x.one", {"a": long, "b": [1, [long, {"c": other, "": ""}], None], long: "a long key"}),
            Event("x.two", {}),
            Event("x.three", {"text": other, "blobs": [[0, ["a"], "f" * 64]], "sum": "x", "more": long}, 2),
        )
        for op in (None, "op-1"):
            draft = Draft(events, "ben", "human", op)
            done = store.append(USER, lambda context, draft=draft: PreparedCommit(draft, {}), op=op)  # type: ignore[misc]
            assert done.commit.events == events
        lines = list(store.read(USER).lines)
        assert [decode(line).events for line in lines] == [events] * 2
        assert fault_of(lines[0], GENESIS) is None
        assert fault_of(lines[1], sum_of(lines[0])) is None

    def test_a_plan_and_a_repeated_operation_get_the_whole_text(self, engine: Engine) -> None:
        """A plan sees the full texts that others wrote, and the same operation again returns the full commit."""
        store = engine.fresh()
        long = "text " * 2000
        first = store.append(USER, saying(long, op="o"), op="o")
        seen: list[Any] = []
        store.append(USER, remembering(seen, saying("short")))
        assert texts(seen[0]) == [long]
        again = store.append(USER, never, op="o")
        assert (again.commit, again.repeated) == (first.commit, True)
        if store.capabilities.survives_exit:
            assert engine.again(store).append(USER, never, op="o").commit == first.commit

    def test_a_prebuilt_commit(self, store: Store) -> None:
        """Commits that no rule has to check, long and short in turn, are written and seen in full."""
        wanted, cursor, seen = [], None, []
        for number in range(40):
            text = f"{number} " * (3000 if number % 3 else 1)
            draft = Draft((Event("x.said", {"text": text}),), "ann", "agent")
            prepared = PreparedCommit(draft, {}, content_of(draft))
            plan = PrebuiltCommit(prepared, lambda context: seen.extend(texts(context.tail)))
            done = store.append(USER, plan, None if number % 10 == 9 else cursor)
            assert done.commit.events == draft.events
            cursor = done.cursor
            wanted.append(text)
        assert everything(store) == wanted
        assert set(seen) <= set(wanted)

    def test_the_limit_of_a_commit_counts_its_long_texts(self, store: Store) -> None:
        """Texts that are stored apart still count for the size of a commit."""
        half = "x" * (2 << 20)
        draft = Draft((Event("x.y", {"a": half, "b": half}),), "ann", "agent")
        with pytest.raises(TooLarge):
            store.append(USER, lambda context: PreparedCommit(draft, {}))
        assert everything(store) == []


class TestIds:
    """Ids and times."""

    def test_ids_increase_when_the_clock_jumps(self, engine: Engine) -> None:
        """Ids strictly increase whatever the wall clock does, and each is later than all commits read."""
        now = 0
        store = engine.fresh(lambda: now)
        found = []
        for number, now in enumerate([5_000, 5_000, 1, 0, 2_000_000_000_000, 7, 7]):  # noqa: B007
            seen: list[Any] = []
            found.append(store.append(USER, remembering(seen, saying(str(number)))).commit)
            assert found[-1].id > seen[0].head
        assert [commit.id for commit in found] == sorted({commit.id for commit in found})
        assert store.read(USER).head == found[-1].id

    def test_the_timestamp_is_the_wall_clocks(self, engine: Engine) -> None:
        """``at`` is the wall-clock time in UTC with milliseconds, and a steady clock is also in the id."""
        store = engine.fresh(lambda: 1_769_005_800_123)
        commit = append_all(store, USER, "x").commit
        assert commit.at == "2026-01-21T14:30:00.123Z"
        assert timestamps.from_iso(commit.at) == ids.milliseconds(commit.id) == 1_769_005_800_123

    def test_the_writer_is_in_the_id(self, store: Store) -> None:
        """A plan learns the writer, and the commit's id carries it."""
        writers: list[str] = []

        def plan(context: AppendContext) -> PreparedCommit:
            writers.append(context.writer)
            return saying("x")(context)

        commit = store.append(USER, plan).commit
        assert ids.is_writer(writers[0])
        assert commit.id.endswith("-" + writers[0])

    def test_versions_count_commits(self, store: Store) -> None:
        """The version is the number of commits, for appends and reads."""
        for number in range(1, 6):
            assert store.append(USER, saying("x")).version == number
            assert store.read(USER).version == number


class TestExpect:
    """Optimistic concurrency."""

    def test_the_right_version_is_accepted(self, store: Store) -> None:
        """An append that expects the current version is written."""
        for version in range(3):
            store.append(USER, saying(str(version)), expect=version)
        assert everything(store) == ["0", "1", "2"]

    def test_another_version_is_a_conflict(self, store: Store) -> None:
        """An append that expects any other version writes nothing and does not call the plan."""
        append_all(store, USER, "a", "b")
        for wrong in (0, 1, 3, -1, 2**70):
            with pytest.raises(Conflict):
                store.append(USER, never, expect=wrong)
        assert everything(store) == ["a", "b"]
        with pytest.raises(Conflict):
            store.append("project", never, expect=1)
        assert store.streams() == [USER]


class TestOps:
    """Operation ids: the same operation twice is one commit."""

    def test_a_repeated_operation_returns_the_first_commit(self, store: Store) -> None:
        """The second append with an op returns the first one's commit and does not call the plan."""
        first = store.append(USER, saying("first", op="o"), op="o")
        append_all(store, USER, "between")
        second = store.append(USER, never, op="o", expect=99)
        assert (second.commit, second.repeated) == (first.commit, True)
        assert everything(store) == ["first", "between"]

    def test_operations_belong_to_a_stream(self, store: Store) -> None:
        """The same op in another stream is another operation."""
        store.append(USER, saying("a", op="o"), op="o")
        assert store.append(OTHER, saying("b", op="o"), op="o").repeated is False

    @pytest.mark.parametrize(
        "op", ["", " ", "x" * 5000, "ö\0\n'\"\\", "'; DROP TABLE commits; --", "%", "O", "*"]
    )
    def test_operation_ids_are_compared_exactly(self, store: Store, op: str) -> None:
        """Any text can be an operation id, and only an identical text is the same operation."""
        store.append(USER, saying("lower", op="o"), op="o")
        assert store.append(USER, saying("x", op=op), op=op).repeated is False
        assert store.append(USER, never, op=op).repeated is True

    def test_across_handles_and_openings(self, engine: Engine) -> None:
        """Where commits survive, another handle recognises the operation, immediately and after reopening."""
        store = engine.fresh()
        first = store.append(USER, saying("first", op="o"), op="o")
        if not store.capabilities.survives_exit:
            assert engine.again(store).append(USER, saying("x", op="o"), op="o").repeated is False
            return
        assert engine.again(store).append(USER, never, op="o").commit == first.commit
        store.close()
        assert engine.again(store).append(USER, never, op="o").commit == first.commit

    def test_after_many_other_commits(self, engine: Engine) -> None:
        """An operation is still recognised after thousands of commits, some with operation ids."""
        store = engine.fresh()
        first = store.append(USER, saying("first", op="o"), op="o")
        cursor = first.cursor
        for number in range(MANY):
            op = None if number % 4 else f"op-{number}"
            cursor = store.append(USER, saying("x", op=op), cursor=cursor, op=op).cursor
        assert store.append(USER, never, op="o", cursor=cursor).commit == first.commit
        assert store.append(USER, never, op="op-1000").repeated is True
        if store.capabilities.survives_exit:
            assert engine.again(store).append(USER, never, op="o").commit == first.commit

    def test_a_draft_under_another_operation_is_refused(self, store: Store) -> None:
        """A plan whose draft carries another op than the append is refused: it could be written twice."""
        for drafted, asked in ((None, "o"), ("o", None), ("o", "p")):
            with pytest.raises(Usage):
                store.append(USER, saying("x", op=drafted), op=asked)
        assert everything(store) == []


class TestPlans:
    """What a plan sees and may do."""

    def test_a_plan_that_raises_writes_nothing(self, store: Store) -> None:
        """An exception of the plan propagates unchanged and nothing is written."""
        for error in (ValueError("mine"), KeyboardInterrupt(), Refused("rule")):

            def plan(context: AppendContext, error: BaseException = error) -> PreparedCommit:
                raise error

            with pytest.raises(type(error)) as caught:
                store.append(USER, plan, op="o")
            assert caught.value is error
        assert (everything(store), store.streams()) == ([], [])
        assert store.append(USER, saying("x", op="o"), op="o").version == 1

    def test_a_plan_sees_exactly_what_is_new(self, engine: Engine) -> None:
        """The plan's tail holds exactly what is beyond the cursor, for any cursor."""
        store = engine.fresh()
        cursors = [store.read(USER).cursor]
        for number in range(5):
            cursors.append(store.append(USER, saying(str(number)), cursor=cursors[-1]).cursor)
        wanted = [str(number) for number in range(5)]
        for place, cursor in enumerate(cursors):
            seen: list[Any] = []
            with pytest.raises(Conflict):
                store.append(USER, remembering(seen, never), cursor=cursor, expect=99)
            done = store.append(USER, remembering(seen, saying("more")), cursor=cursor)
            assert (texts(seen[0]), seen[0].restarted) == (wanted[place:], False)
            assert (seen[0].version, done.version) == (len(wanted), len(wanted) + 1)
            assert texts(store.read(USER, done.cursor)) == []
            wanted.append("more")

    def test_a_plan_may_read(self, store: Store) -> None:
        """A plan may read other streams and notes."""
        append_all(store, OTHER, "there")
        store.put("local/note", b"n")

        def plan(context: AppendContext) -> PreparedCommit:
            return saying(everything(store, OTHER)[0] + str(store.get("local/note")))(context)

        store.append(USER, plan)
        assert everything(store) == ["thereb'n'"]


class TestPrebuilt:
    """Plans whose outcome is known beforehand."""

    def test_the_operation_id_is_the_one_that_was_asked_for(self, store: Store) -> None:
        """Also where an engine need not ask the plan, a draft under another operation id than the append is refused."""
        draft = Draft((Event("x.step", {}),), "ann", "agent")
        cursor: Cursor = None
        for _ in range(25):
            plan = PrebuiltCommit(PreparedCommit(draft, {}, content_of(draft)), lambda context: None)
            cursor = store.append(USER, plan, cursor).cursor
        named = draft._replace(op="op1")
        other = PrebuiltCommit(PreparedCommit(named, {}, content_of(named)), lambda context: None)
        with pytest.raises(Usage):
            store.append(USER, other, cursor)
        with pytest.raises(Usage):
            store.append(USER, plan, cursor, op="op1")
        assert store.read(USER).version == 25
