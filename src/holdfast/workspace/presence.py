"""Presence: who is working on what. Heartbeats, claims on paths, and leases; never in the log.

The operating system tells whether a holder is alive (process, start time, boot, machine), not a timer: a live holder
never loses its lease, however slow; a dead one loses it at once, to exactly one of many contenders. Every lease has a
fencing number that only grows. The store's append compares it under the stream's lock, so that a holder that lost its
lease without noticing can no longer write.
"""

from __future__ import annotations

import os

from holdfast.core import timestamps
from holdfast.core.hashing import blake2b
from holdfast.errors import Conflict, Hint, HoldfastError, Refused, Unavailable, Use
from holdfast.store.protocol import Fault, attachments_of, git_backed
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace import discovery
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.presence_folder import (
    Hold,
    Process,
    SharedFolder,
    agent,
    identify,
    is_alive,
    is_kin,
    program,
)
from holdfast.workspace.secrets_filter import passed_value

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

FRESH_MS = 30_000
"""A heartbeat more recent than this is not written again."""
GONE_MS = 7 * 86_400_000
"""The record of a dead agent is kept this long, so that `who` can show it."""
_STATES = {True: "alive", False: "gone", None: "elsewhere"}


class Held(Refused):
    """Somebody else has it; nothing was changed."""

    code = "HF-HELD"
    hint = Hint(Use("who"), " shows who. Work on something else, or ask them.")


class LeaseLost(Conflict):
    """Somebody else took the lease; nothing was written."""

    code = "HF-LEASE-LOST"
    hint = Hint("Read the state again: somebody else continued this work.")


class Lease(Record):
    """The right to continue a session, until somebody has a higher number."""

    presence: Presence
    name: str
    number: int

    def check(self) -> None:
        """Raise ``LeaseLost`` unless this lease is still valid."""
        record = _lease(self.presence.folder.get(f"leases/{self.name}"))
        if (
            record is None
            or record["number"] != self.number
            or not self.presence.is_mine(record["holder"])
            or self.presence.is_outrun(self.name, self.number)
        ):
            raise LeaseLost(f"Somebody else took the lease on {self.name}; nothing was written.")

    def release(self) -> None:
        """Release the lease; harmless if it is lost already."""
        with self.presence.folder.held(f"leases/{self.name}"):
            record = _lease(self.presence.folder.get_to_change(f"leases/{self.name}"))
            if record is not None and record["number"] == self.number:
                self.presence.folder.put(f"leases/{self.name}", {**record, "holder": None}, sync=True)


