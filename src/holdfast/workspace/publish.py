"""Writing views: made anew from the state, never over a person's edit."""

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


MARKERS = "conflict markers of a merge"


def render(name: str, state: dict[str, Any]) -> bytes:
    """The bytes of a view."""
    text: str = import_module(f"holdfast.views.{VIEWS[name]}").render(state)
    return text.encode()


def publish(session: Session) -> list[Fault]:
    """Bring a session's views up to date; what a person edited is left alone and reported."""
    faults = []
    working_set = session.peek()
    for name in VIEWS:
        note = f"{session.stream}/{name}"
        found = session.workspace.store.get(note)
        if seal.is_current(found, working_set.commits):
            continue
        if found is not None and seal.condition(found) == "edited":
            faults.append(_edited(session, note))
            continue
        session.workspace.store.put(note, render(name, working_set.state))
        if found is not None and (line := seal.marker_line(found)):
            faults.append(
                Fault(session.stream, f"{note}:{line}", MARKERS, harmless=True, action="it was made anew")
            )
    return faults


def check(workspace: Workspace, *, fix: bool, quick: bool = False) -> list[Fault]:
    """Views that do not show the state; with ``fix`` they are made anew. ``quick``: an intact seal is believed."""
    faults = []
    for stream in workspace.store.streams("sessions/"):
        session = workspace.session("/".join(stream.split("/")[1:]))
        state = session.peek().state
        for name in VIEWS:
            note = f"{stream}/{name}"
            found = workspace.store.get(note)
            if found is None or (quick and seal.is_current(found, state)) or found == render(name, state):
                continue
            if seal.condition(found) == "edited":
                faults.append(_edited(session, note))
            else:
                if fix:
                    workspace.store.put(note, render(name, state))
                action = "made anew" if fix else "the next command makes it anew"
                line = seal.marker_line(found)
                where, what = (f"{note}:{line}", MARKERS) if line else (note, "the view is stale or broken")
                faults.append(Fault(stream, where, what, harmless=True, action=action))
    return faults


def _edited(session: Session, note: str) -> Fault:
    return Fault(
        session.stream,
        note,
        "the view was edited by hand",
        action="it is left as it is; `holdfast sync` shows the changes and takes them in",
    )
