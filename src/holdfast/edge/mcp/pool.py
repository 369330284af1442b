"""The workspace pool: one open workspace, shared by all clients of a server.

Commands run under one lock. Queries of the log can take long, so each gets its own handle and runs without the lock.
The session is resolved for every call, by the same rule as on the command line, so that a server follows when the
current session changes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock

from holdfast.core.concepts.session import is_unfinished
from holdfast.core.ids import is_session_id
from holdfast.core.stream import session_stream
from holdfast.core.text import one_line
from holdfast.edge.mcp import hints
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.packages.hosts import CLIENTS
from holdfast.store.protocol import attachments_of
from holdfast.typed import Any
from holdfast.views.markdown import hidden_in
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace, open_workspace

MAX_CONTEXTS = 32
"""The most actors whose handles are kept, and the most handles per actor."""
BEAT_SECONDS = 60
UNKNOWN = "mcp"
"""The actor if neither HOLDFAST_AGENT nor the client gives a name."""


class ClientContext:
    """The workspace as one actor, with the handles in use."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.handles: dict[str, Session] = {}
        self.picked: tuple[str | None, str] | None = None
        """A stale pointer, and the stream that the rule chose instead."""
        self.touched: set[str] = set()
        self.last_beat = 0.0
        self.last: Session | None = None

    def handle(self, stream: str) -> Session:
        found = self.handles.get(stream)
        if found is None:
            if len(self.handles) >= MAX_CONTEXTS:
                self.workspace.publish()
                self.handles.clear()
            found = self.handles[stream] = Session(self.workspace, stream)
        return found


class LockScope:
    """A scope that holds the pool's lock for one client. After damage everything is reopened."""

    __slots__ = ("_client", "_pool")

    def __init__(self, pool: WorkspacePool, client: str) -> None:
        self._pool = pool
        self._client = client

    def __enter__(self) -> ClientContext:
        self._pool.lock.acquire()
        try:
            return self._pool.context_of(self._client)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, (Damaged, Unavailable)):
                self._pool.drop()
        finally:
            self._pool.lock.release()


class WorkspacePool:
    """One workspace, opened on first use and kept open, with a context per client."""

    beats = True
    """Whether to send presence heartbeats; off where the clients did not start this process."""

    def __init__(self, where: str | None = None, session: str | None = None) -> None:
        self._where = where
        self._named = session or os.environ.get("HOLDFAST_SESSION")
        self._agent = os.environ.get("HOLDFAST_AGENT")
        self.lock = RLock()
        self._contexts: dict[str, ClientContext] = {}

    # -- calls --------------------------------------------------------------------------------------------

    def context(self, client: str) -> LockScope:
        """A lock scope that yields the client's context."""
        return LockScope(self, client)

    @contextmanager
    def any_context(self) -> Iterator[ClientContext]:
        """Any context, under the lock, for reading only."""
        with self.lock:
            known = next(iter(self._contexts.values()), None)
            yield known if known is not None else self.context_of("")

    def on_session(self, client: str, act: Callable[[Session], Any], named: str | None = None) -> Any:
        """Run ``act`` on the named or current session, under the lock."""
        with self.context(client) as context:
            session = context.last = self.choose(context, named)
            if session.stream not in context.touched:
                # The last writer may have been killed before the views were regenerated.
                context.touched.add(session.stream)
                context.workspace.touch(session)
            return act(session)

    def on_own_handle(self, client: str, act: Callable[[Session], Any], named: str | None = None) -> Any:
        """Run a long query on its own handle, without the lock."""
        with self.context(client) as context:
            session = self.choose(context, named)
            own = Session(context.workspace, session.stream)
        return act(own)

    def folder(self) -> str | None:
        """The folder of the workspace; None if it is a database."""
        with self.any_context() as context:
            attachments = attachments_of(context.workspace.store)
            return attachments.root if attachments is not None else None

    # -- which session ------------------------------------------------------------------------------------

    def choose(self, context: ClientContext, named: str | None) -> Session:
        """The named session, else the current one."""
        workspace = context.workspace
        wanted = named or self._named
        if wanted:
            user, _, name = wanted.rpartition("/")
            if is_session_id(name):
                known = context.handles.get(session_stream(user or workspace.user, name))
                if known is not None:
                    return known
            return context.handle(workspace.session(wanted).stream)
        current = workspace.current()
        if current is not None:
            user, _, name = current.rpartition("/")
            session = self._unfinished(context, session_stream(user or workspace.user, name))
            if session is not None:
                return session
        if context.picked is not None and context.picked[0] == current:
            session = self._unfinished(context, context.picked[1])
            if session is not None:
                return session
        chosen = workspace.pick().session.stream
        context.picked = (current, chosen)
        return context.handle(chosen)

    def _unfinished(self, context: ClientContext, stream: str) -> Session | None:
        session = context.handle(stream)
        try:
            state = session.peek().state
        except HoldfastError:
            state = None
        if state is not None and is_unfinished(state) and not state.get("archived"):
            return session
        context.handles.pop(stream, None)
        return None

    # -- contexts -----------------------------------------------------------------------------------------

    def context_of(self, client: str) -> ClientContext:
        name = self._agent or agent_name(client)
        context = self._contexts.get(name)
        if context is None:
            if len(self._contexts) >= MAX_CONTEXTS:
                self.idle()
                self._contexts.clear()
            known = next(iter(self._contexts.values()), None)
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
            if self.beats:
                _present_as_client(workspace)
            context = self._contexts[name] = ClientContext(workspace)
        return context

    # -- when idle ----------------------------------------------------------------------------------------

    def idle(self) -> None:
        """Regenerate stale views and send presence heartbeats."""
        with self.lock:
            for context in self._contexts.values():
                for fault in context.workspace.publish():
                    action = hints.text(fault.action)
                    sys.stderr.write(f"holdfast mcp: {fault.where}: {fault.what}; {action}.\n")
                if (
                    self.beats
                    and context.last is not None
                    and time.monotonic() - context.last_beat > BEAT_SECONDS
                ):
                    context.last_beat = time.monotonic()
                    self._beat(context, context.last)

    def _beat(self, context: ClientContext, session: Session) -> None:
        try:
            context.workspace.presence.beat(f"{session.user}/{session.id}")
        except (HoldfastError, OSError):
            pass  # presence is optional

    def drop(self) -> None:
        """Close the store without writing; the next call reopens everything."""
        for context in list(self._contexts.values())[:1]:  # all contexts share one store
            try:
                context.workspace.store.close()
            except (HoldfastError, OSError):
                pass
        self._contexts.clear()

    def close(self) -> None:
        """Write stale views and close the store."""
        with self.lock:
            self.idle()
            self.drop()


def _present_as_client(workspace: Workspace) -> None:
    """The agent is the program that started this server, as for its hooks; not the leader of its terminal."""
    from holdfast.workspace.presence import of_program

    try:
        workspace.presence = of_program(workspace)
    except (HoldfastError, OSError):
        pass  # presence is optional


def agent_name(client: str) -> str:
    """The name of the agent behind a client: that of its host, as its hooks use it, else the client's own name."""
    name = plain_name(client)
    return CLIENTS.get(name, name)


@lru_cache(maxsize=MAX_CONTEXTS)
def plain_name(client: str) -> str:
    """A client's own name as an actor name: one line, no hidden characters, truncated."""
    hidden = hidden_in(client)
    kept = client.translate({ord(character): None for character in hidden}) if hidden else client
    return one_line(kept, 60) or UNKNOWN
