"""What every agent host under test has in common: a clean home, a project, one turn at a time."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from . import setup
from .fake_model import FakeModel, Request, ToolCall

Json = dict[str, Any]
Command = Callable[[str], str]


class Run(NamedTuple):
    """One finished run of a host, and the model requests that it made."""

    status: int
    stdout: str
    stderr: str
    seconds: float
    requests: list[Request]

    def saw(self, text: str) -> bool:
        """Whether any model request of this run holds the text."""
        return any(text in turn.text for request in self.requests for turn in request.turns)


class Host:
    """One agent host in a home and a project of its own. Subclasses say how it is configured and started."""

    name: ClassVar[str]
    tool: ClassVar[str] = ""
    events: ClassVar[tuple[str, ...]]

    def __init__(self, folder: Path, model: FakeModel) -> None:
        self.model = model
        self.home = folder / "home"
        self.project = folder / "project"
        self.scratch = folder / "tmp"
        for each in (self.home, self.project, self.scratch):
            each.mkdir(parents=True, exist_ok=True)
        (self.project / "README.md").write_text("# A project under test\n")
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(self.project)], check=True)
        entry = setup.entry_of(self.tool or self.name)
        if entry is None:
            raise FileNotFoundError(setup.why_absent(self.tool or self.name))
        self.entry = entry
        self.extra_env: dict[str, str] = {}
        self.configure()

    # -- what a subclass provides --------------------------------------------------------------------------

    def configure(self) -> None:
        """Write the settings that point the host at the fake model."""
        raise NotImplementedError

    def settings(self) -> Mapping[str, str]:
        """Environment variables of this host, on top of the clean base."""
        raise NotImplementedError

    def argv(self, prompt: str, resume: bool) -> list[str]:
        """The command that runs one turn and exits."""
        raise NotImplementedError

    def set_hooks(self, command: Command) -> None:
        """Register, for every event of the host, the shell command that `command(event)` names."""
        raise NotImplementedError

    def add_mcp_server(self, name: str, command: list[str]) -> None:
        """Register a stdio MCP server in the project."""
        raise NotImplementedError

    def mcp_call(self, server: str, tool: str, arguments: Json) -> ToolCall:
        """The tool call by which this host's model reaches a tool of an MCP server."""
        raise NotImplementedError

    def write_call(self, path: str, text: str) -> ToolCall:
        """The tool call that writes a new file of the project."""
        raise NotImplementedError

    def edit_call(self, path: str, old: str, new: str) -> ToolCall:
        """The tool call that changes one line of a file."""
        raise NotImplementedError

    def shell_call(self, command: str) -> ToolCall:
        """The tool call that runs a shell command."""
        raise NotImplementedError

    def compact(self) -> Run:
        """Make the last session compact its context; for the hosts where that can be forced."""
        raise NotImplementedError

    # -- what they share -----------------------------------------------------------------------------------

    def env(self) -> dict[str, str]:
        """A clean environment: nothing of the caller's, no network but the fake model."""
        node = setup.node_folder()
        path = [str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
        if node is not None:
            path.insert(0, str(node / "bin"))
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(path),
            "TMPDIR": str(self.scratch),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "HTTP_PROXY": self.model.url,
            "HTTPS_PROXY": self.model.url,
            "NO_PROXY": "127.0.0.1,localhost",
            **self.settings(),
            **self.extra_env,
        }

    def run(self, command: list[str], seconds: float = 90.0) -> Run:
        """Run a command as this host would be run and wait for it; its whole process group ends with it."""
        before = len(self.model.requests)
        started = time.monotonic()
        process = self.launch(command)
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill(process)
            stdout, stderr = process.communicate()
            stderr += f"\n[killed after {seconds} s]"
        took = time.monotonic() - started
        return Run(process.returncode, stdout, stderr, took, self.model.requests[before:])

    def launch(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a command in the project, in a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.project,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def turn(self, prompt: str, *, resume: bool = False, seconds: float = 90.0) -> Run:
        """One turn; with `resume`, in the last session of the project."""
        return self.run(self.argv(prompt, resume), seconds)

    def start(self, prompt: str, *, resume: bool = False) -> subprocess.Popen[str]:
        """Start a turn without waiting, for tests that kill the host in the middle of it."""
        return self.launch(self.argv(prompt, resume))


def kill(process: subprocess.Popen[str]) -> None:
    """End a host and everything that it started, as a crash would."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def shell(*words: str | Path) -> str:
    """Words as one shell command."""
    return shlex.join(str(word) for word in words)
