"""Pages in the project's own folder that a merge left in conflict.

Pages that holdfast wrote entirely are regenerated from the sessions that they name. In AGENTS.md only the block is
ours: git merges the rest as if the block were the same on all sides.
"""

from __future__ import annotations

import os

from holdfast.core.stream import PROJECT, last_part
from holdfast.errors import HoldfastError
from holdfast.git import porcelain
from holdfast.store import faults
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import agents_md, parts, seal
from holdfast.workspace import publish, scaffold
from holdfast.workspace.discovery import FOLDER, HANDOFF
from holdfast.workspace.handover import AGENTS, project_state, refresh_block
from holdfast.workspace.project_files import CONTINUE, ProjectFolder, project_folder_of

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

_STAND_IN = b"<!-- holdfast: the block -->\n"
_SIDES = ("local/merge/ours", "local/merge/base", "local/merge/theirs")


def heal_pages(workspace: Workspace) -> list[Fault]:
    """Resolve merge conflicts in our files in the project's folder, and stage them."""
    folder = project_folder_of(workspace.where)
    if folder is None:
        return []
    in_git = workspace.surroundings.repository is not None
    conflicted = porcelain.conflicted(folder.root) if in_git else []
    resolved = [
        _resolve(workspace, folder, name) for name in (CONTINUE, HANDOFF, AGENTS) if name in conflicted
    ]
    marked = check_markers(workspace, fix=True, but=tuple(conflicted))
    regenerated = [fault.where.rpartition(":")[0] for fault in marked if fault.done]
    if in_git and regenerated and (tracked := porcelain.tracked(folder.root, regenerated)):
        porcelain.stage(folder.root, sorted(tracked))
    return resolved + marked


def _resolve(workspace: Workspace, folder: ProjectFolder, name: str) -> Fault:
    """Resolve the conflict in a page and stage it."""
    if name == AGENTS:
        done = faults.MERGED if _merge_around_block(workspace, folder) else ""
    else:
        regenerate(workspace, folder, name)
        done = faults.REGENERATED
    if done and not porcelain.stage(folder.root, [name]):
        done = ""
    return Fault(faults.CONFLICT, "", name, done=done, harmless=bool(done))


def check_markers(workspace: Workspace, *, fix: bool, but: tuple[str, ...] = ()) -> list[Fault]:
    """Conflict markers that were committed or left in pages and settings. With ``fix``, pages that are views are
    regenerated; files that people edit are left alone. Files in ``but`` are reported elsewhere."""
    folder = project_folder_of(workspace.where)
    if folder is None:
        return []
    marked = []
    for name in (CONTINUE, HANDOFF, AGENTS, *(f"{FOLDER}/{name}" for name in scaffold.FILES)):
        found = _content(folder, name) if name not in but else None
        line = seal.marker_line(found) if found else 0
        if not line or (name == AGENTS and not agents_md.has_block(found)):
            continue
        owned = name in (CONTINUE, HANDOFF)
        if owned and fix:
            regenerate(workspace, folder, name)
        done = faults.REGENERATED if owned and fix else ""
        data = {"owned": owned}
        marked.append(Fault(faults.CONFLICT_MARKERS, "", f"{name}:{line}", data, done=done, harmless=owned))
    return marked + (heal_merged(workspace, fix=fix) if HANDOFF not in but else [])


def heal_merged(workspace: Workspace, *, fix: bool) -> list[Fault]:
    """Regenerate the handoff page if git merged two versions of it. The old text is saved, since a person can have
    edited one side, and is removed with the session that the page is about."""
    page = publish.merged_page(workspace.where)
    if page is None:
        return []
    if not fix:
        return [Fault(faults.MERGED_VIEW, "", HANDOFF, harmless=True)]
    streams = workspace.store.streams("sessions/")
    named = (stream for stream in streams if f"session: {last_part(stream)}\n".encode() in page)
    saved = publish.saved_as(next(named, PROJECT), os.path.basename(HANDOFF), publish.MERGED)
    workspace.store.put(saved, page)
    regenerate(workspace, ProjectFolder(os.path.dirname(workspace.where)), HANDOFF)
    data = {"saved_as": saved}
    return [Fault(faults.MERGED_VIEW, "", HANDOFF, data, done=faults.REGENERATED, harmless=True)]


def _content(folder: ProjectFolder, name: str) -> bytes | None:
    """The bytes of a page or of a file in the workspace's folder; none if it cannot be read."""
    try:
        return folder.read_own(name) if name.startswith(FOLDER) else folder.read(name)
    except (HoldfastError, OSError):
        return None


def regenerate(workspace: Workspace, folder: ProjectFolder, name: str) -> None:
    """Regenerate a page from the newest session that it names; remove it if there is none."""
    from holdfast.views.pages import continue_here, handoff_md

    states = _sessions_in(workspace, folder.read(name) or b"")
    if name == CONTINUE:
        states = [state for state in states if parts.value(state, "status") == "paused"]
        newest = max(states, key=lambda state: (state["updated"], state["session"]), default=None)
        text = continue_here(newest) if newest else None
    else:
        states = [state for state in states if state["handoff"]]
        newest = max(states, key=lambda state: (state["handoff"]["at"], state["session"]), default=None)
        text = handoff_md(newest, project_state(workspace)) if newest else None
    if text is None:
        folder.remove(name)
    else:
        folder.write(name, text.encode())


def _sessions_in(workspace: Workspace, page: bytes) -> list[dict[str, Any]]:
    """The states of the sessions that the sides of a conflict name."""
    found = []
    for line in sorted(set(page.splitlines())):
        if line.startswith(b"session: "):
            try:
                session = workspace.session(line.removeprefix(b"session: ").decode("utf-8", "replace"))
            except HoldfastError:
                continue  # of another branch, or not one of ours
            found.append(session.peek().state)
    return found


def _merge_around_block(workspace: Workspace, folder: ProjectFolder) -> bool:
    """Merge AGENTS.md as if it had no block; False if people's text conflicts."""
    sides: dict[str, bytes] = {}
    for line in porcelain.lines(folder.root, "ls-files", "--stage", "--", AGENTS):
        _, blob, stage = line.partition("\t")[0].split(" ")
        sides[stage] = porcelain.content(folder.root, blob) or b""
    if not {"2", "3"} <= sides.keys():
        return False  # one side removed the whole file
    try:
        ours, blank = agents_md.cut_out(sides["2"], _STAND_IN)
        _, theirs = agents_md.cut_out(sides["3"], _STAND_IN)
        _, base = agents_md.cut_out(sides.get("1", b""), _STAND_IN)
    except HoldfastError:
        return False
    for name, text in zip(_SIDES, (blank, base, theirs), strict=True):
        workspace.store.put(name, text)
    try:
        paths = [os.path.join(workspace.where, name) for name in _SIDES]
        merged = porcelain.run(folder.root, "merge-file", "-p", "-q", *paths)
    finally:
        for name in _SIDES:
            workspace.store.put(name, None)
    if merged is None or merged.count(_STAND_IN) != 1:
        return False
    folder.write(AGENTS, merged.replace(_STAND_IN, ours))
    refresh_block(workspace, _current(workspace))
    return True


def _current(workspace: Workspace) -> Session | None:
    try:
        return workspace.session()
    except HoldfastError:
        return None
