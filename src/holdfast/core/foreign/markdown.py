"""Read STATE.md: the session-state template, free-form ``.planning`` files, and inboxes of loops.

Each line is read in the context of its heading. Lines are never joined by guessing and no text is replaced. If a tool
wrote the content of a file twice, the repeats are recognised as repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from holdfast.core.foreign import Left, Reading, Record

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FIELD = re.compile(
    r"\*\*([^*\n]{1,60}?):\*\*\s*(.*)$|\*\*([^*\n]{1,60}?)\*\*:\s*(.*)$|([A-Z][A-Za-z ]{1,30}):\s+(.+)$"
)
_BULLET = re.compile(r"\s*[-*+]\s+(?:\[(?P<box>[ xX])\]\s+)?(?P<text>.*\S)\s*$")
_NUMBERED = re.compile(r"\s*\d{1,3}[.)]\s+(?P<text>.*\S)\s*$")
_STAMP = re.compile(r"\*\*(\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}\S*)?)\*\*\s*$")
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})\b\s*[-\u2013\u2014:]*\s*(.*)$")
_LOOP = re.compile(
    r"\[?((?:EXAMPLE-)?LOOP-\d+)\]?\s*[-\u2013\u2014:]\s*(.*?)(?:\s*[-\u2013\u2014]\s*Status:\s*(\w+))?$"
)
_BUDGET = re.compile(r"([\d,]+)\s*/\s*([\d,]+)\s*tokens")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$")
_CELLS = re.compile(r"\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*$")
_NOTHING = re.compile(
    r"[*_(]*(?:none|n/a|nothing|-|tbd|no\w* yet)\b[^a-z]*(?:yet|recorded|noted)?[.*_)\s]*$", re.I
)
_DERIVED = re.compile(r"\*(?:state initialized|last updated|updated after)\b.*\*$|see:?\s.*$", re.I)

SECTIONS = (
    ("decision", ("decision",)),
    ("next", ("pending todo", "next step", "next action", "todo", "what's next", "up next")),
    ("blocker", ("blocker", "blocked", "deferred issue", "concerns")),
    ("risk", ("risk",)),
    ("loops", ("active loop", "open loop", "open question")),
    ("budget", ("token budget",)),
    ("frame", ("available action", "id registry", "how to use")),
    ("stack", ("context stack",)),
    ("updates", ("recent update", "recent change", "roadmap evolution", "key context", "history", "log")),
    ("fields", ("current context", "current position", "current focus", "project reference", "active phase",
                "current task", "current mode", "session continuity", "project summary", "last completed",
                "working branch")),
)  # fmt: skip
"""What a section holds, by words of its heading."""

_FIELD_LISTS = ("fields", "budget", "stack")
"""Sections whose fields, in bold, can be the items of a list."""

FIELDS = {
    "phase": "phase",
    "current phase": "phase",
    "task": "task",
    "current task": "task",
    "focus": "focus",
    "current focus": "focus",
    "status": "status",
    "goal": "goal",
    "core value": "goal",
    "building": "goal",
    "stopped at": "checkpoint",
    "last activity": "note",
    "last session": "note",
    "plan": "note",
    "current plan": "note",
    "mode": "note",
    "workflow": "note",
    "outcome": "note",
    "completed": "note",
    "resume file": "note",
    "assessment": "note",
    "drift notes": "note",
    "last checked": "note",
}
_COMPUTED = ("progress", "total active", "depth", "return to", "current", "strategy", "total plans completed",
             "average duration", "total execution time", "trend", "next ids", "velocity", "by phase",
             "recent trend", "updated")  # fmt: skip
_FRONT = (
    "version",
    "updated",
    "session",
    "purpose",
    "gsd_state_version",
    "last_updated",
    "last_activity",
    "sealed",
)


def read_state_md(text: str) -> Reading:
    """Read every line of a STATE.md."""
    return _Page(text.split("\n")).read()


class _Page:
    def __init__(self, lines: list[str]) -> None:
        self._lines = [line.removesuffix("\r") for line in lines]
        self._section = ""
        self._heading = ""
        self._columns: list[str] = []
        self._stamp = ""
        self._seen: set[str] = set()

    def read(self) -> Reading:
        at = yield from self._front()
        fence = comment = False
        while at < len(self._lines):
            number, line = at + 1, self._lines[at]
            at += 1
            if line.lstrip().startswith("```"):
                fence = not fence
            elif comment or line.lstrip().startswith("<!--"):
                comment = "-->" not in line
            elif fence:
                if line.strip():
                    yield Left(number, line, "inside a fence")
            elif match := _HEADING.match(line):
                at = yield from self._heading_line(number, match[2], at)
            elif line.strip():
                yield from self._line(number, line)
            else:
                self._columns = []

    # -- the parts of a page ------------------------------------------------------------------------------

    def _front(self) -> Any:
        """Read the frontmatter; return the index of the line after it."""
        if not self._lines or self._lines[0].strip() != "---":
            return 0
        for at in range(1, len(self._lines)):
            line = self._lines[at]
            if line.strip() == "---":
                return at + 1
            name, _, value = line.partition(":")
            value = value.strip().strip("\"'")
            if not line.strip() or name.strip() in _FRONT or (not value and not line.startswith(" ")):
                continue
            if line.startswith(" "):
                yield Left(at + 1, line, "a nested field of the frontmatter")
            elif name.strip() in ("milestone", "milestone_name", "current_plan", "current_phase", "status"):
                yield Record(at + 1, "note", {"text": f"{name.strip().replace('_', ' ')}: {value}"})
            else:
                yield Left(at + 1, line, "an unknown field of the frontmatter")
        return len(self._lines)

    def _heading_line(self, number: int, title: str, at: int) -> Any:
        """A heading sets the context of the lines below it; a heading that is itself an entry consumes them."""
        self._columns, self._stamp = [], ""
        if match := _LOOP.match(title):
            return (yield from self._loop_entry(number, match, at))
        if match := _DATED.match(title):
            body, after = self._body(at)
            yield Record(number, "note", {"text": "\n".join([title, *body]).strip()})
            return after
        plain = title.lower().strip("*: ")
        found = next((kind for kind, words in SECTIONS if any(word in plain for word in words)), "")
        if found or title != self._heading:
            self._section = found
        self._heading = title
        return at

    def _body(self, at: int) -> tuple[list[str], int]:
        """The lines up to the next heading, and the index of that heading."""
        start = at
        while (
            at < len(self._lines) and not _HEADING.match(self._lines[at]) and not _RULE.match(self._lines[at])
        ):
            at += 1
        return [line for line in self._lines[start:at] if line.strip()], at

    def _loop_entry(self, number: int, match: re.Match[str], at: int) -> Any:
        body, after = self._body(at)
        status = (match[3] or "open").lower()
        kind = "note" if match[1].startswith("EXAMPLE") or status in ("resolved", "closed") else "loop"
        if kind == "note":
            text = "\n".join([match[0], *body])
            yield Record(number, "note", {"text": text})
        else:
            data = {"was": match[1], "title": match[2], "status": status, "context": "\n".join(body)}
            yield Record(number, "loop", data)
        return after

    # -- lines --------------------------------------------------------------------------------------------

    def _line(self, number: int, line: str) -> Reading:
        bare = line.strip()
        if self._section == "frame" or _RULE.match(line) or _DERIVED.fullmatch(bare):
            return
        if bare.startswith("|"):
            yield from self._row(number, line)
            return
        self._columns = []
        if match := _STAMP.fullmatch(bare):
            self._stamp = match[1]
            return
        if _NOTHING.fullmatch(bare):
            return
        bullet = _BULLET.match(line) or _NUMBERED.match(line)
        match = _FIELD.match(bare) if bullet is None else None
        if bullet is not None and self._section in _FIELD_LISTS and (listed := _FIELD.match(bullet["text"])):
            bullet, match = (None, listed) if listed[5] is None else (bullet, None)
        if match is not None:
            name = next(part for part in (match[1], match[3], match[5]) if part is not None)
            value = next(part for part in (match[2], match[4], match[6]) if part is not None)
            yield from self._field(number, line, name.strip().lower(), value.strip())
        elif bullet is not None:
            box = bullet.groupdict().get("box")
            yield from self._bullet(number, line, bullet["text"], done=box is not None and box.strip() != "")
        else:
            yield from self._prose(number, line, bare)

    def _field(self, number: int, line: str, name: str, value: str) -> Reading:
        if self._section == "budget":
            if match := _BUDGET.search(value):
                used, total = (int(part.replace(",", "")) for part in match.groups())
                yield Record(number, "budget", {"used": used, "total": total})
            return
        if self._section == "stack" or name in _COMPUTED or not value or _NOTHING.fullmatch(value):
            return
        kind = FIELDS.get(name)
        if kind is None:
            yield Left(number, line, f"the field {name!r} is unknown here")
        elif kind == "note":
            yield Record(number, "note", {"text": f"{name}: {value}"})
        elif kind in self._seen and kind != "status":
            yield Left(number, line, f"the {kind} is given twice")
        elif kind == "status" and self._section != "fields":
            yield Record(number, "note", {"text": f"{self._heading or 'Status'}: {value}"})
        else:
            self._seen.add(kind)
            yield Record(number, kind, {"text": value})

    def _bullet(self, number: int, line: str, text: str, *, done: bool) -> Reading:
        if _NOTHING.fullmatch(text) or self._section == "budget":
            return
        if self._section == "loops":
            match = _LOOP.match(text)
            data = {"was": match[1] if match else "", "title": match[2] if match else text, "status": "open"}
            yield Record(number, "loop", {**data, "context": ""})
        elif self._section == "decision":
            yield Record(number, "decision", {"text": text, "because": "", "was": "", "outcome": ""})
        elif self._section in ("next", "blocker", "risk") and not done:
            yield Record(number, self._section, {"text": text})
        elif self._section == "updates" or done:
            yield Record(number, "note", {"text": f"{self._stamp} {text}".strip()})
        else:
            yield Left(
                number, line, f"a list item under {self._heading!r}" if self._heading else "a list item"
            )

    def _prose(self, number: int, line: str, bare: str) -> Reading:
        if self._section == "decision" and re.match(
            r"decisions? (?:are|is) logged|recent decisions", bare.lower()
        ):
            return
        if self._section == "updates":
            yield Record(number, "note", {"text": f"{self._stamp} {bare}".strip()})
        else:
            yield Left(
                number, line, f"a line under {self._heading!r}" if self._heading else "a line without heading"
            )

    # -- tables -------------------------------------------------------------------------------------------

    def _row(self, number: int, line: str) -> Reading:
        if _CELLS.match(line):
            return
        cells = [
            cell.replace("\0", "|").strip()
            for cell in line.strip().strip("|").replace("\\|", "\0").split("|")
        ]
        if not self._columns:
            self._columns = [cell.lower() for cell in cells]
            return
        row = dict(zip(self._columns, cells, strict=False))
        if all(_NOTHING.fullmatch(cell) or not cell for cell in cells):
            return
        if row.get("decision"):
            because = row.get("why") or row.get("rationale") or row.get("reason") or ""
            was = row.get("id", "")
            yield Record(
                number, "decision", {"text": row["decision"], "because": because, "was": was, "outcome": ""}
            )
        elif self._section == "loops" and row.get("title"):
            status = row.get("status", "open").lower()
            data = {"was": row.get("id", ""), "title": row["title"], "status": status, "context": ""}
            yield Record(number, "loop", data)
        elif self._section in ("next", "blocker", "risk") and any(cells):
            yield Record(number, self._section, {"text": " | ".join(cells)})
        elif self._section == "updates":
            yield Record(number, "note", {"text": " | ".join(cells)})
        else:
            yield Left(number, line, f"a row of a table under {self._heading!r}")


READERS: dict[str, Callable[[str], Reading]] = {"state-md": read_state_md}
