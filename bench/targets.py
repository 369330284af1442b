"""The targets, and whether this run met them. A run that misses is still a valid measurement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import ours
from bench.sections import mcp, verbs
from bench.sections.append import ALL
from bench.sections.startup import status_row

Result = dict[str, Any]
Verdict = dict[str, str]

APPEND_LIMIT = 1.2
APPEND_AIM = 1.1
FLAT_LIMIT = 1.1
OPEN_FLAT_LIMIT = 1.5
OPEN_LIMIT_MS = 5.0
RACE_RAW_LIMIT = 0.6
RACE_SQLITE_LIMIT = 2.0
RACE_WORST_MS = 500.0
STATUS_LIMIT = 3.0
STATUS_AIM = 3.0
VERB_LIMIT = 1.15
HOOK_LIMITS = {"prompt": 4.0, "stop": 4.0, "session start": 6.0}
HOOK_AIM = 3.0
MCP_LIMIT = 2.0


def judge(result: Result) -> list[Verdict]:
    verdicts = [
        *_verbs(result.get("verbs")),
        *_append(result.get("append")),
        *_open(result.get("open")),
        *_race(result),
        *_startup(result),
    ]
    return [*verdicts, *_mcp(result), *_hooks(result)]


def _verdict(
    what: str, wanted: str, value: float | None, passes: Callable[[float], bool], form: str, aim: str = ""
) -> Verdict:
    if value is None:
        return {"target": what, "wanted": wanted, "aim": aim, "measured": "-", "verdict": "not measured"}
    return {
        "target": what,
        "wanted": wanted,
        "aim": aim,
        "measured": form.format(value),
        "verdict": "pass" if passes(value) else "MISS",
    }


def _cell(section: Result | None, name: str, key: str, value: int) -> Result | None:
    for row in (section or {}).get("rows", ()):
        if row["contender"] == name and row[key] == value and "status" not in row:
            found: Result = row
            return found
    return None


def _verbs(section: Result | None) -> list[Verdict]:
    """No figure is much worse than in the previous release, and their sum is better."""
    if not section or verbs.BEFORE not in section["sums"]:
        return []
    found = []
    for key in ("p50", "p95", "mean"):
        worst = max(verbs.changes(section), key=lambda change: change["ratio"][key])
        name = f"{worst['verb']} on {worst['engine']}, {worst['rhythm']}"
        sums = section["sums"]
        found += [
            _verdict(
                f"verbs, {key}: worst against before ({name})",
                f"<= {VERB_LIMIT}",
                worst["ratio"][key],
                lambda v: v <= VERB_LIMIT,
                "{:.2f}",
            ),
            _verdict(
                f"verbs, {key}: sum of all against before",
                "<= 1",
                sums[verbs.AFTER][key] / sums[verbs.BEFORE][key],
                lambda v: v <= 1,
                "{:.2f}",
            ),
        ]
    return found


def _append(section: Result | None) -> list[Verdict]:
    verdicts = []
    for name, against in (
        (ours.FILES, "raw write + fdatasync"),
        (ours.FILES_STORE, "raw write + fdatasync"),
        (ours.SQLITE, "raw insert commit"),
        (ours.SQLITE_STORE, "raw insert commit"),
    ):
        value = _close(section, name)
        aim = f"{APPEND_AIM}" if "files" in name else ""
        what = f"append, {name}: p50 against {against}"
        verdicts.append(
            _verdict(what, f"<= {APPEND_LIMIT}", value, lambda v: v <= APPEND_LIMIT, "{:.2f}", aim)
        )
    for name in (ours.FILES, ours.SQLITE):
        flat = (section or {}).get("flat", {}).get(name)
        value = flat["ratio"]["median"] if flat and flat["to"] == 100_000 else None
        what = f"append, {name}: 100,000 commits of history against 0"
        verdicts.append(_verdict(what, f"<= {FLAT_LIMIT}", value, lambda v: v <= FLAT_LIMIT, "{:.2f}"))
    return verdicts


def _close(section: Result | None, name: str) -> float | None:
    """The ratio in close turns over all processors, or on the only one."""
    rows = [row for row in (section or {}).get("close", ()) if row["contender"] == name]
    whole = [row for row in rows if row["processor"] == ALL] or rows
    return float(whole[0]["ratio_to_limit"]["median"]) if whole else None


def _open(section: Result | None) -> list[Verdict]:
    verdicts = []
    for name in (ours.FILES, ours.SQLITE):
        row = _cell(section, name, "history", 1_000_000)
        flat = row["ratio"]["median"] if row and row["ratio_to"] == 1_000 else None
        took = row["us"]["p50"]["median"] / 1000 if row else None
        what = f"open, {name}: 1,000,000 commits against 1,000"
        verdicts.append(
            _verdict(what, f"<= {OPEN_FLAT_LIMIT}", flat, lambda v: v <= OPEN_FLAT_LIMIT, "{:.2f}")
        )
        what = f"open, {name}: 1,000,000 commits, warm process"
        verdicts.append(
            _verdict(what, f"< {OPEN_LIMIT_MS:g} ms", took, lambda v: v < OPEN_LIMIT_MS, "{:.2f} ms")
        )
    return verdicts


def _race(result: Result) -> list[Verdict]:
    section = result.get("processes")
    verdicts = []
    for name in (ours.FILES, ours.SQLITE):
        row = _cell(section, name, "processes", 8)
        lost = float(row["lost"]) if row else None
        errors = float(sum(row["errors"].values())) if row else None
        raw = row["ratio"]["median"] if row else None
        sqlite = row["ratio_to_sqlite"]["median"] if row else None
        worst = row["worst_ms"] if row else None
        prefix = f"8 processes, {name}"
        verdicts += [
            _verdict(f"{prefix}: lost", "0", lost, lambda v: v == 0, "{:.0f}"),
            _verdict(f"{prefix}: errors", "0", errors, lambda v: v == 0, "{:.0f}"),
            _verdict(
                f"{prefix}: worst append",
                f"< {RACE_WORST_MS:g} ms",
                worst,
                lambda v: v < RACE_WORST_MS,
                "{:.0f} ms",
            ),
        ]
        if name == ours.FILES:
            verdicts += [
                _verdict(
                    f"{prefix}: rate against raw locked append",
                    f">= {RACE_RAW_LIMIT}",
                    raw,
                    lambda v: v >= RACE_RAW_LIMIT,
                    "{:.2f}",
                ),
                _verdict(
                    f"{prefix}: rate against raw SQLite",
                    f">= {RACE_SQLITE_LIMIT:g}",
                    sqlite,
                    lambda v: v >= RACE_SQLITE_LIMIT,
                    "{:.2f}",
                ),
            ]
    return verdicts


def _startup(result: Result) -> list[Verdict]:
    row = status_row(result.get("startup", {}).get("rows", ()))
    value = row["ratio"]["median"] if row else None
    what = "holdfast status, start to exit, against python -c pass"
    return [
        _verdict(
            what, f"<= {STATUS_LIMIT:g}", value, lambda v: v <= STATUS_LIMIT, "{:.2f}", f"{STATUS_AIM:g}"
        )
    ]


def _mcp(result: Result) -> list[Verdict]:
    return [
        _verdict(
            f"{name}: p50 against the library call",
            f"<= {MCP_LIMIT:g}",
            mcp.ratio_of(result, name),
            lambda v: v <= MCP_LIMIT,
            "{:.2f}",
        )
        for name in (mcp.TOOL_NOTE, mcp.TOOL_DECIDE)
    ]


def _hooks(result: Result) -> list[Verdict]:
    rows = {row["command"]: row for row in result.get("hooks", {}).get("rows", ()) if "ratio" in row}
    verdicts = []
    for event, limit in HOOK_LIMITS.items():
        row = rows.get(f"hook claude: {event}")
        value = row["ratio"]["median"] if row else None
        what = f"hook, {event}, start to exit, against python -c pass"
        verdicts.append(
            _verdict(what, f"<= {limit:g}", value, lambda v, m=limit: v <= m, "{:.2f}", f"{HOOK_AIM:g}")  # type: ignore[misc]
        )
    return verdicts
