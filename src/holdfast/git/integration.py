"""How a workspace configures git: whether views are tracked, and, on request, a hook that names the session."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from holdfast.errors import Refused
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.fs.posix import make_executable
from holdfast.git import porcelain
from holdfast.git.refs import find_repository
from holdfast.typed import Any

VIEWS = ("STATE.md", "state.json")
"""The views that git may track."""
_LOCAL = ("/sessions/*/*/DECISIONS.md", "/history/*/*/DECISIONS.md")
"""A page that comes with the first decision, and goes if git takes that away: tracked, it would stop a revert."""
_VIEW_PATHS = [f"/{folder}/*/*/{view}" for folder in ("sessions", "history") for view in VIEWS]
LOCAL_PAGES = "".join(f"{path}\n" for path in _LOCAL)
IGNORED_VIEWS = """\
# Views are regenerated from events/. Untracked, they never stop a merge, a checkout or a stash.
# `holdfast init --views git` tracks them.
""" + "".join(f"{path}\n" for path in _VIEW_PATHS)
"""The part of ``.state/.gitignore`` that keeps views out of git."""
_TRAILER = "Holdfast-Session"
HOOKS = ("prepare-commit-msg", "commit-msg")
_SCISSORS = b"------------------------ >8 ------------------------"
"""What git prints before the diff that it shows in an editor."""
HOOK_LINE = "holdfast hook-commit-message"
_HOOK = f"""\
#!/bin/sh
# Names the holdfast session in the message of a commit. Made by `holdfast init --commit-hook`.
command -v holdfast >/dev/null 2>&1 && {HOOK_LINE} "$1" || true
"""


def in_git(root: str, fs: FileSystem = posix) -> bool:
    """Whether the workspace is inside a git repository."""
    return find_repository(fs, os.path.dirname(root)) is not None


def keep_views_local(root: str, fs: FileSystem = posix) -> bool:
    """Keep views out of git: ignored, and no longer tracked; False if they are out already."""
    text = _gitignore(root, fs)
    missing = not views_are_local(root) and not set(_VIEW_PATHS) <= set(text.splitlines())
    if missing:
        end = "" if text.endswith("\n") or not text else "\n"
        _write_gitignore(root, f"{text}{end}{IGNORED_VIEWS}", fs)
    return bool(untrack_views(root) or missing)


def track_views(root: str, fs: FileSystem = posix) -> bool:
    """Let git track views; False if it already does. The user's own lines stay."""
    text = _gitignore(root, fs)
    ours = set(IGNORED_VIEWS.splitlines())
    kept = [line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") not in ours]
    if "".join(kept) == text:
        return False
    _write_gitignore(root, "".join(kept), fs)
    return True


def _gitignore(root: str, fs: FileSystem) -> str:
    try:
        return durable.read_whole(fs, os.path.join(root, ".gitignore")).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _write_gitignore(root: str, text: str, fs: FileSystem) -> None:
    path = os.path.join(root, ".gitignore")
    durable.replace(fs, path, text.encode(), tag=f"views-{os.getpid()}", durable=True)


def exclude(common: str, name: str, fs: FileSystem = posix) -> None:
    """Exclude a page from git in this clone: one line in ``info/exclude``, appended once.

    A page that is tracked stays tracked. A git directory that is not writable is left as it is.
    """
    path = os.path.join(common, "info", "exclude")
    try:
        try:
            text = durable.read_whole(fs, path).decode("utf-8", "replace")
        except FileNotFoundError:
            durable.make_folders(fs, os.path.dirname(path))
            text = ""
        if name in text.splitlines():
            return
        fd = fs.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            durable.write_whole(
                fs, fd, f"{'' if text.endswith(chr(10)) or not text else chr(10)}{name}\n".encode()
            )
        finally:
            fs.close(fd)
    except OSError:
        pass


def views_are_local(root: str) -> bool:
    """Whether git ignores views."""
    return porcelain.ignores(root, f"sessions/anybody/any-session/{VIEWS[0]}")


def untrack_views(root: str) -> list[str]:
    """Untrack the views that git tracks, including those in conflict; the files stay. Returns which."""
    tracked = [f":(glob){folder}/**/{view}" for folder in ("sessions", "history") for view in VIEWS]
    listed = sorted(set(porcelain.lines(root, "ls-files", "--", *tracked)))
    if listed:
        porcelain.run(root, "rm", "-q", "-f", "--cached", "--", *listed)
    return listed


def install_hook(root: str, fs: FileSystem = posix) -> str:
    """Install the hooks that name the session: prepare-commit-msg, and commit-msg for messages that are typed in an
    editor. Existing hooks are left as they are. Returns the message to print."""
    git = find_repository(fs, os.path.dirname(root))
    if git is None:
        raise Refused("There is no git repository here.", hint="Run `git init` first.")
    said = porcelain.lines(root, "rev-parse", "--git-path", "hooks")
    folder = os.path.join(root, said[0]) if said else os.path.join(git.common, "hooks")
    path, typed = (os.path.normpath(os.path.join(folder, name)) for name in HOOKS)
    if not _install(path, fs):
        raise Refused(
            f"{path} is there already and was left as it is.",
            hint=f'Add this line to it: {HOOK_LINE} "$1"',
        )
    message = f"Commits name their session: {path}"
    if not _install(typed, fs):
        message += (
            f'\n{typed} was left as it is; for messages that you type, add this line to it: {HOOK_LINE} "$1"'
        )
    return message


def _install(path: str, fs: FileSystem) -> bool:
    """Install a hook; False if another one exists."""
    try:
        return HOOK_LINE in durable.read_whole(fs, path).decode("utf-8", "replace")
    except FileNotFoundError:
        durable.make_folders(fs, os.path.dirname(path))
        durable.replace(fs, path, _HOOK.encode(), tag=f"hook-{os.getpid()}", durable=True)
        make_executable(path)
        return True


def add_trailer(root: str, message_file: str, trailer: str) -> bool:
    """Add a trailer to a commit message, once. Not to an empty one, which means that no commit is wanted."""
    written = durable.read_whole(posix, message_file).partition(_SCISSORS)[0]
    if not (porcelain.run(root, "stripspace", "--strip-comments", data=written) or b"").strip():
        return False
    done = porcelain.run(
        root,
        "interpret-trailers",
        "--in-place",
        "--if-exists",
        "addIfDifferent",
        "--trailer",
        trailer,
        message_file,
    )
    return done is not None


def commits_of(
    root: str, session: str, limit: int, ids_in: Callable[[bytes], set[str]]
) -> list[dict[str, Any]]:
    """The git commits that name a session in their trailer or hold its segments, newest first, each with the
    session's commits that it added. ``limit`` 0: all; ``ids_in``: the commits in the bytes of a segment."""
    most = [f"--max-count={limit}"] if limit else []
    grep = ["--extended-regexp", f"--grep=^{_TRAILER}: .*{session}"]
    named = {e["commit"]: e for e in _logged(root, *most, *grep) if session in e["named"]}
    holding = {e["commit"]: e for e in _logged(root, *most, "--", f":(glob)events/**/{session}/**")}
    chosen = sorted((named | holding).values(), key=lambda entry: int(entry["time"]), reverse=True)
    chosen = chosen[:limit] if limit else chosen
    held = _commits_by_git_commit(
        root, session, [entry["commit"] for entry in chosen if entry["commit"] in holding], ids_in
    )
    return [
        {
            **{key: entry[key] for key in ("commit", "at", "by", "subject")},
            "how": "names it" if entry["commit"] in named else "holds its segments",
            "session_commits": held.get(entry["commit"], []),
        }
        for entry in chosen
    ]


def commits_behind(root: str, path: str, line: int | None, limit: int) -> list[dict[str, Any]]:
    """The git commits behind a file, or one line of it, newest first, each with the sessions that it belongs to: those
    that its trailer names, and those whose segments it holds. ``path`` is relative to ``root``."""
    if line is None:
        found = _logged(root, f"--max-count={limit}", "--", f":(literal){path}")
    else:
        blamed = porcelain.lines(root, "blame", "--porcelain", "-L", f"{line},{line}", "--", path)
        commit = blamed[0].partition(" ")[0] if blamed else ""
        found = _logged(root, "--no-walk", commit) if commit.strip("0") else []
    return [
        {
            **{key: entry[key] for key in ("commit", "by", "subject")},
            "at": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(int(entry["time"]))),
            "sessions": sorted(
                {*filter(None, entry["named"].split(",")), *_sessions_in(root, entry["commit"])}
            ),
        }
        for entry in found
    ]