class Presence:
    """Who works in the worktrees of one repository."""

    def __init__(self, workspace: Workspace, process: Process | None = None) -> None:
        around = workspace.surroundings
        attachments = attachments_of(workspace.store)
        where = attachments.root if attachments else os.path.join(around.top, discovery.FOLDER)
        try:
            self.folder = SharedFolder(where, "presence", around.repository)
        except OSError as error:
            raise Unavailable(f"Presence cannot be written ({error.strerror}).") from error
        self._workspace = workspace
        self._root = os.path.dirname(where)
        self._top = around.top
        self._here = identify()
        self.is_program = False
        """The process is a program of its own; the processes that it starts belong to it."""
        self.process = process or self._here
        said = f"{workspace.by} {self.process} {self._root}"
        self._me = blake2b(said.encode(), digest_size=8).hexdigest()

    # -- heartbeats ---------------------------------------------------------------------------------------

    def beat(self, session: str | None = None) -> None:
        """Write a heartbeat: this agent is working on a session (``user/id``)."""
        now = wall_clock()
        name = f"agents/{self._me}"
        age = self.folder.age_ms(name, now)
        known = self._agent(self.folder.get(name))
        if known and age is not None and age < FRESH_MS and (session is None or known["session"] == session):
            return
        with self._held("claims"):  # another command of this agent may be claiming
            self._put_agent(self._mine(), session)

    def _mine(self) -> dict[str, Any]:
        """The record of this agent, to be changed; a new one if there is none."""
        known = self._agent(self.folder.get_to_change(f"agents/{self._me}"))
        return known or {"since": timestamps.iso(wall_clock()), "claims": {}, "session": None}

    def _put_agent(self, record: dict[str, Any], session: str | None = None) -> None:
        """Replace the record of this agent by a whole one."""
        whole = {
            **record,
            "by": self._workspace.by,
            "user": self._workspace.user,
            "session": session or record["session"],
            "worktree": self._root,
            "process": list(self.process),
            "seen": timestamps.iso(wall_clock()),
        }
        try:
            self.folder.put(f"agents/{self._me}", whole)
        except OSError as error:
            raise _unwritten(error) from error

    def _held(self, name: str) -> Hold:
        try:
            return self.folder.held(name)
        except OSError as error:
            raise _unwritten(error) from error

    @staticmethod
    def _agent(record: dict[str, Any] | None) -> dict[str, Any] | None:
        """The record of an agent; None if it is not a whole one: others must not fail over it."""
        return record if record is not None and is_agent(record) else None

    def who(self) -> list[dict[str, Any]]:
        """All agents, with ``state`` alive, gone or elsewhere (on another machine: unknown from here)."""
        found = []
        for name in self.folder.names("agents"):
            record = self._agent(self.folder.get(f"agents/{name}")) or self._agent(
                self.folder.get_other(f"agents/{name}")
            )
            if record is None or self._is_foreign(record):
                continue
            state = _STATES[self._is_alive(record)]
            if state == "gone" and self._is_old(record):
                try:
                    self.folder.put(f"agents/{name}", None)
                except OSError:
                    pass  # it is removed another time
                continue
            found.append({**record, "state": state, "me": name == self._me})
        return sorted(found, key=lambda record: str(record["seen"]), reverse=True)

    def _is_alive(self, record: dict[str, Any]) -> bool | None:
        try:
            return is_alive(Process(*record["process"]), self._here)
        except (TypeError, KeyError):
            return False

    def _is_foreign(self, record: dict[str, Any]) -> bool:
        """Whether a record came with a copy of the repository. On another machine paths mean something else."""
        return self._is_alive(record) is not None and not self.folder.belongs_here(str(record["worktree"]))

    def _is_old(self, record: dict[str, Any]) -> bool:
        return timestamps.parse(record["seen"]) < wall_clock() - GONE_MS

    def is_same_agent(self, record: dict[str, Any]) -> bool:
        """Whether a record is of this agent, perhaps under another name: its MCP server, or a command in its shell."""
        if record["me"]:
            return True
        try:
            return self.is_program and is_kin(Process(*record["process"]), self.process)
        except (TypeError, KeyError):
            return False

    # -- claims on paths ----------------------------------------------------------------------------------

    def claim(self, paths: list[str], *, anyway: bool = False) -> list[dict[str, Any]]:
        """Claim paths (relative to the worktree) for this agent; returns the claims of others that overlap.

        If there are any, nothing is claimed, unless ``anyway``.
        """
        wanted = passed_value(self._workspace, [self._plain(path) for path in paths], "path")[0]
        self.beat()
        with self._held("claims"):
            taken = [
                {"path": path, "claimed": other, "by": record["by"], "since": since, "state": record["state"]}
                for record in self.who()
                if record["state"] != "gone" and not self.is_same_agent(record)
                for other, since in record["claims"].items()
                for path in wanted
                if _overlap(path, other)
            ]
            if taken and not anyway:
                return taken
            mine = self._mine()
            now = timestamps.iso(wall_clock())
            self._put_agent({**mine, "claims": {**dict.fromkeys(wanted, now), **mine["claims"]}})
        return taken

    def release(self, paths: list[str] | None = None) -> list[str]:
        """Release claimed paths, or all of them; returns which."""
        with self._held("claims"):
            mine = self._mine()
            if not mine["claims"]:
                return []
            wanted = None if paths is None else {self._plain(path) for path in paths}
            given = [path for path in mine["claims"] if wanted is None or path in wanted]
            left = {path: since for path, since in mine["claims"].items() if path not in given}
            self._put_agent({**mine, "claims": left})
        return given

    def _plain(self, path: str) -> str:
        """A path relative to the top of the worktree: the same in all worktrees of the repository."""
        try:
            path.encode()
        except UnicodeEncodeError:
            raise Refused("The path is not valid Unicode; nothing was claimed.") from None
        inside = os.path.relpath(os.path.abspath(path), self._top)
        if inside.split(os.sep)[0] == os.pardir:
            raise Refused(
                f"{path[:120]} is not in {self._top}; nothing was claimed.",
                hint="Name a file or folder of this project.",
            )
        return inside

    # -- leases -------------------------------------------------------------------------------------------

    def lease(self, session: str, *, anyway: bool = False) -> Lease:
        """Take the lease on a session (``user/id``) that is free, or held by this process or a dead one. ``anyway``:
        also one whose holder may be alive on another machine."""
        name = session.replace("/", "+")
        with self._held(f"leases/{name}"):
            record = _lease(self.folder.get_to_change(f"leases/{name}"))
            number = record["number"] if record else 0
            if record and self.is_mine(record["holder"]) and not self.is_outrun(name, number):
                return Lease(self, name, number)
            for found in self._leases(name):
                self._refuse(session, found["holder"], anyway=anyway)
                number = max(number, found["number"])
            holder = {
                "by": self._workspace.by,
                "since": timestamps.iso(wall_clock()),
                "worktree": self._root,
                "process": list(self.process),
            }
            # Durable: a number that a power cut undoes would be used twice.
            self.folder.put(f"leases/{name}", {"number": number + 1, "holder": holder}, sync=True)
            if self.is_outrun(
                name, number + 1
            ):  # at the same time, by an agent that writes to the other folder
                self.folder.put(f"leases/{name}", {"number": number + 1, "holder": None}, sync=True)
                raise Held(f"Somebody else took {session} at the same time; nothing was changed.")
            return Lease(self, name, number + 1)

    def _leases(self, name: str) -> list[dict[str, Any]]:
        """The records of a lease: one, or two if not all agents of this worktree can write to the same folder."""
        found = (self.folder.get(f"leases/{name}"), self.folder.get_other(f"leases/{name}"))
        return [record for record in map(_lease, found) if record is not None]

    def _refuse(self, session: str, holder: dict[str, Any] | None, *, anyway: bool) -> None:
        if holder is None or self.is_mine(holder) or self._is_foreign(holder):
            return
        alive = self._is_alive(holder)
        if alive is False or (alive is None and anyway):
            return
        said = f"{session} is held by {holder['by']} since {holder['since']}"
        if alive:
            raise Held(f"{said}; nothing was changed.")
        raise Held(
            f"{said}, on another machine or in another container; nothing was changed.",
            hint=Hint(
                "Whether it is still running cannot be checked from here. If you know that it is gone: ",
                Use("lease.anyway", session=session),
                ".",
            ),
        )

    def is_mine(self, holder: dict[str, Any] | None) -> bool:
        """Whether the holder of a lease is this agent."""
        return bool(
            holder
            and holder["process"] == list(self.process)
            and holder["by"] == self._workspace.by
            and holder["worktree"] == self._root
        )

    def is_outrun(self, name: str, number: int) -> bool:
        """Whether an agent that writes to the other folder has a lease with this number or a later one."""
        other = _lease(self.folder.get_other(f"leases/{name}"))
        holder = other["holder"] if other else None
        return bool(other and holder and other["number"] >= number and not self._is_foreign(holder))

    def holder(self, session: str) -> dict[str, Any] | None:
        """The holder of the lease on a session, with ``state`` and ``number``; None if it is free."""
        held = [
            record
            for record in self._leases(session.replace("/", "+"))
            if record["holder"] is not None and not self._is_foreign(record["holder"])
        ]
        if not held:
            return None
        record = max(held, key=lambda record: int(record["number"]))
        state = _STATES[self._is_alive(record["holder"])]
        return {**record["holder"], "number": record["number"], "state": state}


