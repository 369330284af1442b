"""Pages in the project's own folder that a merge left in conflict.

Those that are views as a whole are made anew from the sessions that they tell of. In AGENTS.md only the block is
ours: the rest is merged by git as if the block were the same on all sides.
"""

from __future__ import annotations

import os

from holdfast.errors import HoldfastError
from holdfast.git import integration, porcelain
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import agents_md, parts, seal
from holdfast.workspace import publish, scaffold
from holdfast.workspace.discovery import FOLDER
from holdfast.workspace.handover import AGENTS, project_state, refresh_block
from holdfast.workspace.project_files import CONTINUE, HANDOFF, ProjectFolder, beside

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

_STAND_IN = b"<!-- holdfast: the block -->\n"
_SIDES = ("local/merge/ours", "local/merge/base", "local/merge/theirs")


def heal_pages(workspace: Workspace) -> list[Fault]:
    """Settle what a merge left in conflict in the project's folder, as far as it is ours, and stage it."""
    folder = beside(workspace.where)
    if folder is None:
        return []
    faults = []
    in_git = integration.in_git(workspace.where)
    conflicted = porcelain.unmerged(folder.root) if in_git else []
    for name in (CONTINUE, HANDOFF, AGENTS):
        if name not in conflicted:
            continue
        settled = _merged_around(workspace, folder) if name == AGENTS else regenerate(workspace, folder, name)
        if settled and porcelain.stage(folder.root, [name]):
            action = "merged, the block made anew" if name == AGENTS else "made anew"
            faults.append(Fault("", name, "a merge left it in conflict", harmless=True, action=action))
        else:
            faults.append(
                Fault("", name, "a merge left it in conflict", action="not ours to settle: edit it")
            )
    marked = check_markers(workspace, fix=True, but=tuple(conflicted))
    made = [fault.where.rpartition(":")[0] for fault in marked if fault.harmless]
    if in_git and made and (tracked := porcelain.tracked(folder.root, made)):
        porcelain.stage(folder.root, sorted(tracked))
    return faults + marked


def check_markers(workspace: Workspace, *, fix: bool, but: tuple[str, ...] = ()) -> list[Fault]:
    """Conflict markers that somebody committed or left in pages and settings. With ``fix``, pages that are views are
    made anew; what people write in is theirs to edit. Files in ``but`` are told of elsewhere."""
    folder = beside(workspace.where)
    if folder is None:
        return []
    faults = []
    for name in (CONTINUE, HANDOFF, AGENTS, *(f"{FOLDER}/{name}" for name in scaffold.FILES)):
        found = _content(folder, name) if name not in but else None
        line = seal.marker_line(found) if found else 0
        if not line or (name == AGENTS and not agents_md.has_block(found)):
            continue
        where = f"{name}:{line}"
        if name in (CONTINUE, HANDOFF):
            if fix:
                regenerate(workspace, folder, name)
            action = "made anew" if fix else "`holdfast heal` makes it anew"
            faults.append(Fault("", where, publish.MARKERS, harmless=True, action=action))
        else:
            action = "not ours to settle: edit it, keep what is right"
            faults.append(Fault("", where, publish.MARKERS, action=action))
    return faults


def _content(folder: ProjectFolder, name: str) -> bytes | None:
    """The bytes of a page or of a file in the workspace's folder; none if it cannot be read."""
    try:
        return folder.read_own(name) if name.startswith(FOLDER) else folder.read(name)
    except (HoldfastError, OSError):
        return None


def regenerate(workspace: Workspace, folder: ProjectFolder, name: str) -> bool:
    """Write a page again from the newest session that it names; remove it if there is none."""
    from holdfast.views.pages import continue_here, handoff_md

    told = _sessions_in(workspace, folder.read(name) or b"")
    if name == CONTINUE:
        told = [state for state in told if parts.value(state, "status") == "paused"]
        newest = max(told, key=lambda state: (state["updated"], state["session"]), default=None)
        text = continue_here(newest) if newest else None
    else:
        told = [state for state in told if state["handoff"]]
        newest = max(told, key=lambda state: (state["handoff"]["at"], state["session"]), default=None)
        text = handoff_md(newest, project_state(workspace)) if newest else None
    if text is None:
        folder.remove(name)
    else:
        folder.write(name, text.encode())
    return True


def _sessions_in(workspace: Workspace, page: bytes) -> list[dict[str, Any]]:
    """The states of the sessions that the sides of a conflict tell of."""
    found = []
    for line in sorted(set(page.splitlines())):
        if line.startswith(b"session: "):
            try:
                session = workspace.session(line.removeprefix(b"session: ").decode("utf-8", "replace"))
            except HoldfastError:
                continue  # of a branch that is not here, or not one of ours
            found.append(session.peek().state)
    return found


def _merged_around(workspace: Workspace, folder: ProjectFolder) -> bool:
    """Merge AGENTS.md with the block left out of account; False if what people wrote is in conflict itself."""
    sides: dict[str, bytes] = {}
    for line in porcelain.lines(folder.root, "ls-files", "--stage", "--", AGENTS):
        _, blob, stage = line.partition("\t")[0].split(" ")
        sides[stage] = porcelain.content(folder.root, blob) or b""
    if not {"2", "3"} <= sides.keys():
        return False  # one side took the whole file away
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
