"""Where the workspace is, which git repository is around it, and who is working.

Each is found once per opened workspace: ``open_workspace`` passes the result to the store, to presence and to
every other caller.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from holdfast.core.ids import safe_name
from holdfast.errors import Forbidden, Hint, NoWorkspace, Use
from holdfast.fs import durable, posix
from holdfast.git.refs import Repository, find_repository
from holdfast.typed import Record

FOLDER = ".state"
HANDOFF = "handoff/latest.md"


def find(start: str, *, told: bool = False) -> str:
    """The workspace folder at or above ``start``; the search ends at the root of the git repository.

    A workspace that somebody else may have put there is not taken, unless it is in ``start`` itself and the caller was
    ``told`` so: its standing orders would reach the agent, and its owner would read what is written.
    """
    folder = os.path.abspath(start)
    while True:
        candidate = os.path.join(folder, FOLDER)
        try:
            found = posix.stat(candidate)
            mode = found.st_mode
            if stat.S_ISDIR(mode):
                if not told or folder != os.path.abspath(start):
                    _check_owner(start, folder, candidate, found)
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


def _check_owner(start: str, folder: str, candidate: str, found: os.stat_result) -> None:
    """Refuse a workspace of another user, and one in a parent folder that everybody can write to."""
    me = os.geteuid()
    if found.st_uid not in (me, 0) and not (
        me == 0 and found.st_uid == posix.stat(os.path.abspath(start)).st_uid
    ):
        reason = "belongs to another user"
    elif folder != os.path.abspath(start) and _is_open_to_all(folder, found, me):
        reason = "is in a folder that every user can write to"
    else:
        return
    raise NoWorkspace(
        f"{candidate} {reason}, so it was not used.",
        hint=Hint(
            "To use it all the same, name it with --workspace or HOLDFAST_URL; for a workspace of your own, run ",
            Use("init"),
            ".",
        ),
    )


def _is_open_to_all(folder: str, found: os.stat_result, me: int) -> bool:
    """Whether anybody could have put a workspace into a folder. Where only owners can remove, its owner has."""
    mode = posix.stat(folder).st_mode
    if not mode & stat.S_IWOTH or _exists(os.path.join(folder, ".git")):
        return False  # in a repository, the owner of the workspace was checked
    return not (mode & stat.S_ISVTX and found.st_uid == me)


class Surroundings(Record):
    """What is around a workspace."""

    project: str
    """The folder that holds the workspace; for a database, the current folder."""
    repository: Repository | None
    """The git repository around the project."""

    @property
    def top(self) -> str:
        """The top folder of the project's files: paths are relative to it."""
        return self.repository.top if self.repository else self.project


def around(project: str) -> Surroundings:
    """The surroundings of a folder."""
    folder = os.path.abspath(project)
    return Surroundings(folder, find_repository(posix, folder))


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


def user_name(environment: Mapping[str, str], repository: Repository | None) -> str:
    """HOLDFAST_USER, else git's user.name, else the operating system's user; made safe for a folder."""
    for name in (
        environment.get("HOLDFAST_USER"),
        environment.get("GIT_AUTHOR_NAME"),
        _git_user(repository, environment),
        environment.get("USER"),
        environment.get("LOGNAME"),
    ):
        if name and name.strip():
            return safe_name(name)
    return safe_name(f"uid{os.getuid()}")


def _git_user(repository: Repository | None, environment: Mapping[str, str]) -> str | None:
    """``user.name`` from the repository's or the user's git configuration, read without starting git."""
    home = environment.get("HOME", "")
    config_home = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (
        *([os.path.join(repository.common, "config")] if repository else ()),
        os.path.join(home, ".gitconfig"),
        os.path.join(config_home, "git", "config"),
    ):
        try:
            if name := _user_name_in(durable.read_whole(posix, path).decode("utf-8", "replace")):
                return name
        except OSError:
            continue
    return None


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
