"""The conversations of agent hosts in this place, and the session that each of them works on.

Each conversation has a note in ``local/hosts/`` that outlives it, so that one that is resumed finds its session again.
``local/hosts/recent`` has the last ones with their process, for the questions that must be fast: who is live here, and
in which conversation does this command run? All of it is local, and is decided under one lock: two conversations that
start at the same time do not take the same session.
"""

from __future__ import annotations

import json
import os

from holdfast.core import continuation, timestamps
from holdfast.core.concepts.session import is_unfinished
from holdfast.core.continuation import FOLLOW, NEW, STAY, TAKE, Facts, Limits, Standing, Verdict
from holdfast.core.hashing import blake2b
from holdfast.core.ids import safe_name
from holdfast.errors import HoldfastError, Usage
from holdfast.fs.process import Process, ancestors, identify, is_alive
from holdfast.store.protocol import attachments_of, git_backed
from holdfast.typed import TYPE_CHECKING, Any, Self
from holdfast.workspace import settings
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.local_lock import LocalLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

RECENT = "local/hosts/recent"
MOST = 64
"""Conversations that are remembered with their process."""
FRESH_MS = 10_000
"""An event that changes nothing is not written again within this time."""
SEVERAL = frozenset(["codex", "opencode", "vscode", "cursor"])
"""Hosts that run several conversations in one process; in the others a new one ends the one before."""

_BROUGHT = 5
"""Sessions that a new clone is looked through for."""

Entry = dict[str, Any]


def limits_of(workspace: Workspace) -> Limits:
    """The times of the rule: ``[sessions]`` in config.toml, else the defaults."""
    attachments = attachments_of(workspace.store)
    if attachments is None:
        return Limits()
    found = settings.read(attachments.root).get("sessions")
    if found is None:
        return Limits()
    names = {"away": "away", "new_session_after": "gap", "abandoned_after": "abandoned"}
    if not isinstance(found, dict) or set(found) - set(names):
        raise Usage(f"config.toml: [sessions] knows {', '.join(names)}.", hint="Fix config.toml and retry.")
    return Limits()._replace(**{names[name]: _span(name, value) for name, value in found.items()})


def _span(name: str, value: object) -> int:
    """A time such as ``"30m"``, ``"8h"`` or ``"7d"`` in milliseconds."""
    units = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
    if isinstance(value, str) and value[:-1].isdigit() and value[-1:] in units and len(value) < 8:
        return int(value[:-1]) * units[value[-1]]
    raise Usage(
        f'config.toml: sessions.{name} is a time such as "30m", "8h" or "7d".', hint="Fix it and retry."
    )


def key_of(host: str, conversation: str) -> str:
    """The name of a conversation's note."""
    digest = blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"{safe_name(host)[:40]}+{digest}"


def _recent(workspace: Workspace) -> dict[str, Entry]:
    try:
        found: Any = json.loads(workspace.store.get(RECENT) or b"{}")
    except (ValueError, HoldfastError):
        return {}
    entries = found if isinstance(found, dict) else {}
    return {key: entry for key, entry in entries.items() if _is_entry(entry)}


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("host"), str)
        and isinstance(entry.get("at"), int)
        and isinstance(entry.get("process"), list)
        and isinstance(entry.get("session"), str)
    )


def _process(entry: Entry) -> Process | None:
    try:
        return Process(*entry["process"])
    except TypeError:
        return None


def is_live(entry: Entry, now: int, limits: Limits, here: Process) -> bool:
    """Whether a conversation goes on: its host says nothing of its end, its process runs, and it is not away."""
    if entry.get("ended"):
        return False
    process = _process(entry)
    alive = is_alive(process, here) if process is not None else False
    if alive is False:
        return False
    sure = alive and entry["host"] not in SEVERAL
    return now - int(entry["at"]) < (limits.gap if sure else limits.away)


def here(workspace: Workspace) -> tuple[str, Entry] | None:
    """The conversation that this process runs in: its host is this process or one of its ancestors."""
    entries = _recent(workspace)
    if not entries:
        return None
    this = identify()
    above = set(ancestors())
    found = [
        (key, entry)
        for key, entry in entries.items()
        if not entry.get("ended")
        and (process := _process(entry)) is not None
        and process.pid in above
        and process.space == this.space
        and is_alive(process, this)
    ]
    # The nearest host counts: one agent may run another.
    order = {pid: place for place, pid in enumerate(ancestors())}
    found.sort(key=lambda pair: (order[_pid(pair[1])], -int(pair[1]["at"])))
    return found[0] if found else None


