"""The index agrees with the log after any history."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from contents import check

import holdfast
from holdfast.errors import HoldfastError
from holdfast.store import forked
from holdfast.store.protocol import archive_of
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

HISTORIES = 6
STEPS = 25
CATCH_UP = "import holdfast, sys\nwith holdfast.open(sys.argv[1]) as w: print(w.index.catch_up().commits)"


def at(engine: str, folder: Path) -> str:
    if engine == "sqlite":
        return f"sqlite:///{folder / 'memory.db'}"
    init(str(folder), given=True)
    return str(folder)


def command(chance: random.Random, handle: Handle, kind: str) -> None:
    """Any command of a stream; a rule may refuse it."""
    name = chance.choice(list(BY_KIND[kind]))
    text = chance.choice((*TEXTS, "long " * 300))
    try:
        BY_KIND[kind][name](handle, Choice(handle, Step(0, name, chance.randrange(60), text)))
    except HoldfastError:
        pass


def some_work(chance: random.Random, workspace: Workspace) -> None:
    """A few commands in random streams, sometimes archiving, restoring, pruning."""
    names = workspace.sessions()
    if not names or chance.random() < 0.1:
        workspace.start(chance.choice(TEXTS[:3]))
        return
    for _ in range(chance.randrange(1, 25)):
        drawn = chance.random()
        if drawn < 0.15:
            command(chance, workspace.project, "project")
        elif drawn < 0.2:
            command(chance, workspace.me, "user")
        else:
            command(chance, workspace.session(chance.choice(names)), "session")
    drawn = chance.random()
    try:
        if drawn < 0.15:
            session = workspace.session(chance.choice(names))
            for decision in list(session.peek().state["decisions"]["open"]):
                session.settle(decision, "done")
            upkeep.archive(workspace, session.name)
        elif drawn < 0.2:
            upkeep.prune(workspace, upkeep.Policy(keep=1))
        elif drawn < 0.25:
            put_away = upkeep.archived(workspace)
            if put_away:
                upkeep.restore(workspace, chance.choice(put_away).name)
    except HoldfastError:
        pass


@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["files", "sqlite"])
@pytest.mark.parametrize("number", range(scaled(2)))
def test_after_any_commands_the_index_is_what_a_new_one_would_be(
    tmp_path: Path, engine: str, number: int
) -> None:
    """Random commands, archiving, pruning and deletions of the index, caught up at random times."""
    chance = random.Random(f"{seed()} {engine} {number}")
    where = at(engine, tmp_path)
    for _ in range(10):
        with holdfast.open(where) as workspace:
            for _ in range(4):
                some_work(chance, workspace)
                if chance.random() < 0.7:
                    workspace.index.catch_up()
                if chance.random() < 0.05:
                    workspace.index.delete()
        with holdfast.open(where) as workspace:
            check(workspace)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(scaled(HISTORIES)))
def test_after_any_git_history_the_index_is_what_a_new_one_would_be(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merges, rebases, resets, stashes, copies and restored backups, with the index caught up in between."""
    chance = random.Random(f"{seed()} git {number}")

    def indexed(step: Callable[[History, Tree], None]) -> Callable[[History, Tree], None]:
        def run(history: History, tree: Tree) -> None:
            step(history, tree)
            if tree in history.trees and os.path.isdir(tree.path) and chance.random() < 0.6:
                with tree.open() as workspace:
                    if chance.random() < 0.2:
                        check(workspace)
                    else:
                        workspace.index.catch_up()

        return run

    for name, (weight, step) in list(steps.STEPS.items()):
        monkeypatch.setitem(steps.STEPS, name, (weight, indexed(step)))
    with tempfile.TemporaryDirectory(dir=base(), prefix="holdfast-") as folder:
        history = History(os.path.join(folder, "h"), seed() * 1_000 + number)
        history.run(STEPS)
        with history.replay:
            for tree in history.trees:
                with tree.open() as workspace:
                    check(workspace)


def _filled(folder: Path, sessions: int, notes: int) -> str:
    where = at("files", folder)
    with holdfast.open(where) as workspace:
        for number in range(sessions):
            session = workspace.start(f"goal {number}")
            session.record_all([("x.note", {"text": f"word{number} {place}"}) for place in range(notes)])
            session.decide("Use SQLite", because="one file", action="migrate")
            session.settle("D-1", "done")
    return where


def test_a_process_that_is_killed_leaves_an_index_that_continues(tmp_path: Path) -> None:
    """kill -9 at any point of catching up; the next process completes the index."""
    where = _filled(tmp_path, 40, 50)
    chance = random.Random(seed())
    for _ in range(scaled(6)):
        running = subprocess.Popen([sys.executable, "-c", CATCH_UP, where], stdout=subprocess.DEVNULL)
        try:
            running.wait(chance.uniform(0.1, 0.8))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
        with holdfast.open(where) as workspace:
            workspace.session().note(f"after {chance.random()}")
            if chance.random() < 0.5:
                workspace.index.delete()
    with holdfast.open(where) as workspace:
        check(workspace)


