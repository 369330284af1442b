"""Search over all sessions: what is found, how it is shown, and what is said when nothing is."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import Newer, NotFound, Usage
from holdfast.index import database
from holdfast.index.search import KINDS
from holdfast.index.words import words_of
from holdfast.store.files import segments


def ids(found: holdfast.SearchResult) -> list[str]:
    return [hit.id for hit in found.hits]


@pytest.fixture
def workspace(project: Path) -> holdfast.Workspace:
    """Two sessions and a project, with some of everything."""
    with holdfast.open(project) as workspace:
        first = workspace.start("Ship the billing rewrite")
        first.decide("Use a read replica", because="queries are slow", action="change src/db.py")
        first.settle("D-1", "done, 214 rows moved")
        first.add_error("Deadlock in migration 12", tried="retry")
        first.note("The café closes at five 🚀 100% a_b")
        workspace.start("Second session").decide("Keep the replica", because="使用数据库很慢")
        workspace.project.add_fact("SQLite allows one writer at a time")
        workspace.me.prefer("tone", "terse")
        yield workspace


def test_what_another_session_decided_is_found(workspace: holdfast.Workspace) -> None:
    """A word finds the entries of all sessions, with id, session, time, actor and the match marked."""
    found = workspace.search("replica")
    assert sorted(ids(found)) == ["D-1", "D-1"]
    assert len({hit.session for hit in found.hits}) == 2
    for hit in found.hits:
        assert [hit.snippet[start:end] for start, end in hit.marks] == ["replica"]
        assert (hit.kind, hit.by, hit.origin) == ("decision", "alice", "agent")


def test_an_entry_is_one_hit_with_all_that_was_said_about_it(workspace: holdfast.Workspace) -> None:
    """Words of a decision's reason and of its outcome, recorded later, match together."""
    (hit,) = workspace.search("slow 214").hits
    assert (hit.id, hit.status) == ("D-1", "settled")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("数据", "decision"),
        ("据库", "decision"),
        ("cafe", "note"),
        ("CAFÉ", "note"),
        ("🚀", "note"),
        ("100%", "note"),
        ("a_b", "note"),
        ("deadl", "error"),
        ('"migration 12"', "error"),
        ("lite allow", "fact"),
        ("tone", "preference"),
        ("terse", "preference"),
        ("billing", "session"),
    ],
)
def test_words_of_any_script_are_found(workspace: holdfast.Workspace, words: str, kind: str) -> None:
    """Beginnings of words, words without diacritics, CJK, emoji and signs, phrases, and parts of words."""
    hits = workspace.search(words).hits
    assert [hit.kind for hit in hits] == [kind] or words == "lite allow"
    assert hits[0].kind == kind


def test_filters_restrict_what_is_found(workspace: holdfast.Workspace) -> None:
    """Kind, session, user, actor, time, status and path."""
    first = workspace.sessions()[-1]
    assert len(workspace.search(kind="decision").hits) == 2
    assert {hit.kind for hit in workspace.search(kind=["fact", "preference"]).hits} == {"fact", "preference"}
    assert len(workspace.search("replica", session=first).hits) == 1
    assert workspace.session(first).search("terse").hits == ()
    assert len(workspace.project.search("SQLite").hits) == 1
    assert workspace.search("replica", user="nobody").hits == ()
    assert len(workspace.search("replica", by="alice", since="1h", until="0s").hits) == 2
    assert workspace.search("replica", until="1h").hits == ()
    assert ids(workspace.search(status="settled")) == ["D-1"]
    assert ids(workspace.search(path="src/db.py")) == ["D-1"]


