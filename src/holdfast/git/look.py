"""Queries to git with fixed arguments: no stored text is ever part of a command line."""

from __future__ import annotations

import os

_TIMEOUT_S = 30


def branches(folder: str) -> set[str] | None:
    """The names of all branches, local and remote (also without the remote's name); None without git."""
    listed = _ask(folder, ["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"], b"")
    if listed is None:
        return None
    found: set[str] = set()
    for line in listed.decode("utf-8", "replace").splitlines():
        kind, _, name = line.removeprefix("refs/").partition("/")
        found.add(name)
        if kind == "remotes":
            found.add(name.partition("/")[2])
    return found


def tags(folder: str) -> set[str] | None:
    """The names of all tags; None without git."""
    listed = _ask(folder, ["for-each-ref", "--format=%(refname)", "refs/tags"], b"")
    if listed is None:
        return None
    return {line.removeprefix("refs/tags/") for line in listed.decode("utf-8", "replace").splitlines()}


def commits(folder: str, names: list[str]) -> set[str] | None:
    """Those of the given hex ids that are commits here; None without git.

    They are passed on standard input, where git reads them only as object names.
    """
    plain = [name for name in names if name and not name.strip("0123456789abcdef")]
    output = _ask(
        folder, ["cat-file", "--batch-check=%(objecttype)"], "".join(f"{name}\n" for name in plain).encode()
    )
    if output is None:
        return None
    answers = output.decode("utf-8", "replace").splitlines()
    return {name for name, answer in zip(plain, answers, strict=False) if answer == "commit"}


def _ask(folder: str, words: list[str], data: bytes) -> bytes | None:
    import subprocess

    kept = ("PATH", "HOME", "SystemRoot")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            ["git", "-c", "core.fsmonitor=false", "-C", folder, *words],  # noqa: S607 - the user's git
            input=data,
            capture_output=True,
            env=environment,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
