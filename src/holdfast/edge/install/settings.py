"""One settings file: its text with and without holdfast."""

from __future__ import annotations

import json
import re

from holdfast.edge.install import jsonc
from holdfast.errors import Refused
from holdfast.packages.hosts import CLAUDE_RULES
from holdfast.typed import Any, Record

_OURS = r"(?:^|[\s/\\\"'])holdfast(?:\.exe)?[\"']*\s+hook\s"
_LINES = ("command", "bash", "powershell")
_RULES = "permissions"


class Merged(Record):
    """A text with holdfast installed."""

    text: str
    pieces: list[str]
    """The inserted pieces of text."""
    made: list[list[str]]
    """The paths of the inserted keys."""


def is_hook(value: Any) -> bool:
    """Whether a hook calls holdfast."""
    if not isinstance(value, dict):
        return False
    lines = [value[name] for name in _LINES if isinstance(value.get(name), str)]
    return any(re.search(_OURS, line) for line in lines)


def is_server(value: Any) -> bool:
    """Whether an MCP server is holdfast's."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *arguments]
    return len(words) == 2 and words[1] == "mcp" and _name(words[0]) == "holdfast"


def _is_rule(kind: str, value: Any) -> bool:
    """Whether a permission of Claude Code is one of those that we add. A person may have added the same."""
    return value in CLAUDE_RULES[kind]


def _said(server: Any) -> tuple[Any, Any]:
    """What two registrations of our server must have in common."""
    return server.get("command"), server.get("trust")


def _name(command: Any) -> str:
    return re.split(r"[/\\]", str(command))[-1].removesuffix(".exe")


def program_of(line: str) -> str:
    """The program that a hook of ours starts; empty if that cannot be said."""
    import shlex
    from itertools import pairwise

    try:
        words = shlex.split(line)
        if words[:2] == ["sh", "-c"] and len(words) > 2:
            words = shlex.split(words[2])
    except ValueError:
        return ""
    called = (one for one, next_ in pairwise(words) if next_ == "hook")
    return next((word for word in called if _name(word) == "holdfast"), "")


def programs(text: str) -> list[str]:
    """The programs that the hooks and the server in a JSON file start."""
    root = jsonc.parse(text).value
    found: list[str] = []
    for path in _places(root):
        value = root
        for step in path:
            value = value[step]
        for entry in value.get("hooks", [value]):
            found += [program_of(entry[name]) for name in _LINES if is_hook({name: entry.get(name)})]
        if is_server(value):
            command = value["command"]
            found.append(command[0] if isinstance(command, list) else command)
    return sorted({*found} - {""})


# -- JSON -----------------------------------------------------------------------------------------------------


def merged(text: str, wanted: dict[str, Any]) -> Merged:
    """The text of a JSON file with ``wanted`` inserted; nothing else changes."""
    found = jsonc.pieces(text, wanted, leaf=2)
    done = jsonc.with_pieces(text, found)
    made = [list(path) for piece in found for path in piece.made]
    jsonc.parse(done)
    return Merged(done, [piece.text for piece in found], made)


def holds(value: Any) -> bool:
    """Whether a hook or a server of ours is in the settings."""
    return bool(_places(value))


def has_rules(pieces: list[str], made: list[list[str]] | None) -> bool:
    """Whether what was inserted has permissions in it."""
    return any(path[0] == _RULES for path in made or ()) or any('"mcp__holdfast' in piece for piece in pieces)


def has(text: str, wanted: dict[str, Any]) -> bool:
    """Whether the file contains exactly ``wanted`` of ours."""
    value = jsonc.parse(text).value
    if not isinstance(value, dict):
        return False
    for key, inside in wanted.items():
        there = value.get(key)
        if not isinstance(there, dict):
            return False
        for name, entry in inside.items():
            present = there.get(name)
            if isinstance(entry, list):
                if not isinstance(present, list) or any(each not in present for each in entry):
                    return False
            elif not is_server(present) or _said(present) != _said(entry):
                return False
    entries = [entry for key, inside in wanted.items() if key != _RULES for entry in inside.values()]
    return len(_places(value)) == sum(len(each) if isinstance(each, list) else 1 for each in entries)


def _rules(value: Any) -> list[tuple[str | int, ...]]:
    """The paths of the permissions that we add, last first."""
    inside = value.get(_RULES) if isinstance(value, dict) else None
    return [
        (_RULES, kind, index)
        for kind in CLAUDE_RULES
        if isinstance(inside, dict) and isinstance(rules := inside.get(kind), list)
        for index in range(len(rules) - 1, -1, -1)
        if _is_rule(kind, rules[index])
    ]


def _places(value: Any) -> list[tuple[str | int, ...]]:
    """The paths of our hooks and servers, last first, so that removing one keeps the other paths valid."""
    found: list[tuple[str | int, ...]] = []
    if not isinstance(value, dict):
        return found
    for table in ("mcpServers", "servers", "mcp"):
        inside = value.get(table)
        if isinstance(inside, dict) and is_server(inside.get("holdfast")):
            found.append((table, "holdfast"))
    hooks = value.get("hooks")
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        for index, entry in reversed(list(enumerate(entries if isinstance(entries, list) else ()))):
            if is_hook(entry):
                found.append(("hooks", event, index))
                continue
            handlers = entry.get("hooks") if isinstance(entry, dict) else None
            ours = (
                [i for i, each in enumerate(handlers) if is_hook(each)] if isinstance(handlers, list) else []
            )
            if ours and len(ours) == len(handlers or ()):
                found.append(("hooks", event, index))
            else:
                found += [("hooks", event, index, "hooks", i) for i in reversed(ours)]
    return found


def withdrawn(text: str, pieces: list[str], made: list[list[str]] | None) -> str:
    """The text without what is ours: the exact pieces if they are still there, else wherever our values are now.

    ``made`` are the inserted keys; None if unknown, and then keys that end up empty count as ours.
    """
    exact = _cut_out(text, pieces)
    if exact is not None:
        return exact
    emptied: list[tuple[str, ...]] = []
    value = jsonc.parse(text).value
    for path in (*_places(value), *_rules(value)):
        text = jsonc.without(text, path)
        emptied += [tuple(str(step) for step in path[:length]) for length in (2, 1) if length < len(path)]
    known = None if made is None else {tuple(path) for path in made}
    for empty in sorted(set(emptied), key=len, reverse=True):
        node = jsonc.at_path(jsonc.parse(text), empty)
        ours = known is None or any(empty[: length + 1] in known for length in range(len(empty)))
        if node is not None and not node.value and ours:
            text = jsonc.without(text, empty)
    return text


def _cut_out(text: str, pieces: list[str]) -> str | None:
    """The text without the pieces; None if one of them changed or if the rest would be invalid."""
    for piece in sorted(
        set(pieces), key=len, reverse=True
    ):  # a short piece may also occur inside a longer one
        if text.count(piece) != pieces.count(piece):
            return None
        text = text.replace(piece, "")
    try:
        return text if pieces and not holds(jsonc.parse(text).value) else None
    except Refused:
        return None  # the user's entries follow ours, so commas need fixing


def fresh(wanted: dict[str, Any], skeleton: dict[str, Any]) -> str:
    """The text of a new file."""
    return json.dumps({**skeleton, **wanted}, indent=2, ensure_ascii=False) + "\n"


# -- TOML -----------------------------------------------------------------------------------------------------

_TABLE = "mcp_servers"


def _toml(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"it is not TOML ({error})") from None


def toml_server(text: str) -> Any:
    """The MCP server ``holdfast`` in a TOML file; None if there is none."""
    servers = _toml(text).get(_TABLE, {})
    return servers.get("holdfast") if isinstance(servers, dict) else None


def merged_toml(text: str, server: dict[str, Any]) -> Merged:
    """The text of a TOML file with the server as its last table."""
    line = "\r\n" if "\r\n" in text else "\n"
    before = "" if not text or text.endswith("\n") else line
    rows = [f"[{_TABLE}.holdfast]", *(f"{key} = {json.dumps(value)}" for key, value in server.items()), ""]
    piece = before + (line if text.strip() else "") + line.join(rows)
    expected = _toml(text)
    servers = expected.setdefault(_TABLE, {})
    if not isinstance(servers, dict) or "holdfast" in servers:
        raise Refused(f"{_TABLE}.holdfast exists already and was not added by holdfast")
    servers["holdfast"] = server
    if _toml(text + piece) != expected:
        raise Refused(f"a table {_TABLE}.holdfast cannot be appended to it")
    return Merged(text + piece, [piece], [])


def withdrawn_toml(text: str, pieces: list[str]) -> str:
    """The text without the server."""
    expected = _toml(text)
    server = toml_server(text)
    if not is_server(server):
        return text
    del expected[_TABLE]["holdfast"]
    for done in (
        *(text.replace(piece, "") for piece in pieces if text.count(piece) == 1),
        _without_table(text),
    ):
        left = _toml(done)
        if left == expected or (not expected[_TABLE] and {**left, _TABLE: {}} == expected):
            return done
    raise Refused(f"the table {_TABLE}.holdfast is not where holdfast put it; remove it by hand")


def _without_table(text: str) -> str:
    lines = text.splitlines(keepends=True)
    heads = [i for i, line in enumerate(lines) if line.strip() == f"[{_TABLE}.holdfast]"]
    if len(heads) != 1:
        return text
    end = heads[0] + 1
    while end < len(lines) and "=" in lines[end] and not lines[end].lstrip().startswith("["):
        end += 1
    return "".join(lines[: heads[0]] + lines[end:])
