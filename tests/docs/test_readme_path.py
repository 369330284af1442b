"""The functions that README names for `holdfast decide` are the path that the command really takes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

TRACE = """
import sys
from holdfast.edge import cli
calls = []
def called(frame, event, argument):
    if event == "call" and "holdfast" in frame.f_code.co_filename:
        calls.append(f"{frame.f_code.co_filename} {frame.f_code.co_name}")
sys.setprofile(called)
status = cli.main(["decide", "Use SQLite", "--because", "one file", "--json"])
sys.setprofile(None)
print()
print("\\n".join(dict.fromkeys(calls)))
sys.exit(status)
"""


def test_the_named_functions_are_called_in_the_named_order(tmp_path: Path) -> None:
    """`holdfast decide` calls each function that README lists under "How it is built", first calls in that order."""
    section = (ROOT / "README.md").read_text().split("## How it is built")[1]
    named = re.findall(r"\]\(src/holdfast/([^)]+\.py)\) \| `(\w+)` \|", section)
    assert len(named) >= 8
    environment = os.environ | {"HOLDFAST_USER": "ann"}
    for words in (["init"], ["start", "A goal"]):
        subprocess.run(
            [sys.executable, "-c", f"from holdfast.edge.cli import main; main({words!r})"],
            cwd=tmp_path,
            env=environment,
            check=True,
        )
    done = subprocess.run(
        [sys.executable, "-c", TRACE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    calls = [
        line.replace(os.sep, "/").rpartition("holdfast/")[2].split() for line in done.stdout.splitlines()
    ]
    assert [tuple(call) for call in calls if tuple(call) in named] == named
