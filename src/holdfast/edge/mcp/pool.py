"""The desk: one opened workspace, shared by everybody whom a server answers.

Handles belong to one thread at a time, so commands take turns under one lock; questions to the log, which can take
long, get a handle of their own and no lock. Which session is meant is found anew for every call, by the same rule as
on the command line, so that a server follows when the work moves on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock

from holdfast.core.ids import is_session_id
from holdfast.core.stream import session_stream
from holdfast.core.text import one_line
from holdfast.edge.mcp import hints
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.store.protocol import attachments_of
from holdfast.typed import Any
from holdfast.views.markdown import hidden_in
from holdfast.workspace.choose import is_unfinished
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace, open_workspace

MOST_SEATS = 32
"""Actors whose handles are kept at hand."""
BEAT_SECONDS = 60
UNKNOWN = "mcp"
"""The actor if neither HOLDFAST_AGENT nor the client says who it is."""


class Seat:
    """The workspace in the name of one actor, with the handles in use."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.handles: dict[str, Session] = {}
        self.picked: tuple[str | None, str] | None = None
        """The pointer that was found to lead nowhere, and the stream that the rule chose instead."""
        self.touched: set[str] = set()
        self.beaten = 0.0
        self.last: Session | None = None

    def handle(self, stream: str) -> Session:
        found = self.handles.get(stream)
        if found is None:
            if len(self.handles) >= MOST_SEATS:
                self.workspace.publish()
                self.handles.clear()
            found = self.handles[stream] = Session(self.workspace, stream)
        return found


class Turn:
    """The time in which one client has the desk to itself. After damage all is opened anew."""

    __slots__ = ("_client", "_desk")

    def __init__(self, desk: Desk, client: str) -> None:
        self._desk = desk
        self._client = client

    def __enter__(self) -> Seat:
        self._desk.lock.acquire()
        try:
            return self._desk.seat_of(self._client)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, (Damaged, Unavailable)):
                self._desk.drop()
        finally:
            self._desk.lock.release()


class Desk:
    """One workspace, opened when it is first needed and kept."""

    beats = True
    """Whether presence shows the agents; not where they are not the ones who started this process."""

    def __init__(self, where: str | None = None, session: str | None = None) -> None:
        self._where = where
        self._named = session or os.environ.get("HOLDFAST_SESSION")
        self._agent = os.environ.get("HOLDFAST_AGENT")
        self.lock = RLock()
        self._seats: dict[str, Seat] = {}

    # -- calls --------------------------------------------------------------------------------------------

    def seat(self, client: str) -> Turn:
        """The workspace in a client's name, alone."""
        return Turn(self, client)

    @contextmanager
    def any_seat(self) -> Iterator[Seat]:
        """The workspace in anybody's name, for looking only."""
        with self.lock:
            known = next(iter(self._seats.values()), None)
            yield known if known is not None else self.seat_of("")

    def on_session(self, client: str, act: Callable[[Session], Any], named: str | None = None) -> Any:
        """Run ``act`` on the session that is meant."""
        with self.seat(client) as seat:
            session = seat.last = self.choose(seat, named)
            if session.stream not in seat.touched:
                # Whoever wrote last may have been killed before the views were made anew.
                seat.touched.add(session.stream)
                seat.workspace.touch(session)
            return act(session)

    def beside(self, client: str, act: Callable[[Session], Any], named: str | None = None) -> Any:
        """Run a long question on a handle of its own, while others go on."""
        with self.seat(client) as seat:
            session = self.choose(seat, named)
            own = Session(seat.workspace, session.stream)
        return act(own)

    def folder(self) -> str | None:
        """The folder of the workspace; None if it is a database."""
        with self.any_seat() as seat:
            attachments = attachments_of(seat.workspace.store)
            return attachments.root if attachments is not None else None

    # -- which session ------------------------------------------------------------------------------------

    def choose(self, seat: Seat, named: str | None) -> Session:
        """The session that is named, else the one to go on with."""
        workspace = seat.workspace
        wanted = named or self._named
        if wanted:
            user, _, name = wanted.rpartition("/")
            if is_session_id(name):
                known = seat.handles.get(session_stream(user or workspace.user, name))
                if known is not None:
                    return known
            return seat.handle(workspace.session(wanted).stream)
        current = workspace.current()
        if current is not None:
            user, _, name = current.rpartition("/")
            session = self._unfinished(seat, session_stream(user or workspace.user, name))
            if session is not None:
                return session
        if seat.picked is not None and seat.picked[0] == current:
            session = self._unfinished(seat, seat.picked[1])
            if session is not None:
                return session
        chosen = workspace.pick().session.stream
        seat.picked = (current, chosen)
        return seat.handle(chosen)

    def _unfinished(self, seat: Seat, stream: str) -> Session | None:
        session = seat.handle(stream)
        try:
            state = session.peek().state
        except HoldfastError:
            state = None
        if state is not None and is_unfinished(state) and not state.get("archived"):
            return session
        seat.handles.pop(stream, None)
        return None

    # -- who ----------------------------------------------------------------------------------------------

    def seat_of(self, client: str) -> Seat:
        name = self._agent or plain_name(client)
        seat = self._seats.get(name)
        if seat is None:
            if len(self._seats) >= MOST_SEATS:
                self.rest()
                self._seats.clear()
            known = next(iter(self._seats.values()), None)
            if known is None:
                workspace = open_workspace(self._where, by=name, channel="mcp")
            else:
                first = known.workspace
                workspace = Workspace(
                    first.store,
                    user=first.user,
                    by=name,
                    origin="agent",
                    channel="mcp",
                    surroundings=first.surroundings,
                )
            seat = self._seats[name] = Seat(workspace)
        return seat

    # -- when there is time -------------------------------------------------------------------------------

    def rest(self) -> None:
        """Make views anew that calls left stale, and show that the agents are still here."""
        with self.lock:
            for seat in self._seats.values():
                for fault in seat.workspace.publish():
                    action = hints.text(fault.action)
                    sys.stderr.write(f"holdfast mcp: {fault.where}: {fault.what}; {action}.\n")
                if self.beats and seat.last is not None and time.monotonic() - seat.beaten > BEAT_SECONDS:
                    seat.beaten = time.monotonic()
                    self._beat(seat, seat.last)

    def _beat(self, seat: Seat, session: Session) -> None:
        try:
            seat.workspace.presence.beat(f"{session.user}/{session.id}")
        except (HoldfastError, OSError):
            pass  # presence is a courtesy: a workspace that cannot show it works all the same

    def drop(self) -> None:
        """Give the store back without writing: the next call opens everything anew, and sees what there is then."""
        for seat in list(self._seats.values())[:1]:  # all seats share one store
            try:
                seat.workspace.store.close()
            except (HoldfastError, OSError):
                pass
        self._seats.clear()

    def close(self) -> None:
        """Write what is stale, and give the store back."""
        with self.lock:
            self.rest()
            self.drop()


@lru_cache(maxsize=MOST_SEATS)
def plain_name(client: str) -> str:
    """The name that a client gave itself, as the name of an actor: one line, nothing hidden, not too long."""
    hidden = hidden_in(client)
    kept = client.translate({ord(character): None for character in hidden}) if hidden else client
    return one_line(kept, 60) or UNKNOWN