def _unwritten(error: OSError) -> Unavailable:
    return Unavailable(f"Presence cannot be written ({error.strerror}).")


def is_agent(record: dict[str, Any]) -> bool:
    """Whether a record of an agent is whole: each field that a reader uses is there, with its type."""
    claims, session = record.get("claims"), record.get("session")
    return (
        all(isinstance(record.get(field), str) for field in ("by", "user", "worktree", "since"))
        and _is_timestamp(record.get("seen"))
        and isinstance(record.get("process"), list)
        and (session is None or isinstance(session, str))
        and isinstance(claims, dict)
        and all(isinstance(since, str) for since in claims.values())
    )


def _is_timestamp(value: Any) -> bool:
    try:
        timestamps.from_iso(value)
    except (TypeError, ValueError, AttributeError, HoldfastError):
        return False
    return True


def is_lease(record: dict[str, Any]) -> bool:
    """Whether the record of a lease is whole."""
    number, holder = record.get("number"), record.get("holder")
    return (
        isinstance(number, int)
        and not isinstance(number, bool)
        and (
            holder is None
            or (
                isinstance(holder, dict)
                and all(isinstance(holder.get(field), str) for field in ("by", "since", "worktree"))
                and isinstance(holder.get("process"), list)
            )
        )
    )


def _lease(record: dict[str, Any] | None) -> dict[str, Any] | None:
    return record if record is not None and is_lease(record) else None


def check(workspace: Workspace, *, fix: bool = False) -> list[Fault]:
    """Whether the agents in other worktrees of the repository can be seen from here, and every record that is not
    whole; with ``fix`` it is removed."""
    from holdfast.store.faults import LOCAL_PRESENCE, MALFORMED_PRESENCE, REMOVED

    store = git_backed(workspace.store)
    if store is None:
        return []
    try:
        folder = workspace.presence.folder
        found = folder.malformed("agents", is_agent) + folder.malformed("leases", is_lease)
        faults = []
        for path in found:
            if fix:
                folder.remove(path)
            shown = os.path.relpath(path, workspace.presence.folder.path)
            done = REMOVED if fix else ""
            faults.append(Fault(MALFORMED_PRESENCE, "", f"presence/{shown}", done=done, harmless=True))
        is_shared = folder.shared
    except (HoldfastError, OSError):
        faults, is_shared = [], False
    if not store.in_git or is_shared:
        return faults
    return [*faults, Fault(LOCAL_PRESENCE, "", "local/presence", harmless=True)]


def of_agent(workspace: Workspace) -> Presence:
    """Presence for a short command: the agent or person that ran the command counts, not its process. In the shell of
    an agent host it is the host, as for its hooks."""
    from holdfast.workspace.conversations import here

    found = here(workspace)
    if found is None:
        return Presence(workspace, agent())
    presence = Presence(workspace, Process(*found[1]["process"]))
    presence.is_program = True
    return presence


def of_program(workspace: Workspace) -> Presence:
    """Presence for a hook: the program that ran the hook counts, and is gone when it dies."""
    presence = Presence(workspace, program())
    presence.is_program = True
    return presence


def _overlap(one: str, other: str) -> bool:
    if "." in (one, other):  # the whole project
        return True
    return f"{one}{os.sep}".startswith(f"{other}{os.sep}") or f"{other}{os.sep}".startswith(f"{one}{os.sep}")
