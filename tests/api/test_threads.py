"""One handle used by many threads, and one handle per thread: the log, the state and what is persisted agree."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core import fold

THREADS = 4
ROUNDS = 50


def together(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Run ``work`` in several threads at once; the first error of any of them is raised."""
    errors: list[BaseException] = []
    ready = threading.Barrier(threads)

    def run(number: int) -> None:
        ready.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


@pytest.fixture(params=["files", "sqlite", "memory"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> holdfast.Workspace:
    where = {"files": tmp_path, "sqlite": f"sqlite:///{tmp_path}/memory.db", "memory": "memory:"}
    return holdfast.init(where[request.param], user="alice")


def persisted(workspace: holdfast.Workspace, session: holdfast.Session) -> tuple[int, dict[str, int]]:
    """What a fresh opening says of the decisions, and what ``state.json`` says."""
    workspace.publish()
    fresh = workspace.session(session.name)
    shown = json.loads(workspace.store.get(f"{session.stream}/state.json") or b"{}")
    assert fresh.state == fold.fold(fold.blank("session"), fresh.stored_commits())
    return fresh.decisions.opened, shown["decisions"]


def test_one_handle_in_four_threads(workspace: holdfast.Workspace) -> None:
    """Every decision is in the log once, and the handle, a fresh opening and state.json all count it once."""
    session = workspace.start("Share me")

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            made = session.decide(f"{number}/{turn}", because="threads", action="weave")
            session.settle(made.id, "done")

    together(work)
    total = THREADS * ROUNDS
    assert session.version == 1 + 2 * total
    assert (session.decisions.opened, session.decisions.closed, session.decisions.open) == (total, total, ())
    opened, shown = persisted(workspace, session)
    assert (opened, shown["made"], shown["settled"]) == (total, total, total)


def test_one_handle_per_thread(workspace: holdfast.Workspace) -> None:
    """Handles of a shared workspace see each other's commits, and the views end up with all of them."""
    session = workspace.start("Share the workspace")

    def work(number: int) -> None:
        mine = workspace.session(session.name)
        for turn in range(ROUNDS):
            mine.settle(mine.decide(f"{number}/{turn}", because="threads", action="weave").id, "done")

    together(work)
    total = THREADS * ROUNDS
    opened, shown = persisted(workspace, session)
    assert (opened, shown["made"], shown["settled"]) == (total, total, total)


def test_reading_while_others_commit(workspace: holdfast.Workspace) -> None:
    """A reader never sees a state between two commits, and no read fails while the state grows."""
    session = workspace.start("Read me")

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            if number % 2:
                session.settle(session.decide("this", because="threads", action="weave").id, "done")
            else:
                reading = session.read()
                decisions = reading.decisions
                assert decisions.opened - decisions.closed == len(decisions.open)
                assert reading.version == 1 + decisions.opened + decisions.closed
                assert session.goal == "Read me"
                session.menu()
                json.dumps(session.state)

    together(work)


def test_views_of_many_sessions_are_written_without_deadlock(workspace: holdfast.Workspace) -> None:
    """Threads that commit to sessions of their own while each writes the views of all do not wait for each other."""
    sessions = [workspace.start(f"Work {number}") for number in range(THREADS)]

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            workspace.views.written_at = 1  # the views are due at every commit
            sessions[(number + turn) % THREADS].note(f"{number}/{turn}")

    together(work)
    workspace.publish()
    assert sum(session.notes.count for session in sessions) == THREADS * ROUNDS
    for session in sessions:
        shown = json.loads(workspace.store.get(f"{session.stream}/state.json") or b"{}")
        assert shown["notes"]["count"] == session.notes.count


def test_updates_in_threads_lose_nothing(workspace: holdfast.Workspace) -> None:
    """A counter that threads raise by update ends at the number of updates."""
    session = workspace.start("Count")

    def step(handle: holdfast.Session) -> holdfast.Receipt:
        highest = handle.project(lambda highest, event: max(highest, int(str(event.data.get("n", 0)))), 0)
        return handle.record("x.count", {"n": highest + 1})

    together(lambda number: [session.update(step) for _ in range(10)] and None)
    assert (
        session.project(lambda highest, event: max(highest, int(str(event.data.get("n", 0)))), 0)
        == 10 * THREADS
    )


def test_a_child_process_does_not_inherit_a_held_lock(tmp_path: Path) -> None:
    """A fork while another thread commits leaves a handle that the child can use."""
    session = holdfast.init(tmp_path, user="alice").start("Fork me")
    session.note("before")
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with session.lock:
            held.set()
            forked.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(session.notes.count).encode())
        os._exit(0)
    forked.set()
    holder.join()
    os.close(writer)
    assert os.read(reader, 10) == b"1"
    assert os.waitpid(child, 0)[1] == 0
