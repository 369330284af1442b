"""Entries of states as plain JSON, for edges that print them. Programs read the typed models of the handles."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.core.stream import PROJECT, last_part, owner
from holdfast.errors import HoldfastError, NotFound
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.handle import Handle
from holdfast.workspace.model_builders import copy

if TYPE_CHECKING:
    from holdfast.workspace.project import Project
    from holdfast.workspace.session.context import Context
    from holdfast.workspace.session.work import Work
    from holdfast.workspace.workspace import Workspace

Entry = dict[str, Any]
_FILE_CAP = 8_000_000


def unsettled(workspace: Workspace) -> list[Entry]:
    """Every decision with no outcome, over all sessions and the project, oldest first."""
    found: list[Entry] = []
    streams = _with_open_decisions(workspace)
    if streams is None:
        streams = [*workspace.store.streams("sessions/"), *workspace.store.streams(PROJECT)]
    for stream in streams:
        for decision in Handle(workspace, stream).peek().state["decisions"]["open"].values():
            found.append({**decision, "session": last_part(stream), "user": owner(stream)})
    return sorted(found, key=lambda decision: str(decision["commit"]))


def _with_open_decisions(workspace: Workspace) -> list[str] | None:
    """The streams with unsettled decisions, as the index knows them; None if it cannot know all."""
    try:
        return workspace.index.streams_with("decisions", "open")
    except HoldfastError:
        return None


def backlog(project: Project) -> list[Entry]:
    """Everything on the backlog, most urgent first."""
    items: list[Entry] = project._look(lambda state: copy(list(state["backlog"]["open"].values())))
    return sorted(items, key=concepts.backlog.rank)


def ready(project: Project) -> list[Entry]:
    """What can be started now, most urgent first."""
    items: list[Entry] = project._look(lambda state: copy(concepts.backlog.ready(state)))
    return items


def batch(session: Work, name: str | None = None) -> Entry:
    """A batch, open or lately closed; without an id, the newest."""
    found: Entry = session._look(lambda state: copy(concepts.batch.look(state, name)))
    return found


def stale_files(session: Context) -> list[Entry]:
    """Every referenced file that has changed: its path, and what is wrong."""
    files = session.files
    known: dict[str, Entry] = session._look(_referred)
    stale = []
    for path, entry in sorted(known.items()):
        try:
            if files.size(path) == entry["size"] and files.look(path).hash == entry["hash"]:
                continue
            problem = "changed"
        except NotFound:
            problem = "gone"
        except HoldfastError as error:
            problem = str(error.message)
        kept = {key: entry[key] for key in ("at", "by")}
        stale.append({"path": path, "kind": entry["kind"], "problem": problem, **kept})
    return stale


def _referred(state: Entry) -> dict[str, Entry]:
    found: dict[str, Entry] = copy(state["references"]["open"])
    for message in state["messages"]["recent"]:
        if "file" in message:
            found[message["file"]] = {**message, "path": message["file"], "kind": "context"}
    return found


def recent_messages(session: Context, n: int = 20, *, full: bool = True) -> list[Entry]:
    """The last ``n`` messages that no summary covers, oldest first; with ``full``, long ones are complete."""
    if n < 1:
        return []
    messages: Entry = session._look(lambda state: copy(state["messages"]))
    found: list[Entry] = messages["recent"][-n:]
    covered = messages["summary"]["covers"] if messages["summary"] else 0
    wanted = min(n, messages["count"] - covered)
    if len(found) < wanted:
        found = _from_log(session, wanted)
    return [_whole(session, message) for message in found] if full else found


def _from_log(session: Context, n: int) -> list[Entry]:
    found: list[Entry] = []
    for commit in session.stored_commits(newest_first=True):
        for event in reversed(commit.events):
            if event.type == "message.added":
                found.append({**concepts.message.entry(event.data, commit), "text": event.data["text"]})
        if len(found) >= n:
            break
    return found[:n][::-1]


def _whole(session: Context, message: Entry) -> Entry:
    if "file" not in message:
        return message
    from hashlib import sha256

    try:
        data = session.files.read(message["file"], _FILE_CAP)
    except HoldfastError:
        return {**message, "cut": True}
    if sha256(data).hexdigest() != message["hash"]:
        return {**message, "cut": True}
    return {**message, "text": data.decode()}