def test_nothing_found_says_where_was_looked(
    workspace: holdfast.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer counts commits and sessions, and says that the archive is included."""
    assert main(["search", "unheard-of"]) == 0
    commits = workspace.search("x").commits
    assert (
        capsys.readouterr().out == f"Nothing found in {commits} commits of 2 sessions (archive included).\n"
    )


def test_if_nothing_has_all_words_some_are_enough(workspace: holdfast.Workspace) -> None:
    """Entries with some of the words are shown, and marked as such."""
    found = workspace.search("replica unheard-of")
    assert found.some
    assert len(found.hits) == 2


def test_wrong_questions_are_refused(workspace: holdfast.Workspace) -> None:
    """No words and no filter, a kind or a session that there is not, an impossible time."""
    with pytest.raises(Usage):
        workspace.search("  ")
    with pytest.raises(Usage, match="is not a kind"):
        workspace.search(kind="decisions")
    with pytest.raises(NotFound):
        workspace.search("x", session="2026-01-01-nosuchid")
    with pytest.raises(Usage):
        workspace.search("x", since="yesterday")
    with pytest.raises(Usage):
        workspace.search("x", limit=0)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    query=st.one_of(
        st.text(max_size=40),
        st.text(alphabet="\"'*():^-+{}\\%_ANDORNEAR \0\n数🚀é", max_size=40),
        st.sampled_from(
            [
                "AND",
                "OR NOT",
                "NEAR(a b)",
                'text:"x',
                "a*",
                "^a",
                "-a",
                "{text}: a",
                '""',
                '"',
                "* *",
                "(",
                "a\0b",
            ]
        ),
    )
)
def test_no_query_is_an_error_of_the_engine(workspace: holdfast.Workspace, query: str) -> None:
    """Whatever is typed gives an answer, or the sentence that there is nothing to search for."""
    try:
        found = workspace.search(query)
    except Usage:
        assert not words_of(query)
        return
    for hit in found.hits:
        assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.marks)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(str.strip))
def test_what_is_recorded_is_found_by_its_words(workspace: holdfast.Workspace, text: str) -> None:
    """Any note is found by any of its words."""
    session = workspace.session()
    commit = session.note(text).commit
    for word in words_of(text.replace('"', " "))[:3]:
        hits = workspace.search(word.text, session=session.name, limit=1000).hits
        assert commit in {hit.commit for hit in hits}, word


def test_kinds_are_those_of_the_events() -> None:
    """Every noun of an event has its kind."""
    from holdfast.core.concepts import NOUNS
    from holdfast.index.rows import kind_of

    assert {kind_of(noun) for noun in NOUNS} == set(KINDS)


def test_a_long_text_is_whole_in_the_tables(workspace: holdfast.Workspace) -> None:
    """The state keeps the beginning of a text; the index has all of it, also after the entry was changed."""
    session = workspace.session()
    decision = session.decide("long " * 400, because="reason " * 400, action="act").id
    workspace.index.catch_up()
    session.settle(decision, "outcome " * 400)
    with holdfast.connect() as db:
        row = db.execute("SELECT text, because, outcome FROM decisions WHERE id = ?", (decision,)).fetchone()
    assert row == ("long " * 400, "reason " * 400, "outcome " * 400)


def test_the_superseding_chain_is_complete(workspace: holdfast.Workspace) -> None:
    """A decision that was replaced names its successors, however long ago it was closed."""
    session = workspace.session()
    old = session.decide("One", because="x", action="a").id
    session.settle(old, "done")
    for number in range(15):
        session.settle(session.decide(f"Other {number}", because="x", action="a").id, "done")
    workspace.index.catch_up()
    new = session.decide("Two", because="y", supersedes=old).id
    with holdfast.connect() as db:
        found = db.execute(
            "SELECT id, superseded_by FROM decisions WHERE superseded_by IS NOT NULL"
        ).fetchall()
    assert found == [(old, new)]


# -- honesty ----------------------------------------------------------------------------------------------


def test_a_stream_that_cannot_be_read_is_named(
    workspace: holdfast.Workspace, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One session of a newer format: the others are searched, and the answer says what could not be looked at."""
    session = workspace.session()
    (folder,) = (project / ".state/events/sessions/alice").glob(session.id)
    line = b'{"v":99,"id":"0123456789abcdef-aaaaaaaa","sum":"0"}\n'
    (folder / segments.name_of(session.stream, "aaaaaaaa", 1)).write_bytes(line)
    with pytest.raises(Newer):
        _ = holdfast.open(project).session(session.name).version
    assert main(["search", "billing"]) == 0
    said = capsys.readouterr().out
    assert "[billing]" in said
    assert f"Could not be read: sessions/alice/{session.id}" in said


def test_while_another_process_writes_the_answer_says_what_is_missing(
    workspace: holdfast.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the lock cannot be had, the search answers from what is there and counts the streams that have changed."""
    for folder, _, _ in os.walk(os.path.join(workspace.where, "events")):
        os.utime(folder, (1e9, 1e9))  # long unchanged: a folder that has just changed counts as behind too
    workspace.search("replica")
    workspace.session().note("brand new")
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(workspace.index.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        workspace.index.close()
        found = workspace.search("replica")
        assert len(found.hits) == 2
        assert found.behind >= 1  # a folder that has just changed counts too
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert workspace.search("brand").behind == 0
    assert len(workspace.search("brand").hits) == 1


def test_a_hit_says_what_became_of_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Decisions, facts and errors that are about lines of a file: fresh, moved, changed or gone."""
    file = project / "db.py"
    file.write_text("one\ntwo\nthree\n")
    with holdfast.open(project) as workspace:
        session = workspace.start("Find the leak")
        session.decide("Close the pool", because="it leaks", at=["db.py:2"])
        session.add_error("pool exhausted", at=["db.py:1-2"])
        workspace.project.add_fact("The pool has four connections", at=["db.py:3"])
        for text, status in (
            ("one\ntwo\nthree\n", {"fresh"}),
            ("zero\none\ntwo\nthree\n", {"moved"}),
            ("1\n2\n3\n", {"changed"}),
            (None, {"gone"}),
        ):
            file.write_text(text) if text is not None else file.unlink()
            hits = workspace.search("pool").hits
            assert {hit.kind for hit in hits} == {"decision", "error", "fact"}
            assert {
                place.partition("(")[2].rstrip(")").split()[0] for hit in hits for place in hit.places
            } == status
    assert main(["search", "pool", "--kind", "decision"]) == 0
    assert "│ at db.py:2 (gone)" in capsys.readouterr().out


def test_the_parts_of_a_hit_are_told_apart(workspace: holdfast.Workspace) -> None:
    """What was decided, why and how it turned out; the marks fit. A session's id is no text of it."""
    session = workspace.start("Tidy the attic")
    session.decide("Sell the lamp", because="no room", action="call Zoë\nthen wait")
    session.settle("D-1", "sold the lamp")
    (hit,) = workspace.search("lamp").hits
    assert hit.snippet == "Sell the lamp · no room · call Zoë · then wait · sold the lamp"
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["lamp", "lamp"]
    (hit,) = workspace.search("attic").hits
    assert hit.snippet == "Tidy the attic"


def test_hashes_of_anchors_are_not_text(workspace: holdfast.Workspace) -> None:
    """A search finds a decision by the file that it is about, and shows no hash of that file's lines."""
    (Path(workspace.where).parent / "rounding.py").write_text("def half_even(): ...\n")
    workspace.session().decide("Half to even", because="auditors", at=["rounding.py:1"])
    (hit,) = workspace.search("rounding.py", kind="decision").hits
    assert hit.text.split()[-1] == "rounding.py"


# -- damage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["garbage", "empty", "cut", "older", "dropped", "page", "other", "link"])
def test_an_index_that_cannot_be_used_is_made_again(
    workspace: holdfast.Workspace, project: Path, how: str
) -> None:
    """Damage of any kind, an index of another release, a link: the search answers, and nothing outside is touched."""
    assert len(workspace.search("replica").hits) == 2
    path = Path(workspace.index.path)
    workspace.index.close()
    victim = project / "victim"
    victim.write_bytes(b"not ours")
    data = path.read_bytes()
    if how == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(data[: len(data) // 3])
    elif how == "page":
        path.write_bytes(data[:4096] + b"\xff" * 4096 * 12 + data[4096 * 13 :])
    elif how == "link":
        path.unlink()
        path.symlink_to(victim)
    else:
        with sqlite3.connect(path) as db:
            if how == "older":
                db.execute("UPDATE meta SET value = '0 0 0'")
            elif how == "dropped":
                db.execute("DROP TABLE texts")
            else:
                db.execute("PRAGMA application_id=1")
        db.close()
    assert len(workspace.search("replica").hits) == 2
    assert victim.read_bytes() == b"not ours"
    assert not path.is_symlink()


def test_an_index_that_is_deleted_while_it_is_open_is_made_again(workspace: holdfast.Workspace) -> None:
    """A server notices that its file is gone."""
    workspace.search("replica")
    for file in Path(workspace.index.path).parent.glob("index.db*"):
        file.unlink()
    workspace.session().note("brand new")
    assert len(workspace.search("brand").hits) == 1


def test_where_nothing_can_be_written_it_is_searched_in_memory(
    workspace: holdfast.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only workspace is searched all the same."""

    def refused(path: str, act: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(database, "locked", refused)
    assert len(workspace.search("replica").hits) == 2
    assert workspace.index.read(lambda db, held: db.execute("SELECT count(*) FROM facts").fetchone()) == (1,)


def test_a_workspace_in_memory_is_searched(tmp_path: Path) -> None:
    """Every engine has an index."""
    with holdfast.open("memory:") as workspace:
        workspace.start("x").note("hello there")
        assert len(workspace.search("hello").hits) == 1
        workspace.session().note("hello again")
        assert len(workspace.search("hello").hits) == 2


def test_git_never_sees_the_index(project: Path) -> None:
    """The index is not tracked, and a search leaves nothing to commit."""
    subprocess.run(["git", "init", "-q", "."], check=True)
    with holdfast.open(project) as workspace:
        workspace.start("x").note("hello")
        workspace.search("hello")
        shown = subprocess.run(
            ["git", "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True
        )
        assert "index.db" not in shown.stdout


def test_a_refused_secret_and_a_redacted_one_are_not_in_it(project: Path) -> None:
    """What the filter kept out of the log is in no file of the index."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    with holdfast.open(project, secrets="redact") as workspace:
        workspace.start("x").note(f"token {secret} here")
        assert len(workspace.search("token").hits) == 1
    for file in (project / ".state" / "local").glob("index.db*"):
        assert secret.encode() not in file.read_bytes()


# -- the command line -------------------------------------------------------------------------------------


def test_the_command_prints_hits_and_json(
    workspace: holdfast.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kind, id, session, local time with age, actor, and the snippet with the match in brackets; or one object."""
    assert main(["search", "deadlock"]) == 0
    head, snippet, *_ = capsys.readouterr().out.splitlines()
    assert head.startswith("error E-1 (open)  alice/")
    assert "(just now)  by alice" in head
    assert snippet == "  │ [Deadlock] in migration 12 · retry"
    assert main(["search", "deadlock", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is True
    assert said["hits"][0]["text"] == "Deadlock in migration 12\nretry"
    assert said["sessions"] == 2


def test_what_a_hit_names_can_be_shown(
    workspace: holdfast.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """Id and session of a hit lead to the entry, whatever the current session is."""
    (hit,) = workspace.search("deadlock").hits
    assert main(["show", hit.id, "--session", hit.session]) == 0
    assert "Deadlock in migration 12" in capsys.readouterr().out


def test_stored_text_cannot_act_on_a_terminal(
    workspace: holdfast.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences in a hit are made visible."""
    workspace.session().note("evil \x1b[2J\x1b]0;title\x07 text")
    assert main(["search", "evil"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["sql", "select text from notes where text like 'evil%'"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_recover_reads_only_what_is_unsettled(workspace: holdfast.Workspace) -> None:
    """Unsettled decisions of all sessions and the project are listed, and settled ones are not."""
    session = workspace.session()
    made = session.decide("Act now", because="x", action="go").id
    project = workspace.project.decide("For all", because="x", action="go").id
    found = {(one.session, one.decision.id) for one in workspace.recover() if one.decision.action == "go"}
    assert found == {(session.name, made), ("", project)}


def test_a_search_in_a_forked_child_is_its_own(workspace: holdfast.Workspace) -> None:
    """A connection is not shared with a child process."""
    workspace.search("replica")
    program = (
        "import os, holdfast\n"
        "w = holdfast.open(); w.search('replica')\n"
        "pid = os.fork()\n"
        "found = len(w.search('replica').hits)\n"
        "if not pid: os._exit(found)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == found == 2\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
