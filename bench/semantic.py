"""Ranking by meaning: loading the model, making vectors, and searching, at several numbers of texts.

``python -m bench.semantic [--texts 10000 50000]`` makes a workspace for each number, measures, and prints one row per
figure: milliseconds on the clock, and of the processor.
"""

from __future__ import annotations

import argparse
import os
import tempfile

from bench.recall import USER, Texts, Took, _command, _once, make, timed
from holdfast.index import vectors

QUESTION = "which database did we choose for the reports"


def _row(name: str, took: Took, note: str = "") -> None:
    print(f"{name:44} {took.wall:10,.1f} ms ({took.cpu:,.1f} ms of the processor)  {note}", flush=True)


def measure(folder: str) -> None:
    """The figures of one workspace."""
    import holdfast
    from holdfast.index import embedding

    with holdfast.open(folder, user=USER) as workspace:
        workspace.index.catch_up()
        (texts,) = workspace.index.read(lambda db, _: db.execute("SELECT count(*) FROM texts").fetchone())
        before = os.path.getsize(workspace.index.path)
        _row("load the model", _once(embedding.load))
        took = _once(lambda: workspace.search(QUESTION, semantic=True))
        count = min(texts, vectors.MOST)
        _row("first search: makes all vectors", took, f"{texts:,} texts, {count / took.wall * 1000:,.0f}/s")
        grown = os.path.getsize(workspace.index.path) - before
        print(f"{'size of the vectors':44} {grown / 1e6:10,.1f} MB")
        words = Texts(7).words
        pair = f"{words[40]} {words[200]}"
        for label, question in (("a question", QUESTION), ("two words", pair)):
            _row(f"by words, warm: {label}", timed(lambda q=question: workspace.search(q, semantic=False)))
            _row(
                f"by words and meaning, warm: {label}",
                timed(lambda q=question: workspace.search(q, semantic=True)),
            )
        workspace.session().note("one more text")
        _row("with one new text", _once(lambda: workspace.search(QUESTION, semantic=True)))
    _row("holdfast search --no-semantic", timed(_command(folder, "search", QUESTION, "--no-semantic"), 5))
    _row("holdfast search --semantic", timed(_command(folder, "search", QUESTION, "--semantic"), 5))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.semantic", description=__doc__)
    parser.add_argument("--texts", type=int, nargs="+", default=[10_000, 50_000])
    arguments = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]
    for texts in arguments.texts:
        with tempfile.TemporaryDirectory() as folder:
            commits = int(texts * 1.46)  # some commits add to a text that is there
            make(folder, max(1, commits // 100), commits)
            measure(folder)


if __name__ == "__main__":
    main()
