"""Plain git, as a new user has it, never stops at a view or a page: two clones, no driver, no configuration but a name.

Every operation is tried with views out of git, as they are by default, and with views in git.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.git.integration import track_views
from holdfast.views import seal
from holdfast.workspace import upkeep
from holdfast.workspace.setup import init

VIEWS = ("STATE.md", "state.json")


class Clones:
    """A hub and two clones of it, with one session that both continue."""

    def __init__(self, folder: Path, git: Callable[..., str], enter: Callable[[Path], None]) -> None:
        self.folder, self.git, self.enter = folder, git, enter
        self.hub, self.one, self.two = (folder / name for name in ("hub.git", "one", "two"))
        self.session = ""

    def begin(self, *, tracked: bool) -> None:
        """Create the hub and both clones."""
        self.git("init", "-q", "--bare", str(self.hub), cwd=self.folder)
        self.git("clone", "-q", str(self.hub), str(self.one), cwd=self.folder)
        self.enter(self.one)
        root, _ = init(str(self.one))
        if tracked:
            assert track_views(root)
        with holdfast.open() as workspace:
            self.session = workspace.start("Ship the parser").id
        self.save("begin")
        self.git("push", "-q", "origin", "main")
        self.git("clone", "-q", str(self.hub), str(self.two), cwd=self.folder)

    def run(self, place: Path, *commands: list[str], message: str = "") -> None:
        """Run commands in a clone, in the session, and commit what they changed."""
        self.enter(place)
        assert main(["switch", self.session]) == 0
        for command in commands:
            assert main(command) == 0
        if message:
            self.save(message)

    def save(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def check(self, place: Path, *texts: str) -> None:
        """Nothing conflicts; after the next command views are sealed and show what both clones did."""
        self.enter(place)
        assert self.git("diff", "--name-only", "--diff-filter=U") == ""
        assert main(["status", "--session", self.session]) == 0
        with holdfast.open() as workspace:
            session = workspace.session(self.session)
            for name in VIEWS:
                found = workspace.store.get(f"{session.stream}/{name}")
                assert found is not None
                assert seal.condition(found) == "intact"
                assert b"<<<<<<<" not in found
                assert [text for text in texts if text.encode() not in found] == []
            assert [fault for fault in workspace.doctor() if not fault.harmless] == []


@pytest.fixture(params=["local", "git"])
def clones(tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Clones:
    """Two clones, once with views out of git and once with views in it."""
    made = Clones(tmp_path, git, monkeypatch.chdir)
    made.begin(tracked=request.param == "git")
    return made


def decide(text: str) -> list[str]:
    return ["decide", text, "--because", "it was tried", "--action", "do it"]


def diverge(clones: Clones) -> None:
    """Both clones decide something; the first one pushes."""
    clones.run(clones.one, decide("Take the red one"), message="red")
    clones.git("push", "-q", "origin", "main")
    clones.run(clones.two, decide("Take the blue one"), message="blue")
    clones.git("fetch", "-q")


BOTH = ("Take the red one", "Take the blue one")


def test_a_merge(clones: Clones) -> None:
    """Both clones decide; the merge succeeds."""
    diverge(clones)
    clones.git("merge", "--no-edit", "origin/main")
    clones.check(clones.two, *BOTH)


def test_a_pull(clones: Clones) -> None:
    """Both clones decide; a pull that merges succeeds."""
    diverge(clones)
    clones.git("pull", "--no-rebase", "--no-edit")
    clones.check(clones.two, *BOTH)


def test_a_pull_that_rebases(clones: Clones) -> None:
    """Both clones decide several times; a pull that rebases succeeds."""
    diverge(clones)
    clones.run(clones.two, decide("And a green one"), message="green")
    clones.git("pull", "--rebase")
    clones.check(clones.two, *BOTH, "And a green one")


@pytest.mark.parametrize("strategy", ["ort", "recursive"])
def test_every_strategy(clones: Clones, strategy: str) -> None:
    """Today's merge strategies and those before git 2.34 succeed."""
    diverge(clones)
    clones.git("merge", "--no-edit", "-s", strategy, "origin/main")
    clones.check(clones.two, *BOTH)


