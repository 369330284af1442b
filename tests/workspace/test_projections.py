"""Projections: a program's own view of a stream, kept incrementally and always the same as a fold from scratch."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Event, Json, Projection
from holdfast.errors import HoldfastError
from holdfast.testing.commands import BY_KIND, TEXTS, Choice, Step
from holdfast.testing.git_histories import steps
from holdfast.testing.git_histories.clones import History
from holdfast.testing.git_histories.runs import base
from holdfast.testing.git_histories.tree import Tree
from holdfast.testing.scale import scaled, seed
from holdfast.workspace import upkeep
from holdfast.workspace.handle import Handle
from holdfast.workspace.setup import init
from holdfast.workspace.workspace import Workspace


def chain(state: dict[str, Any], event: Event) -> dict[str, Any]:
    """A state that depends on every event and on their order; it is changed in place, as a program may do."""
    seen = f"{state['chain']} {event.type} {event.version} {event.at.isoformat()} {event.by} {event.commit}"
    state["chain"] = hashlib.sha256(f"{seen} {sorted(map(str, event.data.items()))}".encode()).hexdigest()
    state["types"][event.type] = state["types"].get(event.type, 0) + 1
    return state


CHAIN = Projection("chain", chain, {"chain": "", "types": {}})


def from_scratch(handle: Handle) -> dict[str, Any]:
    return handle.project(chain, {"chain": "", "types": {}})


class Counter:
    """A projection that counts how often its step runs."""

    def __init__(self, version: int = 1) -> None:
        self.steps = 0
        self.projection: Projection[int] = Projection("counter", self._step, 0, version)

    def _step(self, state: int, event: Event) -> int:
        self.steps += 1
        return state + 1

    def run(self, handle: Handle) -> tuple[int, int]:
        """The state, and how many steps it took."""
        before = self.steps
        return handle.project(self.projection), self.steps - before


@pytest.fixture(params=["files", "sqlite", "memory"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "files":
        init(str(tmp_path), given=True)
        return str(tmp_path)
    return f"sqlite:///{tmp_path / 'memory.db'}" if request.param == "sqlite" else "memory:"


def test_a_step_sees_every_event_with_time_actor_and_commit(where: str) -> None:
    """Built-in events as well as own ones, as the log has them."""
    with holdfast.open(where, by="agent-7") as workspace:
        session = workspace.start("Help the customer")
        session.decide("Refund", because="it was late")
        made = session.record("x.ticket", {"id": 4})

        def collect(state: list[Json], event: Event) -> list[Json]:
            return [*state, [event.type, event.by, event.origin, event.commit, event.at.isoformat()]]

        found = session.project(Projection("all", collect, []))
        logged = [
            [event.type, event.by, event.origin, commit.id, commit.at.isoformat()]
            for commit in session.log()
            for event in commit.events
        ]
        assert found == logged
        assert found == session.project(collect, [])
        assert [entry[0] for entry in logged][-2:] == ["decision.made", "x.ticket"]
        assert logged[-1] == ["x.ticket", "agent-7", "agent", made.commit, made.at.isoformat()]
        event = [event for commit in session.log() for event in commit.events][-1]
        assert (event.at, event.by, event.commit) == (made.at, "agent-7", made.commit)


@pytest.mark.parametrize("length", [100, 10_000])
def test_ten_new_events_cost_ten_steps_at_any_length(tmp_path: Path, length: int) -> None:
    """In the same process and in one that opens the workspace anew."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("Count")
        name = session.name
        for _ in range(length // 100):
            session.record_all([("x.n", {"n": number}) for number in range(100)])
        counter = Counter()
        total = length + 1
        assert counter.run(session) == (total, total)
        assert counter.run(session) == (total, 0)
        for number in range(10):
            session.record("x.n", {"n": number})
        assert counter.run(session) == (total + 10, 10)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.session(name)
        counter = Counter()
        assert counter.run(session) == (total + 10, 0)
        for number in range(10):
            session.record("x.n", {"n": number})
        assert counter.run(session) == (total + 20, 10)
        assert counter.run(session) == (total + 20, 0)
        assert Counter(version=2).run(session) == (total + 20, total + 20)


def test_a_reader_of_what_others_write_folds_only_what_is_new(tmp_path: Path) -> None:
    """A process that never writes pays for new events only, too."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as writer, holdfast.open(tmp_path) as reader:
        session = writer.start("Count")
        session.record_all([("x.n", {})] * 500)
        other, counter = reader.session(session.name), Counter()
        assert counter.run(other) == (501, 501)
        for expected in (511, 521, 531):
            for _ in range(10):
                session.record("x.n", {})
            assert counter.run(other) == (expected, 10)


def test_only_durable_commits_are_kept_on_disk(tmp_path: Path) -> None:
    """What another process wrote may not be synced yet: it is kept in memory until an own commit, or many, follow."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as writer, holdfast.open(tmp_path) as reader:
        session = writer.start("Count")
        other = reader.session(session.name)
        note = f"local/projections.chain/{session.stream.replace('/', '+')}"

        def stored() -> bytes | None:
            return reader.store.get(note)

        other.project(CHAIN)
        first = stored()
        assert first is not None
        session.record("x.n", {})
        assert other.project(CHAIN) == from_scratch(other)
        assert stored() == first
        other.record("x.n", {})
        other.project(CHAIN)
        second = stored()
        assert second != first
        for _ in range(99):
            session.record("x.n", {})
        other.project(CHAIN)
        assert stored() == second
        for _ in range(100):
            session.record("x.n", {})
        other.project(CHAIN)
        assert stored() != second


def test_a_long_lived_reader_leaves_little_to_fold(tmp_path: Path) -> None:
    """A process that reads a few events at a time saves after a hundred; the next process folds fewer than that."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as writer, holdfast.open(tmp_path) as reader:
        session = writer.start("Count")
        other, counter = reader.session(session.name), Counter()
        for _ in range(45):
            session.record_all([("x.n", {})])
            for _ in range(9):
                session.record("x.n", {})
            assert counter.run(other)[1] in (10, 11)
    with holdfast.open(tmp_path) as reader:
        total, steps = Counter().run(reader.session(session.name))
    assert total == 451
    assert steps < 100


def test_the_cache_can_be_deleted_and_damaged(tmp_path: Path) -> None:
    """Without it, or with any byte of it changed, the state is folded again and is the same."""
    init(str(tmp_path), given=True)
    chance = random.Random(seed())
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("Count")
        session.record_all([("x.n", {"n": number}) for number in range(20)])
        name, right = session.name, from_scratch(session)
        assert session.project(CHAIN) == right
    (file,) = (tmp_path / ".state" / "local" / "projections.chain").iterdir()
    whole = file.read_bytes()
    for _ in range(20):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        file.write_bytes(bytes(damaged[: chance.choice([len(whole), len(whole) // 2, 0])]))
        with holdfast.open(tmp_path) as workspace:
            assert workspace.session(name).project(CHAIN) == right
    file.unlink()
    with holdfast.open(tmp_path) as workspace:
        assert workspace.session(name).project(CHAIN) == right


def test_another_initial_state_or_version_is_another_projection(project: Path) -> None:
    """What was kept under other terms is not used, whichever handle folded it."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Count")
        count: Callable[[int, Event], int] = lambda state, event: state + 1  # noqa: E731
        double: Callable[[int, Event], int] = lambda state, event: state + 2  # noqa: E731
        assert session.project(Projection("n", count, 0)) == 1
        assert session.project(Projection("n", count, 100)) == 101
        assert session.project(Projection("n", double, 100, version=2)) == 102
        assert workspace.session(session.name).project(Projection("n", double, 100, version=2)) == 102
        assert session.project(Projection("n", count, 0)) == 1


