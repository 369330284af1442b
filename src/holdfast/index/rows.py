"""From the commits of a stream to rows of the index.

Entries come from the fold, event by event: it alone says what a commit means. It keeps only the last closed entries, so
each entry is taken when an event touches it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.core import concepts, contested, fold, ranges
from holdfast.core.codec import Commit, Event, json_of
from holdfast.core.text import EXCERPT
from holdfast.index.tables import NUMBERS, PARTS, TABLES, status_of
from holdfast.typed import Any

Row = tuple[Any, ...]
SHIFT = 32
"""A stream numbers its commits and texts from its own number, shifted by so many bits."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LARGEST = (1 << 63) - 1
_NO_TEXT = frozenset(
    [
        "id",
        "saw",
        "saw_status",
        "saw_claim",
        "saw_notes",
        "hash",
        "hashes",
        "first",
        "restored",
        "encoding",
        "through",
        "claimant",
        "source",
        "host",
        "agent",
        "became",
        "host_id",
    ]
)
"""Fields that hold bookkeeping and no text."""
_KINDS = {
    "goal": "session",
    "focus": "session",
    "status": "session",
    "context": "compaction",
    "messages": "message",
    "phases": "phase",
    "x": "own",
}
"""What a search calls the events of a noun, if not by the noun."""
_BY_COMMIT = ("batch.item-", "batch.began", "batch.released", "batch.retried")
"""Events that are not added to the text of their entry: there may be thousands of them."""
_STATUSES = ("working", "blocked", "awaiting-input", "discussion", "paused", "complete", "abandoned")


class Rows:
    """The rows that some commits of one stream make."""

    __slots__ = (
        "added",
        "commits",
        "entries",
        "events",
        "full",
        "line_rows",
        "number",
        "state",
        "superseded",
        "texts",
    )

    def __init__(self, number: int, state: dict[str, Any]) -> None:
        self.number = number
        """The stream's number."""
        self.state = state
        """The folded state before the commits; it is changed in place."""
        self.commits: list[Row] = []
        self.events: list[Row] = []
        self.line_rows: dict[str, list[Row]] = {"notes": [], "messages": [], "checkpoints": []}
        self.entries: dict[tuple[str, str], dict[str, Any]] = {}
        """The entries that were touched, by noun and id."""
        self.added: set[tuple[str, str]] = set()
        self.full: dict[tuple[str, str], dict[str, Any]] = {}
        """Values of their events, of which the fold keeps only the beginning."""
        self.superseded: set[str] = set()
        self.texts: dict[tuple[str, str], tuple[str, str, str, list[str]]] = {}
        """Time, actor, origin and texts, by kind and id."""

    def take(self, lines: Iterable[bytes]) -> None:
        """Fold commits and collect their rows."""
        fold.fold(self.state, lines, self)

    def decoded(self, commit: Commit) -> None:
        """Collect what a commit says by itself."""
        commit_id, at, by, origin, op, events, _ = commit
        number = first_number(self.number) + self.state["commits"]
        self.commits.append((number, self.number, commit_id, at, by, origin, op))
        for place, (kind, data, version) in enumerate(events):
            self.events.append((number, place, kind, whole_number(version), json_of(data)))
            self._read(kind, data, commit, number, place)

    # -- what an event says by itself ---------------------------------------------------------------------

    def _read(self, kind: str, data: dict[str, Any], commit: Commit, number: int, place: int) -> None:
        noun = kind.partition(".")[0]
        _, at, by, origin, _, _, _ = commit
        if kind == "note.added":
            self.line_rows["notes"].append((number, place, self.number, text(data.get("text")), at, by))
        elif kind == "message.added":
            said = [text(data.get(name)) for name in ("role", "text", "tool", "file")]
            self.line_rows["messages"].append((number, place, self.number, *said, at, by))
        elif kind == "checkpoint.saved":
            said = [text(data.get(name)) for name in ("message", "last_completed", "pending")]
            can_resume = whole_number(data.get("can_resume"))
            instruction = text(data.get("instruction"))
            self.line_rows["checkpoints"].append(
                (number, place, self.number, *said, can_resume, instruction, at, by)
            )
        found: list[str] = []
        for name, value in data.items():
            if type(value) is str:
                if name not in _NO_TEXT:
                    found.append(value)
            elif (type(value) is list or type(value) is dict) and name not in _NO_TEXT:
                _collect(value, found)
        if kind == "session.started":
            found = [value for value in found if value not in (data.get("session"), data.get("user"))]
        if not found:
            return
        key = kind_of(noun), self._id(noun, kind, data, commit)
        known = self.texts.get(key)
        if known is None:
            self.texts[key] = at, by, origin, found
        else:
            known[3].extend(found)

    @staticmethod
    def _id(noun: str, kind: str, data: dict[str, Any], commit: Commit) -> str:
        """What the text of an event belongs to: an entry, or its own commit."""
        found = data.get("path" if noun == "reference" else "key" if noun == "preference" else "id")
        if type(found) is not str or noun == "x" or kind.startswith(_BY_COMMIT):
            return commit.id
        return found

    # -- what the fold makes of it ------------------------------------------------------------------------

    def folded(self, state: dict[str, Any], event: Event, data: dict[str, Any], commit: Commit) -> None:
        """Take the entries that an event touched."""
        kind = event.type
        noun = kind.partition(".")[0]
        if kind in concepts.WATCHED and state.get("handoff") is not None:
            self._touch("handoff", state["handoff"]["id"], state["handoff"])
        table = TABLES.get(noun)
        if table is None:
            return
        short_id, entry = _entry(state, noun, data, commit)
        if entry is None or type(short_id) is not str:
            return
        key = self._touch(noun, short_id, entry)
        if kind == table.adds:
            self.added.add(key)
            place = {"at": commit.at, "by": commit.by, "origin": commit.origin, "commit_id": commit.id}
            self.full[key] = {**data, **place}
            if type(supersedes := data.get("supersedes")) is str:
                self.superseded.add(supersedes)
        elif table.texts:
            said = {name: data[name] for name in table.texts if data.get(name) is not None}
            if said:
                self.full[key] = {**self.full.get(key, {}), **said}

    def _touch(self, noun: str, short_id: str, entry: dict[str, Any]) -> tuple[str, str]:
        key = noun, short_id
        self.entries[key] = entry
        return key

    def entry_rows(self) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
        """The rows of entries that are new, and what has changed in the others; by noun."""
        new: dict[str, list[Row]] = {}
        changed: dict[str, list[Row]] = {}
        for key, entry in self.entries.items():
            noun, short_id = key
            table = TABLES[noun]
            full = self.full.get(key, {})
            values: list[Any] = [status_of(noun, entry)]
            values += [text(full[name] if name in full else _uncut(entry.get(name))) for name in table.texts]
            values += [_cell(name, entry.get(name)) for name in table.now]
            if key in self.added:
                once = [_cell(name, full.get(name)) for name in table.once]
                common = [full["at"], full["by"], full["origin"], full["commit_id"]]
                new.setdefault(noun, []).append((self.number, short_id, *values, *once, *common))
            else:
                changed.setdefault(noun, []).append((*values, self.number, short_id))
        return new, changed

    def statuses(self) -> dict[tuple[str, str], str]:
        """The status of every entry that was touched, by kind and id."""
        return {key: status_of(key[0], entry) for key, entry in self.entries.items()}


