"""``PYTHONPATH=tests python -m days [words]``: play the days whose name has these words, and print the scores.

``--show`` prints each brief too, ``--noise`` the lines that answer nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from .engine import VARIANTS, noise_of, play, table
from .scripts import DAYS


def main() -> None:
    for name in list(os.environ):
        if name.startswith("HOLDFAST_"):
            del os.environ[name]
    os.environ["HOLDFAST_USER"] = "alice"
    show = "--show" in sys.argv
    words = " ".join(word for word in sys.argv[1:] if not word.startswith("--"))
    scores = []
    for day in DAYS:
        if words not in day.name:
            continue
        for variant in VARIANTS:
            with tempfile.TemporaryDirectory() as folder:
                scores.append(play(day, variant, Path(folder)))
            if day.held_out and "--open" not in sys.argv:
                continue  # nothing is tuned to these
            if show:
                print(f"\n=== {day.name}, {variant}\n{scores[-1].text}")
            if "--noise" in sys.argv:
                facts = [fact for question in day.questions for fact in question.facts]
                noise_of(scores[-1].text, facts, lambda line: print(f"noise: {line[:230]}"))
            for miss in scores[-1].missing:
                print(f"{day.name} ({variant}) misses {miss}", flush=True)
    print(table(scores))
    held = {day.name for day in DAYS if day.held_out}
    for variant in VARIANTS:
        for out in (False, True):
            of = [score for score in scores if score.variant == variant and (score.day in held) is out]
            words = "held out" if out else "other days"
            print(f"{variant}, {words}: {sum(s.answered for s in of)} of {sum(s.asked for s in of)}")


if __name__ == "__main__":
    main()
