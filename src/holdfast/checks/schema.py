"""The shipped JSON Schemas, and a validator for the subset of JSON Schema 2020-12 that they use."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from holdfast.errors import NotFound

NAMES = ("commit", "session-state", "state", "output")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


Test = Callable[[Any], bool]


class Problem(NamedTuple):
    """One violation of a schema."""

    where: str
    """A JSON pointer such as ``/decisions/0``; empty for the whole value."""
    what: str


def text(name: str) -> str:
    """The text of a shipped schema."""
    if name not in NAMES:
        raise NotFound(f"There is no schema {name[:60]!r}.", hint=f"There are: {', '.join(NAMES)}.")
    return (files("holdfast.checks") / "schemas" / f"{name}.schema.json").read_text("utf-8")


@cache
def _parsed(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(text(name))
    return schema


def problems(name: str, value: Any) -> list[Problem]:
    """Every violation of a schema by a value."""
    if _compiled(name)(value):
        return []  # nearly always
    schema = _parsed(name)
    return list(_check(value, schema, schema, ""))


@cache
def _compiled(name: str) -> Test:
    """Whether a value matches a schema, without saying why not: an eighth of the time of ``_check``."""
    schema = _parsed(name)
    definitions: dict[str, Test] = {}
    for key, definition in schema.get("$defs", {}).items():
        definitions[key] = _test(definition, definitions)
    return _test(schema, definitions)


def _test(schema: dict[str, Any], definitions: dict[str, Test]) -> Test:
    """A function that is true only for values in which ``_check`` finds no problem."""
    tests: list[Test] = []
    if "$ref" in schema:
        target = schema["$ref"].rpartition("/")[2]
        tests.append(lambda value: definitions[target](value))
    if "anyOf" in schema:
        options = [_test(option, definitions) for option in schema["anyOf"]]
        tests.append(lambda value: any(option(value) for option in options))
    if "type" in schema:
        tests.append(_type_test(schema["type"]))
    if "const" in schema:
        const = schema["const"]
        tests.append(lambda value: value == const)
    if "enum" in schema:
        enum = schema["enum"]
        tests.append(lambda value: value in enum)
    tests += _content_tests(schema, definitions)
    if not tests:
        return lambda value: True
    if len(tests) == 1:
        return tests[0]
    return lambda value: all([test(value) for test in tests])  # noqa: C419 - a list is faster for two or three


def _type_test(types: str | list[str]) -> Test:
    allowed = frozenset(
        kind for name in ([types] if isinstance(types, str) else types) for kind in _TYPES[name]
    )
    return lambda value: type(value) in allowed


def _content_tests(schema: dict[str, Any], definitions: dict[str, Test]) -> Iterator[Test]:
    """What the schema says about the inside of objects, lists, texts and numbers."""
    if {"required", "properties", "additionalProperties"} & schema.keys():
        yield _object_test(schema, definitions)
    if "items" in schema or "minItems" in schema:
        least, item = schema.get("minItems", 0), _test(schema.get("items", {}), definitions)
        yield lambda value: type(value) is not list or (len(value) >= least and all(map(item, value)))
    if {"minLength", "maxLength", "pattern", "format"} & schema.keys():
        yield _text_test(schema)
    if "minimum" in schema:
        minimum = schema["minimum"]
        yield lambda value: not isinstance(value, (int, float)) or value >= minimum


def _text_test(schema: dict[str, Any]) -> Test:
    least, most = schema.get("minLength", 0), schema.get("maxLength", sys.maxsize)
    searches: list[Callable[[str], object]] = []
    if "pattern" in schema:
        searches.append(re.compile(schema["pattern"]).search)
    if schema.get("format") == "date-time":
        searches.append(_TIMESTAMP.fullmatch)
    if len(searches) == 1 and not least and most == sys.maxsize:  # as nearly every one
        (search,) = searches
        return lambda value: type(value) is not str or search(value) is not None
    return lambda value: (
        type(value) is not str or (least <= len(value) <= most and all(search(value) for search in searches))
    )


def _object_test(schema: dict[str, Any], definitions: dict[str, Test]) -> Test:
    required = frozenset(schema.get("required", ()))
    known = {name: _test(entry, definitions) for name, entry in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties", True)
    other = _test(others, definitions) if isinstance(others, dict) else lambda value: others is not False

    def test(value: Any) -> bool:
        if type(value) is not dict:
            return True
        if not required <= value.keys():
            return False
        return all([known.get(name, other)(entry) for name, entry in value.items()])  # noqa: C419

    return test


def _check(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str) -> Iterator[Problem]:
    if "$ref" in schema:
        yield from _check(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, where)
    if "anyOf" in schema and all(list(_check(value, option, root, where)) for option in schema["anyOf"]):
        yield Problem(where, "matches none of the allowed schemas")
    if "type" in schema and not _is_of(value, schema["type"]):
        wanted = schema["type"] if isinstance(schema["type"], str) else " or ".join(schema["type"])
        yield Problem(where, f"must be of type {wanted}")
        return
    if "const" in schema and value != schema["const"]:
        yield Problem(where, f"must be {json.dumps(schema['const'])}")
    if "enum" in schema and value not in schema["enum"]:
        yield Problem(where, f"must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, dict):
        yield from _object(value, schema, root, where)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield Problem(where, f"needs at least {schema['minItems']} entries")
        for place, entry in enumerate(value):
            yield from _check(entry, schema.get("items", {}), root, f"{where}/{place}")
    elif isinstance(value, str):
        yield from _text(value, schema, where)
    elif isinstance(value, (int, float)) and value < schema.get("minimum", value):
        yield Problem(where, f"must be at least {schema['minimum']}")


def _object(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], where: str
) -> Iterator[Problem]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Problem(f"{where}/{name}", "is required")
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, entry in value.items():
        if name in known:
            yield from _check(entry, known[name], root, f"{where}/{name}")
        elif others is False:
            yield Problem(f"{where}/{name}", "is an unknown field")
        elif isinstance(others, dict):
            yield from _check(entry, others, root, f"{where}/{name}")


def _text(value: str, schema: dict[str, Any], where: str) -> Iterator[Problem]:
    if len(value) < schema.get("minLength", 0):
        yield Problem(where, "must not be empty")
    if len(value) > schema.get("maxLength", len(value)):
        yield Problem(where, f"is longer than {schema['maxLength']} characters")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield Problem(where, f"does not match {schema['pattern']}")
    if schema.get("format") == "date-time" and not _TIMESTAMP.fullmatch(value):
        yield Problem(where, "must be an ISO-8601 timestamp")


def _is_of(value: Any, types: str | list[str]) -> bool:
    for name in [types] if isinstance(types, str) else types:
        if isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool)):
            return True
    return False
