"""Writing views: regenerated from the state, never over a person's edit, never over what the log has lost."""

from __future__ import annotations

import os
from importlib import import_module

from holdfast.core import codec, fold
from holdfast.core.stream import PROJECT, flat, last_part
from holdfast.fs import durable, posix
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import seal

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

VIEWS = {"state.json": "state_json", "STATE.md": "state_md"}
"""The views of a session and the modules that make them, loaded when one has to be made."""


HANDOFF = "handoff/latest.md"
MARKERS = "conflict markers of a merge"
FREE, MARKED, MERGED, EDITED, LOST = "free", "marked", "merged", "edited", "lost"
"""What a view is that does not show the state: free to be regenerated (stale, empty, garbage, truncated), in conflict,
joined by git from two versions, edited by a person, or the last to show a commit."""
_ACTIONS = {
    EDITED: "it is left as it is; `holdfast sync` shows the changes and takes them in",
    LOST: "it is left as it is; `holdfast heal` brings back what it can, and sets the view aside",
}


def render(name: str, state: dict[str, Any]) -> bytes:
    """The bytes of a view."""
    text: str = import_module(f"holdfast.views.{VIEWS[name]}").render(state)
    return text.encode()


def publish(session: Session) -> list[Fault]:
    """Bring a session's views up to date; what a person edited or the log has lost is left alone and reported."""
    faults = []
    working_set = session.peek()
    for name in VIEWS:
        found = session.workspace.store.get(f"{session.stream}/{name}")
        if seal.is_current(found, working_set.commits):
            continue
        faults += _replace(session, name, found, fix=False)
    working_set.verified = working_set.head
    return faults + _heal_page(session.workspace)


def _heal_page(workspace: Workspace, *, fix: bool = True) -> list[Fault]:
    """Regenerate ``handoff/latest.md`` if git merged two versions of it. Mostly there is none, which costs one call."""
    top, folder = os.path.split(workspace.where)
    path = f"{top}/{HANDOFF}"
    if folder != ".state" or not posix.exists(path):
        return []
    try:
        found = durable.read_whole(posix, path)
    except OSError:
        return []
    if seal.condition(found) != "merged":
        return []
    what = "git merged two versions of the page"
    if not fix:
        return [Fault("", HANDOFF, what, harmless=True, action="the next command makes it anew")]
    from holdfast.workspace.heal_pages import regenerate
    from holdfast.workspace.project_files import ProjectFolder

    aside = aside_note(_session_named(workspace, found), os.path.basename(HANDOFF), MERGED)
    workspace.store.put(aside, found)
    regenerate(workspace, ProjectFolder(top), HANDOFF)
    return [Fault("", HANDOFF, f"{what}; it was saved as {aside}", harmless=True, action="made anew")]


def _session_named(workspace: Workspace, page: bytes) -> str:
    """The stream that a page is about: what is kept of the page is forgotten with it."""
    streams = workspace.store.streams("sessions/")
    return next((s for s in streams if f"session: {last_part(s)}\n".encode() in page), PROJECT)


def check(workspace: Workspace, *, fix: bool, quick: bool = False) -> list[Fault]:
    """Views that do not show the state; with ``fix`` they are regenerated. ``quick``: an intact seal is believed."""
    faults = []
    for stream in workspace.store.streams("sessions/"):
        session = workspace.session("/".join(stream.split("/")[1:]))
        state = session.peek().state
        for name in VIEWS:
            found = workspace.store.get(f"{stream}/{name}")
            faults += _check_aside(session, name, fix=fix)
            if found is None or (quick and seal.is_current(found, state)) or _shows(found, name, state):
                continue
            if fix:
                faults += _replace(session, name, found, fix=True) or [_stale(session, name, "made anew")]
                continue
            verdict, detail = judge(session, name, found)
            action = _ACTIONS.get(verdict, "the next command makes it anew")
            faults += _fault(session, name, verdict, detail, action) or [_stale(session, name, action)]
    return faults + _heal_page(workspace, fix=fix)


def _replace(session: Session, name: str, found: bytes | None, *, fix: bool) -> list[Fault]:
    """Regenerate a view if nothing is lost by that; returns what is worth saying. With ``fix``, a view that shows a
    lost commit is set aside first; one that git merged always is, since a person can have edited one side."""
    store, verdict, detail = session.workspace.store, FREE, ""
    if found is not None:
        verdict, detail = judge(session, name, found)
    if verdict == EDITED or (verdict == LOST and not fix):
        return _fault(session, name, verdict, detail, _ACTIONS[verdict])
    if verdict in (LOST, MERGED):
        aside = aside_note(session.stream, name, verdict)
        store.put(aside, found)
        detail = f"{detail}; it was saved as {aside}".removeprefix("; ")
    store.put(f"{session.stream}/{name}", render(name, session.peek().state))
    return _fault(session, name, verdict, detail, "made anew")


