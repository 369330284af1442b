"""Random histories over several clones and worktrees of one repository, with real git.

A history mixes holdfast commands with everything that people do to a worktree, then exchanges all branches and checks
the guarantees: no conflict in a segment, byte-identical views, equal states, every acknowledged commit present, all ids
unique. A history is a function of its seed: a failure names the seed, which replays the same steps, writers, ids and
times (``python -m holdfast.testing.git_histories.runs SEED``).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256

from holdfast.core import codec
from holdfast.errors import Forbidden, NotFound, Refused, Usage
from holdfast.store.files import segments
from holdfast.testing.git_histories.tree import VIEWS, Broken, Tree
from holdfast.testing.seeded import Replay
from holdfast.workspace.handle import Handle
from holdfast.workspace.session import Session
from holdfast.workspace.setup import init
from holdfast.workspace.workspace import Workspace

CONFIG = """\
[user]
name = Tester
email = tester@example.invalid
[init]
defaultBranch = main
[core]
fsync = none
editor = true
[gc]
auto = 0
reflogExpire = never
reflogExpireUnreachable = never
pruneExpire = never
[advice]
detachedHead = false
[protocol "file"]
allow = always
"""
STEPS = 60
_MAX_CLONES = 5
_MAX_TREES = 3
_NUMBERED = {
    "decision.made",
    "loop.added",
    "task.added",
    "risk.added",
    "backlog.added",
    "order.given",
    "fact.added",
    "blocker.added",
    "next.added",
    "plan.proposed",
    "handoff.made",
    "control.fired",
    "error.met",
    "legal.reviewed",
    "batch.created",
}
"""Every event that allocates a short id."""


class History:
    """One random history."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder = folder
        self.random: random.Random = random.Random(seed)
        self.acknowledged: dict[str, str] = {}
        self.done: list[str] = []
        self.reverted = False
        self.replay = Replay(seed)
        self.tracked_views = seed % 2 == 1
        self.trees: list[Tree] = []
        self.names = 0
        os.makedirs(folder, exist_ok=True)
        self._config = os.path.join(folder, "gitconfig")
        with open(self._config, "w") as file:
            file.write(CONFIG)
        self.hub = os.path.join(folder, "hub.git")
        self.git(folder, "init", "-q", "--bare", self.hub)
        with self.replay:
            self._first()

    def git(self, where: str, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run git; return its exit status and output."""
        self.replay.go_on()
        done = subprocess.run(
            ["git", *arguments],
            cwd=where,
            env={
                "PATH": os.environ["PATH"],
                "HOME": self.folder,
                "GIT_CONFIG_GLOBAL": self._config,
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_TERMINAL_PROMPT": "0",
                "LC_ALL": "C",
                **self.replay.dates(),
                **environment,
            },
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _first(self) -> None:
        path = os.path.join(self.folder, "c0")
        self.git(self.folder, "clone", "-q", self.hub, path)
        tree = Tree(self, path, path)
        self.trees.append(tree)
        init(path, given=True, track_views=self.tracked_views)
        with open(os.path.join(path, "code.txt"), "w") as file:
            file.write("code\n")
        self.command_start(tree)
        tree.save("begin")
        tree.must("push", "-q", "origin", "HEAD:main")

    def clones(self) -> list[Tree]:
        """The main worktree of every clone."""
        return [tree for tree in self.trees if tree.path == tree.clone]

    # -- holdfast commands --------------------------------------------------------------------------------

    def command(self, tree: Tree) -> None:
        """One or more holdfast commands in a worktree."""
        if self.random.random() < 0.3:
            workspace = tree.at_work()
            self._commands(tree, workspace)
            workspace.publish()
        else:
            with tree.open() as workspace:
                self._commands(tree, workspace)

    def _commands(self, tree: Tree, workspace: Workspace) -> None:
        from holdfast.testing.git_histories import commands

        session = commands.any_session(self, workspace)
        if session is None or self.random.random() < 0.08:
            session = workspace.start(self.name("goal "))
            self._note(f"{session.stream} {session.peek().head}", tree)
            return
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            drawn = self.random.random()
            made: str | None
            try:
                if drawn < 0.03:
                    made = commands.put_away(self, workspace, session)
                elif drawn < 0.15:
                    made = commands.in_project(self, workspace)
                else:
                    made = commands.in_session(self, session)
            except (Refused, NotFound, Usage, Forbidden):
                continue  # a rule refused: nothing was written or acknowledged
            if made is not None:
                self._note(made, tree)

    def command_start(self, tree: Tree) -> str:
        """Start a session; return its id."""
        with tree.open() as workspace:
            session = workspace.start(self.name("goal "))
            self._note(f"{session.stream} {session.peek().head}", tree)
            return session.id

    def command_note(self, tree: Tree, session_id: str) -> None:
        """Add a note to a session."""
        with tree.open() as workspace:
            session = workspace.session(session_id)
            self._note(f"{session.stream} {session.note(self.name('note ')).commit}", tree)

    def _note(self, commit: str, tree: Tree) -> None:
        """Record a commit by its stream and id: ids are unique within a stream."""
        if commit in self.acknowledged:
            raise Broken(f"commit {commit} was acknowledged twice")
        self.acknowledged[commit] = tree.path

    # -- the history --------------------------------------------------------------------------------------

    def run(self, steps: int = STEPS, chosen: tuple[str, ...] = ()) -> None:
        """Take random steps, or chosen ones in random worktrees, then exchange everything and check."""
        with self.replay:
            try:
                self._run(steps, chosen)
            finally:
                for tree in self.trees:
                    tree.leave()

    def _run(self, count: int, chosen: tuple[str, ...]) -> None:
        from holdfast.testing.git_histories import steps

        names = list(steps.STEPS)
        steps.another_clone(self, self.trees[0])
        weights = [steps.STEPS[name][0] for name in names]
        drawn = (self.random.choices(names, weights)[0] for _ in range(count))
        for name in chosen or drawn:
            tree = self.random.choice(self.trees)
            self.done.append(f"{os.path.basename(tree.path)}: {name}")
            step: Callable[[History, Tree], None] = steps.STEPS[name][1]
            step(self, tree)
        self.exchange()
        self.check()

    def exchange(self) -> None:
        """Every branch, stash and worktree of every clone reaches every worktree, in a random order."""
        for tree in list(self.trees):
            tree.leave()
            tree.save("last")
            while tree.path == tree.clone and tree.git("rev-parse", "-q", "--verify", "refs/stash")[0] == 0:
                self.pop(tree)
                tree.save("popped")
            with tree.open() as workspace:
                workspace.heal()
            tree.save("healed")
        for tree in reversed(self.trees):
            base = os.path.basename(tree.path)
            tree.must("branch", "-f", f"last-{base}", "HEAD")
            if tree.path == tree.clone:
                tree.must("push", "-q", "-f", "origin", f"refs/heads/*:refs/heads/{base}-*")
        self._merge_all(self.random.sample(self.trees, len(self.trees)))
        self._merge_all(self.trees)

    def _merge_all(self, order: list[Tree]) -> None:
        """The first one or two merge every branch independently; the others merge the results."""
        alone = self.random.choice((1, 2))
        for index, tree in enumerate(order):
            tree.must("fetch", "-q", "origin")
            refs = tree.unmerged_refs()
            if index >= alone:
                refs = [ref for ref in refs if "/all-" in ref]
            for ref in self.random.sample(refs, len(refs)):
                self.merge(tree, ref)
            if not refs:
                continue
            with tree.open() as workspace:
                workspace.heal()
            tree.save("healed")
            tree.must("push", "-q", "-f", "origin", f"HEAD:refs/heads/all-{os.path.basename(tree.path)}")

    def merge(self, tree: Tree, ref: str, *options: str) -> None:
        """Merge a branch, with git's current strategy or with the one before git 2.34."""
        strategy = self.random.choice(("ort", "ort", "recursive"))
        status, output = tree.git(
            "merge", "-q", "-s", strategy, "--no-edit", "--allow-unrelated-histories", *options, ref
        )
        if status and not tree.under_way():
            raise Broken(f"git merge {ref} in {tree.path}: {output}")
        if status:
            tree.settle("commit", "--no-edit", "-q")

    def pop(self, tree: Tree) -> None:
        """Pop a stash; what git refuses to restore over newer files stays in the stash commit, which is dropped."""
        status, output = tree.git("stash", "pop")
        if status:
            tree.settle("commit", "--no-edit", "-q")
            for line in output.splitlines():
                if ".jsonl" in line and "needs merge" not in line and "conflict" in line.lower():
                    raise Broken(f"stash pop: {output}")
            if tree.git("checkout", "-q", "stash@{0}", "--", ".state")[0] == 0:
                tree.git("checkout", "-q", "stash@{0}^3", "--", ".state")
            tree.git("stash", "drop")

    # -- guarantees ---------------------------------------------------------------------------------------

    def check(self) -> None:
        shown = [self._shown(tree) for tree in self.trees]
        for tree, other in zip(self.trees, shown, strict=True):
            for name in sorted(shown[0].keys() | other.keys()):
                if shown[0].get(name) != other.get(name):
                    raise Broken(f"{name} differs between {self.trees[0].path} and {tree.path}")
        present = set(json.loads(shown[0]["ids"]))
        missing = set(self.acknowledged) - present
        if missing and not (self.reverted and {key.rpartition("/")[2] for key in missing} <= self._in_git()):
            where = {self.acknowledged[commit] for commit in missing}
            raise Broken(
                f"{len(missing)} acknowledged commits are gone, made in {sorted(where)}: {sorted(missing)}"
            )

    def _shown(self, tree: Tree) -> dict[str, str]:
        """Views, states and ids of a worktree."""
        from holdfast.testing.git_histories import commands

        shown: dict[str, str] = {}
        found: list[str] = []
        with tree.open() as workspace:
            for stream in commands.all_streams(workspace):
                kind = Session if stream.startswith("sessions/") else Handle
                handle = kind(workspace, stream)
                ids = [commit.id for commit in handle.stored_commits()]
                if len(set(ids)) != len(ids) or len(ids) != handle.version:
                    raise Broken(f"{stream} in {tree.path} counts a commit twice")
                if faults := handle.peek().faults:
                    raise Broken(f"{stream} in {tree.path}: {faults[0]}")
                found += [f"{stream} {commit_id}" for commit_id in ids]
                shown[stream] = json.dumps(handle.state, sort_keys=True)
                self._check_short_ids(handle)
                if isinstance(handle, Session):
                    self._check_messages(handle)
                workspace.touch(handle)
            if serious := [fault for fault in workspace.publish() if not fault.harmless]:
                raise Broken(f"{tree.path}: {serious[0]}")
            for stream in workspace.store.streams("sessions/"):
                for view in VIEWS:
                    shown[f"{stream}/{view}"] = (workspace.store.get(f"{stream}/{view}") or b"").decode()
        shown["ids"] = json.dumps(sorted(found))
        return shown

    def _check_messages(self, session: Session) -> None:
        """The texts of long messages are files; a revert removes them with the commit that added them."""
        gone = [entry.path for entry in session.stale() if "/message-" in entry.path]
        if gone and not self.reverted:
            raise Broken(f"{session.stream} has lost {gone}")

    @staticmethod
    def _check_short_ids(handle: Handle) -> None:
        made = [e.data["id"] for c in handle.stored_commits() for e in c.events if e.type in _NUMBERED]
        if len(set(made)) != len(made):
            raise Broken(f"{handle.stream} gave a short id twice: {sorted(made)}")

    def _in_git(self) -> set[str]:
        """All commits in the history of the hub, including those that a revert removed from the tree.

        Each by the last part of its stream's name, which the folder of an archive also has, and by its id.
        """
        form = ("--raw", "--no-renames", "--no-abbrev", "--format=")
        _, output = self.git(self.hub, "log", "--all", "-m", *form, "--", "*.jsonl")
        found = set()
        for line in {line for line in output.splitlines() if line.startswith(":")}:
            blob, path = line.split(" ")[3], line.partition("\t")[2]
            if blob.strip("0"):
                data = subprocess.run(
                    ["git", "cat-file", "blob", blob], cwd=self.hub, capture_output=True, check=True
                )
                stream = path.split("/")[-2]
                found |= {f"{stream} {codec.id_of(line)}" for line in segments.whole_lines(data.stdout)}
        return found

    def outcome(self) -> dict[str, list[str]]:
        """The result that a second run of the seed must reproduce: state, files and git commits of every worktree."""
        with self.replay:
            shown = [json.dumps(self._shown(tree), sort_keys=True) for tree in self.trees]
        files = [
            os.path.relpath(os.path.join(folder, name), self.folder)
            for tree in self.trees
            for folder, _, names in os.walk(os.path.join(tree.path, ".state"))
            for name in names
            if f"{os.sep}local" not in folder[len(tree.path) :]
        ]
        return {
            "steps": self.done,
            "states": [sha256(text.encode()).hexdigest() for text in shown],
            "files": sorted(files),
            "heads": [tree.must("rev-parse", "HEAD").strip() for tree in self.trees],
        }

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
