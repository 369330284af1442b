"""Lint rules for the contents of state files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.checks import schema
from holdfast.checks.finding import Rule, collector
from holdfast.checks.tree import SESSION_STATE, File, Tree
from holdfast.core.secrets import finder as secrets

Places = Iterator[tuple[str, int, str]]
CHECKS: list[tuple[Rule, Callable[[Tree], Places]]] = []
rule = collector(CHECKS)
STATE_BYTES = 10 * 1024
DEEPEST = 3
LONG_TEXT = 1000
LONG_LINES = 20
_ABSOLUTE = re.compile(r"(?:/(?:home|Users|root|tmp|var|private|mnt|opt|etc)/\S|[A-Za-z]:\\\S)")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_VERSIONS = ("version", "format", "schema_version", "schema", "_version", "plugin_version", "$schema")
_TIMES = (("created_at", "created", "started_at"), ("updated_at", "updated", "last_updated", "started_at"))


def _states(tree: Tree) -> Iterator[File]:
    return (file for file in tree.files if file.is_state_json)


def _objects(tree: Tree) -> Iterator[tuple[File, dict[str, Any]]]:
    for file in _states(tree):
        if isinstance(file.value, dict):
            yield file, file.value


@rule(
    "HF101",
    "warning",
    "a state over 10 KB",
    "Put content into files and refer to them.",
)
def _large(tree: Tree) -> Places:
    for file in _states(tree):
        if file.size > STATE_BYTES:
            yield (
                file.path,
                0,
                f"The state has {file.size:,} bytes; more than {STATE_BYTES:,} belong into files.",
            )


@rule(
    "HF102",
    "error",
    "a state that cannot be read",
    "Restore it from git; write whole files only.",
)
def _broken(tree: Tree) -> Places:
    for file in _states(tree):
        if file.data and file.value is None:
            yield file.path, 0, "Not JSON: a write was cut short, or parts were edited in place."


@rule(
    "HF103",
    "warning",
    "a deeply nested state",
    "Keep it flat, or split it.",
)
def _deep(tree: Tree) -> Places:
    for file, value in _objects(tree):
        depth = _depth(value)
        if depth > DEEPEST:
            yield file.path, 0, f"Objects are nested {depth} levels deep; {DEEPEST} are plenty."


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max((_depth(inner) for inner in value.values()), default=0)
    if isinstance(value, list):
        return max((_depth(inner) for inner in value), default=0)
    return 0


@rule(
    "HF104",
    "warning",
    "a state without times",
    "Always have created_at and updated_at.",
)
def _no_times(tree: Tree) -> Places:
    for file, value in _objects(tree):
        for names in _TIMES if "goal" not in value or "session_id" in value else _TIMES[1:]:
            if not any(name in value for name in names):
                yield file.path, 0, f"There is no {names[0]}: nobody can tell how old this is."


@rule(
    "HF105",
    "warning",
    "a time that is not ISO-8601",
    "Write 2026-01-21T14:30:00Z.",
)
def _odd_times(tree: Tree) -> Places:
    for file, value in _objects(tree):
        for name, found in value.items():
            if found is None or not (name.endswith("_at") or name in ("created", "updated", "last_updated")):
                continue
            if not (isinstance(found, str) and _TIMESTAMP.fullmatch(found)):
                yield file.path, file.line_of(f'"{name}"'), f"{name} is not an ISO-8601 timestamp."


@rule(
    "HF106",
    "warning",
    "a state without a phase",
    "Say where in the work it stands.",
)
def _no_phase(tree: Tree) -> Places:
    for file, value in _objects(tree):
        if file.name == "state.json" and not {"phase", "current_phase", "status"} & value.keys():
            yield file.path, 0, "There is no phase: a successor cannot tell where the work stands."


@rule(
    "HF107",
    "warning",
    "a state without a version of its form",
    "Add a version field.",
)
def _no_version(tree: Tree) -> Places:
    for file, value in _objects(tree):
        if not any(name in value for name in _VERSIONS) and "current_phase" not in value:
            yield file.path, 0, "There is no version of its form: it cannot be migrated safely."


@rule(
    "HF108",
    "warning",
    "an absolute path in a state",
    "Use paths relative to the session or project.",
)
def _absolute(tree: Tree) -> Places:
    for file in _states(tree):
        for number, line in enumerate(file.lines, 1):
            if match := _ABSOLUTE.search(line):
                yield file.path, number, f"An absolute path ({match[0][:40]}…) is right on one machine only."


@rule(
    "HF109",
    "warning",
    "long text in a state",
    "Save it as a file and refer to it.",
)
def _long_text(tree: Tree) -> Places:
    for file, value in _objects(tree):
        for name, text in _texts(value):
            if len(text) > LONG_TEXT or text.count("\n") > LONG_LINES:
                yield file.path, file.line_of(f'"{name}"'), f"{name} holds {len(text):,} characters of text."


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for inner_name, inner in value.items():
            yield from _texts(inner, str(inner_name))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, name)


@rule(
    "HF110",
    "note",
    "a number that can be computed",
    "Compute it when it is needed.",
)
def _derived(tree: Tree) -> Places:
    for file, value in _objects(tree):
        if "seal" in value:
            continue  # our own view: it lists the first few entries and counts all
        for name, number in value.items():
            for form in (r"total_(\w+)", r"(\w+)_count", r"(\w+)_total"):
                match = re.fullmatch(form, name)
                if match and isinstance(number, int) and isinstance(value.get(match[1]), list):
                    yield (
                        file.path,
                        file.line_of(f'"{name}"'),
                        f"{name} can be counted from {match[1]}; it will differ.",
                    )


@rule(
    "HF111",
    "warning",
    "a reference to a file that is not there",
    "Fix or drop the reference.",
)
def _dangling(tree: Tree) -> Places:
    for file, value in _objects(tree):
        base = file.path.rpartition("/")[0]
        for field in ("context", "artifacts"):
            for name, path in _texts(value.get(field, {}), field):
                inside = "/" in path and not path.startswith(("http:", "https:")) and len(path) < 300
                if inside and not tree.has(f"{base}/{path}") and not tree.has(path):
                    yield file.path, file.line_of(path), f"{name} refers to {path[:80]}, which is not there."


@rule(
    "HF112",
    "warning",
    "a checkpoint without instruction",
    "Say how to resume.",
)
def _no_instruction(tree: Tree) -> Places:
    for file, value in _objects(tree):
        checkpoint = value.get("checkpoint")
        if isinstance(checkpoint, dict) and checkpoint.get("can_resume"):
            told = checkpoint.get("resume_instruction") or checkpoint.get("instruction")
            if not told and "message" not in checkpoint:
                yield (
                    file.path,
                    file.line_of('"checkpoint"'),
                    "It says that work can be resumed, but not how.",
                )


@rule(
    "HF113",
    "error",
    "session-state.json breaks its contract",
    "`holdfast schema session-state` has it.",
)
def _contract(tree: Tree) -> Places:
    for file in tree.files:
        if file.name == SESSION_STATE and file.value is not None:
            for problem in schema.problems("session-state", file.value)[:20]:
                name = problem.where.split("/")[1] if "/" in problem.where else ""
                yield file.path, file.line_of(f'"{name}"'), f"{problem.where or 'the file'} {problem.what}."


@rule(
    "HF114",
    "error",
    "a secret in the memory",
    "Remove it and rotate it: it may be in git's history.",
)
def _secret(tree: Tree) -> Places:
    for file in tree.files:
        if file.is_segment or b"\0" in file.data[:8192]:
            continue
        for secret in secrets.find(file.text)[:20]:
            line = file.text.count("\n", 0, secret.start) + 1
            yield file.path, line, f"This looks like a secret ({secret.kind})."
