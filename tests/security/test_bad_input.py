"""Bad input: a clear error that names file and line where there is one, nothing lost, nothing outside touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import Forbidden, HoldfastError, InvalidName, Newer, NotFound, Refused
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.padding import line_of
from holdfast.testing.hostile import stream_names
from holdfast.workspace.workspace import Workspace


def segment_of(project: Path, session: holdfast.Session) -> Path:
    (segment,) = (project / ".state" / "events" / session.stream).glob("*.jsonl")
    return segment


@pytest.fixture
def session(project: Path) -> holdfast.Session:
    """A session with five commits."""
    with holdfast.open() as workspace:
        session = workspace.start("damage me")
        for n in range(4):
            session.note(f"note {n}")
    return session


def reopened(project: Path) -> holdfast.Session:
    for note in (project / ".state" / "local" / "snapshots").glob("*"):
        note.unlink()
    return holdfast.open().session()


def notes(session: holdfast.Session) -> list[str]:
    return [
        event.data["text"]
        for commit in session.log()
        for event in commit.events
        if event.type == "note.added"
    ]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (b"hand edited", "not a commit"),
        (b'{"someone": "elses", "json": true}', "not a commit"),
        (b"<<<<<<< ours", "conflict marker"),
        (b"\0" * 100, "zero bytes"),
        (b"\xff\xfe\x00garbage", "not a commit"),
        (b"x" * (10 << 20), "longer than"),
        (b"[" * 100_000, "not a commit"),
    ],
    ids=["text", "foreign", "marker", "zeros", "binary", "long", "deep"],
)
def test_damage_in_the_middle_is_reported_and_the_rest_is_read(
    project: Path, session: holdfast.Session, damage: bytes, what: str
) -> None:
    """A damaged line is reported by file and line; all other commits are read, and work continues."""
    path = segment_of(project, session)
    lines = path.read_bytes().split(b"\n")
    lines[2] = damage
    path.write_bytes(b"\n".join(lines))
    after = reopened(project)
    assert notes(after) == ["note 0", "note 2", "note 3"]
    (fault,) = after.peek().faults
    assert fault.where == f"events/{after.stream}/{path.name}:3"
    assert what in fault.what
    after.note("more")
    assert notes(after) == ["note 0", "note 2", "note 3", "more"]
    assert lines[2] in path.read_bytes(), "damage is never thrown away"


def body_of(line: bytes) -> bytes:
    return line_of(line).rpartition(b',"sum":')[0]


def test_every_flipped_byte_is_found(project: Path, session: holdfast.Session) -> None:
    """Whichever byte of a segment changes, a line is reported, and no changed commit is accepted."""
    path = segment_of(project, session)
    good = path.read_bytes()
    original = {body_of(line) for line in good.split(b"\n") if line}
    store = FilesStore(str(project / ".state"), clock=lambda: 0)
    for at in range(0, len(good), 7):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x01]) + good[at + 1 :])
        try:
            tail = store.read(session.stream)
        except Newer:
            continue  # the flip turned the format number into a later one: refused as a whole
        assert {body_of(line) for line in tail.lines} <= original
        assert tail.faults or len(list(tail.lines)) < 5
    store.close()


def test_a_newer_format_is_refused_and_not_changed(project: Path, session: holdfast.Session) -> None:
    """An older release says that the data is newer, and changes no byte of it."""
    path = segment_of(project, session)
    data = path.read_bytes() + b'{"v":2,"id":"something new"}\n'
    path.write_bytes(data)
    with pytest.raises(Newer, match=rf"events/{session.stream}/{path.name}:6: .*format 2"):
        reopened(project)
    assert path.read_bytes() == data


def test_deep_json_on_the_command_line_is_a_clear_error(project: Path, session: holdfast.Session) -> None:
    """Deeply nested JSON is refused without a crash."""
    status = run(project, "record", "x.deep", "[" * 200_000)
    assert status.returncode == 2
    assert "not JSON" in status.stderr


def test_hostile_names_are_refused_everywhere(project: Path) -> None:
    """Names that could leave the workspace are refused as users, sessions and streams, and touch nothing."""
    workspace = holdfast.open()
    workspace.start("names")
    before = sorted(project.parent.rglob("*"))
    refused = 0
    for stream in stream_names():
        user, _, session = stream.removeprefix("sessions/").partition("/")
        with pytest.raises(HoldfastError):
            workspace.store.read(stream)
        for attempt in (
            lambda user=user: holdfast.open(user=user or "/"),
            lambda name=session: workspace.session(name or "/"),
        ):
            try:
                attempt()
            except (InvalidName, NotFound):
                refused += 1
    assert refused > 150
    assert sorted(project.parent.rglob("*")) == before


def test_a_state_that_is_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file named .state is neither read nor replaced."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".state").write_text("mine")
    with pytest.raises(Forbidden, match="not a folder"):
        holdfast.open()
    assert run(tmp_path, "init").returncode == 7
    assert (tmp_path / ".state").read_text() == "mine"


def test_links_out_of_the_workspace_are_not_followed(
    project: Path, session: holdfast.Session, tmp_path: Path
) -> None:
    """A .state, a stream, a segment or a view that is a link is refused; what it points to is untouched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".state").symlink_to(outside)
    with pytest.raises(Forbidden, match="link"):
        holdfast.open(str(other))
    stream = project / ".state" / "sessions" / "bob"
    stream.symlink_to(outside)
    with pytest.raises(Forbidden):
        holdfast.open(user="bob").store.read("sessions/bob/2026-01-21-a1b2c3d4")
    path = segment_of(project, session)
    path.rename(outside / path.name)
    path.symlink_to(outside / path.name)
    before = (outside / path.name).read_bytes()
    with pytest.raises(Forbidden):
        holdfast.open().session()
    assert (outside / path.name).read_bytes() == before
    assert (outside / "precious").read_text() == "precious"


