"""Clones on disk that exchange segments in any order, as merges do."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.testing.commands import COMMANDS, Choice, Step
from holdfast.workspace.setup import init


def exchange(source: Path, target: Path, chance: random.Random) -> None:
    """Copy every segment that the other clone lacks or has only the start of, in random order."""
    segments = [path for path in (source / ".state" / "events").rglob("*.jsonl") if path.is_file()]
    chance.shuffle(segments)
    for segment in segments:
        place = target / segment.relative_to(source)
        if not place.exists() or place.stat().st_size < segment.stat().st_size:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(segment, place)


@pytest.mark.parametrize("seed", range(4))
def test_clones_that_exchanged_everything_have_the_same_state_and_results(tmp_path: Path, seed: int) -> None:
    """Three folders with separate work, and segments copied between them at random, end with one state."""
    chance = random.Random(seed)
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
        init(str(folder), given=True)
    with holdfast.open(folders[0]) as workspace:
        name = workspace.start("Ship it", phases=["look", "fix", "prove"]).id
    names = sorted(COMMANDS)
    for folder in folders[1:]:
        exchange(folders[0], folder, chance)
    for _ in range(6):
        for number, folder in enumerate(folders):
            with holdfast.open(folder) as workspace:
                session = workspace.session(f"alice/{name}")
                for _ in range(8):
                    step = Step(number, chance.choice(names), chance.randrange(40), "a text")
                    try:
                        COMMANDS[str(step.command)](session, Choice(session, step))
                    except HoldfastError:
                        continue
            exchange(folder, chance.choice(folders), chance)
    for folder in folders * 2:
        for other in folders:
            if other != folder:
                exchange(folder, other, chance)
    found = set()
    for folder in folders:
        with holdfast.open(folder) as workspace:
            session = workspace.session(f"alice/{name}")
            found.add(json.dumps([session.state, session.results()], sort_keys=True))
    assert len(found) == 1