def test_what_a_caller_does_to_a_state_stays_with_the_caller(project: Path) -> None:
    """The returned state is a copy, and so is the initial one."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Count")
        first = session.project(CHAIN)
        first["types"].clear()
        assert session.project(CHAIN) == from_scratch(session)
        assert CHAIN.initial == {"chain": "", "types": {}}


@pytest.mark.parametrize("kind", ["version", "timestamp"])
def test_at_any_time(where: str, kind: str) -> None:
    """``at`` gives the state that there was, whatever is kept now."""
    with holdfast.open(where) as workspace:
        session = workspace.start("Count")
        history = [session.project(CHAIN)]
        times = [next(session.stored_commits()).at]
        for number in range(30):
            times.append(session.record("x.n", {"n": number}).timestamp)
            history.append(session.project(CHAIN))
        for place, expected in enumerate(history):
            if kind == "version":
                assert session.project(CHAIN, at=place + 1) == expected
                continue
            when = times[place]
            # Of several commits in one millisecond, the last one counts.
            last = max(other for other, time in enumerate(times) if time == when)
            assert session.project(CHAIN, at=when) == history[last]
        assert session.project(CHAIN, at=0) == CHAIN.initial
        assert session.project(lambda total, event: total + 1, 0, at=5) == 5
        with pytest.raises(holdfast.NotFound):
            session.project(CHAIN, at=32)
        with pytest.raises(HoldfastError):
            session.project(CHAIN, at="yesterdayish")


# -- states that are no JSON ------------------------------------------------------------------------------


@dataclass
class Customer:
    """A state with types of its own."""

    name: str = ""
    tickets: dict[int, str] = field(default_factory=dict)

    def dump(self) -> Json:
        return {"name": self.name, "tickets": [[number, text] for number, text in self.tickets.items()]}

    @classmethod
    def load(cls, value: Json) -> Customer:
        assert isinstance(value, dict)
        return cls(str(value["name"]), {entry[0]: entry[1] for entry in value["tickets"]})  # type: ignore[index,union-attr,misc]


def customer_step(state: Customer, event: Event) -> Customer:
    if event.type == "x.ticket":
        state.tickets[int(str(event.data["number"]))] = str(event.data["text"])
    return state


def test_a_state_of_any_type(project: Path) -> None:
    """``dump`` and ``load`` take it to JSON and back; the initial one is never changed."""
    customers = Projection("customer", customer_step, Customer("ann"), dump=Customer.dump, load=Customer.load)
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        for number in range(3):
            session.record("x.ticket", {"number": number, "text": "broken"})
            assert session.project(customers) == Customer("ann", dict.fromkeys(range(number + 1), "broken"))
        assert workspace.session().project(customers).tickets.keys() == {0, 1, 2}
        assert customers.initial == Customer("ann")


@pytest.mark.parametrize(
    "state", [{1, 2}, (1, 2), {1: 2}, b"x", object(), float("nan"), {"a": (1,)}, "\ud800"]
)
def test_a_state_that_is_no_json_is_refused(project: Path, state: Any) -> None:
    """At once if it is the initial one, and before anything is kept if a step returns it."""
    with pytest.raises(holdfast.Usage, match="JSON"):
        Projection("bad", lambda before, event: before, state)
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        with pytest.raises(holdfast.Usage, match="JSON"):
            session.project(Projection("bad", lambda before, event: state, None))
        assert not (project / ".state" / "local" / "projections.bad").exists()


def test_a_step_that_forgets_to_return_is_named(project: Path) -> None:
    """None where there was a state is an error; where the initial state is None it is a state."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        forgetful: Callable[[Any, Event], Any] = lambda state, event: None  # noqa: E731
        with pytest.raises(holdfast.Usage, match=r"returned None at session\.started"):
            session.project(Projection("forgetful", forgetful, {}))
        with pytest.raises(holdfast.Usage, match="returned None"):
            session.project(forgetful, 0)
        assert session.project(Projection("none", forgetful, None)) is None


