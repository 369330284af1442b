"""Writing views: made anew from the state, never over a person's edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.store.protocol import Fault
from holdfast.views import seal, state_json, state_md

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

VIEWS: dict[str, Callable[[dict[str, Any]], str]] = {
    "state.json": state_json.render,
    "STATE.md": state_md.render,
}


def publish(session: Session) -> list[Fault]:
    """Bring a session's views up to date; what a person edited is left alone and reported."""
    faults = []
    state = session.peek().state
    for name, render in VIEWS.items():
        note = f"{session.stream}/{name}"
        found = session.workspace.store.get(note)
        text = render(state).encode()
        if found == text:
            continue
        if found is not None and seal.condition(found) == "edited":
            faults.append(_edited(session, note))
            continue
        session.workspace.store.put(note, text)
    return faults


def check(workspace: Workspace, *, fix: bool) -> list[Fault]:
    """Views that do not show the state; with ``fix`` they are made anew."""
    faults = []
    for stream in workspace.store.streams("sessions/"):
        session = workspace.session("/".join(stream.split("/")[1:]))
        state = session.peek().state
        for name, render in VIEWS.items():
            note = f"{stream}/{name}"
            found = workspace.store.get(note)
            if found is None or found == render(state).encode():
                continue
            if seal.condition(found) == "edited":
                faults.append(_edited(session, note))
            else:
                if fix:
                    workspace.store.put(note, render(state).encode())
                action = "made anew" if fix else "the next command makes it anew"
                faults.append(
                    Fault(stream, note, "the view is stale or broken", harmless=True, action=action)
                )
    return faults


def _edited(session: Session, note: str) -> Fault:
    return Fault(
        session.stream,
        note,
        "the view was edited by hand",
        action="it is left as it is; move it aside to have it made anew",
    )
