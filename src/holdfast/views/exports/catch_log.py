"""``catch-log.tsv``: every control that fired, one a line, oldest first.

The format is tab-separated with a line of names: date, control, what was caught, agent, outcome, notes. The escapes of
``views.tsv_text`` keep a text with tabs and line feeds on its line.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.codec import Commit
from holdfast.views import tsv_text

COLUMNS = ["date", "control", "caught", "agent", "outcome", "notes"]


def render(commits: Iterable[Commit]) -> str:
    """The text of ``catch-log.tsv``, from the project's commits."""
    lines = [tsv_text.line(COLUMNS)]
    for commit in commits:
        for event in commit.events:
            if event.type == "control.fired":
                data = event.data
                agent = data.get("caught_by") or commit.by
                rest = [
                    data["control"],
                    data["what"],
                    agent,
                    data.get("outcome") or "",
                    data.get("notes") or "",
                ]
                lines.append(tsv_text.line([commit.at[:10], *rest]))
    return "".join(lines)