def _entry(state: dict[str, Any], noun: str, data: dict[str, Any], commit: Commit) -> tuple[Any, Any]:
    """The id and the entry that an event touched; None if the fold has passed it over."""
    if noun == "reference":
        path = data["path"]
        return path, {"status": "open" if path in state["references"]["open"] else "dropped"}
    if noun == "preference":
        value = contested.value(state["registers"], f"pref:{data['key']}")
        return data["key"], {"status": "open" if value is not None else "dropped"}
    if noun == "handoff":
        handoff = state["handoff"]
        return (handoff["id"], handoff) if handoff is not None else ("", None)
    part, short_id = state[PARTS[noun]], data["id"]
    entry = part["open"].get(short_id)
    if entry is None:
        entry = next((closed for closed in reversed(part["closed"]) if closed["id"] == short_id), None)
    return short_id, entry


def _uncut(value: Any) -> Any:
    """A text of the state, unless only its beginning is there."""
    return None if isinstance(value, str) and len(value) > EXCERPT else value


def _cell(name: str, value: Any) -> Any:
    if name in NUMBERS:
        return ranges.count(value) if isinstance(value, list) else _failed(value)
    return text(value)


def _failed(value: Any) -> int | None:
    """The items that a batch counts as failed, by how often; any other number as it is."""
    if isinstance(value, dict):
        return sum(ranges.count(items) for items in value.values())
    return whole_number(value)


def text(value: Any) -> str | None:
    """A value as text: JSON for what is none."""
    return value if type(value) is str or value is None else _encode(value)


def whole_number(value: Any) -> int | None:
    """A number that fits into a column, or None."""
    return int(value) if isinstance(value, int) and -_LARGEST <= value <= _LARGEST else None


def _collect(value: Any, found: list[str]) -> None:
    """Add every text in a value."""
    if type(value) is str:
        found.append(value)
    elif type(value) is list:
        for item in value:
            _collect(item, found)
    elif type(value) is dict:
        for name, item in value.items():
            if name not in _NO_TEXT:
                _collect(item, found)


def kind_of(noun: str) -> str:
    """What a search calls the events of a noun."""
    return _KINDS.get(noun, noun)


def first_number(stream: int) -> int:
    """The number before a stream's first commit, and before its first text."""
    return stream << SHIFT


def session_row(number: int, name: str, state: dict[str, Any]) -> Row:
    """The row of a session."""
    registers = state["registers"]
    _, user, session = name.split("/")
    status = contested.value(registers, "status")
    said = [text(contested.value(registers, register)) for register in ("goal", "focus", "phase")]
    outcome = text((state["completed"] or {}).get("outcome"))
    archived = int(bool(state["archived"]))
    shown = status if status in _STATUSES else None
    times = state["created"], state["updated"], state["by"], state["commits"]
    return (number, session, user, shown, archived, *said, outcome, *times)