def test_a_squash_merge_repeated(clones: Clones) -> None:
    """A branch is squashed twice, with work on both sides in between."""
    clones.enter(clones.one)
    clones.git("checkout", "-q", "-b", "feature")
    for number in ("first", "second"):
        clones.git("checkout", "-q", "feature")
        clones.run(clones.one, decide(f"The {number} on a branch"), message=number)
        clones.git("checkout", "-q", "main")
        clones.run(clones.one, decide(f"The {number} on main"), message=f"{number} on main")
        clones.git("merge", "-q", "--squash", "feature")
        clones.git("commit", "-q", "-m", "squashed")
    clones.check(clones.one, "The first on a branch", "The second on a branch", "The second on main")


def test_a_cherry_pick(clones: Clones) -> None:
    """One commit of the other clone is picked."""
    clones.run(clones.one, decide("Not this one"), message="not this")
    clones.run(clones.one, decide("Take the red one"), message="red")
    clones.git("push", "-q", "origin", "main")
    clones.run(clones.two, decide("Take the blue one"), message="blue")
    clones.git("fetch", "-q")
    clones.git("cherry-pick", "origin/main")
    clones.check(clones.two, *BOTH)


def test_a_revert(clones: Clones) -> None:
    """An older commit is reverted, although views have changed since."""
    clones.run(clones.one, decide("Take the red one"), message="red")
    clones.run(clones.one, decide("Take the blue one"), message="blue")
    clones.git("revert", "--no-edit", "HEAD~1")
    clones.check(clones.one, "Take the blue one")


@pytest.mark.parametrize("untracked", [[], ["-u"]])
def test_a_stash_that_is_popped_after_other_work(clones: Clones, untracked: list[str]) -> None:
    """Work is stashed, other work is committed, and the stash is popped."""
    clones.run(clones.one, decide("Take the red one"))
    (clones.one / "code.txt").write_text("code\n")
    clones.git("add", "code.txt")
    clones.git("stash", "push", "-q", *untracked)
    clones.run(clones.one, decide("Take the blue one"), message="blue")
    clones.git("stash", "pop", "-q")
    clones.check(clones.one, *BOTH)


def test_both_sides_begin_sessions(clones: Clones) -> None:
    """Each side starts its own session, and both continue the first one."""
    for place, text in ((clones.one, BOTH[0]), (clones.two, BOTH[1])):
        clones.run(place, decide(text), ["start", f"on its own: {text}"], message=text)
    clones.enter(clones.one)
    clones.git("push", "-q", "origin", "main")
    clones.enter(clones.two)
    clones.git("pull", "--no-rebase", "--no-edit")
    clones.check(clones.two, *BOTH)


def test_both_sides_add_the_same_views(clones: Clones) -> None:
    """The views of one session are new on both sides: there is no common base."""
    clones.enter(clones.one)
    with holdfast.open() as workspace:
        clones.session = workspace.start("New on both sides").id
    clones.git("add", "--", ":(glob).state/events/**")
    clones.git("commit", "-q", "-m", "segments only")
    clones.git("push", "-q", "origin", "main")
    clones.run(clones.one, decide("Take the red one"), message="red")
    clones.enter(clones.two)
    clones.git("pull", "-q")
    clones.run(clones.two, decide("Take the blue one"), message="blue")
    clones.enter(clones.one)
    clones.git("push", "-q", "origin", "main")
    clones.enter(clones.two)
    clones.git("pull", "--no-rebase", "--no-edit")
    clones.check(clones.two, *BOTH)


def test_one_side_archives(clones: Clones) -> None:
    """One side archives the session, the other continues it: the merge succeeds, and both are present."""
    clones.enter(clones.one)
    with holdfast.open() as workspace:
        upkeep.archive(workspace, clones.session)
    clones.save("archived")
    clones.git("push", "-q", "origin", "main")
    clones.run(clones.two, decide("Take the blue one"), message="blue")
    clones.git("pull", "--no-rebase", "--no-edit")
    assert clones.git("diff", "--name-only", "--diff-filter=U") == ""
    with holdfast.open() as workspace:
        state = workspace.session(clones.session).state
        assert [entry["text"] for entry in state["decisions"]["open"].values()] == ["Take the blue one"]
        assert [fault for fault in workspace.doctor(fix=True) if not fault.harmless] == []


