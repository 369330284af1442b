"""Guided fuzzing: ``python tests/fuzz/run.py TARGET [FOLDER] [OPTIONS]``, with atheris.

Options are libFuzzer's, such as ``-max_total_time=60``; the folder has inputs to begin with.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))
with atheris.instrument_imports(include=["holdfast"]):
    from tests.fuzz.targets import TARGETS, run

if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    target = TARGETS[name]
    atheris.Setup([sys.argv[0], *rest], lambda data: run(target, data))
    atheris.Fuzz()
