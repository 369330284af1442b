"""One worktree of a random history: what git and holdfast do in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.workspace.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from holdfast.testing.git_histories.clones import History

VIEWS = ("STATE.md", "state.json")
_MADE = ("archived", "stream")
"""What may be in conflict until ``heal`` has settled or restored it, besides long messages, and views where they are
tracked; segments never are."""


def _is_made(name: str) -> bool:
    return name in _MADE or (name.startswith("message-") and name.endswith(".txt"))


class Broken(AssertionError):
    """A guarantee was violated."""


class Tree:
    """One worktree, and what was done in it."""

    def __init__(self, history: History, clone: str, path: str) -> None:
        self.history = history
        self.clone = clone
        self.path = path
        self._folder = ""
        self._kept: Workspace | None = None

    def git(self, *arguments: str, **environment: str) -> tuple[int, str]:
        return self.history.git(self.path, *arguments, **environment)

    def must(self, *arguments: str) -> str:
        status, output = self.git(*arguments)
        if status:
            raise Broken(f"git {' '.join(arguments)} in {self.path}: {output}")
        return output

    def open(self) -> Workspace:
        name = os.path.basename(self.path)
        state = os.path.join(self.path, ".state")
        self.history.replay.go_on()
        self.history.replay.settle(state)
        return open_workspace(state, user=os.path.basename(self.clone), by=name)

    def at_work(self) -> Workspace:
        """A workspace that stays open across git commands, as in a server."""
        if self._kept is None:
            self._kept = self.open()
        self.history.replay.go_on()
        self.history.replay.settle(os.path.join(self.path, ".state"))
        return self._kept

    def leave(self) -> None:
        """Close what stays open."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def save(self, message: str) -> None:
        """Commit everything, if there is anything."""
        self.must("add", "-A")
        self.git("commit", "-q", "-m", message)

    def unmerged(self) -> list[str]:
        plain = ("-c", "core.safecrlf=false")  # else git's warnings are among the names
        return sorted(set(self.must(*plain, "diff", "--name-only", "--diff-filter=U").split()))

    def settle(self, *go_on: str) -> None:
        """After a git command that may have stopped: only views may be in conflict; heal, then continue."""
        for _ in range(30):
            conflicts = self.unmerged()
            views = VIEWS if self.history.tracked_views else ()
            wrong = [
                path
                for path in conflicts
                if not _is_made(name := os.path.basename(path)) and name not in views
            ]
            if wrong:
                raise Broken(f"conflict in {wrong}")
            if conflicts:
                with self.open() as workspace:
                    workspace.heal()
                if left := self.unmerged():
                    raise Broken(f"heal left {left} in conflict")
            if not self.under_way():
                return
            status, output = self.git(*go_on)
            if status and not self.unmerged() and not self._given_up(go_on[0]):
                raise Broken(f"git {go_on} cannot go on: {output}")
        raise Broken("a git command never finishes")

    def _given_up(self, command: str) -> bool:
        """Skip a commit that became empty, or abort the command."""
        return not self.git(command, "--skip")[0] or not self.git(command, "--abort")[0]

    def under_way(self) -> bool:
        if not self._folder:
            self._folder = os.path.join(self.path, self.must("rev-parse", "--git-dir").strip())
        marks = ("MERGE_HEAD", "REVERT_HEAD", "CHERRY_PICK_HEAD", "rebase-merge", "rebase-apply")
        return any(os.path.exists(os.path.join(self._folder, mark)) for mark in marks)

    def branches(self) -> list[str]:
        return self.must("for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    def unmerged_refs(self) -> list[str]:
        """One ref of the hub per commit that is not in this branch yet."""
        form = "--format=%(objectname) %(refname)"
        found = self.must("for-each-ref", form, "--no-merged", "HEAD", "refs/remotes/origin").splitlines()
        refs = dict(line.split(" ") for line in found)
        return sorted(ref for ref in refs.values() if not ref.endswith("/HEAD"))

    def branch(self) -> str:
        return self.must("rev-parse", "--abbrev-ref", "HEAD").strip()

    def depth(self) -> int:
        return int(self.must("rev-list", "--first-parent", "--count", "HEAD"))