def everything_in(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("in_git", [False, True], ids=["plain", "git"])
@pytest.mark.parametrize(
    "place",
    [
        "local",
        "local/locks",
        "local/snapshots",
        "local/ops",
        "local/keys",
        "local/quarantine",
        "local/kept",
        "local/presence",
        "events",
        "events/history",
        "events/sessions",
        "events/project",
        "history",
        "sessions",
        "users/kim",
        "sessions/kim",
    ],
)
def test_no_folder_of_a_workspace_may_be_a_link(
    project: Path, session: holdfast.Session, tmp_path: Path, place: str, in_git: bool
) -> None:
    """Whichever folder below .state is a symbolic link, as in a hostile repository: nothing behind it is changed."""
    if in_git:
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        (project / ".git" / "holdfast").write_text("no folder: what is shared falls back to local/")
    state, outside = project / ".state", tmp_path / "outside"
    with segment_of(project, session).open("ab") as segment:
        segment.write(b"a torn tail")
    link = state / place
    outside.mkdir()
    if link.is_dir():
        for path in sorted(link.rglob("*")):
            target = outside / path.relative_to(link)
            target.mkdir(exist_ok=True) if path.is_dir() else target.write_bytes(path.read_bytes())
        link.rename(tmp_path / "before")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    before = everything_in(outside)
    commands = [
        ["status"],
        ["note", "more"],
        ["record", "x.op", "{}", "--op", "again"],
        ["start", "another", "--phases", "a,b"],
        ["decide", "this", "--because", "that"],
        ["who"],
        ["backlog", "add", "later"],
        ["doctor"],
        ["doctor", "--fix"],
        ["heal"],
        ["archive", "add", session.id],
        ["archive", "prune", "--older-than", "0d"],
    ]
    code = "import json, sys; from holdfast.edge.cli import main\n"
    code += "print([main(words) for words in json.load(sys.stdin)])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, input=json.dumps(commands), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert everything_in(outside) == before
    assert link.is_symlink()
    statuses = json.loads(done.stdout.splitlines()[-1])
    assert done.stderr.count("is not a real folder") == statuses.count(7)
    assert set(statuses) <= {0, 4, 7}
    if place in ("local", "local/locks", "events", "sessions"):
        assert statuses.count(7) >= len(commands) - 3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_read_only_folder_is_a_clear_error(project: Path, session: holdfast.Session) -> None:
    """A user with read permission only can read, and a write says why it fails."""
    for folder in [project, *project.parents]:
        if folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o755)
    code = f"""
import os, sys, holdfast
os.chdir({str(project)!r})
from holdfast.core import fold
holdfast.open(user="alice").session("{session.id}").state  # loads all modules, while they can be read
fold.blank("session")  # and those that a snapshot makes needless
os.setuid(65534)
workspace = holdfast.open(user="alice")
session = workspace.session("{session.id}")
assert session.state["notes"]["count"] == 4
try:
    session.note("no")
except holdfast.HoldfastError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Forbidden" in done.stdout
    assert "nothing was stored" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_commands_in_a_read_only_folder(
    project: Path, session: holdfast.Session, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """With read permission only, reading commands work on both engines and writing ones are refused with a message."""
    if engine == "sqlite":
        monkeypatch.setenv("HOLDFAST_URL", f"sqlite:///{project}/m.db")
        assert run(project, "start", "read me").returncode == 0
    for folder in [project, *project.parents]:
        if folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o755)
    reading = [["status"], ["resume"], ["recover"], ["log"], ["show", "--at", "1"], ["sessions"]]
    writing = [["note", "no"], ["decide", "no", "--because", "no"], ["start", "no"]]
    code = f"""
import json, os, shutil, sys
from holdfast.edge.cli import load, main
os.chdir({str(project)!r})
sys.stdout = open(os.devnull, "w")
for words in {reading}: main(words)  # loads all modules, while they can be read
load("note"), load("decide"), load("start")
shutil.rmtree(".state/local/presence", ignore_errors=True)
os.setgid(65534), os.setuid(65534)
statuses = [[main(words) for words in group] for group in ({reading}, {writing})]
sys.stdout = sys.__stdout__
print(json.dumps(statuses))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    readings, writings = json.loads(done.stdout)
    assert writings == [7] * len(writing), done.stderr
    assert readings == [0] * len(reading), done.stderr


