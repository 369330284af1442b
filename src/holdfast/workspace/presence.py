"""Presence: who works on what just now. Heartbeats, claims on paths, and leases; never in the log.

Whether somebody is still there is a question to the operating system (process, start time, boot, machine), not to
a timer: a stopped or slow holder keeps what it has, a dead one loses it at once, to exactly one of many takers.
Every lease has a number that only grows. A handle that works under a lease has the number compared under the
stream's lock, in the store's append: whoever lost the lease without noticing cannot write any more.
"""

from __future__ import annotations

import os

from holdfast.core import moment
from holdfast.core.hashing import blake2b
from holdfast.errors import Conflict, Refused, Unavailable
from holdfast.store import find
from holdfast.store.shared_folder import Process, SharedFolder, agent, identify, is_alive, is_kin, program
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace.gate import passed_value

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

FRESH_MS = 30_000
"""A heartbeat younger than this is not written again."""
GONE_MS = 7 * 86_400_000
"""The record of somebody who is gone is kept this long, so that `who` can tell of it."""
_STATES = {True: "alive", False: "gone", None: "elsewhere"}


class Held(Refused):
    """Somebody else has it; nothing was changed."""

    code = "HF-HELD"
    hint = "`holdfast who` shows who it is. Work on something else, or talk to them."


class LeaseLost(Conflict):
    """Another one has taken the lease since; nothing was written."""

    code = "HF-LEASE-LOST"
    hint = "Read the state again: somebody else went on with this work."


class Lease(Record):
    """The right to go on with a session, as long as nobody has a higher number."""

    presence: Presence
    name: str
    number: int

    def check(self) -> None:
        """Raise ``LeaseLost`` unless the lease is still this one's."""
        record = self.presence.folder.get(f"leases/{self.name}")
        if record is None or record["number"] != self.number or record["holder"] is None:
            raise LeaseLost(f"The lease on {self.name} was taken by somebody else; nothing was written.")

    def release(self) -> None:
        """Give the lease back; harmless if it is lost already."""
        with self.presence.folder.held(f"leases/{self.name}"):
            record = self.presence.folder.get(f"leases/{self.name}")
            if record is not None and record["number"] == self.number:
                self.presence.folder.put(f"leases/{self.name}", {**record, "holder": None}, durable=True)


