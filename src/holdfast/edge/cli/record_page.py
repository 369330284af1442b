"""The page of one record: title, fields, links, history."""

from __future__ import annotations

import json

from holdfast.edge.render import clean, paint, when
from holdfast.typed import Any
from holdfast.workspace.anchors import Standing

_LABELS = {
    "because": "because",
    "action": "to do",
    "outcome": "outcome",
    "result": "result",
    "remedy": "remedy",
    "tried": "tried",
    "reason": "reason",
    "alternatives": "not chosen",
    "revisit_when": "revisit when",
    "context": "context",
    "severity": "severity",
    "priority": "priority",
    "check": "check",
}
"""Fields in the order of the page; others follow by their own names."""
_TOLD = frozenset(
    [
        "anchors",
        "text",
        "title",
        "what",
        "ok",
        "supersedes",
        "loop",
        "task",
        "risk",
        "decision",
        "became",
        "depends_on",
        "set",
    ]
)
"""Fields that the page shows elsewhere: as its title, its status or a link."""
_COLOURS = {"unsettled": "yellow", "failed": "red", "blocked": "red"}


def page(record: dict[str, Any], place: str) -> str:
    """The page as text for a terminal or a pipe."""
    status = record["status"]
    shown = paint(clean(status, 40), _COLOURS.get(status, "green")) if status else ""
    head = f"{paint(clean(record['id'], 40), 'bold')}  {clean(record['kind'], 40)}"
    lines = [f"{head}, {shown}" if shown else head]
    who = f"{clean(record['by'], 60)} ({clean(record['origin'], 20)})"
    lines.append(f"{when(record['at'])} by {who}, in {clean(place, 80)}")
    lines += ["", clean(record["text"]), ""]
    fields = record["fields"]
    names = [*(name for name in _LABELS if name in fields), *(name for name in fields if name not in _LABELS)]
    rows = [(_LABELS.get(name, name.replace("_", " ")), fields[name]) for name in names if name not in _TOLD]
    wide = max((len(label) for label, value in rows if not _empty(value)), default=0)
    for label, value in rows:
        if not _empty(value):
            lines += _field(label.ljust(wide), value)
    if record["at_places"]:
        lines += ["", paint("At", "bold")]
        lines += [f"  {clean(Standing(**place), 300)}" for place in record["at_places"]]
    if record["links"]:
        lines += ["", paint("Linked", "bold")]
        lines += map(_link, record["links"])
    lines += ["", paint("History", "bold")]
    lines += [
        f"  {when(event['at'])}  {clean(event['by'], 40)} {clean(event['sentence'], 300)}"
        for event in record["events"]
    ]
    return "\n".join(_without_gaps(lines))


def _link(link: dict[str, str]) -> str:
    state = ", ".join(clean(link[name], 40) for name in ("kind", "status") if link[name])
    return f"  {link['how']} {paint(clean(link['id'], 40), 'bold')} ({state}): {clean(link['text'], 200)}"


def _empty(value: object) -> bool:
    return value is None or value in ("", [], {})


def _field(label: str, value: object) -> list[str]:
    """A field with its label; further lines are indented below the first."""
    said = [_text(entry) for entry in value] if isinstance(value, list) else _text(value).split("\n")
    indent = " " * len(label)
    first, *rest = [clean(line) for line in said] or [""]
    return [f"{paint(label, 'dim')}  {first}", *(f"{indent}  {line}" for line in rest)]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False)


def _without_gaps(lines: list[str]) -> list[str]:
    """No two empty lines in a row."""
    return [line for place, line in enumerate(lines) if line or not place or lines[place - 1]]
