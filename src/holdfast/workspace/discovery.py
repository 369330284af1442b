"""Where the workspace is, and who is at work."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from holdfast.core.ids import safe_name
from holdfast.errors import Forbidden, Hint, NoWorkspace, Use
from holdfast.fs import durable, posix

FOLDER = ".state"


def find(start: str) -> str:
    """The workspace folder at or above ``start``; the search ends at the root of the git repository."""
    folder = os.path.abspath(start)
    while True:
        candidate = os.path.join(folder, FOLDER)
        try:
            mode = posix.stat(candidate).st_mode
            if stat.S_ISDIR(mode):
                return candidate
            raise Forbidden(
                f"{candidate} is {'a link' if stat.S_ISLNK(mode) else 'not a folder'}; nothing was read or changed.",
                hint=Hint(
                    "A workspace is a real folder named .state: move this aside and run ", Use("init"), "."
                ),
            )
        except (FileNotFoundError, NotADirectoryError):
            pass
        except PermissionError as error:
            raise Forbidden(f"{candidate} cannot be read: {error.strerror}.") from error
        parent = os.path.dirname(folder)
        if _exists(os.path.join(folder, ".git")) or parent == folder:
            raise NoWorkspace(f"There is no workspace at or above {os.path.abspath(start)}.")
        folder = parent


def project_root(start: str) -> str:
    """Where ``init`` puts a workspace: the root of the git repository around ``start``, else ``start`` itself."""
    start = folder = os.path.abspath(start)
    while True:
        if _exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return start
        folder = parent


def user_name(environment: Mapping[str, str], near: str) -> str:
    """HOLDFAST_USER, else git's user.name, else the user of the operating system; made safe for a folder."""
    for name in (
        environment.get("HOLDFAST_USER"),
        environment.get("GIT_AUTHOR_NAME"),
        _git_user(near, environment),
        environment.get("USER"),
        environment.get("LOGNAME"),
    ):
        if name and name.strip():
            return safe_name(name)
    return safe_name(f"uid{os.getuid()}")


def _git_user(near: str, environment: Mapping[str, str]) -> str | None:
    """``user.name`` from the repository's or the user's git configuration, read without starting git."""
    home = environment.get("HOME", "")
    config_home = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (
        os.path.join(_git_folder(near), "config"),
        os.path.join(home, ".gitconfig"),
        os.path.join(config_home, "git", "config"),
    ):
        try:
            if name := _user_name_in(durable.read_whole(posix, path).decode("utf-8", "replace")):
                return name
        except OSError:
            continue
    return None


def _git_folder(near: str) -> str:
    """The git directory that all worktrees of the repository share, which has its configuration."""
    root = project_root(near)
    dot = os.path.join(root, ".git")
    try:
        if stat.S_ISDIR(posix.stat(dot).st_mode):
            return dot
    except OSError:
        return dot
    from holdfast.git.refs import find_git

    found = find_git(posix, root)
    return found[1] if found else dot


def _exists(path: str) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def _user_name_in(config: str) -> str | None:
    section = ""
    for raw in config.splitlines():
        line = raw.strip()
        if line.startswith("["):
            section = line.partition("]")[0].strip("[").strip().lower()
        elif section == "user":
            key, _, value = line.partition("=")
            if key.strip().lower() == "name" and value.strip():
                return value.strip().strip('"')
    return None
