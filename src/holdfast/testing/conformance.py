"""The conformance suite: every promise of ``store.protocol``, as tests that pytest runs over any engine.

A new engine's test module imports everything from here and supplies one fixture::

    from holdfast.testing.conformance import *

    @pytest.fixture
    def engine(tmp_path):
        with Engine(lambda place, clock: MyStore(place, clock=clock), str(tmp_path)) as engine:
            yield engine

``place`` is an empty folder; whatever the engine keeps elsewhere must depend on its name alone, so that opening
the same place again opens the same store. Shared engines must also open by ``capabilities.url``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest

from holdfast.core import ids, moment
from holdfast.core.commit import Draft, Event, decode, fault_of
from holdfast.errors import Conflict, HoldfastError, InvalidName, Refused, TooLarge, Usage
from holdfast.store.protocol import Appended, Ground, Plan, Planned, Store
from holdfast.testing import hostile
from holdfast.testing.model import run_against_model
from holdfast.testing.plans import saying, texts, wall_clock

__all__ = [
    "Engine",
    "TestCapabilities",
    "TestConcurrency",
    "TestCursors",
    "TestExpect",
    "TestIds",
    "TestModel",
    "TestNames",
    "TestNotes",
    "TestOps",
    "TestPlans",
    "TestRoundTrip",
    "TestStore",
    "store",
]

USER = "users/ann"
OTHER = f"sessions/ben/{hostile.SESSION}"
MANY = int(os.environ.get("HOLDFAST_MANY", "2500"))
"""How many commits are many: raised to 10,000 and more for a long run."""
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


class Engine:
    """Makes stores, and closes them all in the end."""

    def __init__(self, open: Callable[[str, Callable[[], int]], Store], folder: str) -> None:
        self._open = open
        self._folder = folder
        self._places: list[tuple[Store, str]] = []
        self._count = 0

    def fresh(self, clock: Callable[[], int] = wall_clock) -> Store:
        """A new, empty store."""
        self._count += 1
        place = os.path.join(self._folder, f"place{self._count}")
        os.mkdir(place)
        return self._opened(place, clock)

    def again(self, store: Store, clock: Callable[[], int] = wall_clock) -> Store:
        """Another handle on the place of ``store``."""
        return self._opened(next(place for known, place in self._places if known is store), clock)

    def _opened(self, place: str, clock: Callable[[], int]) -> Store:
        store = self._open(place, clock)
        self._places.append((store, place))
        return store

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        for store, _ in self._places:
            store.close()


@pytest.fixture
def store(engine: Engine) -> Store:
    return engine.fresh()


def append_all(store: Store, stream: str, *wanted: str) -> Appended:
    done = None
    for text in wanted:
        done = store.append(stream, saying(text), cursor=done and done.cursor)
    assert done is not None
    return done


def everything(store: Store, stream: str = USER) -> list[str]:
    return texts(store.read(stream))


def refused(call: Callable[[str], object], name: str) -> bool:
    try:
        call(name)
    except InvalidName:
        return True
    return False


def never(ground: Ground) -> Planned:
    raise AssertionError("the plan must not be called")


def remembering(seen: list[Any], plan: Plan) -> Plan:
    """``plan``, with the tail that it was given put into ``seen``."""

    def remember(ground: Ground) -> Planned:
        seen[:] = [ground.tail._replace(lines=list(ground.tail.lines))]
        return plan(ground)

    return remember


def start(url: str, stream: str, count: int, tag: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "holdfast.testing.appender", url, stream, str(count), tag]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


class TestRoundTrip:
    """What goes in comes out, byte for byte."""

    def test_hostile_texts(self, store: Store) -> None:
        """Every hostile text, up to a megabyte, is read back unchanged, and each line's sum is right."""
        append_all(store, USER, *hostile.TEXTS)
        lines = list(store.read(USER).lines)
        assert [decode(line).events[0].data["text"] for line in lines] == hostile.TEXTS
        assert all(fault_of(line, None) is None and b"\n" not in line for line in lines)

    def test_the_commit_that_is_returned_is_the_one_that_is_read(self, store: Store) -> None:
        """An append returns the very commit that a reader decodes, with all its events and versions."""
        events = (Event("x.one", {"deep": [[{"a": None}], 1.5, -0.0, 10**30, True]}, 3), Event("x.two", {}))
        draft = Draft(events, "ben", "human", "op-1")
        done = store.append(USER, lambda ground: Planned(draft, {}), op="op-1")
        (line,) = store.read(USER).lines
        assert decode(line) == done.commit
        assert done.commit[2:6] == ("ben", "human", "op-1", events)
        assert done.repeated is False

    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
    def test_half_a_surrogate_pair_is_refused(self, store: Store, text: str) -> None:
        """Text that is not valid Unicode is refused, and nothing is written."""
        with pytest.raises(Refused):
            store.append(USER, saying(text))
        with pytest.raises(Refused):
            store.append(USER, saying("x", op=text), op=text)
        assert everything(store) == []

    def test_what_is_no_json_is_refused(self, store: Store) -> None:
        """Data that JSON cannot hold is refused, and nothing is written."""
        for data in ({"x": float("nan")}, {"x": b"bytes"}, {"x": {1, 2}}, {"x": object()}):
            draft = Draft((Event("x.y", data),), "ann", "agent")
            with pytest.raises(Refused):
                store.append(USER, lambda ground, draft=draft: Planned(draft, {}))  # type: ignore[misc]
        assert everything(store) == []

    def test_too_large_a_commit_is_refused(self, store: Store) -> None:
        """A commit over the limit is refused, and the stream goes on as if nothing had happened."""
        with pytest.raises(TooLarge):
            store.append(USER, saying("x" * (4 << 20)))
        append_all(store, USER, "after")
        assert everything(store) == ["after"]

    def test_streams_do_not_mix(self, store: Store) -> None:
        """Commits of one stream are in no other, and a stream that nobody wrote to is empty."""
        append_all(store, USER, "a", "b")
        append_all(store, OTHER, "c")
        assert (everything(store, USER), everything(store, OTHER)) == (["a", "b"], ["c"])
        empty = store.read("project")
        assert (list(empty.lines), empty.version, empty.head, empty.faults) == ([], 0, ids.ZERO, ())

    def test_newest_first(self, store: Store) -> None:
        """Reading backwards gives the whole stream in reverse, also past any page of an engine."""
        wanted = [str(number) for number in range(600)]
        append_all(store, USER, *wanted)
        backwards = store.read(USER, newest_first=True)
        assert (backwards.version, backwards.restarted) == (600, True)
        assert texts(backwards) == wanted[::-1]
        assert texts(store.read("project", newest_first=True)) == []


