"""The lines that a summariser is asked for, read back from its summary.

``DECISION: … BECAUSE: …``, ``CONSTRAINT: …``, ``OPEN: …`` and ``IN FLIGHT: …``, one each. Models vary the form:
bullets, bold, numbers, small letters, a heading with a list below it, wrapped lines, other languages. Quoted lines and
code are not read, because they are somebody else's words.
"""

from __future__ import annotations

import re

from holdfast.core.concepts.capture import Candidate

MOST = 16
"""Candidates that one summary gives."""
LENGTH = 400
_LONGEST = 200_000
_LABELS = {
    "decision": "decision",
    "decisions": "decision",
    "decided": "decision",
    "entscheidung": "decision",
    "entscheidungen": "decision",
    "entschieden": "decision",
    "décision": "decision",
    "decisión": "decision",
    "because": "because",
    "reason": "because",
    "why": "because",
    "weil": "because",
    "grund": "because",
    "begründung": "because",
    "constraint": "constraint",
    "constraints": "constraint",
    "einschränkung": "constraint",
    "einschränkungen": "constraint",
    "vorgabe": "constraint",
    "vorgaben": "constraint",
    "open": "open",
    "open question": "open",
    "open questions": "open",
    "offen": "open",
    "offene frage": "open",
    "offene fragen": "open",
    "in flight": "in-flight",
    "inflight": "in-flight",
    "in progress": "in-flight",
    "in arbeit": "in-flight",
}
_LABEL = r"[*_`#\s]*([^\W\d][^\W\d]*(?:[ _-][^\W\d]+)?)\s*(?:#?\d{1,3})?[*_`\s]*[:：][*_`]*\s*(.*)"
_BULLET = r"(?:[-*•+–—]|\d{1,3}[.)])\s+"
_REASON = (
    r"[\s.;,(–—-]*\b(?:BECAUSE|REASON|WEIL|GRUND)\b\s*[:：]?\s+|"
    r"[\s.;]*\*\*(?i:because|reason|weil)[:：]?\*\*[:：]?\s+"
)
_NOTHING = frozenset(
    ["", "none", "n a", "na", "nothing", "keine", "nichts", "tbd", "what was decided", "why", "what", "text"]
)


def read(summary: str) -> list[Candidate]:
    """What a summary says in the fixed form, in its order; of many, the last ones of each kind."""
    found: list[list[str]] = []
    section = ""
    takes = False
    """Whether a line without a label goes on with the last entry."""
    for line, bullet in _lines(summary):
        labelled = _labelled(line)
        if labelled is not None:
            kind, text = labelled
            section, takes = (kind if not text else ""), bool(text)
            if kind == "because":
                section = ""
                if found and text:
                    found[-1][2] = f"{found[-1][2]} {text}".strip()
            elif text:
                found.append([kind, text, ""])
        elif not line or line[0] == "#":
            takes = False
            section = section if not line else ""
        elif bullet and section and section != "because":
            found.append([section, line, ""])
            takes = True
        elif takes and found and not bullet and len(found[-1][1]) < LENGTH:
            part = 2 if found[-1][2] else 1
            found[-1][part] += f" {line}"
        else:
            takes = False
    made = [candidate for kind, text, because in found if (candidate := _candidate(kind, text, because))]
    return made[-MOST:]


def _lines(summary: str) -> list[tuple[str, bool]]:
    """Every line that is the summariser's own, without its mark; and whether it had one."""
    text = summary[:_LONGEST]
    text = text.rpartition("<summary>")[2] or text
    bullet = re.compile(_BULLET)
    lines: list[tuple[str, bool]] = []
    fence = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fence = "" if fence else "open"
            continue
        if fence == "open" and line:
            fence = "form" if _labelled(bullet.sub("", line, count=1)) else "code"
        if fence == "code" or line.startswith((">", "|", "«", "<")):
            continue
        marked = bullet.match(line)
        lines.append((line[marked.end() :].strip() if marked else line, marked is not None))
    return lines


def _labelled(line: str) -> tuple[str, str] | None:
    """The kind and the text of a line with a label."""
    match = re.match(_LABEL, line[: 8 * LENGTH])
    if match is None:
        return None
    kind = _LABELS.get(match[1].lower().replace("_", " ").replace("-", " "))
    return None if kind is None else (kind, match[2].strip())


def _candidate(kind: str, text: str, because: str) -> Candidate | None:
    said = text
    if kind == "decision" and not because:
        text, because = split_reason(text)
    text, because = _plain(text), _plain(because)
    spelled = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    if " ".join(spelled.split()) in _NOTHING:
        return None
    return Candidate(kind, text, because, _plain(said))


def split_reason(text: str) -> tuple[str, str]:
    """What was decided, and why."""
    parts = re.split(_REASON, text, maxsplit=1)
    if len(parts) == 1:
        parts = re.split(r",? \(?(?:because|since|weil|denn) ", text, maxsplit=1, flags=re.IGNORECASE)
    if len(parts) == 1 or not parts[0].strip():
        return text, ""
    return parts[0], parts[1]


def _plain(text: str) -> str:
    """Without marks of emphasis around it."""
    line = " ".join(text.split())[:LENGTH]
    line = line.replace("**", "").replace("__", "").strip()
    line = line.strip("*").strip() if line[:1] == "*" else line
    return line.rstrip(" ;,.(")
