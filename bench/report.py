"""The printed tables: ratios first, then the figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]


def render(result: Row) -> str:
    parts = [_head(result["machine"], result["settings"])]
    for key, draw in (
        ("verbs", _verbs),
        ("append", _append),
        ("open", _open),
        ("processes", _processes),
        ("startup", _startup),
        ("mcp", _mcp),
        ("hooks", _hooks),
    ):
        if key in result:
            parts.append(draw(result[key]["rows"]))
        if key == "append" and key in result:
            parts.append(_close(result[key]["close"]))
    parts.append(_targets(result["targets"]))
    return "\n\n".join(parts)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = [list(heads), *[list(row) for row in rows]]
    widths = [max(len(row[i]) for row in body) for i in range(len(heads))]
    lines = [title, ""]
    for number, row in enumerate(body):
        cells = [row[0].ljust(widths[0])] + [
            cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("-" * len(lines[-1]))
    return "\n".join(lines)


def _head(machine: Row, settings: Row) -> str:
    packages = ", ".join(
        f"{name} {version or 'not installed'}" for name, version in machine["packages"].items()
    )
    busy = machine["load_at_start"] > machine["cpus"] / 4
    warning = "\nThe machine was busy: run again when it is quiet before you trust a figure." if busy else ""
    return (
        f"{machine['cpus']} CPUs ({machine['cpu']}), {machine['system']} {machine['kernel']}, "
        f"{machine['file_system']}, {machine['python']}, SQLite {machine['sqlite']}, "
        f"load {machine['load_at_start']} at the start\n{packages}\n"
        f"Every figure: median over interleaved rounds [quartiles]. Run: {settings['name']}.{warning}"
    )


def _bracket(spread: Row | None, form: str = "{:.2f}") -> str:
    if spread is None:
        return "-"
    return f"{form.format(spread['median'])} [{form.format(spread['q1'])}-{form.format(spread['q3'])}]"


def _verbs(rows: Sequence[Row]) -> str:
    heads = (
        "verb",
        "engine",
        "rhythm",
        "release",
        "x raw write + sync",
        "p50 us",
        "p95 us",
        "mean us",
        "samples",
    )
    body = [
        (
            row["verb"],
            row["engine"],
            row["rhythm"],
            row["release"],
            _bracket(row["ratio"]),
            *(f"{row['us'][key]:.0f}" for key in ("p50", "p95", "mean")),
            str(row["samples"]),
        )
        for row in sorted(rows, key=lambda row: (row["rhythm"], row["engine"], row["verb"], row["release"]))
    ]
    return _table("0. What users run", heads, body)


def _append(rows: Sequence[Row]) -> str:
    heads = (
        "durable append",
        "history",
        "x raw file",
        "x its raw limit",
        "p50 us",
        "p99 us",
        "CPU us",
        "samples",
    )
    body = []
    for row in rows:
        start = (row["contender"], f"{row['history']:,}")
        if "status" in row:
            body.append((*start, row["status"], "", "", "", "", ""))
            continue
        us = row["us"]
        body.append(
            (
                *start,
                _bracket(row["ratio"]),
                _bracket(row["ratio_to_limit"]),
                _bracket(us["p50"], "{:.0f}"),
                f"{us['p99']:.0f}",
                f"{row['cpu_us']['median']:.0f}",
                str(us["samples"]),
            )
        )
    return _table("1. One durable append of about 200 bytes", heads, body)


def _close(rows: Sequence[Row]) -> str:
    heads = ("in close turns", "processor", "x its raw limit", "p50 us", "rounds")
    body = [
        (
            row["contender"],
            row["processor"],
            _bracket(row["ratio_to_limit"]),
            _bracket(row["us"], "{:.0f}"),
            str(row["rounds"]),
        )
        for row in rows
    ]
    return _table("   The same without history, those with a figure to reach, by processor", heads, body)


def _open(rows: Sequence[Row]) -> str:
    heads = ("open + state", "history", "x its shortest", "p50 us", "p99 us", "first open ms", "samples")
    body = []
    for row in rows:
        start = (row["contender"], f"{row['history']:,}")
        if "status" in row:
            body.append((*start, row["status"], "", "", "", ""))
            continue
        us = row["us"]
        body.append(
            (
                *start,
                _bracket(row["ratio"]),
                _bracket(us["p50"], "{:,.0f}"),
                f"{us['p99']:,.0f}",
                f"{row['first_us'] / 1000:,.1f}",
                str(us["samples"]),
            )
        )
    return _table("2. Opening: from nothing in memory to the current state, warm process", heads, body)


def _processes(rows: Sequence[Row]) -> str:
    heads = (
        "one history",
        "procs",
        "x raw lock",
        "x raw sqlite",
        "per second",
        "lost",
        "errors",
        "refused",
        "worst ms",
        "CPU us",
    )
    body = []
    for row in rows:
        start = (row["contender"], str(row["processes"]))
        if "status" in row:
            body.append((*start, row["status"], *[""] * 7))
            continue
        share = 100 * row["lost"] / max(1, row["acknowledged"])
        errors = " ".join(f"{name} {count}" for name, count in row["errors"].items()) or "0"
        body.append(
            (
                *start,
                _bracket(row["ratio"]),
                _bracket(row["ratio_to_sqlite"]),
                _bracket(row["per_second"], "{:.0f}"),
                f"{row['lost']} ({share:.0f} %)" if row["lost"] else "0",
                errors,
                str(row["refused"]),
                f"{row['worst_ms']:.0f}",
                f"{row['cpu_us']['median']:.0f}",
            )
        )
    return _table("3. Several processes on one history", heads, body)


def _startup(rows: Sequence[Row]) -> str:
    return _started("4. Start-up of a command", rows)


def _hooks(rows: Sequence[Row]) -> str:
    return _started("6. Hooks of an agent host, 10,000 commits", rows)


def _started(title: str, rows: Sequence[Row]) -> str:
    heads = ("start to exit", "x python -c pass", "ms", "CPU ms", "samples")
    body = []
    for row in rows:
        if "status" in row:
            body.append((row["command"], row["status"], "", "", ""))
            continue
        form = "{:.1f}"
        body.append(
            (
                row["command"],
                _bracket(row["ratio"]),
                _bracket(row["ms"], form),
                _bracket(row["cpu_ms"], form),
                str(row["samples"]),
            )
        )
    return _table(title, heads, body)


def _mcp(rows: Sequence[Row]) -> str:
    heads = ("one call", "x library call", "p50 us", "p99 us", "samples")
    body = []
    for row in rows:
        if "status" in row:
            body.append((row["call"], row["status"], "", "", ""))
            continue
        us = row["us"]
        body.append(
            (
                row["call"],
                _bracket(row["ratio"]),
                _bracket(us["p50"], "{:,.0f}"),
                f"{us['p99']:,.0f}",
                str(us["samples"]),
            )
        )
    return _table("5. A call of an MCP tool, over stdio, warm server", heads, body)


def _targets(verdicts: Sequence[Row]) -> str:
    heads = ("target", "wanted", "aim", "measured", "")
    body = [(v["target"], v["wanted"], v["aim"], v["measured"], v["verdict"]) for v in verdicts]
    return _table("7. Targets", heads, body)
