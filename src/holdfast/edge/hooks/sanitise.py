"""Sanitise all text from a host before a hook stores it.

Secrets are redacted here, before texts are truncated: half a token would not be recognised. The secrets filter scans
every commit again, as for all channels.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.edge.hooks.event import NOTHING_PLANNED, Event, Planned
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace.secrets_filter import passed_value

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def sanitised(workspace: Workspace, event: Event) -> Event:
    """The event with every text safe to store."""

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
        planned=_planned(event.planned, passed),
    )


def _planned(planned: Planned, passed: Callable[[str], str]) -> Planned:
    if planned == NOTHING_PLANNED:
        return planned
    return planned._replace(
        tasks=tuple((number, passed(title), status) for number, title, status in planned.tasks),
        sql=passed(planned.sql),
        plan=passed(planned.plan),
        goal=passed(planned.goal),
        topic=passed(planned.topic),
    )


def _sound(text: str) -> str:
    """Replace unpaired surrogates, which cannot be stored; a host may have cut a text inside a pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
