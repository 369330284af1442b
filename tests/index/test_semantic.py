"""Ranking by meaning: what it finds, and that vectors are never those of another text or model."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from paraphrases import FOUND, OTHERS, fill
from test_index_and_log import at, some_work

import holdfast
from holdfast.edge.cli import main
from holdfast.index import embedding, vectors
from holdfast.index.embedding import Model
from holdfast.testing.scale import scaled, seed
from holdfast.workspace import upkeep
from holdfast.workspace.setup import init
from holdfast.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with some weeks of a team's work."""
    folder = tmp_path_factory.mktemp("team")
    init(str(folder), given=True)
    with holdfast.open(folder, user="alice") as workspace:
        fill(workspace)
        yield workspace


def place_of(workspace: Workspace, question: str, answer: str, semantic: bool) -> int:
    hits = workspace.search(question, semantic=semantic, limit=1_000).hits
    return next((n for n, hit in enumerate(hits, 1) if answer in hit.text), 10_000)


@pytest.mark.parametrize(("question", "answer"), FOUND)
def test_a_paraphrase_finds_its_record(team: Workspace, question: str, answer: str) -> None:
    """Asked in other words, the record is among the first three; by words alone it is not."""
    assert place_of(team, question, answer, semantic=False) > 3
    assert place_of(team, question, answer, semantic=True) <= 3


def test_most_paraphrases_find_their_record(team: Workspace) -> None:
    """Of all questions, also those that are too hard for the model, more than half are answered."""
    everything = (*FOUND, *OTHERS)
    found = [place_of(team, *question, semantic=True) <= 3 for question in everything]
    assert sum(found) > len(everything) / 2


def test_what_has_all_words_stays_ahead(team: Workspace) -> None:
    """A record that both rankings find comes first, and its words are marked."""
    result = team.search("replicas reporting", semantic=True)
    assert (result.ranking, result.some) == ("hybrid", False)
    assert "read replicas" in result.hits[0].text
    assert result.hits[0].marks


def test_nothing_is_near_to_nonsense(team: Workspace) -> None:
    """A question that has nothing to do with the records finds nothing, and not the least unrelated ones."""
    result = team.search("favourite football team", semantic=True)
    assert (result.hits, result.total, result.ranking) == ((), 0, "hybrid")


def test_filters_quotes_and_paths_hold(team: Workspace) -> None:
    """What is near in meaning must still be of the kind, in the stream and have what is in quotes."""
    kinds = {hit.kind for hit in team.search("out of RAM", kind="error", semantic=True).hits}
    assert kinds == {"error"}
    hits = team.search('picture "object storage"', semantic=True).hits
    assert [hit for hit in hits if "object storage" not in hit.text] == []
    assert hits
    assert team.search("picture", path="no/such/file.py", semantic=True).hits == ()
    name = team.search("credentials", kind="decision", semantic=True).hits[0].session
    inside = team.session(name).search("credentials", semantic=True).hits
    assert {hit.session for hit in inside} == {name}
    assert len(team.search("week", semantic=True, limit=3).hits) == 3


@pytest.mark.parametrize(
    "query", ["", "%", "🦀", "\0", '"', "数据库", "AND OR (", "x" * 100_000, "-- ;", "\ud800"]
)
def test_every_query_has_an_answer_or_a_clear_error(team: Workspace, query: str) -> None:
    """Signs, scripts, emoji, NUL and very long text: a result, or an error that says what is wrong."""
    for semantic in (False, True):
        with contextlib.suppress(holdfast.HoldfastError):
            team.search(query, semantic=semantic)


