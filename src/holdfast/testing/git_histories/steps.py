"""The steps of a random history: what people and programs do to a repository."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing.git_histories.clones import History
    from holdfast.testing.git_histories.tree import Tree

_SWAP = "sed -i -e '1{h;d}' -e '2{G}'"
"""A sequence editor for git rebase -i that swaps the first two commits."""


def _commit(history: History, tree: Tree) -> None:
    tree.save(history.name("commit "))


def _commit_in_part(history: History, tree: Tree) -> None:
    """Stage, write more, and commit only what was staged."""
    history.command(tree)
    tree.must("add", "-A")
    history.command(tree)
    tree.git("commit", "-q", "-m", history.name("in part "))


def _amend(history: History, tree: Tree) -> None:
    history.command(tree)
    tree.must("add", "-A")
    tree.git("commit", "-q", "--amend", "-m", history.name("amended "))


def _new_branch(history: History, tree: Tree) -> None:
    tree.git("checkout", "-q", "-b", history.name("b"))


def _checkout(history: History, tree: Tree) -> None:
    if history.random.random() < 0.7:
        tree.save("before checkout")
    tree.git("checkout", "-q", history.random.choice(tree.branches()))


def _checkout_detached(history: History, tree: Tree) -> None:
    tree.save("before detaching")
    tree.git("checkout", "-q", "--detach", f"HEAD~{history.random.randrange(2)}")
    history.command(tree)
    tree.save("detached")
    tree.must("checkout", "-q", "-b", history.name("b"))


def _other(history: History, tree: Tree) -> str | None:
    others = [branch for branch in tree.branches() if branch != tree.branch()]
    return history.random.choice(others) if others else None


def _merge(history: History, tree: Tree) -> None:
    tree.save("before merge")
    if other := _other(history, tree):
        history.merge(tree, other, *history.random.choice(((), ("--no-ff",))))


def _octopus(history: History, tree: Tree) -> None:
    """Octopus merges abort on any conflict, even in views: then nothing may have changed."""
    tree.save("before octopus")
    others = [branch for branch in tree.branches() if branch != tree.branch()][:3]
    if len(others) > 1 and tree.git("merge", "-q", "--no-edit", *others)[0]:
        tree.must("reset", "-q", "--hard", "HEAD")


def _squash(history: History, tree: Tree) -> None:
    """Squash the same branch twice, with work in between."""
    tree.save("before squash")
    other = _other(history, tree)
    if other is None:
        return
    for _ in range(2):
        tree.git("merge", "-q", "--squash", other)
        tree.settle("commit", "--no-edit", "-q")
        tree.save(history.name("squashed "))
        history.command(tree)
        tree.save(history.name("after squash "))


def _cherry_pick(history: History, tree: Tree) -> None:
    tree.save("before cherry-pick")
    other = _other(history, tree)
    if other is None:
        return
    commits = tree.must("rev-list", "--no-merges", "-n", "6", other).split()
    if commits:
        tree.git("cherry-pick", history.random.choice(commits))
        tree.settle("cherry-pick", "--continue")


def _revert(history: History, tree: Tree) -> None:
    tree.save("before revert")
    if tree.depth() < 3:
        return
    history.reverted = True
    commits = tree.must("rev-list", "--no-merges", "-n", "4", "HEAD").split()
    target = history.random.choice(commits)
    if tree.must("rev-list", "-n", "1", "--parents", target).split()[1:]:
        tree.git("revert", "--no-edit", target)
        tree.settle("revert", "--continue")


def _restart_session(history: History, tree: Tree) -> None:
    """Start a session and continue it on a branch; undo the start on the original branch and start a similar one."""
    tree.save("before a session")
    session_id = history.command_start(tree)
    tree.save(history.name("session "))
    branch = history.name("b")
    tree.must("branch", branch)
    history.reverted = True
    tree.must("revert", "--no-edit", "HEAD")
    history.command_start(tree)
    tree.save(history.name("another session "))
    tree.must("checkout", "-q", branch)
    history.command_note(tree, session_id)
    tree.save(history.name("more "))


def _rebase(history: History, tree: Tree) -> None:
    tree.save("before rebase")
    if other := _other(history, tree):
        tree.git("rebase", "-q", other)
        tree.settle("rebase", "--continue")


def _reorder(history: History, tree: Tree) -> None:
    for _ in range(2):
        history.command(tree)
        tree.save(history.name("to reorder "))
    if tree.depth() > 3:
        tree.git("rebase", "-q", "-i", "HEAD~2", GIT_SEQUENCE_EDITOR=_SWAP)
        tree.settle("rebase", "--continue")


def _reset_hard(history: History, tree: Tree) -> None:
    if history.random.random() < 0.5:
        tree.must("add", "-A")
    back = min(history.random.randrange(3), tree.depth() - 2)
    tree.must("reset", "-q", "--hard", f"HEAD~{max(0, back)}")


def _reset_kept(history: History, tree: Tree) -> None:
    """Commit, put a branch on the commit, and undo it with the files left in place."""
    history.command(tree)
    tree.save(history.name("to take back "))
    tree.git("branch", history.name("b"))
    if tree.depth() > 2:
        tree.must("reset", "-q", history.random.choice(("--soft", "--mixed")), "HEAD~1")
    history.command(tree)


def _stash(history: History, tree: Tree) -> None:
    history.command(tree)
    if history.random.random() < 0.5:
        tree.must("add", "-A")
    tree.git("stash", "push", "-q", *history.random.choice(((), ("-u",), ("--keep-index",))))


def _stash_back(history: History, tree: Tree) -> None:
    if tree.git("rev-parse", "-q", "--verify", "refs/stash")[0]:
        return
    way = history.random.choice(("pop", "pop", "apply", "drop"))
    tree.save("before the stash")
    if way == "pop":
        history.pop(tree)
    elif way == "apply":
        tree.git("stash", "apply", "-q")
        tree.settle("commit", "--no-edit", "-q")
    else:
        tree.git("stash", "drop", "-q")


def _clean(history: History, tree: Tree) -> None:
    tree.git("clean", "-q", "-fd", *history.random.choice(((), ("-x",))))


def _exchange(history: History, tree: Tree) -> None:
    """Push this branch and merge what others pushed."""
    tree.save("before exchange")
    tree.must("fetch", "-q", "origin")
    refs = tree.unmerged_refs()
    for ref in history.random.sample(refs, min(2, len(refs))):
        history.merge(tree, ref)
    name = f"{os.path.basename(tree.path)}-{tree.branch()}"
    tree.must("push", "-q", "-f", "origin", f"HEAD:refs/heads/{name}")


def another_clone(history: History, tree: Tree) -> None:
    """A clone of the hub, full or shallow, with or without conversion of line endings."""
    del tree
    if len(history.clones()) >= 5:
        return
    path = os.path.join(history.folder, history.name("c"))
    shallow = history.random.choice(((), ("--depth", "1", "--no-single-branch")))
    crlf = history.random.choice(("false", "true"))
    source = f"file://{history.hub}"
    status, output = history.git(
        history.folder, "clone", "-q", "-b", "main", "-c", f"core.autocrlf={crlf}", *shallow, source, path
    )
    assert not status, output
    history.trees.append(_tree(history, path, path))


def _copy(history: History, tree: Tree) -> None:
    """A clone copied with cp -r: a second place with the same writer identity."""
    trees = [other for other in history.trees if other.clone == tree.clone]
    if len(history.clones()) >= 5 or len(trees) > 1:
        return
    path = os.path.join(history.folder, history.name("c"))
    shutil.copytree(tree.clone, path, symlinks=True)
    history.trees.append(_tree(history, path, path))
    # Only holdfast detects the copy: what git commits before the first holdfast command stays unchanged.
    history.command(history.trees[-1])


def _restore_backup(history: History, tree: Tree) -> None:
    """Back up the workspace, continue, and restore the backup."""
    tree.leave()
    state = os.path.join(tree.path, ".state")
    backup = os.path.join(history.folder, history.name("backup"))
    shutil.copytree(state, backup, symlinks=True)
    for _ in range(history.random.randrange(3)):
        history.command(tree)
    shutil.rmtree(state)
    shutil.copytree(backup, state, symlinks=True)
    history.command(tree)


def _add_worktree(history: History, tree: Tree) -> None:
    if sum(other.clone == tree.clone for other in history.trees) >= 3:
        return
    path = os.path.join(history.folder, history.name("w"))
    tree.must("worktree", "add", "-q", "-b", history.name("b"), path)
    history.trees.append(_tree(history, tree.clone, path))


def _remove_worktree(history: History, tree: Tree) -> None:
    """Remove a worktree with uncommitted work."""
    if tree.path == tree.clone:
        return
    tree.leave()
    tree.must("worktree", "remove", "--force", tree.path)
    history.trees.remove(tree)


def _pack(history: History, tree: Tree) -> None:
    tree.git(*history.random.choice((("pack-refs", "--all"), ("gc", "-q"), ("status",))))


def _command_line(history: History, tree: Tree) -> None:
    """A command as a person types it."""
    import json
    import subprocess
    import sys

    session = ""
    for command in (["start", history.name("goal ")], ["decide", "by hand", "--because", "it was typed"]):
        history.replay.go_on()
        done = subprocess.run(
            [sys.executable, "-c", history.replay.command_line(), *command, "--json"],
            cwd=tree.path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": history.folder,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HOLDFAST_USER": os.path.basename(tree.clone),
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        answer = json.loads(done.stdout)
        assert answer["ok"], answer
        session = answer.get("session") or session
    stream = f"sessions/{os.path.basename(tree.clone)}/{session}"
    history.acknowledged[f"{stream} {answer['commit']}"] = tree.path


def _repair(history: History, tree: Tree) -> None:
    """Check and repair the workspace, whatever git operation is in progress."""
    history.replay.go_on()
    with tree.open() as workspace:
        faults = workspace.doctor(fix=True) if history.random.random() < 0.5 else workspace.heal()
    if serious := [fault for fault in faults if not fault.harmless]:
        raise AssertionError(f"{tree.path} is damaged: {serious[0]}")


def _tree(history: History, clone: str, path: str) -> Tree:
    from holdfast.testing.git_histories.tree import Tree

    return Tree(history, clone, path)


def _command(history: History, tree: Tree) -> None:
    history.command(tree)


STEPS: dict[str, tuple[int, Callable[[History, Tree], None]]] = {
    "command": (40, _command),
    "command line": (1, _command_line),
    "commit": (12, _commit),
    "commit in part": (3, _commit_in_part),
    "amend": (3, _amend),
    "new branch": (4, _new_branch),
    "checkout": (6, _checkout),
    "detached": (1, _checkout_detached),
    "merge": (4, _merge),
    "octopus": (1, _octopus),
    "squash twice": (1, _squash),
    "cherry-pick": (3, _cherry_pick),
    "revert": (1, _revert),
    "restart session": (1, _restart_session),
    "rebase": (2, _rebase),
    "reorder": (1, _reorder),
    "reset --hard": (3, _reset_hard),
    "reset, files kept": (2, _reset_kept),
    "stash": (3, _stash),
    "stash back": (3, _stash_back),
    "clean": (1, _clean),
    "exchange": (6, _exchange),
    "clone": (2, another_clone),
    "copy": (1, _copy),
    "restored backup": (1, _restore_backup),
    "add worktree": (2, _add_worktree),
    "remove worktree": (1, _remove_worktree),
    "pack": (1, _pack),
    "repair": (2, _repair),
}
"""Every step with its weight."""
