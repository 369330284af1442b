"""Anchors: a record names a place, and a reader sees whether that is fresh, moved, changed or gone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.core import anchors
from holdfast.edge.cli import main
from holdfast.errors import NotFound, Refused
from holdfast.workspace import host_plans, upkeep
from holdfast.workspace.anchors import standing, standings
from holdfast.workspace.handover import make_brief

LINES = st.lists(st.text(alphabet="ab \té", max_size=3), min_size=1, max_size=12)


@given(before=LINES, after=LINES, data=st.data())
def test_what_became_of_lines(before: list[str], after: list[str], data: st.DataObject) -> None:
    """Compared with the lines themselves: fresh where they were, moved where they are, changed if they are nowhere."""
    first = data.draw(st.integers(1, len(before)))
    last = data.draw(st.integers(first, len(before)))
    chosen = before[first - 1 : last]
    anchor = anchors.on_text({"path": "a", "lines": [first, last]}, "\n".join(before) + "\n")
    starts = [at + 1 for at in range(len(after)) if after[at : at + len(chosen)] == chosen]
    status, span = anchors.in_text(anchor, "\n".join(after) + "\n")
    if first in starts:
        assert (status, span) == (anchors.FRESH, [first, last])
    elif starts:
        assert status == anchors.MOVED
        assert span is not None
        assert span[0] in starts
        assert abs(span[0] - first) == min(abs(start - first) for start in starts)
        assert span[1] - span[0] == last - first
    else:
        assert (status, span) == (anchors.CHANGED, None)


@given(lines=LINES)
def test_line_endings_do_not_count(lines: list[str]) -> None:
    """Git may have converted them."""
    anchor = anchors.on_text({"path": "a"}, "\n".join(lines) + "\n")
    assert anchors.in_text(anchor, "\r\n".join(lines) + "\r\n") == (anchors.FRESH, None)


@pytest.mark.parametrize(
    "text",
    ["src/db.py", "src/db.py:40", "src/db.py:40-60", "branch:main", "commit:1a2b3c4", "package:x@1.0",
     "package:@scope/x@1.0", "https://example.org/a:40", "a:b.py", "C:x-1"],
)  # fmt: skip
def test_an_anchor_is_the_text_that_names_it(text: str) -> None:
    """What a view shows can be typed again."""
    assert anchors.label(anchors.parse(text)) == text


@pytest.mark.parametrize("text", ["", "a.py:9-3", "a.py:0", "commit:xyz", "commit:12", "branch:"])
def test_what_is_no_anchor_is_refused(text: str) -> None:
    """Nothing is written."""
    with pytest.raises(Refused):
        anchors.parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*anchors.KINDS, "lines", "hash", "first", "version", "zzz"]), inner
        )
    ),
    max_leaves=8,
)


@given(found=JSON)
def test_a_log_can_hold_anything(found: Any) -> None:
    """What is no anchor is left out of the state; what is left can be shown and looked at."""
    kept = anchors.stored({"anchors": found})
    assert len(kept) <= anchors.MOST
    for anchor in kept:
        assert isinstance(anchors.label(anchor), str)
        if "path" in anchor:
            anchors.in_text(anchor, "a\nb\n")


@pytest.fixture
def source(project: Path) -> Path:
    """A file of a hundred lines."""
    path = project / "src" / "db.py"
    path.parent.mkdir()
    path.write_text("".join(f"line {n}\n" for n in range(1, 101)))
    return path


def test_a_file_over_its_life(project: Path, source: Path) -> None:
    """Fresh, then moved with its new lines, then changed, then gone; facts, decisions and errors alike."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.decide("One lock", because="order", at=["src/db.py:40-60"])
        session.add_error("Deadlock", at=["src/db.py:41"])
        workspace.project.add_fact("Locks are here", at=["src/db.py:50-52"])
        entries = [
            (session.stream, session.state["decisions"]["closed"][0]),
            (session.stream, session.state["errors"]["open"]["E-1"]),
            ("project", next(iter(workspace.project.state["facts"]["open"].values()))),
        ]
        assert session.decisions.recent[0].anchors[0]["path"] == "src/db.py"

        def now() -> list[str]:
            return [str(place) for stream, entry in entries for place in standings(workspace, stream, entry)]

        assert now() == ["src/db.py:40-60 (fresh)", "src/db.py:41 (fresh)", "src/db.py:50-52 (fresh)"]
        source.write_text("new\n" + source.read_text())
        assert now() == [
            "src/db.py:40-60 (moved to 41-61)",
            "src/db.py:41 (moved to 42)",
            "src/db.py:50-52 (moved to 51-53)",
        ]
        source.write_text(source.read_text().replace("line 41\n", "LINE 41\n"))
        assert now() == [
            "src/db.py:40-60 (changed)",
            "src/db.py:41 (changed)",
            "src/db.py:50-52 (moved to 51-53)",
        ]
        source.unlink()
        assert now() == ["src/db.py:40-60 (gone)", "src/db.py:41 (gone)", "src/db.py:50-52 (gone)"]


