"""Five tasks, each of which builds on the result of the one before; run as a program that can be killed.

``five_tasks.py WORKSPACE SESSION BATCH [BOUNDARY]``: with a boundary, the process kills itself there.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import holdfast
from holdfast import batch

TASKS = ["generate", "sort", "reverse", "join", "count"]
WORDS = ["pear", "apple", "quince", "fig", "cherry"]
boundary = -1


def die_at(place: int) -> None:
    if place == boundary:
        os.kill(os.getpid(), signal.SIGKILL)


def work(task: str, previous: Any) -> Any:
    step = TASKS.index(task)
    die_at(2 * step)
    result: Any = {
        "generate": lambda: list(WORDS),
        "sort": lambda: sorted(previous),
        "reverse": lambda: [word[::-1] for word in previous],
        "join": lambda: "-".join(previous),
        "count": lambda: len(previous),
    }[task]()
    die_at(2 * step + 1)
    return result


if __name__ == "__main__":
    where, name, wanted = sys.argv[1:4]
    boundary = int(sys.argv[4]) if len(sys.argv) > 4 else -1
    with holdfast.open(where, user="alice") as workspace:
        batch.run(workspace.session(name), wanted, work)
