"""A `holdfast` on PATH that writes down how a host called it and answers what the test told it to.

The packages are about wiring: which events reach which command line, with what on stdin. What holdfast itself
makes of an event is tested with the real command elsewhere.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.hosts import setup
from tests.hosts.fake_model import FakeModel
from tests.hosts.host import Host
from tests.hosts.scenario import TINY_SERVER, bare

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "packages"

SCRIPT = """\
#!%(python)s -IS
import json, os, sys, time
folder, words = %(folder)r, sys.argv[1:]
if words == ["mcp"]:
    os.execv(%(python)r, [%(python)r, "-I", %(server)r, os.path.join(folder, "notes.txt")])
raw = sys.stdin.buffer.read().decode()
payload = json.loads(raw)
name = payload.get("hook") or payload.get("hook_event_name") or ""
if name == "event":
    name = payload["input"]["type"]
line = json.dumps({"words": words, "name": name, "payload": payload, "size": len(raw)}) + "\\n"
handle = os.open(os.path.join(folder, "log.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(handle, line.encode())
os.close(handle)
try:
    with open(os.path.join(folder, name + ".answer"), "rb") as answer:
        sys.stdout.buffer.write(answer.read())
except FileNotFoundError:
    pass
"""


class Call(NamedTuple):
    """One call of the stand-in."""

    words: list[str]
    name: str
    payload: dict[str, Any]
    size: int


class StandIn:
    """The stand-in, in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self._log = folder / "log.jsonl"
        self.write(SCRIPT % {"python": sys.executable, "folder": str(folder), "server": str(TINY_SERVER)})

    def write(self, script: str) -> None:
        """Another program under the same name."""
        (self.bin / "holdfast").write_text(script)
        (self.bin / "holdfast").chmod(0o755)

    def answer(self, name: str, text: str) -> None:
        """From now on print this at the event or hook."""
        (self.folder / f"{name}.answer").write_text(text)

    def calls(self) -> list[Call]:
        """All calls so far, in order of arrival."""
        if not self._log.exists():
            return []
        return [Call(**json.loads(line)) for line in self._log.read_text().splitlines()]

    def names(self) -> list[str]:
        """Events or hooks, in order of arrival."""
        return [call.name for call in self.calls()]

    def names_until(self, name: str, seconds: float = 10.0) -> list[str]:
        """The same, once this one is among them: a host may exit before a call that it started does."""
        end = time.monotonic() + seconds
        while name not in (found := self.names()) and time.monotonic() < end:
            time.sleep(0.05)
        return found


def need(tool: str) -> Path:
    """The start file of an installed tool; skips with the reason if it is not available."""
    entry = setup.entry_of(tool)
    if entry is None:
        pytest.skip(setup.why_absent(tool))
    return entry


def node() -> Path:
    """The Node program of the installed tools."""
    folder = setup.node_folder()
    if folder is None:
        pytest.skip(setup.why_absent("typecheck"))
    return folder / "bin" / "node"


def take_away(host: Host, standin: StandIn) -> None:
    """No `holdfast` on PATH, not even one installed with the tests' own interpreter."""
    (standin.bin / "holdfast").unlink()
    folders = host.extra_env["PATH"].split(os.pathsep)
    host.extra_env["PATH"] = os.pathsep.join(f for f in folders if not (Path(f) / "holdfast").exists())


@contextmanager
def on_stage(name: str) -> Iterator[tuple[Host, FakeModel, StandIn]]:
    """A host in a clean home with the stand-in first on PATH; none of its own hooks are set."""
    need(name)
    with bare(name) as (host, model, root):
        standin = StandIn(root / "standin")
        host.extra_env["PATH"] = os.pathsep.join([str(standin.bin), host.env()["PATH"]])
        yield host, model, standin
