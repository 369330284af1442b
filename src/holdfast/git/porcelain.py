"""Queries that run git: only for rare commands (heal, doctor, resume, sessions --all).

Everyday commands never run git: they read the git directory (see ``git.refs``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from holdfast.typed import Record

_CONTEXT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
"""Set inside git's hooks, for the command that runs the hook; our queries are about the folder that we name."""
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD")
"""What git is merging, if anything."""
_TIMEOUT_S = 120
_SLACK_S = 86_400
"""Clocks of machines differ: search a day further back."""


class Version(Record):
    """One content of a file that git has."""

    where: str
    """Where git has it: ``the index``, ``HEAD``, or a commit."""
    blob: str


class Tree(Record):
    """One worktree of the repository."""

    path: str
    branch: str
    """Its branch, or the commit that is checked out; empty if unknown."""


def run(folder: str, *arguments: str, data: bytes | None = None, check: bool = False) -> bytes | None:
    """The output of a git command in ``folder``; None if it failed or git is not installed."""
    import subprocess

    environment = {name: value for name, value in os.environ.items() if name not in _CONTEXT}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, and paths after "--"
            ["git", "-c", "core.quotePath=false", "-C", folder, *arguments],  # noqa: S607 - the user's git
            input=data if data is not None else b"",
            capture_output=True,
            env=environment,
            timeout=_TIMEOUT_S,
            check=check,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def lines(folder: str, *arguments: str, data: bytes | None = None) -> list[str]:
    """The output's lines; none if the command failed."""
    return (run(folder, *arguments, data=data) or b"").decode("utf-8", "surrogateescape").splitlines()


def blob_ids(folder: str, paths: list[str]) -> list[str]:
    """The blob id of each file's content; empty without git."""
    text = "\n".join(paths).encode("utf-8", "surrogateescape") + b"\n"
    return lines(folder, "hash-object", "--no-filters", "--stdin-paths", data=text) if paths else []


def blobs_in_refs(folder: str, since_ms: int) -> set[str]:
    """Every blob that was added to the history of any branch, tag, stash or worktree since a timestamp."""
    since = f"--since={max(0, since_ms // 1000 - _SLACK_S)}"
    found = lines(
        folder, "log", "--all", "-m", since, "--raw", "--no-abbrev", "--no-renames", "--format=", "--", "."
    )
    return {line.split(" ")[3] for line in found if line.startswith(":")}


def has_text(folder: str, paths: str, text: str, since_ms: int) -> bool:
    """Whether a file that matches ``paths`` has contained the text since a timestamp: in the index, or in a git commit
    that a branch, tag, stash, worktree or reflog reaches."""
    if run(folder, "grep", "--cached", "-q", "-F", "-e", text, "--", paths) is not None:
        return True
    since = f"--since={max(0, since_ms // 1000 - _SLACK_S)}"
    found = lines(folder, "log", "--all", "--reflog", since, f"-S{text}", "-n1", "--format=%H", "--", paths)
    return bool(found)


def versions(folder: str, path: str) -> list[Version]:
    """Every content of a file that git has, newest first: index (with the sides of a conflict), HEAD, all refs."""
    found: dict[str, str] = {}
    for line in lines(folder, "ls-files", "--stage", "--", path):
        found.setdefault(line.split(" ")[1], "the index")
    head = run(folder, "rev-parse", "--verify", "--quiet", f"HEAD:./{path}")
    if head is not None:
        found.setdefault(head.decode().strip(), "HEAD")
    commit = ""
    for line in lines(
        folder, "log", "--all", "-m", "--raw", "--no-abbrev", "--no-renames", "--format=%h", "--", path
    ):
        if not line.startswith(":"):
            commit = line or commit
        elif (blob := line.split(" ")[3]).strip("0"):
            found.setdefault(blob, f"commit {commit}")
    return [Version(where, blob) for blob, where in found.items()]


def changed(folder: str, under: str) -> set[str]:
    """Paths below ``under`` whose content differs from the index or from HEAD, including deleted files."""
    asked = (
        ("ls-files", "--modified", "-z", "--", under),
        ("diff-index", "--relative", "--name-only", "--diff-filter=M", "-z", "HEAD", "--", under),
    )
    data = b"".join(run(folder, *arguments) or b"" for arguments in asked)
    return {entry.decode("utf-8", "surrogateescape") for entry in data.split(b"\0") if entry}


def staged(folder: str, path: str) -> set[str]:
    """The contents of a file in the index: one, or those of the sides of a conflict."""
    return {line.split(" ")[1] for line in lines(folder, "ls-files", "--stage", "--", path)}


def places(folder: str, blob: str) -> set[str]:
    """Where a content is in the trees that are being merged, as paths below ``folder``."""
    found = set()
    for rev in ("HEAD", *_UNDER_WAY, "refs/stash", "refs/stash^3"):
        for line in lines(folder, "ls-tree", "-r", rev):
            about, _, path = line.partition("\t")
            if about.endswith(blob):
                found.add(path)
    return found


def sessions(folder: str) -> set[str]:
    """The sessions, as streams, that have or had a segment on any branch, tag, stash or merge in progress."""
    names = lines(folder, "ls-files", "--", "events/sessions")
    for rev in ("--all", *_UNDER_WAY):
        names += lines(
            folder,
            "log",
            rev,
            "-m",
            "--name-only",
            "--no-renames",
            "--relative",
            "--format=",
            "--",
            "events/sessions",
        )
    return {"/".join(name.split("/")[1:4]) for name in names if name.count("/") >= 4}


def content(folder: str, blob: str) -> bytes | None:
    return run(folder, "cat-file", "blob", blob)


def conflicted(folder: str) -> list[str]:
    """Paths below ``folder`` (relative to it) that a merge left in conflict."""
    data = run(folder, "ls-files", "--unmerged", "-z", "--", ".") or b""
    found = {
        entry.partition(b"\t")[2].decode("utf-8", "surrogateescape") for entry in data.split(b"\0") if entry
    }
    return sorted(found)


def tracked(folder: str, paths: Iterable[str]) -> set[str]:
    """The given paths (relative to ``folder``) that are in the index."""
    data = run(folder, "ls-files", "-z", "--", *paths) or b""
    return {entry.decode("utf-8", "surrogateescape") for entry in data.split(b"\0") if entry}


def ignores(folder: str, path: str) -> bool:
    """Whether git ignores a path."""
    return run(folder, "check-ignore", "-q", "--no-index", "--", path) is not None


def ignored(folder: str, under: str) -> list[str]:
    """The files below ``under`` that git ignores."""
    data = run(folder, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", under) or b""
    return sorted(entry.decode("utf-8", "surrogateescape") for entry in data.split(b"\0") if entry)


def stage(folder: str, paths: list[str]) -> bool:
    """Stage files as they are now, including deletions."""
    present = [path for path in paths if os.path.lexists(os.path.join(folder, path))]
    gone = [path for path in paths if path not in present]
    done = True
    if present:
        done = run(folder, "add", "-f", "--", *present) is not None
    if gone:
        done = run(folder, "rm", "-q", "--cached", "--ignore-unmatch", "--", *gone) is not None and done
    return done


def worktrees(folder: str) -> list[Tree]:
    """All worktrees of the repository, the main one first; none without git."""
    found: list[Tree] = []
    for line in lines(folder, "worktree", "list", "--porcelain"):
        key, _, value = line.partition(" ")
        if key == "worktree":
            found.append(Tree(value, ""))
        elif key in ("HEAD", "branch") and found:
            found[-1] = found[-1]._replace(branch=value)
    return found
