"""Settings that call a holdfast which does not run: the host says nothing about it, so ``doctor`` does."""

from __future__ import annotations

import os
import shutil
import subprocess

from holdfast.edge.install import settings
from holdfast.edge.install.files import read
from holdfast.edge.install.ledger import Ledger
from holdfast.edge.install.program import NAME, environment_of
from holdfast.edge.install.targets import HOSTS, Place, Target, plugin_command, targets
from holdfast.errors import HoldfastError
from holdfast.store.faults import DEAD_HOOK
from holdfast.store.protocol import Fault

_SECONDS = 10


def dead_hooks(place: Place) -> list[Fault]:
    """One fault for each settings file of the project and of the user that calls a program which does not run."""
    ledger = Ledger(place.home, place.environment)
    found: dict[str, Fault] = {}
    for user in (False, True):
        here = place._replace(user=user)
        for host in HOSTS:
            for target in _files(host, here):
                if target.path in found:
                    continue  # two hosts share it
                for program in _programs(target):
                    if problem := _problem(program, here):
                        known = ledger.get(
                            target.path
                        )  # of several hosts that share the file, one that has it
                        named = known["hosts"][0] if known and known["hosts"] else host
                        data = {"host": named, "user": user, "command": program, "problem": problem}
                        found[target.path] = Fault(
                            DEAD_HOOK, "", _shown(target.path, place), data, harmless=True
                        )
                        break
    return list(found.values())


def has_hook(host: str, place: Place) -> bool:
    """Whether a settings file of the host calls a holdfast that runs as its hook."""
    return any(
        not _problem(program, place)
        for target in _files(host, place)
        if target.kind == "own" or "hooks" in target.wanted
        for program in _programs(target)
    )


def _files(host: str, place: Place) -> list[Target]:
    """The files of a host that may call holdfast; also those that a person moved our entries to."""
    found = targets(host, place, NAME)
    local = [
        target._replace(path=target.path.removesuffix(".json") + ".local.json")
        for target in found
        if host == "claude" and os.path.basename(target.path) == "settings.json"
    ]
    return [*found, *local]


def _programs(target: Target) -> list[str]:
    """The programs that a file calls as holdfast; none if it cannot be read: ``install`` says why."""
    try:
        text = (read(target.path) or b"").decode()
        if not text.strip():
            return []
        if target.kind == "own":
            return [command] if (command := plugin_command(text)) else []
        if target.kind == "toml":
            server = settings.toml_server(text)
            return [server["command"]] if settings.is_server(server) else []
        return settings.programs(text)
    except (HoldfastError, ValueError):
        return []


def _problem(program: str, place: Place) -> str:
    """Why a program does not run when a host calls it; empty if it does.

    What only a project's files name is looked at and never run: a cloned repository may name anything.
    """
    named = os.path.expanduser(os.path.expandvars(program))
    bare = os.path.basename(named) == named
    path = shutil.which(
        named if bare else os.path.join(place.project, named), path=place.environment.get("PATH")
    )
    if path is None:
        return "is not on PATH" if bare else "does not exist"
    if interpreter := _missing_interpreter(path):
        return f"needs {interpreter}, which does not exist"
    if bare and (environment := _only_environment(place)):
        return f"is on PATH only while the virtual environment {environment} is active"
    return _failure(path) if bare or place.user else ""


def _missing_interpreter(path: str) -> str:
    """The interpreter in the first line of a script, if it is gone."""
    try:
        with open(path, "rb") as file:
            head = file.readline(4096)
    except OSError:
        return ""  # a program that can be run and not read
    words = head[2:].split() if head.startswith(b"#!") else []
    name = os.fsdecode(words[0]) if words else ""
    return name if name and not os.path.exists(name) else ""


def _only_environment(place: Place) -> str:
    """The virtual environment, if every holdfast on PATH is in one."""
    found = [
        path
        for folder in (place.environment.get("PATH") or os.defpath).split(os.pathsep)
        if folder and (path := shutil.which(NAME, path=folder))
    ]
    environments = [environment_of(path) for path in found]
    return environments[0] if environments and all(environments) else ""


def _failure(path: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - found on the person's own PATH, or named in their own settings
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"did not answer within {_SECONDS} s"
    except OSError as error:
        return f"cannot be started: {error.strerror}"
    if done.returncode == 0:
        return ""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return f"fails with status {done.returncode}" + (f": {said[-1][:200]}" if said else "")


def _shown(path: str, place: Place) -> str:
    """A path as a person would name it."""
    for base, name in ((place.project, ""), (place.home, "~")):
        if base and path.startswith(base.rstrip(os.sep) + os.sep):
            return os.path.join(name, os.path.relpath(path, base))
    return path
