"""Writing views: regenerated from the state, never over a person's edit, never over commits that the log has lost."""

from __future__ import annotations

import os
from importlib import import_module

from holdfast.core import codec, fold, ids
from holdfast.core.stream import flat
from holdfast.fs import durable, posix
from holdfast.store.protocol import Fault, git_backed
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import seal
from holdfast.workspace.discovery import HANDOFF

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.snapshot import WorkingSet
    from holdfast.workspace.workspace import Workspace

VIEWS = {"state.json": "state_json", "STATE.md": "state_md", "DECISIONS.md": "decisions_md"}
"""The views of a session and their modules, loaded on first use."""
_FRESH_MS = 1000


FREE, MARKED, MERGED, EDITED, LOST = "free", "marked", "merged", "edited", "lost"
"""Why a view does not show the state: it may be regenerated (stale, empty, garbage, truncated), is in conflict, was
merged by git from two versions, was edited by a person, or is the last one to show a commit."""


def render(name: str, state: dict[str, Any]) -> bytes:
    """The bytes of a view."""
    text: str = import_module(f"holdfast.views.{VIEWS[name]}").render(state)
    return text.encode()


def is_fresh(session: Session, now: int) -> bool:
    """Whether the views show the session as it was less than a second ago: several processes that write to it need not
    all write its views."""
    present = session.workspace.store.get(f"{session.stream}/state.json")
    try:
        shown = seal.head(present or b"")
    except UnicodeDecodeError:
        return False
    return bool(shown) and abs(now - ids.milliseconds(shown)) < _FRESH_MS


def publish(session: Session) -> list[Fault]:
    """Update a session's views; what a person edited or the log has lost is left alone and reported."""
    found = []
    working_set = session.peek()
    for name in VIEWS:
        present = session.workspace.store.get(f"{session.stream}/{name}")
        if seal.is_current(present, working_set.commits) or (
            present is None and not _wanted(name, working_set)
        ):
            continue
        found += _replace(session, name, present, fix=False)
    working_set.verified = working_set.head
    return found


def _wanted(name: str, working_set: WorkingSet) -> bool:
    """Whether there is anything that a view shows: a session without decisions has no page of them."""
    return name != "DECISIONS.md" or bool(working_set.shown["decisions"]["made"])


def check(workspace: Workspace, *, fix: bool, quick: bool = False) -> list[Fault]:
    """Views that do not show the state; with ``fix`` they are regenerated. ``quick``: an intact seal is trusted."""
    from holdfast.store import forked

    def look(streams: list[str]) -> list[Fault]:
        return [fault for stream in streams for fault in _check(workspace, stream, fix=fix, quick=quick)]

    streams = workspace.store.streams("sessions/")
    return forked.over_streams("Comparing the pages of", streams, look, writes=fix)


def _check(workspace: Workspace, stream: str, *, fix: bool, quick: bool) -> list[Fault]:
    found = []
    session = workspace.session("/".join(stream.split("/")[1:]))
    state = session.peek().state
    for name in VIEWS:
        present = workspace.store.get(f"{stream}/{name}")
        found += _check_saved(session, name, fix=fix)
        if present is None or (quick and seal.is_current(present, state)) or _shows(present, name, state):
            continue
        if fix:
            found += _replace(session, name, present, fix=True) or [_stale(session, name, fixed=True)]
        else:
            verdict, detail = verdict_on(session, name, present)
            found += _fault(session, name, verdict, detail) or [_stale(session, name, fixed=False)]
    return found


def _replace(session: Session, name: str, present: bytes | None, *, fix: bool) -> list[Fault]:
    """Regenerate a view if nothing is lost by that; returns what to report. With ``fix``, a view that shows a lost
    commit is saved first; one that git merged always is, since a person can have edited one side."""
    store, verdict, detail = session.workspace.store, FREE, ""
    if present is not None:
        verdict, detail = verdict_on(session, name, present)
    if verdict == EDITED or (verdict == LOST and not fix):
        return _fault(session, name, verdict, detail)
    saved = ""
    if verdict in (LOST, MERGED):
        saved = saved_as(session.stream, name, verdict)
        store.put(saved, present)
    # A clone that never saw a decision has no page of decisions; one whose decisions git took away has none either.
    working_set = session.peek()
    text = render(name, working_set.state) if _wanted(name, working_set) else None
    store.put(f"{session.stream}/{name}", text)
    return _fault(session, name, verdict, detail, fixed=True, saved=saved)


def verdict_on(session: Session, name: str, found: bytes) -> tuple[str, str]:
    """Why a view does not show the state, and the line or the commit that shows it."""
    condition = seal.condition(found)
    if condition == "intact":
        lost = lost_commit(session, found)
        return (LOST, lost) if lost else (FREE, "")
    if condition == "broken":
        line = seal.marker_line(found)
        return (MARKED, str(line)) if line else (FREE, "")
    if condition == "merged":
        return MERGED, ""
    if _is_truncated(session, name, found):
        return FREE, ""
    return (MERGED if _is_joined(session, name, found) else EDITED), ""