class TestIds:
    """Ids and times."""

    def test_ids_increase_when_the_clock_jumps(self, engine: Engine) -> None:
        """Ids are strictly increasing whatever the wall clock does, and each is later than all it has read."""
        now = 0
        store = engine.fresh(lambda: now)
        found = []
        for number, now in enumerate([5_000, 5_000, 1, 0, 2_000_000_000_000, 7, 7]):  # noqa: B007
            seen: list[Any] = []
            found.append(store.append(USER, remembering(seen, saying(str(number)))).commit)
            assert found[-1].id > seen[0].head
        assert [commit.id for commit in found] == sorted({commit.id for commit in found})
        assert store.read(USER).head == found[-1].id

    def test_the_time_is_the_wall_clocks(self, engine: Engine) -> None:
        """``at`` is the wall clock's time in UTC with milliseconds, and a calm clock is also in the id."""
        store = engine.fresh(lambda: 1_769_005_800_123)
        commit = append_all(store, USER, "x").commit
        assert commit.at == "2026-01-21T14:30:00.123Z"
        assert moment.from_iso(commit.at) == ids.milliseconds(commit.id) == 1_769_005_800_123

    def test_the_writer_is_in_the_id(self, store: Store) -> None:
        """A plan learns the writer, and the commit's id carries it."""
        writers: list[str] = []

        def plan(ground: Ground) -> Planned:
            writers.append(ground.writer)
            return saying("x")(ground)

        commit = store.append(USER, plan).commit
        assert ids.is_writer(writers[0])
        assert commit.id.endswith("-" + writers[0])

    def test_versions_count_commits(self, store: Store) -> None:
        """The version is the number of commits, in what is appended as in what is read."""
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
        """Any text can be an operation id, and only the same text is the same operation."""
        store.append(USER, saying("lower", op="o"), op="o")
        assert store.append(USER, saying("x", op=op), op=op).repeated is False
        assert store.append(USER, never, op=op).repeated is True

    def test_across_handles_and_openings(self, engine: Engine) -> None:
        """Where commits survive, another handle knows the operation, at once and after reopening."""
        store = engine.fresh()
        first = store.append(USER, saying("first", op="o"), op="o")
        if not store.capabilities.survives_exit:
            assert engine.again(store).append(USER, saying("x", op="o"), op="o").repeated is False
            return
        assert engine.again(store).append(USER, never, op="o").commit == first.commit
        store.close()
        assert engine.again(store).append(USER, never, op="o").commit == first.commit

    def test_after_many_other_commits(self, engine: Engine) -> None:
        """An operation is still known after thousands of commits, some with operations of their own."""
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
        """An error of the plan comes out as it is, and leaves no trace."""
        for error in (ValueError("mine"), KeyboardInterrupt(), Refused("rule")):

            def plan(ground: Ground, error: BaseException = error) -> Planned:
                raise error

            with pytest.raises(type(error)) as caught:
                store.append(USER, plan, op="o")
            assert caught.value is error
        assert (everything(store), store.streams()) == ([], [])
        assert store.append(USER, saying("x", op="o"), op="o").version == 1

    def test_a_plan_sees_exactly_what_is_new(self, engine: Engine) -> None:
        """The plan's tail holds what is beyond the cursor, and no more, wherever the cursor stands."""
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
        """A plan may look at other streams and at notes."""
        append_all(store, OTHER, "there")
        store.put("local/note", b"n")

        def plan(ground: Ground) -> Planned:
            return saying(everything(store, OTHER)[0] + str(store.get("local/note")))(ground)

        store.append(USER, plan)
        assert everything(store) == ["thereb'n'"]