@pytest.mark.parametrize("killed", [False, True])
def test_an_index_that_several_processes_build_is_the_same(tmp_path: Path, killed: bool) -> None:
    """Many new streams are read by several processes; if one of those is killed, the builder reads the rest itself."""
    where = _filled(tmp_path, 60, 20)
    program = (
        "import holdfast, os, sys\n"
        "from holdfast.index import reading\n"
        "from holdfast.store import forked\n"
        "forked.FEWEST, reading._STREAMS, real, own = 2, 5, reading._prepared, os.getpid()\n"
        "def prepared(store, jobs):\n"
        f"    if {killed} and jobs[0][2] > 20 and os.getpid() != own: os.kill(os.getpid(), 9)\n"
        "    assert own != os.getpid() or jobs[0][2] > 20\n"
        "    return real(store, jobs)\n"
        "reading._prepared = prepared\n"
        "with holdfast.open(sys.argv[1]) as w:\n"
        "    held = w.index.catch_up()\n"
        "    print(held.commits)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, where], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, str(60 * 4)), done.stderr
    with holdfast.open(where) as workspace:
        check(workspace)


KILLED_BUILD = """
import holdfast, os, sys
from holdfast.index import building
from holdfast.store import forked
forked.FEWEST = 2
building._sync = lambda path: os.kill(os.getpid(), 9)
with holdfast.open(sys.argv[1]) as w:
    w.index.catch_up()
"""


def test_a_build_that_is_killed_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    """An index is built in a file of its own: half of one is never asked; the next build or a deletion removes it."""
    where = _filled(tmp_path, 20, 20)
    with holdfast.open(where) as workspace:
        for clean in (workspace.index.catch_up, workspace.index.delete):
            workspace.index.delete()
            done = subprocess.run([sys.executable, "-c", KILLED_BUILD, where], timeout=120)
            new = Path(workspace.index.path + "-new")
            assert (done.returncode, new.exists()) == (-signal.SIGKILL, True)
            assert workspace.index.status().commits == 0
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(forked, "FEWEST", 2)
                clean()
            assert not new.exists()
        check(workspace)


def test_an_index_of_few_streams_is_built_anew_and_one_of_many_is_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a brief has read of the newest sessions does not slow down the first whole build; later, new sessions are
    added to the file that is there."""
    monkeypatch.setattr(forked, "FEWEST", 5)
    where = _filled(tmp_path, 20, 3)
    with holdfast.open(where) as workspace:
        workspace.index.glance(lambda db: None, most=10)
        before = os.stat(workspace.index.path).st_ino
        assert 0 < workspace.index.status().sessions < 10
        workspace.index.catch_up()
        built = os.stat(workspace.index.path).st_ino
        assert built != before
        check(workspace)
        for number in range(8):
            workspace.start(f"another goal {number}")
        assert workspace.index.catch_up().sessions == 28
        assert os.stat(workspace.index.path).st_ino == built
        check(workspace)


APPENDS = """
import holdfast, os, sys
with holdfast.open(sys.argv[1]) as w:
    seen = []
    sys.addaudithook(lambda event, arguments: seen.append((event, arguments)))
    session = w.session()
    for number in range(250):
        session.note(f"note {number}")
    session.decide("Use SQLite", because="one file")
print(sum(event == "open" for event, _ in seen) > 0)
print([event for event, arguments in seen if "index.db" in str(arguments) or event == "sqlite3.connect"])
print("holdfast.index.catch_up" in sys.modules)
"""


@pytest.mark.parametrize("there", [False, True])
def test_an_append_does_not_look_at_the_index(tmp_path: Path, there: bool) -> None:
    """Appends open no file of the index, whether there is one or not: they cannot cost more because of it."""
    where = _filled(tmp_path, 2, 3)
    with holdfast.open(where) as workspace:
        workspace.index.catch_up()
        if not there:
            workspace.index.delete()
    done = subprocess.run([sys.executable, "-c", APPENDS, where], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.returncode) == (["True", "[]", "False"], 0), done.stderr


def test_several_processes_catch_up_at_once(tmp_path: Path) -> None:
    """Processes that catch up at the same time, while another one writes, all succeed, and the index is right."""
    where = _filled(tmp_path, 30, 30)
    with holdfast.open(where) as workspace:
        for _ in range(3):
            running = [
                subprocess.Popen([sys.executable, "-c", CATCH_UP, where], stdout=subprocess.PIPE)
                for _ in range(4)
            ]
            for name in workspace.sessions()[:10]:
                workspace.session(name).note("written meanwhile")
            assert [process.wait(120) for process in running] == [0, 0, 0, 0]
            for process in running:
                assert process.stdout is not None
                process.stdout.close()
        check(workspace)


def test_an_archived_session_is_found_and_a_pruned_one_is_gone(project: Path) -> None:
    """The archive is searched; what a retention policy removed is in no file of the index."""
    with holdfast.open(project) as workspace:
        workspace.start("Replace the turbine")
        session = workspace.session()
        session.note("zirconium bearings")
        workspace.search("zirconium")
        upkeep.archive(workspace, session.name)
        assert archive_of(workspace.store) is not None
        found = workspace.search("zirconium")
        assert [hit.session for hit in found.hits] == [session.name]
        assert found.archived == 1
        upkeep.prune(workspace, upkeep.Policy(keep=0))
        for file in (project / ".state" / "local").glob("index.db*"):
            assert b"zirconium" not in file.read_bytes()
        assert workspace.search("zirconium").hits == ()
