"""holdfast.kit: files that a program keeps its state in."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Newer, NotFound, Unavailable, Usage, kit

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


def counter(folder: Path, **settings: object) -> kit.StateFile:
    return kit.StateFile(folder / "state.json", version="2.0.0", defaults={"count": 0}, **settings)  # type: ignore[arg-type]


# -- replacing a file -------------------------------------------------------------------------------------


def test_a_write_keeps_mode_owner_and_link(tmp_path: Path) -> None:
    """A replaced file has the permissions and the owner of the old one, and a link still points to it."""
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 65534, 65534)
    before = real.stat()
    link.symlink_to(real)
    kit.atomic_write(link, "new ∞")
    after = real.stat()
    assert link.is_symlink()
    assert real.read_text() == "new ∞"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert sorted(os.listdir(tmp_path)) == ["link.json", "real.json"]


def test_what_is_no_json_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """NaN, sets, keys that are no text and lone surrogates leave the old file as it was."""
    path = tmp_path / "f.json"
    kit.atomic_write_json(path, {"a": 1})
    for value in (float("nan"), {1, 2}, "\ud800", object()):
        with pytest.raises(Usage):
            kit.atomic_write_json(path, {"a": value})  # type: ignore[dict-item]
    assert json.loads(path.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["f.json"]


# -- the lock ---------------------------------------------------------------------------------------------


def test_a_lock_that_is_held_names_its_holder(tmp_path: Path) -> None:
    """With a timeout, whoever waits learns which process holds the lock; after its death the lock is free."""
    path = tmp_path / "state.json"
    code = (
        "import sys, time; from holdfast import kit\n"
        "with kit.file_lock(sys.argv[1]): print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Unavailable, match=f"process {holder.pid}"), kit.file_lock(path, timeout=0):
            pass
        holder.kill()
        holder.wait()
        with kit.file_lock(path, timeout=60):
            pass
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()


def test_a_removed_lock_file_does_not_let_two_in(tmp_path: Path) -> None:
    """A clean-up that removes lock files while one is waited for does not break the exclusion."""
    path = tmp_path / "state.json"
    inside = 0
    most = 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with kit.file_lock(path):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    with kit.file_lock(path):
        for thread in threads:
            thread.start()
        (tmp_path / ".state.json.lock").unlink()
    for thread in threads:
        thread.join()
    assert most == 1


# -- state files ------------------------------------------------------------------------------------------


@given(state=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON))
def test_what_was_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, state: dict[str, object]) -> None:
    """Any JSON object comes back as it was, with the current version."""
    file = counter(tmp_path_factory.mktemp("state"))
    file.save(state)
    assert file.load() == ({**state, "version": "2.0.0"}, "file", "")


def test_migrations_run_in_order_and_keep_the_old_file(tmp_path: Path) -> None:
    """A file without a version is the first one; each step runs once, and the file before the upgrade stays."""
    file = counter(tmp_path)
    (tmp_path / "state.json").write_text('{"counter": 5}')

    @file.migration("1.1.0", "2.0.0")
    def rename(state: dict[str, object]) -> dict[str, object]:
        return {"count": state["total"]}

    @file.migration("1.0.0", "1.1.0")
    def total(state: dict[str, object]) -> dict[str, object]:
        return {"total": state["counter"]}

    assert file.load().state == {"count": 5, "version": "2.0.0"}
    assert (tmp_path / "state.json").read_text() == '{"counter": 5}', "loading writes nothing"
    with file.update() as state:
        state["count"] = 6
    assert json.loads((tmp_path / "state.json").read_text()) == {"count": 6, "version": "2.0.0"}
    assert (tmp_path / "state.json.1.0.0.bak").read_text() == '{"counter": 5}'


def test_a_newer_file_is_refused_and_not_overwritten(tmp_path: Path) -> None:
    """Neither loading nor saving touches a file of a later version, or one that no migration leads from."""
    path = tmp_path / "state.json"
    for version, error in (("3.0.0", Newer), ("0.9.0", Usage)):
        text = json.dumps({"version": version, "count": 1})
        path.write_text(text)
        with pytest.raises(error, match=version):
            counter(tmp_path).load()
        with pytest.raises(error):
            counter(tmp_path).save({"count": 2})
        assert path.read_text() == text
        assert sorted(os.listdir(tmp_path)) == [".state.json.lock", "state.json"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"\xff\xfe", b"[1]", b"null", b'{"version": 7}', b"[" * 100_000]
)
def test_a_damaged_file_falls_back_to_the_backup(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """The state before the last save is used, the damage is reported, and its bytes are kept aside."""
    file = counter(tmp_path)
    file.save({"count": 1})
    file.save({"count": 2})
    (tmp_path / "state.json").write_bytes(damage)
    with caplog.at_level(logging.WARNING, "holdfast"):
        loaded = file.load()
    assert (loaded.state["count"], loaded.source) == (1, "backup")
    assert "cannot be read" in loaded.problem
    assert loaded.problem in caplog.text
    with file.update() as state:
        state["count"] = 3
    assert (tmp_path / "state.json.unreadable-1").read_bytes() == damage
    assert file.load() == ({"count": 3, "version": "2.0.0"}, "file", "")


def test_without_a_readable_backup_the_defaults_are_used(tmp_path: Path) -> None:
    """Both unreadable: the defaults, and the report says so. Defaults are never shared between loads."""
    file = kit.StateFile(tmp_path / "state.json", version="1", defaults={"seen": []}, first_version="1")
    first = file.load()
    assert first == ({"seen": [], "version": "1"}, "defaults", "")
    first.state["seen"].append(1)  # type: ignore[union-attr]
    assert file.load().state["seen"] == []
    (tmp_path / "state.json").write_text("{")
    (tmp_path / "state.json.bak").write_text("}")
    assert file.load().source == "defaults"
    assert "backup cannot be read either" in file.load().problem


def test_unreadable_files_do_not_pile_up(tmp_path: Path) -> None:
    """Of the files that were kept aside, the last five stay."""
    file = counter(tmp_path)
    for number in range(8):
        (tmp_path / "state.json").write_text(f"damage {number}")
        file.save({"count": number})
    aside = sorted(path.name for path in tmp_path.glob("*.unreadable-*"))
    assert aside == [f"state.json.unreadable-{number}" for number in range(4, 9)]


def test_the_programs_own_check_is_asked(tmp_path: Path) -> None:
    """A state that the check refuses is not saved; a file that it refuses counts as damaged."""

    def check(state: dict[str, object]) -> None:
        if not isinstance(state.get("count"), int):
            raise ValueError("count is no number")

    file = counter(tmp_path, check=check)
    file.save({"count": 1})
    with pytest.raises(ValueError, match="count is no number"):
        file.save({"count": "two"})
    file.save({"count": 2})
    (tmp_path / "state.json").write_text('{"count": "x", "version": "2.0.0"}')
    assert file.load().source == "backup"


def test_a_disk_error_is_not_an_empty_state(tmp_path: Path) -> None:
    """What cannot be looked at is an error, never the defaults."""
    file = counter(tmp_path)
    (tmp_path / "state.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        file.load()


def test_a_block_that_raises_saves_nothing(tmp_path: Path) -> None:
    """An exception inside of update leaves file and backup as they were."""
    file = counter(tmp_path)
    file.save({"count": 1})
    with pytest.raises(ZeroDivisionError), file.update() as state:
        state["count"] = 1 // 0
    assert file.load().state["count"] == 1
    assert not (tmp_path / "state.json.bak").exists()


def test_copies_are_as_private_as_the_file(tmp_path: Path) -> None:
    """Backups and files kept aside have the permissions of the state."""
    file = counter(tmp_path)
    file.save({"count": 1})
    (tmp_path / "state.json").chmod(0o600)
    file.save({"count": 2})
    (tmp_path / "state.json").write_text("{")
    file.save({"count": 3})
    for name in ("state.json", "state.json.bak", "state.json.unreadable-1"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name


def test_folders_are_created(tmp_path: Path) -> None:
    """The first save creates the missing folders of the file."""
    file = kit.StateFile(tmp_path / "a" / "b" / "s.json", version="1", defaults={}, first_version="1")
    file.save({"x": 1})
    assert file.load().state["x"] == 1


# -- batches, users, agents -------------------------------------------------------------------------------


def test_a_batch_resumes_where_it_stopped(tmp_path: Path) -> None:
    """Completed and failed features are skipped after a restart; failed ones come again when asked for."""
    path = tmp_path / "batch.json"
    state = kit.create_batch_state(["login", "search", "export"])
    assert state.batch_id.startswith("batch-2")
    kit.mark_completed(state, "login")
    kit.mark_failed(state, "search", "timed out")
    kit.save_batch_state(path, state)
    resumed = kit.load_batch_state(path)
    assert resumed == state
    assert kit.get_next_pending_feature(resumed) == "export"
    kit.mark_completed(resumed, "export")
    assert kit.get_next_pending_feature(resumed) is None
    assert kit.retry_failed(resumed) == ["search"]
    assert (kit.get_next_pending_feature(resumed), resumed.current_index) == ("search", 1)


def test_a_batch_by_numbers_keeps_its_shape(tmp_path: Path) -> None:
    """A file that counts features by number is continued in that shape, with every field that is not known here."""
    path = tmp_path / "batch.json"
    written = {
        "batch_id": "batch-1",
        "features": ["a", "b", "c"],
        "completed_features": [0],
        "failed_features": [{"feature_index": 1, "error_message": "boom"}],
        "current_index": 2,
        "issue_numbers": [7, 8, 9],
        "status": "in_progress",
    }
    path.write_text(json.dumps(written))
    state = kit.load_batch_state(path)
    assert (state.completed, state.failed, state.errors) == (["a"], ["b"], {"b": "boom"})
    kit.mark_completed(state, "c")
    kit.save_batch_state(path, state)
    saved = json.loads(path.read_text())
    assert saved["completed_features"] == [0, 2]
    assert saved["current_index"] == 3
    assert {name: saved[name] for name in ("failed_features", "issue_numbers", "status")} == {
        name: written[name] for name in ("failed_features", "issue_numbers", "status")
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"features": ["a"]},
        {"batch_id": "b"},
        {"batch_id": "b", "features": "abc"},
        {"batch_id": "b", "features": ["a", "a"]},
        {"batch_id": "b", "features": ["a"], "completed": ["z"]},
        {"batch_id": "b", "features": ["a"], "completed_features": [1]},
        {"batch_id": "b", "features": ["a"], "completed_features": [True]},
        {"batch_id": "b", "features": ["a"], "errors": []},
    ],
)
def test_a_wrong_batch_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    """A file that is no batch is an error that names the file, and is not changed."""
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(wrong))
    with pytest.raises(NotFound, match=r"batch\.json cannot be read"):
        kit.load_batch_state(path)
    assert json.loads(path.read_text()) == wrong


def test_preferences_of_a_user(tmp_path: Path) -> None:
    """Preferences and the first run are kept in a private file; unknown fields survive."""
    path = tmp_path / "user_state.json"
    path.write_text('{"first_run_complete": false, "preferences": {"a": 1}, "version": "1.0", "plug": "in"}')
    user = kit.UserState(path)
    assert user.is_first_run()
    user.record_first_run_complete()
    user.set_preference("editor", "vi")
    user.remove_preference("a")
    again = kit.UserState(path)
    assert not again.is_first_run()
    assert (again.get_preference("editor"), again.get_preference("a", 0)) == ("vi", 0)
    assert again.state["plug"] == "in"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_agents_checkpoint(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A named agent's checkpoint is in the session; where there is no workspace the answer is False."""
    import holdfast

    assert kit.AgentTracker.save_agent_checkpoint(
        "researcher", "found 5 patterns", tools_used=["Read", "Grep"]
    )
    with holdfast.open() as workspace:
        saved = workspace.session().last_checkpoint
        assert saved is not None
        assert (saved.message, saved.by, list(saved.tools)) == (
            "found 5 patterns",
            "researcher",
            ["Read", "Grep"],
        )
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert not kit.AgentTracker.save_agent_checkpoint("researcher", "nothing around")
