"""All racers by name: worker processes look theirs up here."""

from __future__ import annotations

from bench.contender import Racer
from bench.ours import RACERS as OURS
from bench.peers import EventSourcingRacer, LangGraphUpdate, OpenAIRacer
from bench.raw import LockedFile, LockedFileSyncInside, SqliteRacer

RACERS: tuple[Racer, ...] = (
    LockedFile(),
    LockedFileSyncInside(),
    SqliteRacer(),
    *OURS,
    LangGraphUpdate(),
    OpenAIRacer(),
    EventSourcingRacer(),
)


def racer_named(name: str) -> Racer:
    return next(racer for racer in RACERS if racer.name == name)
