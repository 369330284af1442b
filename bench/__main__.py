"""``python -m bench``: run the sections, print the tables, write the JSON. Always exits with status 0."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from typing import Any

from bench import machine, ours, peers, raw, report, targets
from bench.contender import Contender
from bench.sections import append, hooks, mcp, opening, processes, startup, verbs
from bench.settings import FULL, QUICK, SECTIONS

CONTENDERS: tuple[Contender, ...] = (
    raw.RawFile(),
    raw.RawSqlite(),
    raw.RawSqliteInUse(),
    *ours.CONTENDERS,
    peers.LangGraph(),
    peers.OpenAI(),
    peers.OpenAILast(),
    peers.EventSourcing(),
    peers.EventSourcingLast(),
    raw.WholeFile(),
)


def main() -> None:
    arguments = _arguments()
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]  # the caller's own session must not be used
    settings = QUICK if arguments.quick else FULL
    folder = machine.work_folder(arguments.folder)
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {text}", file=sys.stderr, flush=True)

    result: dict[str, Any] = {
        "format": 1,
        "machine": machine.facts(folder),
        "settings": {"name": "quick" if arguments.quick else "full", **settings._asdict()},
    }
    try:
        if "verbs" in arguments.only:
            result["verbs"] = verbs.run(settings, folder, say, arguments.before)
        if "append" in arguments.only:
            result["append"] = append.run(settings, CONTENDERS, folder, say)
        if "open" in arguments.only:
            result["open"] = opening.run(settings, CONTENDERS, folder, say)
        if "processes" in arguments.only:
            from bench.racers import RACERS

            result["processes"] = processes.run(settings, RACERS, folder, say)
        if "startup" in arguments.only:
            result["startup"] = startup.run(settings, folder, say)
        if "mcp" in arguments.only:
            result["mcp"] = mcp.run(settings, folder, say)
        if "hooks" in arguments.only:
            result["hooks"] = hooks.run(settings, folder, say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result["seconds"] = round(time.monotonic() - began, 1)
    result["targets"] = targets.judge(result)
    print(report.render(result))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of under a minute; few samples")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.add_argument(
        "--only",
        type=_sections,
        default=SECTIONS,
        metavar="A,B",
        help=f"sections out of {','.join(SECTIONS)}",
    )
    parser.add_argument("--folder", help="measure on the disk of this folder (default: the temporary folder)")
    parser.add_argument(
        "--before",
        metavar="PYTHON",
        help="interpreter with another release of holdfast, for the verbs section",
    )
    return parser.parse_args()


def _sections(text: str) -> tuple[str, ...]:
    wanted = tuple(text.split(","))
    for name in wanted:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(SECTIONS)}")
    return wanted


if __name__ == "__main__":
    main()
