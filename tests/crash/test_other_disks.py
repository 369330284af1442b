"""Power cuts on xfs, btrfs and with other mount options, and at the level of the disk: acknowledged commits survive."""

from __future__ import annotations

import os

import pytest

from holdfast.testing import scale
from holdfast.testing.crash import block_device, disks
from holdfast.testing.crash.power_cut import OTHERS
from holdfast.testing.crash.run import CARELESS, torture

ENGINES = ("files", "journals", "sqlite")
CUTS = 10
BLOCK_CUTS = 12
OPTIONS = {
    "ext4": ("data=journal", "noauto_da_alloc", "nodelalloc"),
    "xfs": ("wsync", "logbsize=32k"),
    "btrfs": ("flushoncommit", "compress=zstd", "nodatacow"),
}
MARKS = {"xfs": pytest.mark.xfs, "btrfs": pytest.mark.btrfs, "ext4": pytest.mark.power_cut}


LONG = scale.factor() > 1
"""In torture every engine meets every file system and option."""
SHORT = dict(zip(MARKS, ENGINES, strict=True))


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("mode", "engine"),
    [
        pytest.param(mode, engine, marks=MARKS[mode.partition(":")[0]])
        for mode, usual in zip(OTHERS, ("files", "journals", "sqlite", "files"), strict=True)
        for engine in (ENGINES if LONG else (usual,))
        if LONG or mode in OTHERS[:2]
    ],
)
def test_no_acknowledged_commit_is_lost(mode: str, engine: str) -> None:
    """The shutdown ioctl on other file systems and with other options; in torture, with every engine."""
    if reason := disks.missing(mode.partition(":")[0]):
        pytest.skip(reason)
    cuts = scale.scaled(CUTS)
    found = torture("cuts", engine, "-", cuts, scale.seed(), mode)
    assert found["cuts"] >= cuts
    assert found["acknowledged"] >= cuts, "too few commits were under way to prove anything"


def _details(kind: str) -> list[str]:
    """A file system with default options; in torture also with others."""
    return [kind, *(f"{kind}:{option}" for option in OPTIONS[kind] if LONG)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("detail", "engine"),
    [
        pytest.param(detail, engine, marks=MARKS[kind])
        for kind in MARKS
        for detail in _details(kind)
        for engine in (ENGINES if LONG else (SHORT[kind],))
    ],
)
def test_no_disk_that_a_cut_may_leave_lacks_a_commit(detail: str, engine: str) -> None:
    """Whichever writes since the last flush the disk has, in whatever order, every acknowledged commit is there."""
    if reason := block_device.missing(detail.partition(":")[0]):
        pytest.skip(reason)
    cuts = scale.scaled(BLOCK_CUTS)
    found = torture("block-cuts", engine, "-", cuts, scale.seed(), detail)
    assert found["cuts"] >= cuts
    assert found["acknowledged"] >= 10 * cuts, "too few commits were under way to prove anything"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        pytest.param(kind, engine, marks=mark)
        for kind, mark in MARKS.items()
        for engine in CARELESS
        if LONG or (kind, engine) in (("btrfs", "careless-journals"), ("ext4", "careless"))
    ],
)
def test_a_store_without_sync_loses_commits(kind: str, engine: str) -> None:
    """Control: the recorded disk shows a store whose sync does nothing, or only its journals' sync."""
    if reason := block_device.missing(kind):
        pytest.skip(reason)
    with pytest.raises(AssertionError, match=r"acknowledged commit .* is missing"):
        torture("block-cuts", engine, "-", 50, scale.seed(), kind)


@pytest.mark.power_cut
def test_flushes_and_writes_are_recorded() -> None:
    """Control: what a program syncs is followed by a flush, and what it only writes is not on the disk before."""
    if reason := block_device.missing("ext4"):
        pytest.skip(reason)
    with block_device.RecordedDisk("ext4") as disk:
        with open(f"{disk.top}/f", "wb") as file:
            file.write(b"kept by the page cache")
        before = disk.position()
        with open(f"{disk.top}/g", "wb") as file:
            file.write(b"synced by its writer")
            file.flush()
            os.fsync(file.fileno())
        log = disk.recorded().log
        assert not any(b"page cache" in data for _, data in log[:before])
        assert any(b"synced by its writer" in data for _, data in log[before:])
        assert any(offset == block_device.FLUSH for offset, _ in log[before:])
