"""Twins: copies of a disk that keep inode numbers and change times do not write as the same writer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.fs.origin import is_same, origin
from holdfast.testing.crash import disks
from holdfast.testing.crash.states import scratch_base

pytestmark = [pytest.mark.timeout(120)]
CLI = [sys.executable, "-c", "from holdfast.edge.cli import script; script()"]
BOOT_ID = "/proc/sys/kernel/random/boot_id"
PREPARED = "The image says so"


def need(kind: str) -> None:
    """Skip, with the reason, where this kind of file system cannot be mounted."""
    if reason := disks.missing(kind):
        pytest.skip(reason)


def run(folder: str, *words: str, before: tuple[str, ...] = ()) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "alice", f"GIT_{role}_EMAIL": "alice@localhost"}
    done = subprocess.run([*before, *words], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, (words, done.stdout + done.stderr)
    return done.stdout


def holdfast(folder: str, *words: str, before: tuple[str, ...] = ()) -> Any:
    answer = json.loads(run(folder, *CLI, *words, "--json", before=before))
    assert answer["ok"], answer
    return answer


def git(folder: str, *words: str) -> str:
    return run(folder, "git", *words)


def prepare(folder: str) -> None:
    """A repository whose newest decision git does not have yet, and the mirror that its twins push to."""
    os.makedirs(folder)
    git(folder, "init", "-q", "-b", "main")
    holdfast(folder, "init")
    holdfast(folder, "start", "Ship it")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "begin")
    holdfast(folder, "decide", PREPARED, "--because", "it was built there")
    git(folder, "config", "core.fsmonitor", "false")


def writer(folder: str) -> str:
    name: str = json.loads(Path(folder, ".state/local/writer.json").read_text())["writer"]
    return name


def check_twins(one: str, other: str, mirror: str) -> None:
    """Both go on, commit and meet in git: no conflict, every decision is there once, and no number twice."""
    os.mkdir(mirror)
    git(mirror, "init", "-q", "--bare", "-b", "main")
    for folder, what in ((one, "one"), (other, "other")):
        for number in range(2):
            holdfast(folder, "decide", f"{what} {number}", "--because", "it works here")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", what)
    assert writer(one) != writer(other)
    git(one, "push", "-q", mirror, "main")
    git(other, "pull", "-q", "--no-rebase", "--no-edit", mirror, "main")
    assert not git(other, "diff", "--name-only", "--diff-filter=U")
    made = decisions(other)
    assert sorted(made.values()) == sorted(
        [PREPARED, *(f"{what} {number}" for what in ("one", "other") for number in range(2))]
    )
    assert len(made) == 5
    holdfast(other, "status")
    assert holdfast(other, "doctor")["faults"] == []


def decisions(folder: str) -> dict[str, str]:
    """The decisions of the session, by number; a number that was given twice is an error."""
    found: dict[str, str] = {}
    for commit in holdfast(folder, "log", "--limit", "100")["commits"]:
        for event in commit["events"]:
            if event["type"] == "decision.made":
                assert event["data"]["id"] not in found
                found[event["data"]["id"]] = event["data"]["text"]
    return found


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[str]:
    """A folder on a file system that can hold the layers of an overlay."""
    folder = (scratch_base() or str(tmp_path)) + f"/holdfast-twins-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def overlays() -> None:
    if reason := disks.missing_overlay():
        pytest.skip(reason)


@pytest.mark.twins
def test_two_containers_over_one_image(scratch: str) -> None:
    """Two overlay mounts over one image, at the same time: each is a writer of its own, and git merges them."""
    overlays()
    prepare(f"{scratch}/image/project")
    built = writer(f"{scratch}/image/project")
    with (
        disks.overlay(f"{scratch}/image", f"{scratch}/one", f"{scratch}/a"),
        disks.overlay(f"{scratch}/image", f"{scratch}/other", f"{scratch}/b"),
    ):
        check_twins(f"{scratch}/a/project", f"{scratch}/b/project", f"{scratch}/a/mirror.git")
        assert built not in (writer(f"{scratch}/a/project"), writer(f"{scratch}/b/project"))


@pytest.mark.twins
def test_containers_one_after_another_at_one_path(scratch: str) -> None:
    """Containers that never run together, at the same path: each is a writer of its own, and stays it when it is
    started again."""
    overlays()
    prepare(f"{scratch}/image/project")
    writers = []
    for layer in ("one", "other", "one", "other"):
        with disks.overlay(f"{scratch}/image", f"{scratch}/{layer}", f"{scratch}/top"):
            holdfast(f"{scratch}/top/project", "decide", layer, "--because", "it works here")
            writers.append(writer(f"{scratch}/top/project"))
    assert writers[:2] == writers[2:]
    assert len(set(writers)) == 2


@pytest.mark.btrfs
def test_a_btrfs_snapshot_and_its_source() -> None:
    """A writable snapshot of a subvolume is a writer of its own; the source stays what it was."""
    need("btrfs")
    with disks.LoopDisk("btrfs", size=128 << 20) as disk:
        disk.mount()
        disks.subvolume(f"{disk.top}/source")
        prepare(f"{disk.top}/source/project")
        built = writer(f"{disk.top}/source/project")
        disks.snapshot(f"{disk.top}/source", f"{disk.top}/snapshot")
        check_twins(
            f"{disk.top}/source/project", f"{disk.top}/snapshot/project", f"{disk.top}/source/mirror.git"
        )
        assert writer(f"{disk.top}/source/project") == built
        disk.unmount()
        disk.mount()
        holdfast(f"{disk.top}/source/project", "note", "still here")
        assert writer(f"{disk.top}/source/project") == built


@pytest.mark.power_cut
@pytest.mark.parametrize("together", [True, False])
def test_a_copied_disk(tmp_path: Path, together: bool) -> None:
    """A copy of a whole disk, attached beside its original or later: a writer of its own."""
    need("ext4")
    with disks.LoopDisk() as disk:
        disk.mount()
        prepare(f"{disk.top}/project")
        disk.unmount()
        with disks.LoopDisk(copied=disk.image) as copy:
            disk.mount()
            if together:
                copy.mount()
                check_twins(f"{disk.top}/project", f"{copy.top}/project", f"{disk.top}/mirror.git")
                return
            holdfast(f"{disk.top}/project", "note", "original")
            original = writer(f"{disk.top}/project")
            disk.unmount()
            image = copy.image
            disk.swap(image)
            disk.mount()
            holdfast(f"{disk.top}/project", "note", "copy")
            assert writer(f"{disk.top}/project") != original


HIDDEN = (
    *("unshare", "--mount", "sh", "-c"),
    'mount --make-rprivate / && mount -t tmpfs none /sys/dev/block && exec "$@"',
    "sh",
)
"""Hides which disk is attached: then a copy of the disk in its place is like a machine copied with its memory."""


@pytest.mark.power_cut
def test_a_machine_that_was_copied_with_its_memory(tmp_path: Path) -> None:
    """Nothing tells the two apart until they meet in git: then no decision is lost, one takes a new identity, and
    `doctor` names the numbers that both gave."""
    need("ext4")
    mirror = str(tmp_path / "mirror.git")
    os.mkdir(mirror)
    git(mirror, "init", "-q", "--bare", "-b", "main")
    with disks.LoopDisk() as disk:
        disk.mount()
        project = f"{disk.top}/project"
        os.mkdir(project)
        git(project, "init", "-q", "-b", "main")
        for words in (
            ["init"],
            ["start", "Ship it"],
            ["decide", PREPARED, "--because", "it was built there"],
        ):
            holdfast(project, *words, before=HIDDEN)
        built = writer(project)
        disk.unmount()
        with disks.LoopDisk(copied=disk.image) as copy:
            image = copy.image
            for what in ("one", "other"):
                disk.mount()
                for number in range(2):
                    words = ("decide", f"{what} {number}", "--because", "it works here")
                    holdfast(project, *words, before=HIDDEN)
                assert writer(project) == built
                git(project, "add", "-A")
                git(project, "commit", "-q", "-m", what)
                if what == "one":
                    git(project, "push", "-q", mirror, "main")
                    disk.unmount()
                    disk.swap(image)
            git(project, "fetch", "-q", mirror, "main")
            command = ["git", "merge", "--allow-unrelated-histories", "--no-edit", "FETCH_HEAD"]
            subprocess.run(command, cwd=project, capture_output=True)
            holdfast(project, "heal", before=HIDDEN)
            git(project, "commit", "-q", "--no-edit", "-m", "both")
            assert writer(project) != built
            log = holdfast(project, "log", "--limit", "100", before=HIDDEN)["commits"]
            made = [e["data"]["text"] for c in log for e in c["events"] if e["type"] == "decision.made"]
            assert sorted(made) == sorted([PREPARED, "one 0", "one 1", "other 0", "other 1"])
            faults = holdfast(project, "doctor", before=HIDDEN)["faults"]
            assert {(f["kind"], f["data"]["id"]) for f in faults} == {
                ("repeated-number", "D-2"),
                ("repeated-number", "D-3"),
            }
            after = holdfast(project, "decide", "after", "--because", "it goes on", before=HIDDEN)["id"]
            assert after == f"D-1.{writer(project)}"


@pytest.mark.twins
@pytest.mark.parametrize(
    ("boot", "later", "machine", "kept"),
    [
        (False, 0, "virtual", True),
        (True, 0, "virtual", True),
        (True, 3600, "virtual", False),
        (True, 3600, "real", True),
        (True, 3600, "unknown", False),
    ],
    ids=["same boot", "container with a boot id", "snapshot", "restart", "unknown"],
)
def test_a_machine_that_was_started_again(
    tmp_path: Path, boot: bool, later: int, machine: str, kept: bool
) -> None:
    """A virtual machine that was started again may be a copy of its disk, so it is another writer; a real machine, or
    a container with a boot id of its own, is the same."""
    overlays()
    prepare(str(tmp_path / "project"))
    built = writer(str(tmp_path / "project"))
    script = f"""
