"""A program with one session: reads verbs from standard input and prints the time of each call.

``python verbs_worker.py ENGINE FOLDER``; ENGINE is ``raw``, ``files``, ``git`` or ``sqlite``. It uses only public
names, so that the same file runs with another release of holdfast, under the interpreter that has it installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter_ns

TEXT = "The build is green again after the lock order was fixed; next is the review of the retry rule."
REASON = "all checks are green, and nobody else works on it"
VERBS = ("decide", "settle", "note", "record")


def _raw(folder: str) -> dict[str, Callable[[], object]]:
    fd = os.open(os.path.join(folder, "log.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    line = b'{"kind":"observation","text":"' + TEXT.encode() + b" " + REASON.encode() + b'","cost":1.25}\n'

    def append() -> None:
        os.write(fd, line)
        os.fdatasync(fd)

    return dict.fromkeys(VERBS, append)


def _session(engine: str, folder: str) -> dict[str, Callable[[], object]]:
    import holdfast

    if engine == "git":
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
        for words in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "Begin")):
            subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.DEVNULL)
    where = folder
    if engine == "sqlite":
        where = f"sqlite:///{os.path.join(folder, 'holdfast.db')}"
    else:
        command = [sys.executable, "-m", "holdfast", "init"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    workspace = holdfast.open(where, user="bench")
    session = workspace.start("Measure what a durable step costs")
    opened: list[str] = []
    return {
        "decide": lambda: opened.append(session.decide(TEXT, because=REASON, action="run the tests").id),
        "settle": lambda: session.settle(opened.pop(0), "done, all tests pass"),
        "note": lambda: session.note(TEXT),
        "record": lambda: session.record("x.bench", {"text": TEXT, "why": REASON, "cost": 1.25}),
    }


def main() -> None:
    engine, folder = sys.argv[1:]
    steps = _raw(folder) if engine == "raw" else _session(engine, folder)
    print("ready", flush=True)
    for line in sys.stdin:
        verb, count = line.split()
        step, times = steps[verb], []
        for _ in range(int(count)):
            start = perf_counter_ns()
            step()
            times.append(perf_counter_ns() - start)
        print(*times, flush=True)


if __name__ == "__main__":
    main()
