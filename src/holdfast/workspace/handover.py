"""Handing a session off and taking it up: the brief, and the files in the project that describe it."""

from __future__ import annotations

from holdfast.core.stream import PROJECT, last_part
from holdfast.errors import HoldfastError, Refused, Unavailable
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.views import parts, seal
from holdfast.workspace import reads
from holdfast.workspace.alerts import alerts
from holdfast.workspace.discovery import HANDOFF
from holdfast.workspace.project_files import CONTINUE, ProjectFolder, project_folder_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.views.brief import Brief
    from holdfast.views.brief_sections import Known
    from holdfast.workspace.handle import Handle, Receipt
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

AGENTS = "AGENTS.md"


class Handover(Record):
    """The result of a handoff."""

    receipt: Receipt
    text: str
    path: str | None
    """Where the page was written; None if it was not."""
    warnings: list[str]
    """Files that could not be updated, and why. The handoff itself is committed."""


def make_brief(session: Session, budget: int | None = None, *, shown: str = "") -> Brief:
    """The brief from which a new agent can continue; without standing orders that are in ``shown``, which the agent
    has already."""
    from holdfast.core.tokens import estimate
    from holdfast.views import brief
    from holdfast.workspace.recall import known_for

    known = known_for(session, shown)
    packet = brief.brief(
        session.peek().state,
        known,
        count=estimate,
        budget=brief.DEFAULT if budget is None else budget,
        alerts=alerts(session),
    )
    reads.count(session.workspace, _told(known, packet.text))
    return packet


def make_project_brief(workspace: Workspace, budget: int, *, previous: str = "", shown: str = "") -> Brief:
    """The brief of a project in which no session is open for the reader: what the project knows, what waits in the
    sessions of everyone here, and which sessions were left open."""
    from holdfast.core.fold import blank
    from holdfast.core.tokens import estimate
    from holdfast.views import brief
    from holdfast.workspace.recall import known_for_project

    known = known_for_project(workspace, previous, shown)
    packet = brief.brief(blank("session"), known, count=estimate, budget=budget)
    reads.count(workspace, _told(known, packet.text))
    return packet


def _told(known: Known, text: str) -> list[tuple[str, str]]:
    """The records of other streams that a brief shows."""
    project = (parts.opened(known.project, "facts"), parts.opened(known.project, "orders"))
    own = [(PROJECT, entry["id"]) for entries in project for entry in entries if f"- {entry['id']} " in text]
    return own + [(entry["stream"], entry["id"]) for entry in known.recalled if f" {entry['id']} of " in text]


def project_state(workspace: Workspace) -> dict[str, Any]:
    """The state of the project's stream. Orders from others that nobody here has accepted are apart (``offered``)."""
    from holdfast.workspace.accepted import with_accepted
    from holdfast.workspace.handle import Handle

    return with_accepted(workspace, Handle(workspace, PROJECT).peek().state)


def hand_off(
    session: Session, message: str | None = None, *, op: str | None = None, expect: int | None = None
) -> Handover:
    """Hand the session off, and write ``handoff/latest.md`` for the next agent."""
    from holdfast.views.agents_md import has_block

    receipt = session.hand_off(message, op=op, expect=expect)
    text = handoff_page(session)
    folder = project_folder_of(session.workspace.where)
    if folder is None:
        return Handover(receipt, text, None, [])
    path, warnings = None, []
    try:
        path = _write_page(folder, HANDOFF, text)
        if path is None:
            warnings.append(_LEFT_ALONE)
        if has_block(folder.read(AGENTS)):
            refresh_block(session.workspace, session)
    except (HoldfastError, OSError) as error:
        warnings.append(str(error))
    return Handover(receipt, text, path, warnings)


_LEFT_ALONE = f"{HANDOFF} was not made by holdfast or was edited by hand; it is left as it is."


def handoff_page(session: Handle) -> str:
    """The text of ``handoff/latest.md``."""
    from holdfast.views.pages import handoff_md

    return handoff_md(session.peek().state, project_state(session.workspace))


