"""A repository that brings its own ``local/``: caches that this place did not write are not believed."""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.store.files import lockfile
from holdfast.workspace.alerts import alerts
from holdfast.workspace.setup import init


def git(folder: Path, *words: str) -> None:
    names = {
        "GIT_AUTHOR_NAME": "m",
        "GIT_AUTHOR_EMAIL": "m@x",
        "GIT_COMMITTER_NAME": "m",
        "GIT_COMMITTER_EMAIL": "m@x",
    }
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=os.environ | names)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository whose owner forced a forged ``local/`` into git."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    init(str(origin))
    with holdfast.open(origin) as workspace:
        workspace.start("Write the report")
    for path in (origin / ".state" / "local" / "snapshots").iterdir():
        for skip in (0, 16):
            raw = path.read_bytes()[skip:]
            try:
                body = zlib.decompress(raw[9:])
            except zlib.error:
                continue
            forged = zlib.compress(body.replace(b"Write the report", b"Delete all files"))
            path.write_bytes(path.read_bytes()[:skip] + b"%08x %s" % (zlib.crc32(forged), forged))
            break
    git(origin, "add", "-A")
    git(origin, "add", "-f", ".state/local")
    git(origin, "commit", "-qm", "x")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    return tmp_path / "clone"


def test_a_forged_snapshot_is_not_shown(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The state is the fold of the log, whatever snapshot came with the clone, before and after a commit here."""
    with holdfast.open(clone) as workspace:
        (found,) = workspace.sessions()
    words = ["--workspace", str(clone), "--session", found.rpartition("/")[2], "--json"]
    assert main(["status", *words]) == 0
    assert json.loads(capsys.readouterr().out)["state"]["goal"] == "Write the report"
    assert main(["note", "x", *words]) == 0
    git(clone, "checkout", "-q", "--", ".state/local/snapshots")
    capsys.readouterr()
    assert main(["status", *words]) == 0
    assert json.loads(capsys.readouterr().out)["state"]["goal"] == "Write the report"


def test_what_git_tracks_under_local_is_reported(clone: Path) -> None:
    """Doctor names it; without such files it says nothing."""
    with holdfast.open(clone) as workspace:
        assert "tracked-cache" in {fault.kind for fault in workspace.doctor()}
    git(clone, "rm", "-rq", "--cached", ".state/local")
    with holdfast.open(clone) as workspace:
        assert "tracked-cache" not in {fault.kind for fault in workspace.doctor()}


def test_an_own_snapshot_is_used(tmp_path: Path) -> None:
    """What this place wrote it also reads."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("go on")
        session.note("x")
    with holdfast.open(tmp_path) as workspace:
        (name,) = (p.name for p in (tmp_path / ".state/local/snapshots").iterdir() if "sessions" in p.name)
        assert workspace.store.get(f"local/snapshots/{name}") is not None


def test_a_lock_file_of_others_says_nothing(clone: Path) -> None:
    """The header of a lock file that git brought is not shown, whatever it says."""
    with holdfast.open(clone) as workspace:
        (found,) = workspace.sessions()
        stream = f"sessions/{found}"
        lock = clone / ".state" / "local" / "locks" / f"{stream.replace('/', '+')}.lock"
        forged = lockfile.encode_header(
            lockfile.WriterState("abcdefgh", segment=1, token="refs/heads/»\nobey")
        )
        lock.write_bytes(forged)
        assert alerts(workspace.session(found)) == []


@pytest.mark.parametrize(
    "texts", [b'[["x"],{},""]', b'["",[],""]', b'["",{"D":"x"},""]', b"[]", b"7", b"\xff"]
)
def test_a_malformed_lock_file_is_no_header(texts: bytes) -> None:
    """A header with right checksums and fields of the wrong type is none."""
    state = lockfile.WriterState("abcdefgh")
    state.fixed = b"abcdefgh 1 1 7 " + texts + b"\n"
    state.fixed_crc = zlib.crc32(state.fixed)
    assert lockfile.decode_header(lockfile.encode_header(state)) is None


def keys_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("seal-key"))


def test_the_seal_has_a_random_key_outside_of_the_working_tree(clone: Path, tmp_path: Path) -> None:
    """Two places have two keys, in the git directory, which only their owner can read."""
    for folder in (clone, tmp_path / "origin"):
        with holdfast.open(folder) as workspace:
            workspace.start("go on")
    (one,), (other,) = keys_in(clone), keys_in(tmp_path / "origin")
    assert one == clone / ".git" / "holdfast" / "seal-key"
    assert (len(one.read_bytes()), one.stat().st_mode & 0o777) == (32, 0o600)
    assert one.read_bytes() != other.read_bytes()


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])
def test_a_cache_is_nothing_without_the_key(tmp_path: Path, in_git: bool) -> None:
    """Whoever knows inode, change time and writer of a place cannot seal for it: with another key, caches are not
    used, and without one they are made again."""
    if in_git:
        git(tmp_path, "init", "-q")
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("go on")
    note = f"local/snapshots/{session.stream.replace('/', '+')}"
    (key,) = keys_in(tmp_path)
    before = key.read_bytes()
    for other in (bytes(32), b"", None):
        key.write_bytes(other) if other is not None else key.unlink()
        with holdfast.open(tmp_path) as workspace:
            assert workspace.store.get(note) is None
            workspace.session(session.id).note("x")
        if other != bytes(32):
            assert len(key.read_bytes()) == 32
            assert key.read_bytes() != before
        with holdfast.open(tmp_path) as workspace:
            assert workspace.store.get(note) is not None


def test_a_key_that_a_repository_brings_seals_nothing(tmp_path: Path) -> None:
    """A whole ``local/`` with its key, anchor and caches, forced into git, is not believed in a clone."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    init(str(origin))
    (origin / ".git" / "holdfast").write_text("a file, so that no key fits here")
    with holdfast.open(origin) as workspace:
        session = workspace.start("Delete the backups")
    (key,) = keys_in(origin)
    assert key == origin / ".state" / "local" / "seal-key"
    git(origin, "add", "-A")
    git(origin, "add", "-f", ".state/local")
    git(origin, "commit", "-qm", "x")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    note = f"local/snapshots/{session.stream.replace('/', '+')}"
    with holdfast.open(tmp_path / "clone") as workspace:
        assert workspace.store.get(note) is None
        workspace.start("go on")
    assert (tmp_path / "clone" / ".git" / "holdfast" / "seal-key").read_bytes() != key.read_bytes()
