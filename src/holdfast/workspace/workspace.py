"""The workspace: one project's memory, with its sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from holdfast.core import codec, concepts, ids, timestamps, validation
from holdfast.core.hashing import blake2b
from holdfast.core.ids import checked_name
from holdfast.core.stream import PROJECT, last_part, owner, session_stream, user_stream
from holdfast.core.text import NAME_CAP, checked_text
from holdfast.core.upcast import Upcasters
from holdfast.errors import Hint, HoldfastError, InvalidName, NoSession, NotFound, Refused, Use
from holdfast.store.protocol import (
    AppendContext,
    Fault,
    PreparedCommit,
    Store,
    archive_of,
    attachments_of,
    git_backed,
    listing_of,
)
from holdfast.store.url import file_path, is_url, open_store
from holdfast.typed import TYPE_CHECKING, Any, Self
from holdfast.workspace import discovery, pointer, publish, secrets_filter
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.handle import Handle
from holdfast.workspace.session import Session
from holdfast.workspace.view_writer import ViewWriter

if TYPE_CHECKING:
    from holdfast.index.index import Index
    from holdfast.workspace.attachments import Attachments
    from holdfast.workspace.choose import Choice
    from holdfast.workspace.discovery import Surroundings
    from holdfast.workspace.models import Decided, JsonObject, SearchResult, Unsettled
    from holdfast.workspace.person import Person
    from holdfast.workspace.pointer import Pointer
    from holdfast.workspace.presence import Lease, Presence
    from holdfast.workspace.project import Project

LATEST = "latest"
"""Stands for the newest unfinished session wherever a session can be named."""
SALT = "local/salt"
HOOK_LOG = "local/hooks.log"
_ELSEWHERE = Hint(
    Use("sessions"),
    " lists the sessions here, ",
    Use("sessions.all"),
    " also those of other branches and worktrees, and those that ",
    Use("heal"),
    " recovers.",
)


def open_workspace(
    where: str | os.PathLike[str] | None = None,
    *,
    user: str | None = None,
    by: str | None = None,
    origin: str = "agent",
    secrets: str | None = None,
    channel: str = "library",
) -> Workspace:
    """Open the workspace at ``where``: a folder, a URL, HOLDFAST_URL, or the one found from here upwards.

    ``user`` owns the sessions that are started; ``by`` names the actor in every commit (else HOLDFAST_AGENT,
    else the user). ``secrets`` is the policy for secrets in what is written: ``refuse``,
    ``redact`` or ``allow``; without it, the settings decide, which can differ by ``channel``.
    """
    environment = os.environ
    target = file_path(os.fspath(where) if where is not None else environment.get("HOLDFAST_URL") or "")
    if not target:
        target = discovery.find(os.getcwd())
    elif not is_url(target) and os.path.basename(os.path.normpath(target)) != discovery.FOLDER:
        target = discovery.find(target, told=True)
    # The repository around the workspace names the user; for a database, the one around the current folder.
    around = discovery.around(os.getcwd() if is_url(target) else os.path.dirname(os.path.abspath(target)))
    name = user or discovery.user_name(environment, around.repository)
    return Workspace(
        open_store(target, clock=wall_clock, repository=around.repository),
        user=checked_name(name, "user"),
        by=by or environment.get("HOLDFAST_AGENT") or name,
        origin=origin,
        secrets=secrets,
        channel=channel,
        surroundings=around,
    )


class _Asked(Exception):
    """Raised to write nothing: the question is answered."""


class Workspace:
    """One project's memory. Use it as a context manager, or call ``close`` when done."""

    def __init__(
        self,
        store: Store,
        *,
        user: str,
        by: str,
        origin: str = "agent",
        secrets: str | None = None,
        channel: str = "library",
        surroundings: Surroundings | None = None,
    ) -> None:
        if origin not in codec.ORIGINS:
            raise Refused(f"An origin is one of {', '.join(codec.ORIGINS)}, not {origin!r}.")
        self.store = store
        self._surroundings = surroundings
        self.user = user
        if channel not in secrets_filter.CHANNELS:
            raise Refused(f"A channel is one of {', '.join(secrets_filter.CHANNELS)}, not {channel!r}.")
        self.origin = origin
        self.secrets = None if secrets is None else secrets_filter.checked(secrets, "secrets")
        self.channel = channel
        self.new_key: bytes | None = None
        self.written = ""
        """The stream of the last commit of this process; empty if there is none."""
        actor = secrets_filter.passed_value(self, checked_text(by, "actor", cap=NAME_CAP), "actor")[0]
        self._by = validation.without_controls(str(actor))
        self.views = ViewWriter(self)
        self.upcasters = Upcasters()
        self._presence: Presence | None = None
        self._index: Index | None = None

    @property
    def by(self) -> str:
        """The actor in every commit. One line: control characters become spaces."""
        return self._by

    @by.setter
    def by(self, name: str) -> None:
        self._by = validation.without_controls(name)

    @property
    def where(self) -> str:
        """The workspace's folder or URL."""
        return self.store.capabilities.url

    # -- sessions -----------------------------------------------------------------------------------------

    def start(
        self,
        goal: str,
        *,
        phases: list[str] | None = None,
        transitions: dict[str, list[str]] | None = None,
        previous: str | None = None,
        op: str | None = None,
    ) -> Session:
        """Start a session, and make it the current one.

        ``phases`` are entered in order, or as ``transitions`` allow (see ``Session.declare_phases``). ``previous``
        names the session that it follows.
        """
        # The same op gives the same id, so a repeated start finds the session that the first one created.
        seed = (
            blake2b(self._salt() + f"{self.user} {op}".encode()).digest() if op is not None else os.urandom(8)
        )
        suffix = ids.random_text(int.from_bytes(seed[:8], "big"), 8)
        if op is not None:
            for stream in self.store.streams(f"sessions/{self.user}/"):
                if stream.endswith(f"-{suffix}"):
                    return Session(self, stream)
        name = f"{timestamps.iso(wall_clock())[:10]}-{suffix}"
        session = Session(self, session_stream(self.user, name))

        def begin(state: dict[str, Any], mint: Any) -> list[codec.Event]:
            events = concepts.session.start(state, name, self.user, goal, previous)
            return events + (concepts.phase.declare(state, phases, transitions) if phases else [])

        session.commit(begin, op=op)
        self.make_current(session, "Started")
        return session

    def make_current(self, session: Session, done: str) -> None:
        """Internal: have the pointer lead to a session that was ``done`` just now; that is stored, whatever happens."""
        try:
            self._point_to(session)
        except HoldfastError as error:
            raise error.after(
                f"{done} {session.user}/{session.id}, but it could not be made the current session:",
                Hint(Use("switch", session=f"{session.user}/{session.id}"), " makes it current."),
            ) from error

    def _point_to(self, session: Session) -> None:
        """Point to a session, and bind the conversation that this process runs in. A hook binds its own."""
        from holdfast.workspace.conversations import joined

        pointer.write(self.store, session, chosen=self.channel != "hook" and not joined(self, session))

    def _salt(self) -> bytes:
        """Bytes unique to this clone: two clones that start under one op must not create the same session.

        Derived from the writer, so that processes that start at the same time in a new workspace get the same.
        """
        salt = self.store.get(SALT)
        if not salt or len(salt) != 16:
            salt = blake2b(f"salt {self._writer()}".encode()).digest()[:16]
            self.store.put(SALT, salt)
        return salt

    def _writer(self) -> str:
        """The writer of this clone, taken from an append that writes nothing."""
        found = ""

        def ask(context: AppendContext) -> PreparedCommit:
            nonlocal found
            found = context.writer
            raise _Asked

        try:
            self.store.append(PROJECT, ask)
        except _Asked:
            pass
        return found

    def session(self, name: str | None = None) -> Session:
        """A session by name, or the current one: HOLDFAST_SESSION, else the one that was started or switched to last.

        A name is ``user/id`` (what ``sessions`` returns and ``Session.name`` is), an id, or an unambiguous prefix.
        ``latest`` is the unfinished session of anybody that was written to last.
        """
        wanted = name or os.environ.get("HOLDFAST_SESSION") or self.current()
        if wanted is None:
            raise NoSession()
        return self._find(wanted)

    def sessions(self, *, user: str | None = None, limit: int | None = None) -> list[str]:
        """The names of all sessions, or of one user's, newest first, as ``session`` takes them."""
        if limit is not None:
            streams, _ = self.page(user, limit)
        else:
            streams = self._session_streams(user)
        return [stream.removeprefix("sessions/") for stream in streams]

    def _session_streams(self, user: str | None) -> list[str]:
        prefix = f"sessions/{checked_name(user, 'user')}/" if user else "sessions/"
        return sorted(self.store.streams(prefix), key=last_part, reverse=True)

    def page(self, user: str | None, limit: int) -> tuple[list[str], int]:
        """Internal: the streams of the newest sessions and how many there are, at a cost independent of that number."""
        if user is not None:
            checked_name(user, "user")
        listing = listing_of(self.store)
        if listing is not None:
            return listing.newest_sessions(user, limit)
        streams = self._session_streams(user)
        return streams[:limit], len(streams)

    def has_archive(self) -> bool:
        """Internal: whether sessions were archived into ``history/``, where the engine has folders."""
        archive = archive_of(self.store)
        return archive is not None and archive.has_archive()

    def pick(self) -> Choice:
        """Internal: the session to continue when none is named, and why."""
        from holdfast.workspace.choose import pick

        return pick(self)

    def current(self) -> str | None:
        """The name of the current session, if there is one: that of the agent's conversation in which this process
        runs, else the one of this worktree."""
        if self.channel != "hook":
            from holdfast.workspace.conversations import current

            if (found := current(self)) is not None:
                return found
        return self.pointer.session

    @property
    def pointer(self) -> Pointer:
        """Internal: the session that was started or switched to last in this worktree."""
        return pointer.read(self.store)

    def switch(self, name: str) -> Session:
        """Make another session the current one."""
        session = self._find(name)
        self._point_to(session)
        return session

    def _find(self, name: str) -> Session:
        """The session given as ``id``, ``user/id``, a unique prefix of an id or of its random part, or ``latest``."""
        if name == LATEST:
            from holdfast.workspace.choose import latest

            return latest(self)
        user, _, wanted = name.rpartition("/")
        if ids.is_session_id(wanted):
            session = Session(self, session_stream(user or self.user, wanted))
            if session.peek().version:
                return session
        streams = self.store.streams(f"sessions/{user}/" if user else "sessions/")
        matches = [stream for stream in streams if last_part(stream).startswith(wanted)] if wanted else []
        if not matches and wanted:
            matches = [stream for stream in streams if last_part(stream)[11:].startswith(wanted)]
        if len(matches) == 1:
            return Session(self, matches[0])
        if not matches:
            raise NotFound(f"There is no session {name[:80]}.", hint=_ELSEWHERE)
        some = ", ".join(f"{owner(stream)}/{last_part(stream)}" for stream in matches[:5])
        raise InvalidName(f"{name} can mean {len(matches)} sessions: {some}.", hint="Give more of the id.")

    @property
    def surroundings(self) -> Surroundings:
        """Internal: the project's folder and the git repository around it."""
        if self._surroundings is None:
            in_folder = self.store.capabilities.name == "files"
            self._surroundings = discovery.around(os.path.dirname(self.where) if in_folder else os.getcwd())
        return self._surroundings

    # -- what belongs to all sessions ---------------------------------------------------------------------

    @property
    def project(self) -> Project:
        """Backlog, standing orders, controls, facts and decisions of the project."""
        from holdfast.workspace.project import Project

        return Project(self, PROJECT)

    @property
    def me(self) -> Person:
        """The user of this workspace, with preferences."""
        from holdfast.workspace.person import Person

        return Person(self, user_stream(self.user))

    def files(self, stream: str) -> Attachments:
        """Internal: the files that a stream can refer to: the project's, and its own if the store has folders."""
        from holdfast.workspace.attachments import Attachments

        attachments = attachments_of(self.store)
        if attachments is not None:
            pin = attachments.pin

            def pin_file(path: str) -> None:
                pin(stream, path)

            return Attachments(os.path.dirname(self.where), attachments.folder_of(stream), pin=pin_file)
        return Attachments(self.surroundings.top)

    @property
    def presence(self) -> Presence:
        """Internal: who works in the worktrees of this repository."""
        if self._presence is None:
            from holdfast.workspace.presence import of_agent

            self._presence = of_agent(self)
        return self._presence

    @presence.setter
    def presence(self, presence: Presence) -> None:
        self._presence = presence

    def lease(self, session: str, *, anyway: bool = False) -> Lease:
        """Take the lease of a session, by its name: ``session.under(lease)`` writes only while it is held.

        Raises ``Held`` if a live process has it; ``anyway`` also takes it from one that is not visible from here.
        """
        return self.presence.lease(session, anyway=anyway)

    # -- across sessions ----------------------------------------------------------------------------------

    @property
    def index(self) -> Index:
        """Internal: the read model over all streams."""
        if self._index is None:
            from holdfast.index.index import Index

            self._index = Index(self.store, wall_clock)
        return self._index

    def upcast(
        self, event_type: str, version: int, lift: Callable[[JsonObject], Mapping[str, object]]
    ) -> None:
        """Register how the data of a program's own event (``x.…``) of ``version`` becomes that of the next version.

        From then on ``record`` writes the newest version, and projections see only that one. Stored events are never
        changed. Register all of them right after opening, in the order of their versions, from 1.
        """
        self.upcasters.add(event_type, version, lift)

    def search(
        self,
        words: str = "",
        *,
        kind: str | Iterable[str] = (),
        session: str | None = None,
        user: str | None = None,
        by: str | None = None,
        since: str | None = None,
        until: str | None = None,
        status: str | None = None,
        path: str | None = None,
        limit: int = 20,
        semantic: bool | None = None,
    ) -> SearchResult:
        """The best matches over all sessions, live and archived, the project and its users.

        All words must be there, whole or as the beginning of a word; "quoted words" in this order. ``kind`` is one or
        several of decision, task, note, fact and so on; ``since`` and ``until`` are timestamps or ages such as 7d;
        ``path`` is a file that the text names. ``semantic`` ranks by meaning too (extra ``holdfast[semantic]``); if it
        is None, that is done if no text has all words, the extra is installed, and HOLDFAST_SEARCH is not ``words``.
        """
        from holdfast.workspace.searching import find, result_of

        found = find(
            self,
            words,
            self.session(session).stream if session is not None else None,
            kind=kind,
            user=user,
            by=by,
            since=since,
            until=until,
            status=status,
            path=path,
            limit=limit,
            semantic=semantic,
        )
        return result_of(found)

    def recover(self) -> list[Unsettled]:
        """Every decision with no outcome, over all sessions and the project, oldest first.

        Each says whether it looks done, by what its ``done_when`` names.
        """
        from holdfast.workspace.conditions import evaluated
        from holdfast.workspace.entries import unsettled
        from holdfast.workspace.model_builders import build
        from holdfast.workspace.models import Decision, Unsettled

        return [
            Unsettled(
                session=f"{entry['user']}/{entry['session']}" if entry["user"] else "",
                decision=build(Decision, entry),
                status=entry["status"],
                seen=entry["seen"],
            )
            for entry in evaluated(self, unsettled(self))
        ]

    def decisions(
        self,
        *,
        status: str | None = None,
        session: str | None = None,
        by: str | None = None,
        since: str | None = None,
        until: str | None = None,
        text: str | None = None,
    ) -> list[Decided]:
        """What was decided, over all sessions (archived ones too) and the project, newest first, with texts in full.

        ``status`` is ``unsettled``, ``settled`` (failed ones too), ``failed`` or ``choice``; ``since`` and ``until``
        are times in ISO 8601 (UTC) or spans back from now (``7d``); ``text`` is in any case.
        """
        from holdfast.workspace.decision_list import Wanted, complete
        from holdfast.workspace.model_builders import build
        from holdfast.workspace.models import Decided, Decision

        now = wall_clock()
        wanted = Wanted(
            status,
            self.session(session).stream if session is not None else None,
            by,
            timestamps.iso(timestamps.parse(since, now)) if since is not None else None,
            timestamps.iso(timestamps.parse(until, now)) if until is not None else None,
            text.lower() if text is not None else None,
        )
        return [
            Decided(
                session=f"{entry['user']}/{entry['session']}" if entry["user"] else "",
                decision=build(Decision, entry),
            )
            for entry in complete(self, wanted)
        ]

    def doctor(self, *, fix: bool = False) -> list[Fault]:
        """Everything that is wrong in the workspace; with ``fix``, repair what can be repaired without loss."""
        from holdfast.workspace import disk, presence, soundness
        from holdfast.workspace.heal_pages import check_markers

        faults = self.store.check(fix=fix)
        known = {fault.where for fault in faults}  # a lost commit that the store's own check has reported
        faults += [fault for fault in soundness.check(self, fix=fix) if fault.where not in known]
        faults += publish.check(self, fix=fix) + secrets_filter.check(self)
        faults += check_markers(self, fix=fix) + presence.check(self, fix=fix) + disk.check(self)
        return faults + self._hook_errors()

    def _hook_errors(self) -> list[Fault]:
        """Errors in hooks, which hooks never report to the host that calls them."""
        lines = (self.store.get(HOOK_LOG) or b"").decode("utf-8", "replace").splitlines()
        if not lines:
            return []
        from holdfast.store import faults

        data = {"errors": len(lines), "last": lines[-1][:300]}
        return [Fault(faults.HOOK_ERRORS, "", HOOK_LOG, data, harmless=True)]

    def salvage(self) -> list[Fault]:
        """Internal: restore commits that git removed from the working tree before a git commit had them."""
        store = git_backed(self.store)
        return store.salvage() if store is not None else []

    def heal(self) -> list[Fault]:
        """Repair what a merge left: conflicts, markers, stale views, lost segments."""
        from holdfast.workspace.heal import heal

        return heal(self)

    # -- views --------------------------------------------------------------------------------------------

    def changed(self, handle: Handle) -> None:
        """Internal: a commit was written. Its views are regenerated about once a second, by one of the processes that
        write to the session, and on close."""
        self.written = handle.stream
        if self.new_key is not None:
            secrets_filter.keep_key(self)
        self.views.changed(handle)

    def touch(self, handle: Handle) -> None:
        """Internal: have the next ``publish`` check a session's views, even if nothing was committed."""
        self.views.touch(handle)

    def report(self, fault: Fault) -> None:
        """Internal: have the next ``publish`` report a fault that did not make its command fail."""
        self.views.report(fault)

    def publish(self) -> list[Fault]:
        """Write the views of every changed session; returns the faults found."""
        return self.views.write()

    def close(self) -> None:
        """Write the views of changed sessions, and close the store."""
        self.publish()
        if self._index is not None:
            self._index.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