def test_a_step_that_raises_says_where_and_keeps_nothing(project: Path) -> None:
    """The program's own exception, with a note of the event; the next call begins where the last good one ended."""

    def step(state: int, event: Event) -> int:
        if event.data.get("bad"):
            raise ZeroDivisionError("by the program")
        return state + 1

    fragile = Projection("fragile", step, 0)
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        assert session.project(fragile) == 1
        bad = session.record("x.n", {"bad": True})
        for _ in range(2):
            with pytest.raises(ZeroDivisionError) as raised:
                session.project(fragile)
            assert bad.commit in "".join(raised.value.__notes__)
        assert session.project(Projection("fragile", lambda state, event: state + 1, 0)) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "../up"},
        {"name": "A B"},
        {"name": ""},
        {"version": 0},
        {"version": "1"},
        {"dump": str},
        {"load": str},
    ],
)
def test_a_projection_that_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    """Names that become paths, versions, and half of a pair of functions."""
    with pytest.raises(HoldfastError):
        Projection(**{"name": "n", "step": chain, "initial": {}, **arguments})


def test_project_takes_a_projection_or_a_function(project: Path) -> None:
    """Anything else is refused, with a sentence."""
    with holdfast.open(project) as workspace:
        session: Any = workspace.start("Help")
        with pytest.raises(holdfast.Usage):
            session.project(CHAIN, {})
        with pytest.raises(holdfast.Usage):
            session.project("chain")


