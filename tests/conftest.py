"""What all tests share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("holdfast.testing")

MAY_BE_REQUIRED = frozenset(
    {"hosts", "corpus", "power_cut", "strace", "twins", "btrfs", "xfs", "postgres", "redis"}
)
# How fast a machine generates examples says nothing about the code. The rest is Hypothesis's own profile.
settings.register_profile(
    "any-machine", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any-machine")
# Read once, at import: tests run with such settings taken out of the environment.
REQUIRED = frozenset(name for name in os.environ.get("HOLDFAST_REQUIRE", "").split(",") if name)
# The folder of this run's database servers, and the process that they must not outlive: workers of xdist inherit both.
RUN = os.environ.setdefault(
    "HOLDFAST_TEST_RUN", os.path.join(tempfile.gettempdir(), f"hf-{os.urandom(4).hex()}")
)
OWNER = int(os.environ.setdefault("HOLDFAST_TEST_OWNER", str(os.getpid())))


def pytest_configure() -> None:
    """A misspelt requirement would require nothing, so it is an error."""
    if unknown := REQUIRED - MAY_BE_REQUIRED:
        raise pytest.UsageError(f"HOLDFAST_REQUIRE: {', '.join(sorted(unknown))} is no marker that it knows")


def pytest_unconfigure() -> None:
    """No server outlives its run, and nothing of it stays."""
    if os.getpid() == OWNER and os.path.isdir(RUN):
        from holdfast.testing import servers

        servers.end_shared(RUN)


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
    monkeypatch.setenv("HOLDFAST_SEARCH", "words")  # whether the extra is installed or not


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder with a workspace, as the current folder."""
    from holdfast.workspace.setup import init

    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    init(str(folder), given=True)
    return folder


def _server(kind: str, *settings: str) -> str:
    """The URL of this run's server of a kind; the test is skipped where it cannot be had."""
    from holdfast.testing import servers

    try:
        return servers.shared(kind, RUN, OWNER, settings)
    except servers.Missing as error:
        pytest.skip(f"{kind}: {error}")


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URL of a PostgreSQL server from a wheel."""
    return _server("postgres", "fsync=off", "max_connections=200")


@pytest.fixture(scope="session")
def debian_postgres_server() -> str:
    """The URL of a PostgreSQL server of the system's own, older version."""
    return _server("postgres-debian", "fsync=off", "max_connections=200")


@pytest.fixture(scope="session")
def valkey_server() -> str:
    """The URL of a Valkey server from a wheel."""
    return _server("valkey", "appendfsync=no")


@pytest.fixture(scope="session")
def debian_redis_server() -> str:
    """The URL of the system's own Redis server."""
    return _server("redis-debian", "appendfsync=no")