class TestCursors:
    """How far a reader has come."""

    def test_reading_on(self, engine: Engine) -> None:
        """A cursor gives what came after it, also after a round trip through JSON and after reopening."""
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
        """A cursor that makes no sense leads to the whole stream, in reading and in appending."""
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
        """A stream that was forgotten and begun again does not continue an old cursor."""
        old = append_all(store, USER, "a", "b").cursor
        store.forget(USER)
        assert store.read(USER, old).restarted is True
        append_all(store, USER, "x", "y", "z")
        tail = store.read(USER, old)
        assert (texts(tail), tail.restarted, tail.version) == (["x", "y", "z"], True, 3)


class TestNotes:
    """Small files beside the streams."""

    NAMES = ("local/current", "local/a/b", f"{USER}/STATE.md", f"{OTHER}/state.json", "project/state.json")

    def test_put_get_remove(self, store: Store) -> None:
        """A note is there until it is replaced or removed; any bytes will do."""
        for name in self.NAMES:
            assert store.get(name) is None
            for data in (b"", b"\0\xff\n", name.encode(), b"x" * (1 << 20), b"last"):
                store.put(name, data)
                assert store.get(name) == data
        store.put(self.NAMES[0], None)
        store.put(self.NAMES[0], None)
        assert [store.get(name) for name in self.NAMES] == [None, b"last", b"last", b"last", b"last"]

    def test_a_note_makes_no_stream(self, store: Store) -> None:
        """A view of a stream that nobody wrote to does not bring the stream into being."""
        store.put(f"{USER}/STATE.md", b"x")
        assert store.streams() == []

    def test_notes_are_replaced_at_once(self, store: Store) -> None:
        """Readers see one whole note or another, never a mixture, while several threads replace it."""
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

        in_threads([*(lambda letter=letter: write(letter) for letter in letters), read, read])  # type: ignore[misc]
        assert torn == []

    def test_forgetting_takes_the_notes_along(self, store: Store) -> None:
        """Views and caches of a forgotten stream go with it; those of other streams stay."""
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
        """No hostile name is a stream, for any call."""
        names = list(hostile.stream_names())
        assert len(names) > 100
        calls = (lambda name: store.append(name, never), store.read, store.forget)
        assert [name for call in calls for name in names if not refused(call, name)] == []
        assert store.streams() == []

    def test_hostile_names_of_notes(self, store: Store) -> None:
        """No hostile name is a note, for any call."""
        names = list(hostile.note_names())
        assert len(names) > 100
        calls = (store.get, lambda name: store.put(name, b"x"), lambda name: store.put(name, None))
        assert [name for call in calls for name in names if not refused(call, name)] == []

    def test_streams_by_prefix(self, store: Store) -> None:
        """Streams are listed sorted, by the beginning of their name."""
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
        """A forgotten stream is empty, unlisted, and can begin again; forgetting nothing is no error."""
        store.forget(USER)
        store.append(USER, saying("a", op="o"), op="o")
        append_all(store, OTHER, "b")
        store.forget(USER)
        store.forget(USER)
        assert (everything(store), store.streams()) == ([], [OTHER])
        assert store.append(USER, saying("again", op="o"), op="o", expect=0).version == 1
        assert everything(store) == ["again"]

    def test_a_clean_store_has_no_faults(self, store: Store) -> None:
        """Checking finds nothing where nothing is wrong, and mending changes nothing."""
        assert store.check() == []
        append_all(store, USER, *hostile.TEXTS[:10])
        append_all(store, OTHER, "x")
        store.append(USER, saying("op", op="o"), op="o")
        store.put(f"{USER}/STATE.md", b"x")
        before = list(store.read(USER).lines)
        assert (store.check(), store.check(fix=True), store.check()) == ([], [], [])
        assert list(store.read(USER).lines) == before

    def test_closing(self, engine: Engine) -> None:
        """A store can be closed twice, and says clearly that it is closed."""
        store = engine.fresh()
        append_all(store, USER, "a")
        store.close()
        store.close()
        for call in (lambda: store.append(USER, never), lambda: store.read(USER)):
            with pytest.raises(HoldfastError, match="closed"):
                call()

    def test_two_handles(self, engine: Engine) -> None:
        """Where commits survive, each handle sees at once what the other appended, and counts it."""
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