class Presence:
    """Who works in the worktrees of one repository."""

    def __init__(self, workspace: Workspace, process: Process | None = None) -> None:
        where = workspace.where if workspace.store.capabilities.name == "files" else None
        if where is None:
            where = os.path.join(find.project_root(os.getcwd()), find.FOLDER)
        try:
            self.folder = SharedFolder(where, "presence")
        except OSError as error:
            raise Unavailable(f"Presence cannot be written ({error.strerror}).") from error
        self._workspace = workspace
        self._root = os.path.dirname(where)
        self._here = identify()
        self.is_program = False
        """The process is a program of its own, and all that it starts belongs to it."""
        self.process = process or self._here
        said = f"{workspace.by} {self.process} {self._root}"
        self._me = blake2b(said.encode(), digest_size=8).hexdigest()

    # -- heartbeats ---------------------------------------------------------------------------------------

    def beat(self, session: str | None = None) -> None:
        """Say that this agent is here, at work on a session (``user/id``)."""
        from holdfast.workspace.workspace import wall_clock

        now = wall_clock()
        name = f"agents/{self._me}"
        age = self.folder.age_ms(name, now)
        known = self.folder.get(name)
        if known and age is not None and age < FRESH_MS and (session is None or known["session"] == session):
            return
        record = known or {"since": moment.iso(now), "claims": {}}
        self.folder.put(
            name,
            {
                **record,
                "by": self._workspace.by,
                "user": self._workspace.user,
                "session": session or record.get("session"),
                "worktree": self._root,
                "process": list(self.process),
                "seen": moment.iso(now),
            },
        )

    def who(self) -> list[dict[str, Any]]:
        """Everybody, with ``state`` alive, gone or elsewhere (on another machine: it cannot be told from here)."""
        found = []
        for name in self.folder.names("agents"):
            record = self.folder.get(f"agents/{name}")
            if record is None:
                continue
            state = _STATES[self._is_alive(record)]
            if state == "gone" and self._is_old(record):
                self.folder.put(f"agents/{name}", None)
                continue
            found.append({**record, "state": state, "me": name == self._me})
        return sorted(found, key=lambda record: str(record["seen"]), reverse=True)

    def _is_alive(self, record: dict[str, Any]) -> bool | None:
        try:
            return is_alive(Process(*record["process"]), self._here)
        except (TypeError, KeyError):
            return False

    def _is_old(self, record: dict[str, Any]) -> bool:
        from holdfast.workspace.workspace import wall_clock

        return moment.parse(record["seen"]) < wall_clock() - GONE_MS

    def is_same_agent(self, record: dict[str, Any]) -> bool:
        """Whether a record is of this agent, perhaps by another name: its MCP server, or a command in its shell."""
        if record["me"]:
            return True
        try:
            return self.is_program and is_kin(Process(*record["process"]), self.process)
        except (TypeError, KeyError):
            return False

    # -- claims on paths ----------------------------------------------------------------------------------

    def claim(self, paths: list[str], *, anyway: bool = False) -> list[dict[str, Any]]:
        """Say that this agent works on paths (relative to the worktree); returns who works on them already.

        If somebody does, nothing is claimed, unless ``anyway``.
        """
        from holdfast.workspace.workspace import wall_clock

        wanted = passed_value(self._workspace, [self._plain(path) for path in paths], "path")[0]
        self.beat()
        with self.folder.held("claims"):
            taken = [
                {"path": path, "claimed": other, "by": record["by"], "since": since, "state": record["state"]}
                for record in self.who()
                if not record["me"] and record["state"] != "gone"
                for other, since in record["claims"].items()
                for path in wanted
                if _overlap(path, other)
            ]
            if taken and not anyway:
                return taken
            mine = self.folder.get(f"agents/{self._me}") or {}
            now = moment.iso(wall_clock())
            claims = {**dict.fromkeys(wanted, now), **mine.get("claims", {})}
            self.folder.put(f"agents/{self._me}", {**mine, "claims": claims})
        return taken

    def release(self, paths: list[str] | None = None) -> list[str]:
        """Give claimed paths back, or all of them; returns which."""
        with self.folder.held("claims"):
            mine = self.folder.get(f"agents/{self._me}")
            if mine is None:
                return []
            wanted = None if paths is None else {self._plain(path) for path in paths}
            given = [path for path in mine["claims"] if wanted is None or path in wanted]
            left = {path: since for path, since in mine["claims"].items() if path not in given}
            self.folder.put(f"agents/{self._me}", {**mine, "claims": left})
        return given

    def _plain(self, path: str) -> str:
        """A path as all worktrees of the repository call it."""
        full = os.path.abspath(path)
        inside = os.path.relpath(full, self._root)
        if inside.startswith(".."):
            raise Refused(f"{path[:120]} is not in {self._root}; nothing was claimed.")
        return inside

    # -- leases -------------------------------------------------------------------------------------------

    def lease(self, session: str) -> Lease:
        """Take the lease on a session (``user/id``): free, or held by this process, or by one that is gone."""
        from holdfast.workspace.workspace import wall_clock

        name = session.replace("/", "+")
        with self.folder.held(f"leases/{name}"):
            record = self.folder.get(f"leases/{name}")
            number = record["number"] if record else 0
            if record and record["holder"] is not None:
                holder = record["holder"]
                mine = holder["process"] == list(self.process) and holder["by"] == self._workspace.by
                if mine:
                    return Lease(self, name, number)
                if self._is_alive(holder) is not False:
                    raise Held(
                        f"{session} is held by {holder['by']} since {holder['since']}; nothing was changed."
                    )
            holder = {
                "by": self._workspace.by,
                "since": moment.iso(wall_clock()),
                "worktree": self._root,
                "process": list(self.process),
            }
            # Durable: a number that a power cut takes back would be given out twice.
            self.folder.put(f"leases/{name}", {"number": number + 1, "holder": holder}, durable=True)
            return Lease(self, name, number + 1)

    def holder(self, session: str) -> dict[str, Any] | None:
        """Who has the lease on a session, with ``state`` and ``number``; None if it is free."""
        record = self.folder.get(f"leases/{session.replace('/', '+')}")
        if record is None or record["holder"] is None:
            return None
        state = _STATES[self._is_alive(record["holder"])]
        return {**record["holder"], "number": record["number"], "state": state}


def of_agent(workspace: Workspace) -> Presence:
    """Presence as a short command sees it: the agent or person behind the command is the one who is here."""
    return Presence(workspace, agent())


def of_program(workspace: Workspace) -> Presence:
    """Presence as a hook sees it: the program that ran the hook is the one who is here, and its death counts."""
    presence = Presence(workspace, program())
    presence.is_program = True
    return presence


def _overlap(one: str, other: str) -> bool:
    if "." in (one, other):  # the whole project
        return True
    return f"{one}{os.sep}".startswith(f"{other}{os.sep}") or f"{other}{os.sep}".startswith(f"{one}{os.sep}")
