"""The brief: the smallest packet from which a new agent can continue.

Lines are added in order of priority, first a few of every section, then more of each, as long as the packet stays
within its token budget and under the number of characters that hosts inject untruncated. What is left out is counted,
and the command that shows it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.errors import Usage
from holdfast.typed import Any, Record
from holdfast.views import parts
from holdfast.views.brief_sections import Known, Section, sections
from holdfast.views.fence import RULE, token

DEFAULT = 2_000
"""Tokens."""
LEAST = 300
CHARACTERS = 9_500
"""A host truncates what it injects at 10,000 characters."""
_FIRST = 5
"""Lines that each section gets before any gets more."""


class Brief(Record):
    """A packet and what it cost."""

    text: str
    tokens: int
    left_out: dict[str, int]
    """Section to the number of its lines that did not fit."""


def brief(
    state: dict[str, Any],
    known: Known | None = None,
    *,
    count: Callable[[str], int],
    budget: int = DEFAULT,
    alerts: Sequence[str] = (),
) -> Brief:
    """The packet of a session within ``budget`` tokens as ``count`` counts them.

    ``known`` is what the rest of the memory has for it. ``alerts`` are the caller's own lines, which come first and
    are not fenced. A state without a session makes the packet of a project in which none is open.
    """
    if budget < LEAST:
        raise Usage(f"A brief needs a budget of at least {LEAST} tokens, not {budget}.")
    wanted = sections(state, known or Known(), alerts)
    head = _head(state)
    taken = _choose(wanted, head, count, budget)
    while True:
        text = _text(wanted, taken, head)
        tokens = count(text)
        if (tokens <= budget and len(text) <= CHARACTERS) or not any(taken):
            break
        last = max(index for index, lines in enumerate(taken) if lines)
        taken[last] -= 1
    left = {section.name: section.missing(n) for section, n in zip(wanted, taken, strict=True)}
    return Brief(text, tokens, {name: n for name, n in left.items() if n})


def _choose(wanted: list[Section], head: str, count: Callable[[str], int], budget: int) -> list[int]:
    """How many lines of each section fit, by the cost of each line alone."""
    taken = [0] * len(wanted)
    # Reserve space for the frame and, in the worst case, for naming every section as cut.
    worst = _text([section._replace(lines=["x"] * 9_999) for section in wanted], taken, head)
    tokens, characters = count(worst), len(worst)
    for quota in (_FIRST, 10_000):
        for index, section in enumerate(wanted):
            while taken[index] < min(quota, len(section.lines)):
                line = f"{section.title}\n" * (taken[index] == 0) + f"- {section.lines[taken[index]]}\n"
                cost = count(line)
                if tokens + cost > budget or characters + len(line) > CHARACTERS:
                    break
                tokens, characters, taken[index] = tokens + cost, characters + len(line), taken[index] + 1
    return taken


def _head(state: dict[str, Any]) -> str:
    if state["session"] is None:
        return (
            "holdfast: memory of this project in .state/. No session is open: the first request starts one."
        )
    return (
        f"holdfast: session {token(str(state['user']))}/{token(str(state['session']))}, "
        f"{parts.noun(state['commits'], 'commit')}, last {token(str(state['updated']))}"
    )


def _text(wanted: list[Section], taken: list[int], head: str) -> str:
    lines = [head, RULE]
    cut = []
    for section, n in zip(wanted, taken, strict=True):
        if n:
            lines += ["", section.title, *[f"- {line}" for line in section.lines[:n]]]
        if missing := section.missing(n):
            cut.append(f"{missing:,} {section.name} (`{section.command}`)")
    if cut:
        lines += ["", f"Left out: {', '.join(cut)}."]
    return "\n".join(lines) + "\n"