def _pid(entry: Entry) -> int:
    process = _process(entry)
    return process.pid if process is not None else 0


def current(workspace: Workspace) -> str | None:
    """The session of the conversation that this process runs in; None if there is none."""
    found = here(workspace)
    return (found[1]["session"] or None) if found is not None else None


def joined(workspace: Workspace, session: Session) -> bool:
    """The agent of a conversation chose a session itself: the conversation works on it from now on. False outside of
    every conversation."""
    found = here(workspace)
    if found is None:
        return False
    key, entry = found
    with LocalLock(workspace.where, "hosts"):
        entries = _recent(workspace)
        entry = entries.get(key, entry)
        name = f"{session.user}/{session.id}"
        _store(workspace, entries, key, {**entry, "session": name, "joined": True, "previous": ""})
    return True


def others_at_work(workspace: Workspace, key: str) -> list[str]:
    """The sessions of the other live conversations here."""
    limits, now, this = lenient_limits(workspace), wall_clock(), identify()
    return sorted(
        {
            entry["session"]
            for other, entry in _recent(workspace).items()
            if other != key and entry["session"] and is_live(entry, now, limits, this)
        }
    )


def lenient_limits(workspace: Workspace) -> Limits:
    """The times of the rule; the defaults if the settings are not valid, which ``doctor`` reports."""
    try:
        return limits_of(workspace)
    except Usage:
        return Limits()


def _store(workspace: Workspace, entries: dict[str, Entry], key: str, entry: Entry) -> None:
    """Store a conversation; the oldest ended ones, then the oldest ones, make room."""
    entries.pop(key, None)
    over = len(entries) + 1 - MOST
    if over > 0:
        order = sorted(entries, key=lambda name: (not entries[name].get("ended"), entries[name]["at"]))
        for name in order[:over]:
            del entries[name]
    entries[key] = entry
    note = {name: entry[name] for name in ("host", "conversation", "session", "joined", "previous")}
    workspace.store.put(f"local/hosts/{key}", json.dumps(note).encode() + b"\n")
    workspace.store.put(RECENT, json.dumps(entries).encode() + b"\n")


