"""Advice: whether a piece of work needs memory, how to isolate sessions, and which engine to use.

The decision framework is data, so that a person at a terminal and a script get the same advice.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    name: str
    text: str


QUESTIONS = (
    Question("steps", "Does the work take several steps?"),
    Question("handoffs", "Do agents hand work with its context to one another?"),
    Question("resume", "Must the work be resumable after an interruption?"),
    Question("fits", "Does the whole context fit into one prompt?"),
    Question("users", "Do several people work in the same repository?"),
    Question("parallel", "Does one person run several workflows at once?"),
    Question("busy", "Do many processes write to one session at the same time?"),
    Question("diffs", "Must changes be visible as diffs in git, readable without tools?"),
    Question("queries", "Is state queried by several criteria, or checked by a schema in the store?"),
    Question("hosts", "Do agents on several machines share the state?"),
    Question("relations", "Is state part of a relational database, with other tables or embeddings?"),
)
"""In the order they are asked; the later ones only matter if memory is needed."""
NEED = ("steps", "handoffs", "resume", "fits")


class Advice(NamedTuple):
    memory: bool
    memory_because: str
    kind: str
    """stateless, session or persistent."""
    isolation: str
    isolation_because: str
    engine: str
    engine_because: str
    url: str


def needs_memory(answers: dict[str, bool]) -> tuple[bool, str]:
    """Whether memory is needed, and the first answer that decides it."""
    if answers.get("steps"):
        return True, "the work takes several steps"
    if answers.get("handoffs"):
        return True, "agents hand over work with its context"
    if answers.get("resume"):
        return True, "the work must be resumable after an interruption"
    if not answers.get("fits", True):
        return True, "the context does not fit into one prompt"
    return False, "one step, no handover, nothing to resume, and everything fits into one prompt"


def advise(answers: dict[str, bool]) -> Advice:
    """The advice with its reasons; an unanswered question counts as no (``fits``: as yes)."""
    memory, because = needs_memory(answers)
    kind = "stateless"
    if memory:
        lasting = any(answers.get(name) for name in ("handoffs", "resume", "users", "hosts"))
        kind = "persistent" if lasting else "session"
    isolation, isolation_because = (
        _isolation(answers) if memory else ("none", "there is no state to keep apart")
    )
    engine, engine_because, url = _engine(answers) if memory else ("none", "nothing is stored", "")
    return Advice(memory, because, kind, isolation, isolation_because, engine, engine_because, url)


def _isolation(answers: dict[str, bool]) -> tuple[str, str]:
    if answers.get("busy") and answers.get("hosts"):
        return "database", "many writers on several machines need a store that orders them"
    if answers.get("users"):
        return "user", "each person has a folder of sessions, so no two people touch the same files"
    if answers.get("parallel"):
        return "session", "each workflow gets its own session id"
    return "session", "one session at a time, each in its own folder"


def _engine(answers: dict[str, bool]) -> tuple[str, str, str]:
    server = "postgresql://user@host/database"
    if answers.get("relations"):
        return "postgres", "the log is in the same database as the other tables", server
    if answers.get("hosts"):
        return "postgres", "shared between machines, with ordered writes", server
    if answers.get("diffs") or not answers.get("queries"):
        return "files", "nothing to deploy, readable, and every change is a diff in git", ".state"
    return "sqlite", "queries and a schema in the store, still one file and no server", "sqlite:///state.db"
