"""Validate the arguments of tools against their schema: only the few types that our tools use."""

from __future__ import annotations

from holdfast.errors import Usage
from holdfast.typed import Any

Schema = dict[str, Any]


def checked(
    tool: str, known: dict[str, Schema], required: tuple[str, ...], given: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a tool, without those that are null. Raises ``Usage`` if they do not match the schema."""
    problems = [f"unknown argument {name[:40]!r}" for name in given if name not in known]
    taken = {name: value for name, value in given.items() if value is not None and name in known}
    problems += [f"{name} is missing" for name in required if name not in taken]
    for name, value in taken.items():
        problem = _problem(known[name], value)
        if problem:
            problems.append(f"{name} {problem}")
        elif known[name]["type"] == "integer":
            taken[name] = int(value)
    if problems:
        names = ", ".join(name if name in required else f"[{name}]" for name in known)
        raise Usage(f"{tool}: {'; '.join(problems[:5])}. Nothing was written.", hint=f"It takes {names}.")
    return taken


def _problem(schema: Schema, value: Any) -> str:
    kind = schema["type"]
    if kind == "string":
        if not isinstance(value, str):
            return f"must be a string, not {_kind(value)}"
        if "enum" in schema and value not in schema["enum"]:
            return f"must be one of {', '.join(schema['enum'])}, not {value[:40]!r}"
    elif kind == "boolean":
        if not isinstance(value, bool):
            return f"must be true or false, not {_kind(value)}"
    elif kind == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not whole or isinstance(value, bool):
            return f"must be an integer, not {_kind(value)}"
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if not least <= value <= most:
            return f"must be from {least} to {most}" if "maximum" in schema else f"must be at least {least}"
    elif not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return "must be a list of strings"
    return ""


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}.get(
        type(value), "a number"
    )