class Conversation:
    """One conversation of a host, at one of its events. As a scope it is locked."""

    def __init__(self, workspace: Workspace, host: str, conversation: str, process: Process) -> None:
        self._workspace = workspace
        self._host = host
        self._id = conversation
        self._process = process
        self.key = key_of(host, conversation)
        self._lock = LocalLock(workspace.where, "hosts")
        self._limits = lenient_limits(workspace)
        self._load()

    def __enter__(self) -> Self:
        self._lock.__enter__()
        self._load()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()

    def _load(self) -> None:
        self._entries = _recent(self._workspace)
        known = self._entries.get(self.key) or self._note()
        self._known = known is not None
        self.entry: Entry = known or {"session": "", "joined": False, "previous": "", "at": 0, "fresh": False}

    def _note(self) -> Entry | None:
        """What is stored of a conversation that is no longer among the recent ones."""
        try:
            found: Any = json.loads(self._workspace.store.get(f"local/hosts/{self.key}") or b"null")
        except ValueError:
            return None
        if not isinstance(found, dict) or found.get("conversation") != self._id:
            return None
        session = found.get("session")
        return {**found, "session": session if isinstance(session, str) else "", "at": 0}

    # -- the rule -----------------------------------------------------------------------------------------

    def verdict(self, request: str, *, cleared: bool = False) -> tuple[Verdict, Session | None]:
        """What the rule says about an event with this request (empty for none), and the session that it names."""
        if named := os.environ.get("HOLDFAST_SESSION"):
            session = self._workspace.session(named)
            return Verdict(STAY, "HOLDFAST_SESSION names it"), session
        now, this = wall_clock(), identify()
        live = {
            entry["session"]
            for key, entry in self._entries.items()
            if key != self.key and is_live(entry, now, self._limits, this) and not self._is_over(entry)
        }
        pointer = self._workspace.pointer
        chosen = pointer.session if pointer.chosen else None
        seen: dict[str, Session | None] = {}

        def standing(name: str) -> Standing | None:
            return self._standing(name, request, live, now, seen) if name else None

        own = standing(self.entry["session"])
        facts = Facts(
            own=own,
            joined=bool(self.entry.get("joined")),
            cleared=cleared and not self.entry.get("fresh"),
            fresh=bool(self.entry.get("fresh")),
            chosen=standing(chosen) if chosen and chosen != self.entry["session"] else None,
            followable=not live and pointer.chosen - int(self.entry["at"]) < self._limits.away,
        )
        if own is None or facts.cleared:
            facts = facts._replace(offered=self._offer(facts, standing))
        verdict = continuation.decide(facts, self._limits)
        name = {
            STAY: self.entry["session"],
            TAKE: facts.offered.name if facts.offered else "",
            FOLLOW: chosen or "",
        }
        if verdict.act == NEW and facts.fresh:
            verdict = verdict._replace(previous=str(self.entry.get("previous") or ""))
        return verdict, seen.get(name.get(verdict.act, ""))

    def _offer(self, facts: Facts, standing: Callable[[str], Standing | None]) -> Standing | None:
        """What a new conversation may continue: the current session of this worktree, else what the last conversation
        here left; the first that the rule would take."""
        left = sorted(self._entries.values(), key=lambda entry: -int(entry["at"]))
        mine = [entry["session"] for entry in left if entry["process"] == list(self._process)]
        names = [self._workspace.pointer.session or "", *(entry["session"] for entry in left)]
        if facts.cleared:
            names = [*mine, *names]
        elif not any(names) and not self._is_linked():
            names = self._brought()
        first = None
        for name in dict.fromkeys(filter(None, names)):
            found = standing(name)
            if found is None:
                continue
            if facts.cleared:
                return found
            first = first or found
            if continuation.decide(facts._replace(offered=found), self._limits).act == TAKE:
                return found
        return first

    def _is_linked(self) -> bool:
        """Whether this is a further worktree of a repository: it is for other work."""
        repository = self._workspace.surroundings.repository
        return repository is not None and repository.git != repository.common

    def _brought(self) -> list[str]:
        """The newest sessions of this user, in a clone where nobody has worked yet: the user has moved here."""
        workspace = self._workspace
        return [stream.removeprefix("sessions/") for stream in workspace.page(workspace.user, _BROUGHT)[0]]

    def _standing(
        self, name: str, request: str, live: set[str], now: int, seen: dict[str, Session | None]
    ) -> Standing | None:
        workspace = self._workspace
        try:
            session = workspace.session(name)
            working_set = session.peek()
            state = working_set.state
        except HoldfastError:
            return Standing(name, finished=True)  # on another branch, or gone
        if not state["session"]:
            return Standing(name, finished=True)
        seen[name] = session
        store = git_backed(workspace.store)
        before, head = store.git_heads(session.stream) if store is not None else ("", "")
        updated = state["updated"]
        from holdfast.core.requests import is_new_topic
        from holdfast.workspace.goal import work_of

        return Standing(
            name,
            finished=working_set.is_archived() or not is_unfinished(state),
            occupied=name in live,
            idle=now - timestamps.from_iso(updated) if updated else 0,
            other_branch=bool(before and head) and _branch(before) != _branch(head),
            new_topic=bool(request) and is_new_topic(request, work_of(state)),
        )

    def _is_over(self, entry: Entry) -> bool:
        """Whether another conversation has ended because this one runs in its process."""
        return (
            self._host not in SEVERAL
            and entry["host"] == self._host
            and list(entry["process"]) == list(self._process)
        )

    # -- what is stored -----------------------------------------------------------------------------------

    def works_on(self, session: Session | None, *, joined: bool = False, previous: str = "") -> None:
        """Store the session of the conversation: none if a new one is due at the next request."""
        name = f"{session.user}/{session.id}" if session is not None else ""
        stays = name == self.entry["session"]
        entry: Entry = {
            "host": self._host,
            "conversation": self._id,
            "session": name,
            "process": list(self._process),
            "at": wall_clock(),
            "ended": False,
            "joined": joined or (stays and bool(self.entry.get("joined"))),
            "previous": previous or (str(self.entry.get("previous") or "") if not name else ""),
            "fresh": session is None,
        }
        same = all(entry[key] == self.entry.get(key) for key in entry if key != "at")
        if same and wall_clock() - int(self.entry["at"]) < FRESH_MS:
            return
        for key, other in self._entries.items():
            if key != self.key and self._is_over(other):
                self._entries[key] = {**other, "ended": True}
        self.entry = entry
        _store(self._workspace, self._entries, self.key, entry)

    def ended(self) -> None:
        """The host says that the conversation is over; its session stays with it for a later resume."""
        if self.key in self._entries and not self.entry.get("ended"):
            _store(
                self._workspace, self._entries, self.key, {**self.entry, "ended": True, "at": wall_clock()}
            )


def _branch(head: str) -> str:
    return head.partition(" ")[0] if head.startswith("refs/") else "detached"