def _sessions_in(root: str, commit: str) -> set[str]:
    """The sessions whose segments a git commit added, as ``user/id``."""
    where = ":(glob)**/events/sessions/**"
    options = ("-r", "--root", "--no-commit-id", "--name-only")
    named = porcelain.lines(root, "diff-tree", *options, commit, "--", where)
    return {"/".join(name.partition("events/sessions/")[2].split("/")[:2]) for name in named}


def _logged(root: str, *which: str) -> list[dict[str, str]]:
    form = "%H%x1f%ct%x1f%cI%x1f%an%x1f%s%x1f%(trailers:key=" + _TRAILER + ",valueonly,separator=%x2C)%x1e"
    text = porcelain.run(root, "log", f"--format={form}", *which) or b""
    keys = ("commit", "time", "at", "by", "subject", "named")
    records = [record.strip("\n").split("\x1f") for record in text.decode("utf-8", "replace").split("\x1e")]
    return [dict(zip(keys, record, strict=True)) for record in records if len(record) == len(keys)]


def _commits_by_git_commit(
    root: str, session: str, commits: list[str], ids_in: Callable[[bytes], set[str]]
) -> dict[str, list[str]]:
    """The ids of a session's commits that each git commit added."""
    wanted = ("--raw", "--no-abbrev", "--no-renames", "--format=%H", "--root", "-r", "--stdin")
    lines = porcelain.lines(
        root,
        "diff-tree",
        *wanted,
        "--",
        f":(glob)events/**/{session}/*.jsonl",
        data="".join(f"{commit}\n" for commit in commits).encode(),
    )
    ids: dict[str, set[str]] = {}

    def ids_of(blob: str) -> set[str]:
        if blob not in ids:
            data = porcelain.content(root, blob) if blob.strip("0") else None
            ids[blob] = ids_in(data or b"")
        return ids[blob]

    found: dict[str, set[str]] = {}
    commit = ""
    for line in lines:
        if line.startswith(":"):
            before, after = line.split(" ")[2:4]
            found.setdefault(commit, set()).update(ids_of(after) - ids_of(before))
        elif line:
            commit = line
    return {commit: sorted(brought) for commit, brought in found.items()}