class TestConcurrency:
    """Many at once."""

    def test_threads(self, store: Store) -> None:
        """Eight threads lose nothing, versions are dense, and each thread's commits keep their order."""
        versions: list[int] = []
        barrier = Barrier(8)

        def work(tag: int) -> None:
            barrier.wait()
            cursor = None
            for number in range(25):
                done = store.append(USER, saying(f"{tag}-{number}"), cursor=cursor)
                cursor = done.cursor
                versions.append(done.version)

        in_threads([lambda tag=tag: work(tag) for tag in range(8)])  # type: ignore[misc]
        assert sorted(versions) == list(range(1, 201))
        self.check_whole(store, {str(tag): 25 for tag in range(8)})

    def test_counting_with_expect(self, store: Store) -> None:
        """Read, decide, append with expect, again on conflict: no update is lost."""

        def work() -> None:
            for _ in range(10):
                while True:
                    tail = store.read(USER)
                    try:
                        store.append(
                            USER, saying(str(len(texts(tail)))), cursor=tail.cursor, expect=tail.version
                        )
                        break
                    except Conflict:
                        pass

        in_threads([work] * 4)
        assert everything(store) == [str(number) for number in range(40)]

    def test_processes(self, engine: Engine) -> None:
        """Where processes share a store, four of them lose nothing; where they do not, nothing arrives."""
        store = engine.fresh()
        children = [start(store.capabilities.url, USER, 50, f"p{n}") for n in range(4)]
        for child in children:
            output, _ = child.communicate(timeout=60)
            assert (child.returncode, len(output.splitlines())) == (0, 50)
        if not store.capabilities.shared:
            assert everything(store) == []
            return
        self.check_whole(store, {f"p{n}": 50 for n in range(4)})
        assert store.check() == []

    @staticmethod
    def check_whole(store: Store, counts: dict[str, int]) -> None:
        tail = store.read(USER)
        lines = list(tail.lines)
        found = [decode(line) for line in lines]
        assert tail.version == len(lines) == sum(counts.values())
        assert [commit.id for commit in found] == sorted({commit.id for commit in found})
        for tag, count in counts.items():
            mine = [text for text in everything(store) if text.startswith(f"{tag}-")]
            assert mine == [f"{tag}-{number}" for number in range(count)]


class TestCapabilities:
    """What is claimed holds, and what is denied really is missing."""

    def test_claims_fit_together(self, store: Store) -> None:
        """Whoever survives a power cut survives an exit, whoever is shared outlives one handle, all have a name."""
        claims = store.capabilities
        assert claims.survives_exit or not (claims.survives_power_cut or claims.shared)
        assert claims.name
        assert claims.url

    def test_reopening(self, engine: Engine) -> None:
        """After closing, commits and notes are there if that is claimed, and gone if it is denied."""
        store = engine.fresh()
        append_all(store, USER, "a", "b")
        store.put("local/note", b"n")
        store.close()
        again = engine.again(store)
        if store.capabilities.survives_exit:
            assert (everything(again), again.get("local/note")) == (["a", "b"], b"n")
            assert again.append(USER, saying("c")).version == 3
        else:
            assert (everything(again), again.get("local/note"), again.streams()) == ([], None, [])

    def test_a_killed_process(self, engine: Engine) -> None:
        """What a process acknowledged before kill -9 is there, in order, and the store needs no repair."""
        store = engine.fresh()
        if not store.capabilities.survives_exit:
            pytest.skip("nothing outlives the process")
        for kill in range(3):
            child = start(store.capabilities.url, USER, 0, f"k{kill}")
            assert child.stdout is not None
            acknowledged = [child.stdout.readline().strip() for _ in range(20 + kill)]
            child.send_signal(signal.SIGKILL)
            acknowledged += child.stdout.read().split()
            child.wait()
            child.stdout.close()
            mine = [text for text in everything(store) if text.startswith(f"k{kill}-")]
            assert mine[: len(acknowledged)] == acknowledged
            assert len(mine) - len(acknowledged) in (0, 1)
            append_all(store, USER, "parent")
        assert [fault for fault in store.check() if not fault.harmless] == []


class TestModel:
    """Any sequence of calls."""

    def test_like_the_model(self, engine: Engine) -> None:
        """Random sequences of calls have the same results as on the memory engine."""
        run_against_model(engine.fresh, engine.again)


def in_threads(jobs: list[Callable[[], None]]) -> None:
    """Run all jobs at once; the first error of any of them is raised here."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