# -- upcasters --------------------------------------------------------------------------------------------


def test_upcasters_are_chained_over_stored_events(where: str) -> None:
    """Events of versions 1, 2 and 3 are stored as they were written; a projection sees version 3 of each."""
    with holdfast.open(where) as workspace:
        session = workspace.start("Help")
        session.record("x.ticket", {"text": "broken"})
        seen = Projection("seen", lambda state, event: [*state, [event.version, event.data]], list[Json]())
        assert session.project(seen)[-1] == [1, {"text": "broken"}]
        workspace.upcast("x.ticket", 1, lambda data: {**data, "sentiment": "unknown"})
        session.record("x.ticket", {"text": "late", "sentiment": "angry"})
        assert session.project(seen)[-2:] == [
            [2, {"text": "broken", "sentiment": "unknown"}],
            [2, {"text": "late", "sentiment": "angry"}],
        ]
        workspace.upcast("x.ticket", 2, lambda data: {"title": data["text"], "mood": data["sentiment"]})
        session.record("x.ticket", {"title": "thanks", "mood": "happy"})
        now = [
            [3, {"title": "broken", "mood": "unknown"}],
            [3, {"title": "late", "mood": "angry"}],
            [3, {"title": "thanks", "mood": "happy"}],
        ]
        assert session.project(seen)[-3:] == now
        assert session.project(seen, at=3)[-2:] == now[:2]
        stored = [event for commit in session.log() for event in commit.events if event.type == "x.ticket"]
        assert [(event.version, len(event.data)) for event in stored] == [(1, 1), (2, 2), (3, 2)]


def test_an_upcaster_that_raises_says_where(project: Path) -> None:
    """The program's own exception, with the upcaster and the commit; nothing is kept, and the log is as it was."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        made = session.record("x.ticket", {"text": "broken"})
        workspace.upcast("x.ticket", 1, lambda data: {"title": data["no such field"]})
        with pytest.raises(KeyError) as raised:
            session.project(CHAIN)
        notes = "\n".join(raised.value.__notes__)
        assert "x.ticket from version 1" in notes
        assert made.commit in notes
        assert len(list(session.log())) == 2


@pytest.mark.parametrize("result", [None, [], "text", 3])
def test_an_upcaster_that_returns_no_object_is_named(project: Path, result: Any) -> None:
    """The sentence says which one, and what it returned."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        session.record("x.ticket", {"text": "broken"})
        workspace.upcast("x.ticket", 1, lambda data: result)
        with pytest.raises(holdfast.Usage, match=r"x\.ticket from version 1 returned"):
            session.project(CHAIN)