def test_a_clock_that_jumps_back_keeps_the_order(project: Path) -> None:
    """Ids keep increasing when the wall clock goes back by a year, even in a new process."""
    now = [1_800_000_000_000]
    for step in (0, -31_536_000_000, 5):
        now[0] += step
        store = FilesStore(str(project / ".state"), clock=lambda: now[0])
        workspace = Workspace(store, user="alice", by="me")
        handle = workspace.start("clock") if step == 0 else workspace.session()
        handle.note(f"at {now[0]}")
        store.close()
    commits = list(holdfast.open().session().log())
    assert [commit.id for commit in commits] == sorted(commit.id for commit in commits)
    assert len({commit.id for commit in commits}) == 4


def test_a_foreign_jsonl_among_the_segments_is_ignored(project: Path, session: holdfast.Session) -> None:
    """A file that is not a segment is reported as a note and not read."""
    stranger = segment_of(project, session).with_name("events.jsonl")
    stranger.write_text('{"not": "ours"}\n')
    after = reopened(project)
    assert len(notes(after)) == 4
    faults = after.workspace.doctor(fix=True)
    assert any("not a segment" in fault.what and fault.harmless for fault in faults)
    assert stranger.read_text() == '{"not": "ours"}\n'


def test_init_on_existing_data_changes_nothing(project: Path, session: holdfast.Session) -> None:
    """A second init changes no byte, not even of files that the user edited."""
    (project / ".state" / "config.toml").write_text("format = 1\n# mine\n")
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert run(project, "init").returncode == 0
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_invalid_utf8_on_the_command_line_is_refused(project: Path, session: holdfast.Session) -> None:
    """Bytes that are not UTF-8 are refused with a message, and nothing is written."""
    command = [sys.executable, "-c", CLI, "note", b"bad \xff byte"]
    done = subprocess.run(command, cwd=project, capture_output=True)
    assert done.returncode == 1
    assert b"surrogate" in done.stderr
    assert reopened(project).version == 5


CLI = "import sys; from holdfast.edge.cli import main; sys.exit(main())"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a separate process; arguments go through a pipe, since some are huge."""
    code = f"import json, sys; sys.argv[1:] = json.load(sys.stdin); {CLI}"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, input=json.dumps(words), capture_output=True, text=True)


def test_every_error_has_a_code_a_status_and_a_hint() -> None:
    """Every error has a hint, unless its message says all (a rule refused), and none suggests a destructive command."""
    from holdfast import errors
    from holdfast.edge.cli import hints

    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HoldfastError)
    ]
    assert len({kind.code for kind in kinds}) == len(kinds)
    for kind in kinds:
        assert kind.hint or kind is Refused
        assert 1 <= kind.status <= 7
        for word in ("--force", "rm ", "delete", "reset"):
            assert word not in hints.text(kind.hint)
    assert isinstance(Refused("x"), HoldfastError)
    assert json.dumps(Refused("x", hint="y").as_json()["hint"]) == '"y"'


SCRIPT = [sys.executable, "-c", "from holdfast.edge.cli import script; script()"]


def _said(*words: str | bytes) -> tuple[int, str]:
    done = subprocess.run([*SCRIPT, *words], capture_output=True)
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert "Traceback" not in said, said
    return done.returncode, said


def test_verify_of_a_session_without_a_readable_commit(project: Path, session: holdfast.Session) -> None:
    """A session whose segments were emptied has no time of its last commit: verify goes on to the others."""
    session.workspace.close()
    for path in (project / ".state" / "events").rglob("*.jsonl"):
        path.write_bytes(b"")
    shutil.rmtree(project / ".state" / "local")
    status, _ = _said("verify")
    assert status in (0, 1)


@pytest.mark.parametrize(
    "where", ["file:///%00", "x" * 5_000, "file:///%ff", "sqlite:///" + "x" * 300, b"\xff"]
)
def test_an_odd_workspace(project: Path, where: str | bytes) -> None:
    """A workspace that cannot exist is answered with one sentence."""
    status, said = _said("sessions", "--workspace", where)
    assert status == 0 or said.startswith("holdfast: ")


def test_a_claim_that_is_not_unicode(project: Path) -> None:
    """A path that is not valid UTF-8 is refused, and presence stays readable."""
    status, said = _said("claim", b"a\xff")
    assert (status, said) == (1, "holdfast: The path is not valid Unicode; nothing was claimed.\n")
    assert _said("who")[0] == 0


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{b=" * 100_000], ids=["lists", "tables"])
def test_settings_that_are_nested_too_deep(project: Path, text: str) -> None:
    """A config.toml that no reader can follow is reported like any other that is not TOML."""
    (project / ".state" / "config.toml").write_text(text)
    status, said = _said("doctor")
    assert status
    assert "config.toml" in said