def judge(session: Session, name: str, found: bytes) -> tuple[str, str]:
    """What a view is that does not show the state, and the line or the commit that says so."""
    condition = seal.condition(found)
    if condition == "intact":
        lost = lost_commit(session, found)
        return (LOST, lost) if lost else (FREE, "")
    if condition == "broken":
        line = seal.marker_line(found)
        return (MARKED, str(line)) if line else (FREE, "")
    if condition == "merged":
        return MERGED, ""
    return (FREE if _is_truncated(session, name, found) else EDITED), ""


def _fault(session: Session, name: str, verdict: str, detail: str, action: str) -> list[Fault]:
    """What is said of a view; nothing of one that is only stale, empty or truncated."""
    note = f"{session.stream}/{name}"
    if verdict == LOST:
        what = f"the view shows a commit that is lost: {detail}"
        return [Fault(session.stream, note, what, action=action)]
    if verdict == EDITED:
        return [Fault(session.stream, note, "the view was edited by hand", action=action)]
    if verdict == MERGED:
        what = f"git merged two versions of the view; {detail}".removesuffix("; ")
        return [Fault(session.stream, note, what, harmless=True, action=action)]
    if verdict == MARKED:
        return [Fault(session.stream, f"{note}:{detail}", MARKERS, harmless=True, action=action)]
    return []


def _stale(session: Session, name: str, action: str) -> Fault:
    what = "the view is stale or broken"
    return Fault(session.stream, f"{session.stream}/{name}", what, harmless=True, action=action)


def _shows(found: bytes, name: str, state: dict[str, Any]) -> bool:
    """Whether a view has the bytes of the state; git may have converted its line endings."""
    return found.replace(b"\r\n", b"\n") == render(name, state)


# -- what the log has lost --------------------------------------------------------------------------------


def lost_commit(session: Session, found: bytes) -> str:
    """The commit that an intact view shows as its latest and that nobody has any more; empty if there is none.

    A checkout, a stash or a reset takes commits out of the log that git or a pin still has: they are not lost.
    """
    shown = seal.head(found)
    if not shown or _has(session, shown):
        return ""
    from holdfast.workspace.heal import files_store

    store = files_store(session.workspace)
    return "" if store is not None and store.has_elsewhere(session.stream, shown) else shown


def _has(session: Session, commit_id: str) -> bool:
    """Whether the stream has a commit. Mostly it is the one that the last command left."""
    working_set = session.peek()
    if commit_id in (working_set.head, working_set.verified):
        return True
    for line in session.workspace.store.read(session.stream, newest_first=True).lines:
        found = codec.id_of(line)
        if found <= commit_id:
            return found == commit_id
    return False


def aside_note(stream: str, name: str, why: str) -> str:
    """Where a view is kept that was replaced though it may have said more than the log; one of each kind."""
    return f"local/{why}-{name.lower()}/{flat(stream)}"


def _check_aside(session: Session, name: str, *, fix: bool) -> list[Fault]:
    """A view that was set aside because it shows a lost commit; gone when the commit is back."""
    note = aside_note(session.stream, name, LOST)
    kept = session.workspace.store.get(note)
    if kept is None:
        return []
    if _has(session, seal.head(kept)):
        if fix:
            session.workspace.store.put(note, None)
        return []
    what = f"the view shows a commit that is lost: {seal.head(kept)}"
    return [Fault(session.stream, note, what, harmless=True, action="kept for you to look at")]


# -- what a crash left of a view --------------------------------------------------------------------------


def _is_truncated(session: Session, name: str, found: bytes) -> bool:
    """Whether a view is the beginning of what it was when it was made, as a power cut can leave it."""
    state = state_at(session, seal.head(found))
    return seal.is_truncated(found, render(name, state).decode())


def state_at(session: Session, head: str) -> dict[str, Any]:
    """The state that a view showed whose seal names this commit as the latest; without one, the present state."""
    if not head or head == session.peek().head:
        return session.peek().state
    return fold.fold(fold.blank("session"), (commit for commit in session.log() if commit.id <= head))
