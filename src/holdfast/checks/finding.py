"""Findings of checks, and their output formats: JSON, SARIF 2.1.0, GitHub annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from holdfast.core.hashing import blake2b
from holdfast.version import __version__

LEVELS = ("error", "warning", "note")
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


class Rule(NamedTuple):
    """One rule of a check."""

    id: str
    level: str
    summary: str
    advice: str


Check = TypeVar("Check")


def collector(into: list[tuple[Rule, Check]]) -> Callable[[str, str, str, str], Callable[[Check], Check]]:
    """A decorator that registers a check with its rule."""

    def rule(name: str, level: str, summary: str, advice: str) -> Callable[[Check], Check]:
        def put(check: Check) -> Check:
            into.append((Rule(name, level, summary, advice), check))
            return check

        return put

    return rule


class Finding(NamedTuple):
    """One violation of a rule."""

    rule: Rule
    path: str
    """Relative to the project, with slashes."""
    line: int
    message: str

    def as_data(self) -> dict[str, Any]:
        return {
            "rule": self.rule.id,
            "level": self.rule.level,
            "path": self.path,
            "line": self.line,
            "message": self.message,
            "advice": self.rule.advice,
        }


def sarif(findings: Iterable[Finding], rules: Iterable[Rule]) -> dict[str, Any]:
    """The findings as a SARIF log with one run."""
    listed = sorted(rules)
    places = {rule.id: place for place, rule in enumerate(listed)}
    results = []
    for finding in findings:
        location: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.path)}}
        if finding.line:
            location["region"] = {"startLine": finding.line}
        known = blake2b(f"{finding.rule.id}\0{finding.path}\0{finding.message}".encode(), digest_size=16)
        results.append(
            {
                "ruleId": finding.rule.id,
                "ruleIndex": places[finding.rule.id],
                "level": finding.rule.level,
                "message": {"text": finding.message},
                "locations": [{"physicalLocation": location}],
                "partialFingerprints": {"holdfast/v1": known.hexdigest()},
            }
        )
    driver = {
        "name": "holdfast",
        "version": __version__,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.summary},
                "help": {"text": rule.advice},
                "defaultConfiguration": {"level": rule.level},
            }
            for rule in listed
        ],
    }
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def github(findings: Iterable[Finding]) -> str:
    """The findings as workflow commands, which GitHub shows as annotations."""
    lines = []
    for finding in findings:
        place = f"file={_property(finding.path)}" + (f",line={finding.line}" if finding.line else "")
        title = _property(f"holdfast {finding.rule.id}")
        lines.append(f"::{_GITHUB[finding.rule.level]} {place},title={title}::{_escaped(finding.message)}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path)