def test_an_event_of_a_newer_release_of_the_program(project: Path) -> None:
    """An older program that knows versions of the type refuses it; one that knows none sees it as it is."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Help")
        for version in (1, 2):
            workspace.upcast("x.ticket", version, dict)
        session.record("x.ticket", {})
    with holdfast.open(project) as workspace:
        session = workspace.session()
        assert session.project(lambda last, event: event.version, 0) == 3
        workspace.upcast("x.ticket", 1, dict)
        with pytest.raises(holdfast.Newer, match=r"x\.ticket has version 3"):
            session.project(CHAIN)


def test_registering_upcasters(project: Path) -> None:
    """In order from version 1, once each, and only for a program's own types."""
    with holdfast.open(project) as workspace:
        first: Any = dict
        for event_type, version in (
            ("x.ticket", 2),
            ("x.ticket", 0),
            ("x.ticket", "1"),
            ("decision.made", 1),
        ):
            with pytest.raises(holdfast.Usage):
                workspace.upcast(event_type, version, first)  # type: ignore[arg-type]
        workspace.upcast("x.ticket", 1, first)
        workspace.upcast("x.ticket", 1, first)
        with pytest.raises(holdfast.Usage, match="already"):
            workspace.upcast("x.ticket", 1, lambda data: data)
        with pytest.raises(holdfast.Usage, match="no predecessor"):
            workspace.upcast("x.ticket", 3, first)
        with pytest.raises(holdfast.Usage, match="not a function"):
            workspace.upcast("x.ticket", 2, "no")  # type: ignore[arg-type]


# -- any history ------------------------------------------------------------------------------------------


def check(workspace: Workspace) -> None:
    """The kept projection of every stream equals a fold from scratch."""
    for stream in workspace.store.streams():
        handle = Handle(workspace, stream)
        assert handle.project(CHAIN) == from_scratch(handle), stream


@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_after_any_commands_it_equals_a_fold_from_scratch(tmp_path: Path, engine: str) -> None:
    """Random commands in several handles and processes' worth of workspaces, with archiving and restoring."""
    chance = random.Random(f"{seed()} {engine}")
    place = f"sqlite:///{tmp_path / 'memory.db'}"
    if engine == "files":
        init(str(tmp_path), given=True)
        place = str(tmp_path)
    for _ in range(scaled(6)):
        with holdfast.open(place) as workspace:
            sessions = [workspace.session(name) for name in workspace.sessions()]
            if len(sessions) < 3:
                sessions.append(workspace.start("Work"))
            for _ in range(chance.randrange(5, 60)):
                session = chance.choice(sessions)
                name = chance.choice(list(BY_KIND["session"]))
                try:
                    BY_KIND["session"][name](
                        session,
                        Choice(session, Step(0, name, chance.randrange(60), chance.choice(TEXTS))),
                    )
                except HoldfastError:
                    pass
                if chance.random() < 0.3:
                    session.project(CHAIN)
            check(workspace)
            if engine == "files" and chance.random() < 0.6:
                away = [entry.name for entry in upkeep.archived(workspace)]
                try:
                    if away and chance.random() < 0.5:
                        upkeep.restore(workspace, chance.choice(away))
                    else:
                        session = chance.choice(sessions)
                        for decision in list(session.peek().state["decisions"]["open"]):
                            session.settle(decision, "done")
                        upkeep.archive(workspace, session.name)
                        assert session.project(CHAIN) == from_scratch(session)
                except HoldfastError:
                    pass
            check(workspace)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(scaled(4)))
