"""Read ``catch-log.tsv``: controls that fired, one per line: date, control, what was caught, agent, outcome, notes."""

from __future__ import annotations

from holdfast.core.foreign import Left, Reading, Record

_NAMES = {
    "control": "control",
    "control_name": "control",
    "what": "what",
    "caught": "what",
    "what_was_caught": "what",
    "what_caught": "what",
    "agent": "caught_by",
    "caught_by": "caught_by",
    "outcome": "outcome",
    "notes": "notes",
    "date": "date",
}
_PLAIN = ["date", "control", "what", "caught_by", "outcome", "notes"]
_ESCAPES = {"0": "\0", "t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def read_catch_log(text: str) -> Reading:
    """Read a log. The columns are those of its header line, else the six of the format."""
    columns = _PLAIN
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if not line.strip():
            continue
        cells = line.split("\t")
        if number == 1 and cells[0].strip().lower() in ("date", "#date"):
            named = [_NAMES.get(cell.strip().lower().replace(" ", "_"), "") for cell in cells]
            if "control" in named and "what" in named:
                columns = named
                continue
        yield _row(number, line, cells, columns)


def _row(number: int, line: str, cells: list[str], columns: list[str]) -> Record | Left:
    if len(cells) < 3:
        return Left(number, line, "fewer than three columns")
    if len(cells) > len(columns):
        return Left(number, line, f"more than {len(columns)} columns")
    found = {name: _unescaped(cell) for name, cell in zip(columns, cells, strict=False) if name}
    if not found.get("control", "").strip() or not found.get("what", "").strip():
        return Left(number, line, "no control, or nothing that it caught")
    date = found.pop("date", "")
    data = {name: value for name, value in found.items() if value.strip()}
    if date.strip():
        data["notes"] = f"{data['notes']} (on {date})" if "notes" in data else f"on {date}"
    return Record(number, "control", data)


def _unescaped(cell: str) -> str:
    """Undo the escaping of holdfast's own export; any other backslash stays."""
    if "\\" not in cell:
        return cell
    out, at = [], 0
    while at < len(cell):
        if cell[at] == "\\" and cell[at + 1 : at + 2] in _ESCAPES:
            out.append(_ESCAPES[cell[at + 1]])
            at += 2
        else:
            out.append(cell[at])
            at += 1
    return "".join(out)


READERS = {"catch-log": read_catch_log}
