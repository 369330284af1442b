"""Random holdfast commands in a worktree of a random history: any verb of a session, the project or a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.testing.commands import COMMANDS, TEXTS, Choice, Step
from holdfast.workspace import upkeep

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing.git_histories.clones import History
    from holdfast.workspace.handle import Receipt
    from holdfast.workspace.project import Project
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


_SHORT = tuple(text for text in TEXTS if len(text) < 100)
_WORDS = (__doc__ or "").split()
_REPEATED = ("=" * 700, "again and " * 70, "ERROR: no answer from worker 7\n" * 22)
"""Texts that git's rename detection finds similar at any offset."""
_AGAIN = tuple(
    " ".join(f"{word}{number}" for number in range(start, start + 90) for word in ("so", "it", "is"))
    for start in (0, 200)
)
"""Texts without repetitions that every writer uses."""


def prose(history: History, length: int) -> str:
    """A long, natural text that is never repeated."""
    text = history.name("text ")
    while len(text) < length:
        text += f" {history.random.choice(_WORDS)}"
    return text


def in_session(history: History, session: Session) -> str | None:
    """One command of a session; its stream and the id of its commit, if it made one."""
    if history.random.random() < 0.5:
        return f"{session.stream} {_plain(history, session).commit}"
    receipt: Any
    long = (prose(history, 700), history.random.choice(_AGAIN), history.random.choice(_REPEATED))
    text = history.random.choice((*_SHORT, *long))
    step = Step(0, "", history.random.randrange(60), text)
    # Commands that need files are below, with real files.
    names = [name for name in COMMANDS if not name.startswith(("message", "reference"))]
    if history.random.random() < 0.3:
        receipt = history.random.choice(_KEPT)(history, session)
    else:
        receipt = COMMANDS[history.random.choice(names)](session, Choice(session, step))
    return None if receipt.repeated else f"{session.stream} {receipt.commit}"


def _plain(history: History, session: Session) -> Receipt:
    """The everyday verbs, which several clones use on the same values."""
    unsettled = list(session.peek().state["decisions"]["open"])
    kind = history.random.choice(("decide", "decide", "settle", "note", "goal", "phase", "record"))
    if kind == "settle" and unsettled:
        return session.settle(history.random.choice(unsettled), history.name("outcome "))
    if kind == "note":
        return session.note(history.name("note <<<<<<< "))
    if kind == "goal":
        return session.set_goal(history.name("goal "))
    if kind == "phase":
        return session.enter_phase(history.random.choice(("plan", "build", "test")))
    if kind == "record":
        return session.record("x.build", {"n": history.names})
    return session.decide(history.name("decision "), because="reasons", action="act")


_KEPT: tuple[Callable[[History, Session], Receipt], ...] = (
    lambda h, s: s.add_message("user", h.name("message ")),
    lambda h, s: s.add_message("assistant", prose(h, 15_000)),
    lambda h, s: s.summarize(h.name("summary "), keep=1),
    lambda h, s: s.set_budget(h.random.choice((1000, 200_000))),
    lambda h, s: s.spend(h.random.choice(("a.py", "b.py")), h.random.randrange(500)),
    lambda h, s: s.exclude("a.py"),
    lambda h, s: s.refer("code.txt"),
    lambda h, s: s.unrefer("code.txt"),
    lambda h, s: s.hand_off(h.name("handoff ")),
    lambda h, s: s.claim(),
)


def in_project(history: History, workspace: Workspace) -> str:
    """One command of the project or of the user; its stream and the id of its commit."""
    if history.random.random() < 0.1:
        chosen = workspace.me.prefer(history.random.choice(("tone", "tests")), history.name("value "))
        return f"{workspace.me.stream} {chosen.commit}"
    return f"{workspace.project.stream} {_project_commit(history, workspace.project)}"


def _project_commit(history: History, project: Project) -> str:
    state = project.peek().state
    items, orders = list(state["backlog"]["open"]), list(state["orders"]["open"])
    kind = history.random.choice(("item", "edit", "close", "order", "lift", "fact", "caught", "decide"))
    if kind == "edit" and items:
        return project.edit_item(history.random.choice(items), title=history.name("title ")).commit
    if kind == "close" and items:
        return project.close_item(history.random.choice(items)).commit
    if kind == "order":
        return project.order(history.name("order ")).commit
    if kind == "lift" and orders:
        return project.lift(history.random.choice(orders)).commit
    if kind == "fact":
        return project.add_fact(history.name("fact ")).commit
    if kind == "caught":
        return project.caught("gate", history.name("caught ")).commit
    if kind == "decide":
        return project.decide(history.name("decision "), because="all of us").commit
    return project.add_item(history.name("item ")).commit


def put_away(history: History, workspace: Workspace, session: Session) -> str | None:
    """Archive or restore a session; its stream and the id of the commit, if any."""
    name = f"{session.user}/{session.id}"
    if session.peek().state["archived"]:
        if history.random.random() < 0.5:
            # Another clone archived it, or a merge brought the joined segments: here the move is only completed.
            upkeep.archive(workspace, name)
            return None
        return f"{session.stream} {upkeep.restore(workspace, name).peek().head}"
    upkeep.archive(workspace, name)
    newest = session.stored_commits(newest_first=True)
    return f"{session.stream} {next(c.id for c in newest if c.events[0].type == 'session.archived')}"


def any_session(history: History, workspace: Workspace) -> Session | None:
    """A session of the worktree: usually one of the newest, sometimes an archived one."""
    if history.random.random() < 0.1 and (found := upkeep.archived(workspace)):
        return history.random.choice(found)
    names = workspace.sessions()
    return workspace.session(history.random.choice(names[:4])) if names else None


def all_streams(workspace: Workspace) -> list[str]:
    """Every stream of the worktree, including archived ones."""
    found = {session.stream for session in upkeep.archived(workspace)}
    return sorted({*found, *workspace.store.streams("")})
