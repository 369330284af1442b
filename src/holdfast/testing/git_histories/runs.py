"""Run random histories: ``python -m holdfast.testing.git_histories.runs SEED…``; a range of seeds is ``7-90``."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback

from holdfast.testing.git_histories.clones import History


def main(arguments: list[str]) -> int:
    """Run the histories of some seeds in sequence and print which ones failed."""
    broken = 0
    for text in arguments:
        first, _, last = text.partition("-")
        for seed in range(int(first), int(last or first) + 1):
            with tempfile.TemporaryDirectory(dir=base(), prefix="holdfast-") as folder:
                history = History(os.path.join(folder, "h"), seed)
                try:
                    history.run()
                    print(seed, "holds", len(history.acknowledged), "commits", flush=True)
                except Exception:
                    broken += 1
                    print(seed, "is broken:", traceback.format_exc(), *history.done, sep="\n", flush=True)
    return min(1, broken)


def base() -> str:
    """A scratch folder in tmpfs if available: durability is not tested here."""
    shared = "/dev/shm"
    return shared if os.access(shared, os.W_OK) else tempfile.gettempdir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