def _is_joined(session: Session, name: str, found: bytes) -> bool:
    """Whether every line is one of a version that git has: a merge without a conflict joins two versions under the
    seal of one. A person adds a line that none has."""
    store = git_backed(session.workspace.store)
    if store is None or not store.in_git:
        return False
    from holdfast.git import porcelain

    lines = set(found.splitlines())
    for version in porcelain.versions(store.root, f"{session.stream}/{name}"):
        lines -= set((porcelain.content(store.root, version.blob) or b"").splitlines())
        if not lines:
            return True
    return False


def _fault(
    session: Session, name: str, verdict: str, detail: str, *, fixed: bool = False, saved: str = ""
) -> list[Fault]:
    """The fault for a view; none for one that is only stale, empty or truncated."""
    if verdict == FREE:
        return []
    from holdfast.store import faults

    where, harmless = f"{session.stream}/{name}", verdict in (MARKED, MERGED)
    data: dict[str, Any] = {"saved_as": saved} if saved else {}
    if verdict == MARKED:
        kind, where, data = faults.CONFLICT_MARKERS, f"{where}:{detail}", {"owned": True}
    elif verdict == LOST:
        kind, data = faults.VIEW_AHEAD, {"commit": detail, **data}
    else:
        kind = faults.MERGED_VIEW if verdict == MERGED else faults.EDITED_VIEW
    done = faults.REGENERATED if fixed else ""
    return [Fault(kind, session.stream, where, data, done=done, harmless=harmless)]


def _stale(session: Session, name: str, *, fixed: bool) -> Fault:
    from holdfast.store.faults import REGENERATED, STALE_VIEW

    done = REGENERATED if fixed else ""
    return Fault(STALE_VIEW, session.stream, f"{session.stream}/{name}", {}, done=done, harmless=True)


def _shows(found: bytes, name: str, state: dict[str, Any]) -> bool:
    """Whether a view has the bytes of the state; git may have converted its line endings."""
    return found.replace(b"\r\n", b"\n") == render(name, state)


# -- what the log has lost --------------------------------------------------------------------------------


def lost_commit(session: Session, present: bytes) -> str:
    """The commit that an intact view shows as its latest and that no longer exists anywhere; empty if there is none.

    A checkout, a stash or a reset removes commits from the log that git or a pin still has: they are not lost.
    """
    shown = seal.head(present)
    if not shown or _has(session, shown):
        return ""
    store = git_backed(session.workspace.store)
    return "" if store is not None and store.has_elsewhere(session.stream, shown) else shown


def _has(session: Session, commit_id: str) -> bool:
    """Whether the stream has a commit. Usually it is the last command's."""
    working_set = session.peek()
    if commit_id in (working_set.head, working_set.verified):
        return True
    for line in session.workspace.store.read(session.stream, working_set.cursor, newest_first=True).lines:
        found = codec.id_of(line)
        if found <= commit_id:
            return found == commit_id
    return False


def saved_as(stream: str, name: str, why: str) -> str:
    """The file that saves a replaced view that may have had more than the log; one for each reason."""
    return f"local/{why}-{name.lower()}/{flat(stream)}"


def _check_saved(session: Session, name: str, *, fix: bool) -> list[Fault]:
    """A view that was saved because it shows a lost commit; dropped when the commit is back."""
    note = saved_as(session.stream, name, LOST)
    kept = session.workspace.store.get(note)
    if kept is None:
        return []
    if _has(session, seal.head(kept)):
        if fix:
            session.workspace.store.put(note, None)
        return []
    from holdfast.store.faults import VIEW_AHEAD

    data = {"commit": seal.head(kept), "saved_as": note}
    return [Fault(VIEW_AHEAD, session.stream, note, data, harmless=True)]


# -- what a crash left of a view --------------------------------------------------------------------------


def _is_truncated(session: Session, name: str, found: bytes) -> bool:
    """Whether a view is a prefix of what was written, as a power cut can leave it."""
    state = state_at(session, seal.head(found))
    return seal.is_truncated(found, render(name, state).decode())


def state_at(session: Session, head: str) -> dict[str, Any]:
    """The state shown by a view whose seal names this commit as the latest; without one, the present state."""
    if not head or head == session.peek().head:
        return session.peek().state
    return fold.fold(
        fold.blank("session"), (commit for commit in session.stored_commits() if commit.id <= head)
    )


# -- the page of a handoff --------------------------------------------------------------------------------


def merged_page(where: str) -> bytes | None:
    """``handoff/latest.md`` if git merged two versions of it. Usually there is none, which costs one call."""
    top, folder = os.path.split(where)
    path = f"{top}/{HANDOFF}"
    if folder != ".state" or not posix.exists(path):
        return None
    try:
        present = durable.read_whole(posix, path)
    except OSError:
        return None
    return present if seal.condition(present) == "merged" else None
