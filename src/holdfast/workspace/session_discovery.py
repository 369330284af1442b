"""Sessions in every worktree and branch of the repository, and those whose worktree is gone."""

from __future__ import annotations

import os

from holdfast.core.ids import is_session_id
from holdfast.core.stream import last_part, owner
from holdfast.git import porcelain
from holdfast.store.protocol import git_backed
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def all_sessions(workspace: Workspace) -> list[dict[str, Any]]:
    """Every session, newest first, with its locations: ``here``, worktrees, branches, ``kept``."""
    found: dict[str, list[str]] = {}

    def add(stream: str, place: str) -> None:
        places = found.setdefault(stream, [])
        if place not in places:
            places.append(place)

    for name in workspace.sessions():
        add(f"sessions/{name}", "here")
    store = git_backed(workspace.store)
    if store is not None and store.in_git:
        inside = os.path.relpath(store.root, _top(store.root))
        for tree in porcelain.worktrees(store.root):
            root = os.path.join(tree.path, inside)
            if os.path.realpath(root) != os.path.realpath(store.root):
                for stream in store.sessions_in(root):
                    add(stream, f"worktree {tree.path}")
        for ref in _branches(store.root):
            for stream in _in_ref(store.root, ref):
                add(stream, ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"))
        for stream in store.pinned_sessions(set(found)):
            add(stream, "kept")
    return [
        {"session": last_part(stream), "user": owner(stream), "places": found[stream]}
        for stream in sorted(found, key=last_part, reverse=True)
    ]


def _branches(root: str) -> list[str]:
    """All branches, including those of remotes; a remote's HEAD is only another name for one of them."""
    named = porcelain.lines(
        root, "for-each-ref", "--format=%(refname) %(symref)", "refs/heads", "refs/remotes"
    )
    return [line.strip() for line in named if len(line.split()) == 1]


def _top(root: str) -> str:
    said = porcelain.lines(root, "rev-parse", "--show-toplevel")
    return said[0] if said else os.path.dirname(root)


def _in_ref(root: str, ref: str) -> list[str]:
    """The sessions in the tree of a ref, without checking it out."""
    found = set()
    for line in porcelain.lines(root, "ls-tree", "-r", "-d", "--name-only", ref, "--", "events/sessions/"):
        parts = line.split("/")
        if "sessions" in parts:
            rest = parts[parts.index("sessions") :]
            if len(rest) >= 3 and is_session_id(rest[2]):
                found.add("/".join(rest[:3]))
    return sorted(found)
