"""HOLDFAST_REQUIRE: where hosts or real files are required, a skipped test fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
REQUIRED = TESTS.parent / ".ci" / "required"
SAMPLE = """\
import pytest

@pytest.mark.hosts
def test_a_skip_inside():
    pytest.skip("no host")

@pytest.mark.corpus
@pytest.mark.skipif(True, reason="no files")
def test_a_skip_by_mark():
    pass

@pytest.mark.hosts
@pytest.mark.xfail(strict=True)
def test_a_known_failure():
    assert False

def test_a_skip_of_another_kind():
    pytest.skip("not on this machine")
"""


@pytest.mark.parametrize(
    ("required", "status", "summary"),
    [
        ("", 0, "3 skipped, 1 xfailed"),
        ("hosts", 1, "1 failed, 2 skipped, 1 xfailed"),
        ("corpus", 1, "2 skipped, 1 xfailed, 1 error"),
        ("hosts,corpus", 1, "1 failed, 1 skipped, 1 xfailed, 1 error"),
        ("power_cut,strace", 0, "3 skipped, 1 xfailed"),
        ("host", 4, "host is no marker that it knows"),
    ],
)
def test_a_skip_is_a_failure_where_it_is_required(
    tmp_path: Path, required: str, status: int, summary: str
) -> None:
    """Only the skips of what is required fail, and a misspelt requirement is refused."""
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    hosts\n    corpus\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOLDFAST_REQUIRE": required},
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert summary in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("hosts", "given", "corpus", "expected"),
    [
        ("absent", "", "", set()),
        ("present", "", "", {"hosts"}),
        ("absent", "corpus", "", {"corpus"}),
        ("present", "power_cut", "/some/folder", {"power_cut", "hosts", "corpus"}),
    ],
)
@pytest.mark.parametrize(("system", "user"), [("Linux", "0"), ("Linux", "1000"), ("Darwin", "0")])
def test_what_the_machine_supports_is_required(
    tmp_path: Path, system: str, user: str, hosts: str, given: str, corpus: str, expected: set[str]
) -> None:
    """Everybody has to run the servers, which are wheels; root on Linux also the power-cut and strace harnesses, and
    every file system that it can mount; settings only ever add to that."""
    for tool, says in (("uname", system), ("id", user)):
        (tmp_path / tool).write_text(f"#!/bin/sh\necho {says}\n")
        (tmp_path / tool).chmod(0o755)
    done = subprocess.run(
        [str(REQUIRED), hosts],
        capture_output=True,
        text=True,
        check=True,
        env={
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "HOLDFAST_REQUIRE": given,
            "HOLDFAST_CORPUS": corpus,
        },
    )
    can = {"power_cut", "strace", *mountable()} if (system, user) == ("Linux", "0") else set()
    assert set(filter(None, done.stdout.strip().split(","))) == expected | can | {"postgres", "redis"}


def mountable() -> set[str]:
    """The markers of the file systems that this kernel and its tools know."""
    try:
        known = Path("/proc/filesystems").read_text().split()
    except OSError:
        return set()
    kinds = {kind for kind in ("btrfs", "xfs") if kind in known and shutil.which(f"mkfs.{kind}")}
    return kinds | ({"twins"} if "overlay" in known else set())
