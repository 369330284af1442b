"""The one door for text that comes out of a host: everything that a hook stores passes here."""

from __future__ import annotations

from holdfast.edge.hooks.event import Event
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def admitted(workspace: Workspace, event: Event) -> Event:
    """The event with every text as it may be stored: whole characters only."""
    del workspace
    return event._replace(
        prompt=_sound(event.prompt),
        trigger=_sound(event.trigger),
        summary=_sound(event.summary),
        message=_sound(event.message),
        in_flight=tuple(map(_sound, event.in_flight)),
        command=_sound(event.command),
        output=_sound(event.output),
    )


def _sound(text: str) -> str:
    """Half of a surrogate pair cannot be stored; a host may have cut a text in the middle of one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
