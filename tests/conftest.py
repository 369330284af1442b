"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("holdfast.testing")

MAY_BE_REQUIRED = frozenset({"hosts", "corpus", "power_cut", "strace", "twins", "btrfs", "xfs"})
# Read once, at import: tests run with such settings taken out of the environment.
REQUIRED = frozenset(name for name in os.environ.get("HOLDFAST_REQUIRE", "").split(",") if name)


def pytest_configure() -> None:
    """A misspelt requirement would require nothing, so it is an error."""
    if unknown := REQUIRED - MAY_BE_REQUIRED:
        raise pytest.UsageError(f"HOLDFAST_REQUIRE: {', '.join(sorted(unknown))} is no marker that it knows")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """HOLDFAST_REQUIRE=hosts,power_cut: where these must be had, a skipped test of theirs is a failed one."""
    report = yield
    required = REQUIRED & {mark.name for mark in item.iter_markers()}
    if report.skipped and required and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"Skipped, but required ({', '.join(sorted(required))}): {report.longreprtext}"
    return report


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of the machine it runs on."""
    for name in list(os.environ):
        if name.startswith("HOLDFAST_") and name not in ("HOLDFAST_TORTURE", "HOLDFAST_SEED"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder with a workspace, as the current folder."""
    from holdfast.workspace.setup import init

    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    init(str(folder), given=True)
    return folder
