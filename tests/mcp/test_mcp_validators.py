"""Validators of others: the inspector in strict mode, and the conformance suite of the protocol.

They need Node and packages that `python tests/hosts/setup.py inspector conformance conformance-handshake` installs;
without them the tests are skipped and say so.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from http_client import HttpServer
from wire_client import COMMAND, environment

HERE = Path(__file__).parent
BASELINE = HERE / "expected_failures.yaml"

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]


def _setup() -> ModuleType:
    """The set-up script of the hosts, which knows where the tools are."""
    spec = importlib.util.spec_from_file_location("hosts_setup", HERE.parent / "hosts" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hosts_setup"] = module
    spec.loader.exec_module(module)
    return module


SETUP = _setup()


def tool(name: str) -> list[str]:
    """How to start a tool of Node; skips where it is not installed."""
    node, entry = SETUP.node_folder(), SETUP.entry_of(name)
    if node is None or entry is None:
        pytest.skip(SETUP.why_absent(name))
    return [str(node / "bin" / "node"), str(entry)]


def inspect(project: Path, *words: str, server: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    target = COMMAND if server is None else server
    return subprocess.run(
        [*tool("inspector"), "--cli", *target, *words],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )


def inspected(project: Path, *words: str, server: list[str] | None = None) -> Any:
    done = inspect(project, *words, server=server)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_inspector_finds_nothing_wrong_with_the_tools(project: Path) -> None:
    """Strict mode fails on any schema that some client could not handle; ours pass, and the tool works."""
    listed = inspected(project, "--method", "tools/list", "--strict")
    assert [entry["name"] for entry in listed["tools"]][:3] == ["brief", "status", "search"]
    call = ["--method", "tools/call", "--tool-name"]
    begun = inspected(project, *call, "start", "--tool-arg", "goal=Ship it")
    assert begun["structuredContent"]["version"] == 1
    made = inspected(project, *call, "decide", "--tool-arg", "text=x", "--tool-arg", "because=y")
    assert made["structuredContent"]["id"] == "D-1"


def test_the_inspector_reads_resources_and_prompts(project: Path) -> None:
    """Resources, templates and prompts work in a client that is not Python's."""
    inspected(project, "--method", "tools/call", "--tool-name", "start", "--tool-arg", "goal=Ship it")
    assert len(inspected(project, "--method", "resources/list")["resources"]) == 7
    assert len(inspected(project, "--method", "resources/templates/list")["resourceTemplates"]) == 3
    read = inspected(project, "--method", "resources/read", "--uri", "holdfast://current/state.json")
    assert "Ship it" in read["contents"][0]["text"]
    got = inspected(
        project, "--method", "prompts/get", "--prompt-name", "pause", "--prompt-args", "text=lunch"
    )
    assert "/pause lunch" in got["messages"][0]["content"]["text"]


def test_the_inspector_over_http(project: Path) -> None:
    """With the token in a header the inspector works over HTTP; without it, it is refused."""
    with HttpServer(project) as server:
        how = ["--transport", "http", "--method", "tools/list", "--strict"]
        shown = ["--header", f"Authorization: Bearer {server.token}"]
        assert len(inspected(project, *how, *shown, server=[server.url])["tools"]) == 13
        assert inspect(project, *how, server=[server.url]).returncode != 0


@pytest.fixture(scope="module")
def everything() -> Iterator[str]:
    """The URL of the fixture server for the conformance suite."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "everything.py")], stdout=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().decode().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def baseline(name: str, folder: Path) -> Path:
    """The expected failures among this release's scenarios: others would count as stale."""
    done = subprocess.run([*tool(name), "list"], capture_output=True, text=True, timeout=120)
    known = set(re.findall(r"^\s+- (\S+) \[", done.stdout, re.MULTILINE))
    wanted = [entry for entry in yaml.safe_load(BASELINE.read_text())["server"] if entry in known]
    path = folder / "expected.yaml"
    path.write_text(yaml.safe_dump({"server": wanted}))
    return path


@pytest.mark.parametrize(
    ("name", "words", "least"),
    [
        ("conformance-handshake", ("--suite", "active"), 23),
        ("conformance", ("--requirements", "2025-11-25"), 24),
        ("conformance", ("--requirements", "2026-07-28"), 25),
    ],
    ids=["0.1.16", "2025-11-25", "2026-07-28"],
)
def test_the_conformance_suite(
    everything: str, tmp_path: Path, name: str, words: tuple[str, ...], least: int
) -> None:
    """Every scenario passes except those listed with a reason, and all of those fail."""
    expected = baseline(name, tmp_path)
    done = subprocess.run(
        [*tool(name), "server", "--url", everything, *words, "--expected-failures", str(expected)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    summary = done.stdout[done.stdout.find("=== SUMMARY") :]
    assert done.returncode == 0, summary[-3000:] + done.stderr[-1000:]
    assert len(re.findall(r"^✓ \S+: [1-9]\d* passed, 0 failed", summary, re.MULTILINE)) >= least, summary


@pytest.mark.parametrize(
    "scenario",
    [
        "server-stateless",
        "tools-list",
        "tools-call-error",
        "resources-list",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
        "caching",
        "sep-2164-resource-not-found",
        "http-header-validation",
    ],
)
def test_scenarios_that_hold_for_every_server(scenario: str) -> None:
    """The scenarios of the protocol itself are never expected to fail."""
    assert scenario not in yaml.safe_load(BASELINE.read_text())["server"]


def test_every_expected_failure_has_a_reason() -> None:
    """Every line of the baseline has a reason."""
    lines = [line for line in BASELINE.read_text().splitlines() if line.startswith("  - ")]
    assert len(lines) == len(set(lines)) > 20
    assert [line for line in lines if not re.fullmatch(r"  - \S+ # \S.*", line)] == []