def test_after_any_git_history_it_equals_a_fold_from_scratch(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merges, rebases, resets, stashes, copies and restored backups, projected in between."""
    chance = random.Random(f"{seed()} projections {number}")

    def projected(step: Callable[[History, Tree], None]) -> Callable[[History, Tree], None]:
        def run(history: History, tree: Tree) -> None:
            step(history, tree)
            if tree in history.trees and os.path.isdir(tree.path) and chance.random() < 0.6:
                with tree.open() as workspace:
                    check(workspace)

        return run

    for name, (weight, step) in list(steps.STEPS.items()):
        monkeypatch.setitem(steps.STEPS, name, (weight, projected(step)))
    with tempfile.TemporaryDirectory(dir=base(), prefix="holdfast-") as folder:
        history = History(os.path.join(folder, "h"), seed() * 1_000 + 500 + number)
        history.run(25)
        with history.replay:
            for tree in history.trees:
                with tree.open() as workspace:
                    check(workspace)


def test_a_removed_session_leaves_no_projection(tmp_path: Path) -> None:
    """Forgetting a stream removes what programs kept of it."""
    for place in (str(tmp_path), f"sqlite:///{tmp_path / 'memory.db'}", "memory:"):
        if place == str(tmp_path):
            init(place, given=True)
        with holdfast.open(place) as workspace:
            session = workspace.start("zirconium")
            goal: Projection[str] = Projection(
                "goal", lambda state, event: str(event.data.get("goal", state)), ""
            )
            assert session.project(goal) == "zirconium"
            note = f"local/projections.goal/{session.stream.replace('/', '+')}"
            assert workspace.store.get(note) is not None
            workspace.store.forget(session.stream)
            assert workspace.store.get(note) is None
    left = [file for file in (tmp_path / ".state" / "local").rglob("*") if file.is_file()]
    assert not [file for file in left if "projections" in str(file)]


def test_a_forged_cache_is_not_believed(project: Path) -> None:
    """A cache that this place did not write, as git can bring it, is not used."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Count")
        right = session.project(CHAIN)
        session.project(Projection("other", chain, {"chain": "forged", "types": {}}))
    local = project / ".state" / "local"
    (kept,) = (local / "projections.chain").iterdir()
    (other,) = (local / "projections.other").iterdir()
    kept.write_bytes(other.read_bytes())
    with holdfast.open(project) as workspace:
        assert workspace.session().project(CHAIN) == right


WORKER = """
import sys, holdfast
sys.path.insert(0, sys.argv[2])
from test_projections import CHAIN
with holdfast.open(sys.argv[1]) as workspace:
    session = workspace.session()
    while True:
        session.record("x.n", {"text": "x" * 500})
        session.project(CHAIN)
        print("done", flush=True)
"""


def test_a_process_that_is_killed_leaves_a_cache_that_continues(tmp_path: Path) -> None:
    """kill -9 while events and the cache are written; the next process has the right state."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        workspace.start("Count")
    chance = random.Random(seed())
    for _ in range(scaled(5)):
        running = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), os.path.dirname(__file__)], stdout=subprocess.PIPE
        )
        assert running.stdout is not None
        for _ in range(chance.randrange(1, 150)):
            assert running.stdout.readline() == b"done\n"
        running.send_signal(signal.SIGKILL)
        running.wait()
        running.stdout.close()
        with holdfast.open(tmp_path) as workspace:
            check(workspace)


def test_threads_share_a_handle(project: Path) -> None:
    """Threads that record and project at once see states of the log, each no older than the one before."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Count")
        counter: Projection[int] = Projection("counter", lambda state, event: state + 1, 0)
        wrong: list[object] = []

        def work() -> None:
            last = 0
            try:
                for _ in range(40):
                    version = session.record("x.n", {}).version
                    found = session.project(counter)
                    if found < max(last, version):
                        wrong.append((found, last, version))
                    last = found
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert session.project(counter) == 6 * 40 + 1
        check(workspace)