def test_the_text_of_a_file_is_never_stored(project: Path, source: Path) -> None:
    """Only its hash is: a secret in a file does not get into the log by an anchor."""
    source.write_text("hunter2 is the password\n")
    with holdfast.open(project) as workspace:
        workspace.start("Work").decide("x", because="y", at=["src/db.py:1"])
    assert b"hunter2" not in b"".join(
        path.read_bytes() for path in (project / ".state").rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    "place", ["nothere.py", "src/db.py:101", "src/db.py:90-101", "../out.py", "branch:none", "package:none"]
)
def test_what_is_not_there_is_refused(project: Path, source: Path, place: str) -> None:
    """A typing error is noticed when it is made, and nothing is written."""
    (project / "requirements.txt").write_text("sqlalchemy==2.0.1\n")
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        before = session.version
        with pytest.raises((NotFound, Refused)):
            session.decide("x", because="y", at=[place])
        assert session.version == before
        with pytest.raises(Refused, match="9 anchors"):
            session.decide("x", because="y", at=["src/db.py"] * 9)


@pytest.mark.parametrize(
    ("file", "text", "later"),
    [
        ("requirements.txt", "SQLAlchemy[asyncio]==2.0.1 ; python_version > '3'\n", "SQLAlchemy==2.1\n"),
        (
            "uv.lock",
            '[[package]]\nname = "sqlalchemy"\nversion = "2.0.1"\n',
            '[[package]]\nname = "sqlalchemy"\nversion = "2.1"\n',
        ),
        (
            "Cargo.lock",
            '[[package]]\nname = "sqlalchemy"\nversion = "2.0.1"\n',
            '[[package]]\nname = "sqlalchemy"\nversion = "2.1"\n',
        ),
        (
            "package-lock.json",
            '{"packages": {"": {}, "node_modules/sqlalchemy": {"version": "2.0.1"}}}',
            '{"packages": {"node_modules/sqlalchemy": {"version": "2.1"}}}',
        ),
    ],
)
def test_the_version_of_a_dependency(project: Path, file: str, text: str, later: str) -> None:
    """Taken from the lock file if none is named; changed with the new version; gone when nothing names it."""
    (project / file).write_text(text)
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.decide("x", because="y", at=["package:sqlalchemy"])
        (anchor,) = session.state["decisions"]["closed"][0]["anchors"]
        assert anchor == {"package": "sqlalchemy", "version": "2.0.1"}

        def now() -> str:
            return str(standing(workspace, session.stream, anchor))

        assert now() == "package:sqlalchemy@2.0.1 (fresh)"
        (project / file).write_text(later)
        assert now() == "package:sqlalchemy@2.0.1 (changed: 2.1)"
        (project / file).write_text("{}" if file.endswith("json") else "")
        assert now() == "package:sqlalchemy@2.0.1 (gone)"
        (project / file).unlink()
        assert now() == "package:sqlalchemy@2.0.1", "without a lock file nobody can tell"


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=kim", "-c", "user.email=kim@example.org"]
    return subprocess.run(
        ["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(project: Path, source: Path) -> Path:
    """The same in a git repository with one commit."""
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    return project


def test_a_branch_a_commit_and_a_url(repository: Path) -> None:
    """A branch that moves on is changed, one that is deleted gone; a URL is text, and nobody looks at it."""
    with holdfast.open(repository) as workspace:
        session = workspace.start("Work")
        head = git(repository, "rev-parse", "HEAD")
        git(repository, "branch", "topic")
        session.decide("x", because="y", at=["branch:topic", f"commit:{head[:8]}", "https://127.0.0.1:9/x"])
        (made,) = session.state["decisions"]["closed"]
        assert made["anchors"][:2] == [{"branch": "topic", "commit": head}, {"commit": head}]

        def now() -> list[str]:
            return [place.status for place in standings(workspace, session.stream, made)]

        assert now() == ["fresh", "fresh", "unknown"]
        git(repository, "commit", "-q", "--allow-empty", "-m", "second")
        git(repository, "branch", "-f", "topic")
        assert now() == ["changed", "fresh", "unknown"]
        git(repository, "branch", "-D", "topic")
        assert now() == ["gone", "fresh", "unknown"]
        lost = {"commit": "0123456789abcdef0123456789abcdef01234567"}
        assert standing(workspace, session.stream, lost).status == "gone"


def test_the_brief_says_what_is_stale(project: Path, source: Path) -> None:
    """A changed place is among the first lines; one that is the same, or only moved, takes no room."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.decide("One lock", because="order", at=["src/db.py:40-60"])
        workspace.project.add_fact("First", at=["src/db.py:1"])
        source.write_text("new\n" + source.read_text())
        assert "STALE" not in make_brief(session).text
        source.write_text(source.read_text().replace("line 50", "LINE 50"))
        assert "STALE D-1: «src/db.py:40-60 (changed)»" in make_brief(session).text
        session.decide("Two locks", because="speed", supersedes="D-1")
        assert "STALE" not in make_brief(session).text, "what was replaced matters no more"


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_why_a_line(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anchored records where their lines are now, in archived sessions too; and the sessions behind the git commits."""
    source = repository / "src" / "db.py"
    with holdfast.open(repository, user="kim", by="kim") as workspace:
        session = workspace.start("Lock order")
        session.decide("One lock", because="order", at=["src/db.py:40-60"])
        session.add_error("Deadlock in src/db.py")
        workspace.project.add_fact("Elsewhere", at=["src/db.py:90"])
        upkeep.archive(workspace, session.name)
        other = workspace.start("Speed")
        other.refer("src/db.py")
    source.write_text("new\n" * 30 + source.read_text())
    git(repository, "add", "src")
    git(repository, "commit", "-qm", f"faster\n\nHoldfast-Session: {other.name}")
    found = json.loads(out(capsys, "why", "src/db.py:85", "--json"))
    assert [(r["id"], r["place"]["status"], r["place"]["now"]) for r in found["records"]] == [
        ("D-1", "moved", "70-90")
    ]
    assert found["records"][0]["session"] == session.name
    assert [commit["subject"] for commit in found["commits"]] == ["first"]
    found = json.loads(out(capsys, "why", "src/db.py:3", "--json"))
    assert found["records"] == []
    assert [(commit["subject"], commit["sessions"]) for commit in found["commits"]] == [
        ("faster", [other.name])
    ]
    monkeypatch.chdir(repository / "src")
    text = out(capsys, "why", "db.py")
    for part in ("One lock", "because  order", "Deadlock in src/db.py", "Elsewhere", "faster", "first"):
        assert part in text
    assert f"{other.name}  Speed (committed with it, refers to it)" in text
    assert out(capsys, "why", "other.py") == "Nothing is recorded about other.py.\n"


def test_why_knows_the_commits_of_a_session(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A git commit that hooks linked to a session leads to it, without a trailer and without a reference."""
    with holdfast.open(repository, user="kim", by="kim") as workspace:
        session = workspace.start("Speed")
        (repository / "src" / "db.py").write_text("faster\n")
        git(repository, "add", "src")
        git(repository, "commit", "-qm", "faster")
        assert host_plans.commits(session)
    found = json.loads(out(capsys, "why", "src/db.py", "--json"))
    assert (found["commits"][0]["subject"], found["commits"][0]["sessions"]) == ("faster", [session.name])
    assert f"{session.name}  Speed (committed with it)" in out(capsys, "why", "src/db.py:1")


def test_places_are_in_the_views(project: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """STATE.md and DECISIONS.md name the place; what depends on the working tree is said by commands."""
    monkey = ["decide", "One lock", "--because", "order", "--action", "code it", "--at", "src/db.py:40-60"]
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
    assert main(monkey) == 0
    folder = project / ".state" / session.stream
    assert "(at src/db.py:40-60)" in (folder / "STATE.md").read_text()
    assert "- **At:** src/db.py:40-60" in (folder / "DECISIONS.md").read_text()
    source.write_text("")
    assert "src/db.py:40-60 (changed)" in out(capsys, "show", "D-1")
    assert "src/db.py:40-60 (changed)" in out(capsys, "decisions")
