"""Which command the hosts call: one that stays, if there is one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping

from holdfast.errors import Unavailable
from holdfast.typed import Record

NAME = "holdfast"
_TOOL_FOLDERS = ("UV_TOOL_BIN_DIR", "PIPX_BIN_DIR", "XDG_BIN_HOME")
"""Variables that say where uv and pipx put the commands of tools."""
_RECEIPTS = ("uv-receipt.toml", "pipx_metadata.json")
"""What uv and pipx leave in the environment of a tool, which stays until the tool is removed."""


class Program(Record):
    """The command that hosts call."""

    command: str
    portable: bool
    """Whether it works on other machines too."""
    environment: str = ""
    """The virtual environment that it disappears with; empty if it stays."""


def program(environment: Mapping[str, str], home: str) -> Program:
    """The bare name if it is on PATH without a virtual environment: it survives upgrades and is the same for everybody.

    Else the absolute path of a tool that uv or pipx installed; else of the script in the active environment or next to
    this interpreter, which works also where that environment is not active.
    """
    on_path = list(_on_path(environment.get("PATH") or os.defpath))
    if any(not environment_of(path) for path in on_path):
        return Program(NAME, True)
    folders = [environment[name] for name in _TOOL_FOLDERS if environment.get(name)]
    for folder in (*folders, os.path.join(home, ".local", "bin")):
        if _is_program(path := os.path.join(folder, NAME)):
            return Program(path, False)
    beside = (os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(sys.argv[0])))
    for path in (*on_path, *(os.path.join(folder, NAME) for folder in beside)):
        if _is_program(path):
            return Program(path, False, environment_of(path))
    raise Unavailable(
        "The command holdfast is neither on PATH nor next to this interpreter; nothing was changed.",
        hint="Install holdfast as a command (for example with pipx), then install it into the hosts.",
    )


def environment_of(path: str) -> str:
    """The virtual environment that a program is part of; empty if none, or if it is that of a tool."""
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    if any(os.path.exists(os.path.join(prefix, name)) for name in _RECEIPTS):
        return ""
    conda = os.path.basename(os.path.dirname(prefix)) == "envs" and os.path.isdir(
        os.path.join(prefix, "conda-meta")
    )
    return prefix if conda or os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else ""


def installer(environment: Mapping[str, str]) -> str:
    """The command that installs holdfast so that it stays."""
    if shutil.which("uv", path=environment.get("PATH")):
        return f"uv tool install {NAME}"
    return f"pipx install {NAME}"


def _on_path(path: str) -> Iterator[str]:
    for folder in path.split(os.pathsep):
        if folder and _is_program(found := os.path.abspath(os.path.join(folder, NAME))):
            yield found


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
