"""The one door for text that comes out of a host: everything that a hook stores passes here.

Secrets are replaced by placeholders here, while texts are whole: a token that was cut in half would not be known for
one. The gate looks at every commit once more, as it does for everybody.
"""

from __future__ import annotations

from holdfast.edge.hooks.event import Event
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace.secrets_filter import passed_value

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def admitted(workspace: Workspace, event: Event) -> Event:
    """The event with every text as it may be stored."""

    def passed(text: str) -> str:
        return str(passed_value(workspace, _sound(text), event.name)[0]) if text else ""

    return event._replace(
        prompt=passed(event.prompt),
        trigger=passed(event.trigger),
        summary=passed(event.summary),
        message=passed(event.message),
        in_flight=tuple(map(passed, event.in_flight)),
        command=passed(event.command),
        output=passed(event.output),
    )


def _sound(text: str) -> str:
    """Half of a surrogate pair cannot be stored; a host may have cut a text in the middle of one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
