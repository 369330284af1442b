"""Writing views: regenerated from the state, never over a person's edit."""

from __future__ import annotations

from importlib import import_module

from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import seal

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

VIEWS = {"state.json": "state_json", "STATE.md": "state_md"}
"""The views of a session and the modules that make them, loaded when one has to be made."""


def render(name: str, state: dict[str, Any]) -> bytes:
    """The bytes of a view."""
    text: str = import_module(f"holdfast.views.{VIEWS[name]}").render(state)
    return text.encode()


def publish(session: Session) -> list[Fault]:
    """Bring a session's views up to date; what a person edited is left alone and reported."""
    found = []
    working_set = session.peek()
    for name in VIEWS:
        note = f"{session.stream}/{name}"
        present = session.workspace.store.get(note)
        if seal.is_current(present, working_set.commits):
            continue
        if present is not None and seal.condition(present) == "edited":
            found.append(_edited(session.stream, note))
            continue
        session.workspace.store.put(note, render(name, working_set.state))
        if present is not None and seal.marker_line(present):
            found.append(_stale(session.stream, note, present, fixed=True))
    return found


def check(workspace: Workspace, *, fix: bool, quick: bool = False) -> list[Fault]:
    """Views that do not show the state; with ``fix`` they are regenerated. ``quick``: an intact seal is trusted."""
    found = []
    for stream in workspace.store.streams("sessions/"):
        session = workspace.session("/".join(stream.split("/")[1:]))
        state = session.peek().state
        for name in VIEWS:
            note = f"{stream}/{name}"
            present = workspace.store.get(note)
            if (
                present is None
                or (quick and seal.is_current(present, state))
                or present == render(name, state)
            ):
                continue
            if seal.condition(present) == "edited":
                found.append(_edited(stream, note))
                continue
            if fix:
                workspace.store.put(note, render(name, state))
            found.append(_stale(stream, note, present, fixed=fix))
    return found


def _stale(stream: str, note: str, present: bytes, *, fixed: bool) -> Fault:
    from holdfast.store.faults import CONFLICT_MARKERS, REGENERATED, STALE_VIEW

    line = seal.marker_line(present)
    kind, where = (CONFLICT_MARKERS, f"{note}:{line}") if line else (STALE_VIEW, note)
    return Fault(kind, stream, where, {"owned": True}, done=REGENERATED if fixed else "", harmless=True)


def _edited(stream: str, note: str) -> Fault:
    from holdfast.store.faults import EDITED_VIEW

    return Fault(EDITED_VIEW, stream, note)