def write_handoff_page(session: Session) -> str:
    """Write ``handoff/latest.md`` as the session is now, without handing it off; returns its path."""
    path = _write_page(_folder(session.workspace), HANDOFF, handoff_page(session))
    if path is None:
        raise Refused(_LEFT_ALONE, hint="Move your text elsewhere and retry.")
    return path


def _write_page(folder: ProjectFolder, name: str, text: str) -> str | None:
    """Write a page, unless it contains a person's own text."""
    found = folder.read(name)
    if found is not None and seal.condition(found) == "edited":
        return None
    return folder.write(name, text.encode())


def refresh_block(
    workspace: Workspace, session: Session | None, *, file: str = AGENTS, write: bool = True
) -> tuple[str, bool]:
    """Update the block in AGENTS.md; returns its path and whether the file was (or would be) changed."""
    from holdfast.views import agents_md

    folder = _folder(workspace)
    found = folder.read(file)
    text = agents_md.block(session.peek().state if session else None, project_state(workspace))
    wanted = agents_md.merged(found, text)
    if wanted != found and write:
        folder.write(file, wanted)
    return f"{folder.root}/{file}", wanted != found


def show_pause(session: Handle) -> None:
    """Update ``.continue-here.md``, and ``handoff/latest.md`` if it shows this session."""
    _show(session, CONTINUE, mark_pause)
    show_handoff(session)


def show_handoff(session: Handle) -> None:
    """Update ``handoff/latest.md`` if it shows this session."""
    _show(session, HANDOFF, _refresh_handoff_page)


def _show(session: Handle, page: str, write: Callable[[Handle], None]) -> None:
    """Write a page. The commit is durable: a page that cannot be written is reported."""
    try:
        write(session)
    except (HoldfastError, OSError) as problem:
        from holdfast.store.faults import UNWRITTEN_VIEW

        session.workspace.report(Fault(UNWRITTEN_VIEW, session.stream, page, {"problem": str(problem)}))


def _refresh_handoff_page(session: Handle) -> None:
    """Regenerate ``handoff/latest.md`` if it shows this session and nobody edited it.

    A page that still offers work which somebody claimed or completed sends a second agent to it.
    """
    folder = project_folder_of(session.workspace.where)
    found = folder.read(HANDOFF) if folder is not None else None
    if folder is None or found is None:
        return
    state = session.peek().state
    shown = f"\nsession: {state['session']}\n".encode()
    if shown in found and seal.condition(found) == "intact" and not seal.is_current(found, state):
        folder.write(HANDOFF, handoff_page(session).encode())


def mark_pause(session: Handle) -> None:
    """Write ``.continue-here.md`` for a paused session, and remove it when the session continues.

    The file only shows what is committed: if it cannot be written, nothing is lost.
    """
    folder = project_folder_of(session.workspace.where)
    if folder is None:
        return
    state = session.peek().state
    paused = parts.value(state, "status") == "paused"
    found = folder.read(CONTINUE)
    if paused:
        from holdfast.views.pages import continue_here

        # Local to this clone: other clones see the session itself. In git it would stop merges.
        if (repository := session.workspace.surroundings.repository) is not None:
            from holdfast.git.integration import exclude

            exclude(repository.common, CONTINUE)
        _write_page(folder, CONTINUE, continue_here(state))
    elif found is not None and seal.condition(found) == "intact" and _describes(found, session):
        folder.remove(CONTINUE)


def _describes(page: bytes, session: Handle) -> bool:
    return f"\nsession: {last_part(session.stream)}\n".encode() in page


def _folder(workspace: Workspace) -> ProjectFolder:
    folder = project_folder_of(workspace.where)
    if folder is None:
        raise Unavailable(
            f"{workspace.where} is not in a project folder, so there is no file to write.",
            hint="Run the command in a workspace that is a .state folder.",
        )
    return folder