set -e
mount --make-rprivate /
if {str(boot).lower()}; then
  echo 0b5e9e2c-8f0f-4d4e-9b25-3b6d6a1d9c11 > {tmp_path}/boot
  mount --bind {tmp_path}/boot {BOOT_ID}
fi
if [ {machine} = virtual ]; then flags='flags : fpu hypervisor lahf_lm'; fi
if [ {machine} = real ]; then flags='flags : fpu lahf_lm'; fi
printf 'processor : 0\n%s\n\n' "${{flags:-Features : fp}}" > {tmp_path}/processors
mount --bind {tmp_path}/processors /proc/cpuinfo
exec "$@"
"""
    clock = ("--time", "--boottime", str(later)) if later else ()
    if later and subprocess.run(["unshare", *clock, "true"], capture_output=True).returncode:
        pytest.skip("the kernel has no time namespaces")
    before = ("unshare", "--mount", *clock, "--fork", "sh", "-c", script, "sh")
    folder = str(tmp_path / "project")
    holdfast(folder, "note", "started again", before=before)
    assert (writer(folder) == built) is kept
    now = writer(folder)
    holdfast(folder, "note", "and again", before=before)
    assert writer(folder) == now
    assert decisions(folder) == {"D-1": PREPARED}
    assert holdfast(folder, "doctor")["faults"] == []


EVIDENCE = {
    "fs": 1,
    "layer": 2,
    "boot": "one",
    "booted": 1000,
    "disk": "8:1",
    "attached": "3",
}


@pytest.mark.parametrize("key", [key for key in EVIDENCE if key not in ("boot", "booted")])
def test_one_difference_makes_it_another_place(key: str) -> None:
    """Another file system, layer, device or attached disk within one boot is another place."""
    assert is_same(EVIDENCE, dict(EVIDENCE))
    assert not is_same(EVIDENCE, EVIDENCE | {key: "another"})


@pytest.mark.parametrize("key", EVIDENCE)
def test_what_is_hidden_proves_nothing(key: str) -> None:
    """A sandbox that hides what the kernel says makes no other place, in either direction."""
    less = {name: value for name, value in EVIDENCE.items() if name != key}
    assert is_same(EVIDENCE, less)
    assert is_same(less, EVIDENCE)
    assert is_same({}, EVIDENCE)
    assert is_same(EVIDENCE, {})


def test_evidence_is_steady(tmp_path: Path) -> None:
    """What the kernel says of one folder is the same each time, and for every process."""
    found = origin(str(tmp_path))
    program = (
        f"import json; from holdfast.fs.origin import origin; print(json.dumps(origin({str(tmp_path)!r})))"
    )
    assert is_same(found, origin(str(tmp_path)))
    assert is_same(found, json.loads(run(str(tmp_path), sys.executable, "-c", program)))