def test_many_merges_without_a_command_between(clones: Clones) -> None:
    """Merges over merges: no command ran that could have regenerated the views."""
    clones.enter(clones.one)
    for branch in ("a", "b", "c", "d"):
        clones.git("checkout", "-q", "-b", branch, "main")
        clones.run(clones.one, decide(f"Decided on {branch}"), message=branch)
    for branch in ("a", "b", "c"):
        clones.git("merge", "--no-edit", branch)
    clones.check(clones.one, *(f"Decided on {branch}" for branch in "abcd"))


def test_contested_values(clones: Clones) -> None:
    """Both sides set the goal: the merge succeeds, and views show both values."""
    clones.run(clones.one, ["goal", "set", "the red goal"], message="red")
    clones.git("push", "-q", "origin", "main")
    clones.run(clones.two, ["goal", "set", "the blue goal"], message="blue")
    clones.git("pull", "--no-rebase", "--no-edit")
    clones.check(clones.two, "the red goal", "the blue goal")


def test_pages_of_both_sides(clones: Clones) -> None:
    """Both sides pause and hand off: the merge succeeds, and pages are complete after the next command."""
    commands = (["pause", "for lunch"], ["handoff", "over to you"])
    clones.run(clones.one, decide(BOTH[0]), *commands, message="red")
    clones.git("push", "-q", "origin", "main")
    clones.run(clones.two, decide(BOTH[1]), *commands, message="blue")
    clones.git("pull", "--no-rebase", "--no-edit")
    clones.check(clones.two, *BOTH)
    for page in ("handoff/latest.md", ".continue-here.md"):
        assert seal.condition((clones.two / page).read_bytes()) == "intact"


def test_a_clone_whose_git_converts_line_endings(clones: Clones) -> None:
    """A clone that has CRLF in its working tree merges too, and its views do not count as edited."""
    diverge(clones)
    clones.git("push", "-q", "origin", "HEAD:refs/heads/blue")
    shutil.rmtree(clones.two)
    clones.git("clone", "-q", "-c", "core.autocrlf=true", str(clones.hub), str(clones.two), cwd=clones.folder)
    clones.enter(clones.two)
    clones.git("merge", "--no-edit", "origin/blue")
    clones.check(clones.two, *BOTH)


def test_a_merge_over_work_that_no_git_commit_has(tmp_path: Path, git, monkeypatch) -> None:
    """Commands ran since the last git commit: by default a pull succeeds anyway."""
    clones = Clones(tmp_path, git, monkeypatch.chdir)
    clones.begin(tracked=False)
    diverge(clones)
    clones.run(clones.two, decide("And a green one"))
    clones.git("pull", "--no-rebase", "--no-edit")
    clones.check(clones.two, *BOTH, "And a green one")


def test_an_octopus_merge(tmp_path: Path, git, monkeypatch) -> None:
    """By default even an octopus merge succeeds, which refuses any file that needs a content merge."""
    clones = Clones(tmp_path, git, monkeypatch.chdir)
    clones.begin(tracked=False)
    clones.enter(clones.one)
    for branch in ("a", "b", "c"):
        clones.git("checkout", "-q", "-b", branch, "main")
        clones.run(clones.one, decide(f"Decided on {branch}"), message=branch)
    clones.git("merge", "--no-edit", "a", "b")
    clones.check(clones.one, *(f"Decided on {branch}" for branch in "abc"))


def test_a_strategy_that_ignores_attributes(tmp_path: Path, git, monkeypatch) -> None:
    """By default merges succeed that ignore attributes."""
    clones = Clones(tmp_path, git, monkeypatch.chdir)
    clones.begin(tracked=False)
    diverge(clones)
    clones.git("merge", "--no-edit", "-s", "resolve", "origin/main")
    clones.check(clones.two, *BOTH)