def test_meaning_is_used_by_itself_when_words_fail(team: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without being told, a search goes by words if a text has all of them, else by meaning too."""
    monkeypatch.delenv("HOLDFAST_SEARCH")
    assert team.search("replicas reporting").ranking == "words"
    asked = team.search("how are credentials hashed")
    assert (asked.ranking, asked.some) == ("hybrid", True)
    assert team.search(kind="decision").ranking == "words"
    monkeypatch.setenv("HOLDFAST_SEARCH", "hybrid")
    assert team.search("replicas reporting").ranking == "hybrid"
    assert team.search("replicas reporting", semantic=False).ranking == "words"
    monkeypatch.setenv("HOLDFAST_SEARCH", "words")
    assert team.search("how are credentials hashed").ranking == "words"
    monkeypatch.setenv("HOLDFAST_SEARCH", "magic")
    with pytest.raises(holdfast.Usage, match="HOLDFAST_SEARCH"):
        team.search("credentials")


def test_the_command_says_how_it_ranked(team: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """`search --semantic` and its JSON name the ranking; `--no-semantic` goes by words."""
    words = ["search", "how", "are", "credentials", "hashed", "--workspace", team.where]
    assert main([*words, "--semantic"]) == 0
    out = capsys.readouterr().out
    assert "argon2id" in out
    assert "Nothing has all of these words. Ranked by words and meaning." in out
    assert main([*words, "--semantic", "--json"]) == 0
    assert '"ranking": "hybrid"' in capsys.readouterr().out
    assert main([*words, "--no-semantic"]) == 0
    assert "argon2id" not in capsys.readouterr().out


WITHOUT = """
import sys, importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "wordllama" else real(name, *more)
sys.modules["wordllama"] = sys.modules["numpy"] = None
from holdfast.edge.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_the_extra_everything_else_works(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--semantic` says what to install; a search that finds nothing finds nothing, and needs neither package."""
    with holdfast.open(project) as workspace:
        workspace.start("Replace the turbine")
    monkeypatch.delenv("HOLDFAST_SEARCH")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False
        )

    refused = run("search", "engine", "--semantic")
    assert refused.returncode == 6
    assert "pip install 'holdfast[semantic]'" in refused.stderr
    found = run("search", "turbine")
    assert (found.returncode, "[turbine]" in found.stdout) == (0, True), found.stderr
    nothing = run("search", "engine")
    assert nothing.returncode == 0
    assert "Nothing found" in nothing.stdout


def test_the_model_needs_no_network(project: Path) -> None:
    """Loading it and making vectors opens no connection, with no cache of models on the machine."""
    with holdfast.open(project) as workspace:
        workspace.start("Work").note("The turbine needs grease")
    code = (
        "import socket, holdfast\n"
        "def refuse(*given, **named): raise AssertionError('the network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "with holdfast.open() as workspace:\n"
        "    print(workspace.search('lubricate the turbine', semantic=True).hits[0].kind)\n"
    )
    environment = {**os.environ, "HOME": str(project), "HF_HOME": str(project / "none")}
    asked = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert asked.stdout == "note\n"
    assert not (project / "none").exists()


def test_a_search_by_words_loads_no_model(team: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra installed, a command that finds all words starts as fast as without it."""
    monkeypatch.delenv("HOLDFAST_SEARCH")
    code = (
        "import sys; from holdfast.edge.cli import main\n"
        "status = main(sys.argv[1:]); assert not {'numpy', 'wordllama'} & sys.modules.keys(); sys.exit(status)"
    )
    words = ["search", "read replicas", "--workspace", team.where]
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)


# -- vectors and texts agree ------------------------------------------------------------------------------


def check(workspace: Workspace) -> None:
    """After a search by meaning, every text has the vector of its text as it is now, and no other vector exists."""
    result = workspace.search("anything", semantic=True)
    assert result.without == 0
    db = sqlite3.connect(workspace.index.path)
    try:
        texts = dict(db.execute("SELECT number, text FROM texts"))
        stored = dict(db.execute("SELECT number, vector FROM vectors"))
        model = db.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
    finally:
        db.close()
    assert model == (embedding.load().name,)
    assert stored.keys() == texts.keys()
    made = embedding.load().embed(list(texts.values()))
    kept = np.array([np.frombuffer(stored[number], np.float16) for number in texts], np.float32)
    assert np.allclose(made, kept, atol=2e-3)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_after_any_commands_vectors_are_those_of_the_texts(tmp_path: Path, engine: str) -> None:
    """Random commands, archiving, pruning and deletions of the index, searched by meaning at random times."""
    chance = random.Random(f"{seed()} semantic {engine}")
    where = at(engine, tmp_path)
    for _ in range(scaled(4)):
        with holdfast.open(where) as workspace:
            for _ in range(4):
                some_work(chance, workspace)
                if chance.random() < 0.7:
                    workspace.search("some work", semantic=True)
                if chance.random() < 0.1:
                    workspace.index.delete()
            if workspace.sessions():
                check(workspace)


def test_a_changed_text_gets_a_new_vector(project: Path) -> None:
    """A decision's outcome is part of its text: it is found by the meaning of that, too."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        made = session.decide("Try the other vendor", because="price", action="call them")
        check(workspace)
        session.settle(made.id, "their parcels arrived broken")
        check(workspace)
        assert workspace.search("damaged shipment", semantic=True).hits[0].id == made.id


class Other(Model):
    """A model of another release."""

    def __init__(self) -> None:
        super().__init__("other 1", None)

    def embed(self, texts: list[str]) -> embedding.Matrix:
        return np.full((len(texts), 8), 8**-0.5, np.float32)


def test_another_model_makes_all_vectors_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of two models are never mixed, and none of the old one stay."""
    with holdfast.open(project) as workspace:
        workspace.start("Work").note("something")
        check(workspace)
        with monkeypatch.context() as patched:
            patched.setattr(embedding, "load", Other)
            assert len(workspace.search("anything", semantic=True).hits) == 2
            lengths = workspace.index.read(
                lambda db, _: db.execute("SELECT DISTINCT length(vector) FROM vectors").fetchall()
            )
            assert lengths == [(16,)]
        check(workspace)


def test_only_the_newest_texts_have_vectors(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the bound, old texts are found by words; their vectors are removed as new texts come."""
    monkeypatch.setattr(vectors, "MOST", 10)
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.note("The turbine needs grease")
        count = "SELECT count(*) FROM vectors"
        for number in range(30):
            session.note(f"Note {number}")
            if number % 7 == 0:
                workspace.search("lubricate", semantic=True)
                found = workspace.index.read(lambda db, _: db.execute(count).fetchone())
                assert found[0] == min(10, number + 3)
        assert workspace.search("lubricate", semantic=True).hits == ()
        assert workspace.search("turbine grease", semantic=True).hits[0].snippet.startswith("The turbine")


def test_secrets_never_become_vectors(project: Path) -> None:
    """What is redacted before it is written is redacted in the text that the vector is made from."""
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    with holdfast.open(project, secrets="redact") as workspace:
        session = workspace.start("Work")
        session.note(f"the token is {secret}")
        check(workspace)
        texts = workspace.index.read(lambda db, _: db.execute("SELECT text FROM texts").fetchall())
        assert secret not in str(texts)


def test_a_pruned_session_leaves_no_vector(project: Path) -> None:
    """Pruning deletes the index with its vectors; the next search makes only those of what is left."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Replace the turbine")
        session.note("zirconium bearings")
        check(workspace)
        upkeep.archive(workspace, session.name)
        check(workspace)
        upkeep.prune(workspace, upkeep.Policy(keep=0))
        assert workspace.search("ceramic ball bearing", semantic=True).hits == ()
        check(workspace)


SEARCH = """
import holdfast, sys
from holdfast.index import vectors
vectors._BATCH = 5
with holdfast.open(sys.argv[1]) as workspace:
    workspace.index.embedding_progress = lambda done, total: print(done, flush=True)
    workspace.search("anything", semantic=True)
"""


def _filled(folder: Path) -> str:
    init(str(folder), given=True)
    with holdfast.open(folder) as workspace:
        session = workspace.start("Work")
        session.record_all([("x.start", {"text": "the first"})])
        for number in range(200):
            session.note(f"Note number {number}")
    return str(folder)


def test_a_process_that_is_killed_while_it_makes_vectors(tmp_path: Path) -> None:
    """kill -9 after any batch; the next search makes the rest."""
    where = _filled(tmp_path)
    chance = random.Random(seed())
    for _ in range(scaled(3)):
        running = subprocess.Popen([sys.executable, "-c", SEARCH, where], stdout=subprocess.PIPE)
        assert running.stdout is not None
        for _ in range(chance.randrange(1, 10)):
            running.stdout.readline()
        running.send_signal(signal.SIGKILL)
        running.wait()
        running.stdout.close()
    with holdfast.open(where) as workspace:
        check(workspace)


def test_several_processes_make_vectors_at_once(tmp_path: Path) -> None:
    """While another one writes: all succeed, and every vector is that of its text."""
    where = _filled(tmp_path)
    running = [
        subprocess.Popen([sys.executable, "-c", SEARCH, where], stdout=subprocess.DEVNULL) for _ in range(3)
    ]
    with holdfast.open(where) as workspace:
        session = workspace.session()
        for number in range(20):
            made = session.decide(f"Choice {number}", because="so", action="do")
            workspace.search("anything", semantic=True)
            session.settle(made.id, "done")
        assert [process.wait(120) for process in running] == [0, 0, 0]
        check(workspace)


def test_an_index_in_memory(tmp_path: Path) -> None:
    """Where no file can be written, a search by meaning works too."""
    with holdfast.open("memory:") as workspace:
        workspace.start("Work").note("The turbine needs grease")
        assert workspace.search("lubricate the turbine", semantic=True).hits[0].kind == "note"
    assert os.listdir(tmp_path) == []
