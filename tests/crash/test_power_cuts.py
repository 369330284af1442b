"""Real power cuts on a real ext4: acknowledged commits survive."""

from __future__ import annotations

import os

import pytest

from holdfast.store.faults import FAST_COMMITS
from holdfast.testing import scale
from holdfast.testing.crash.disks import LoopDisk, missing
from holdfast.testing.crash.power_cut import MODES
from holdfast.testing.crash.run import CARELESS, torture
from holdfast.workspace.setup import init_workspace

pytestmark = [pytest.mark.power_cut, pytest.mark.timeout(900)]

# Files without and with journals, and SQLite, in all modes; together what the project promises.
CUTS = {
    (engine, mode): cuts
    for engine, cuts in {"files": 150, "journals": 150, "sqlite": 100}.items()
    for mode in MODES
}
MIGRATION_CUTS = 20


@pytest.fixture(scope="module", autouse=True)
def _possible() -> None:
    if reason := missing():
        pytest.skip(reason)


def test_enough_cuts_are_promised() -> None:
    """All runs together make as many cuts as the project promises."""
    assert sum(CUTS.values()) >= scale.POWER_CUTS


@pytest.mark.parametrize(("engine", "mode"), CUTS, ids=lambda value: value or "default")
def test_no_acknowledged_commit_is_lost(engine: str, mode: str) -> None:
    """After every cut all acknowledged commits are present, and the next commit needs no repair."""
    cuts = scale.scaled(CUTS[engine, mode])
    found = torture("cuts", engine, "-", cuts, scale.seed(), mode)
    assert found["cuts"] >= cuts
    assert found["acknowledged"] >= cuts, "too few commits were under way to prove anything"


@pytest.mark.parametrize("mode", MODES, ids=lambda value: value or "default")
@pytest.mark.parametrize("version", [1])
def test_a_migration_survives_the_cut(version: int, mode: str) -> None:
    """A database of an older release whose migration loses power is intact, and migrated at the next opening."""
    cuts = scale.scaled(MIGRATION_CUTS)
    found = torture("migration-cuts", str(version), "-", cuts, scale.seed(), mode)
    assert found["cuts"] >= cuts
    assert 0 < found["acknowledged"] + found["survivors"] < cuts, "all cuts came too early, or all too late"


@pytest.mark.parametrize("engine", CARELESS)
def test_a_store_without_sync_loses_commits(engine: str) -> None:
    """Control: the same run detects a store whose sync does nothing, or only its journals' sync."""
    with pytest.raises(AssertionError, match=r"acknowledged commit .* is missing"):
        torture("cuts", engine, "-", 200, scale.seed(), "")


def test_a_cut_takes_what_was_not_synced() -> None:
    """Control: the cut is real: synced bytes survive and others are lost."""
    with LoopDisk() as disk:
        disk.mount()
        path = os.path.join(disk.top, "f")
        fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
        os.write(fd, b"synced\n")
        os.fdatasync(fd)
        os.write(fd, b"not synced\n")
        os.close(fd)
        disk.cut()
        disk.unmount()
        disk.mount()
        with open(path, "rb") as file:
            assert file.read() == b"synced\n"


@pytest.mark.parametrize("features", ["fast_commit", "^fast_commit"])
def test_doctor_names_a_disk_with_fast_commits(features: str) -> None:
    """On an ext4 with fast commits doctor names the device; on one without it says nothing."""
    with LoopDisk(features=features) as disk:
        disk.mount()
        with open(os.path.join(disk.top, "f"), "wb") as file:
            file.write(b"synced")
            file.flush()
            os.fsync(file.fileno())
        with init_workspace(disk.top) as workspace:
            found = [fault.where for fault in workspace.doctor() if fault.kind == FAST_COMMITS]
        assert found == ([disk.device] if features == "fast_commit" else [])
