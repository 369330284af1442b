"""Putting right what a merge, a reset or an editor left: conflicts, markers, stale views, lost segments."""

from __future__ import annotations

import os

from holdfast.core.stream import last_part, owner
from holdfast.store.protocol import Fault, GitBacked, git_backed
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace import publish

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def heal(workspace: Workspace) -> list[Fault]:
    """Settle every conflict in our own files from the segments, make views anew, and stage what was conflicted.

    Needs no merge driver and no person: segments are joined line by line, views are made from them. Files of
    other origin, such as ``context/``, are left as they are and reported.
    """
    store = git_backed(workspace.store)
    if store is None:
        return publish.check(workspace, fix=True)
    from holdfast.git import integration, porcelain
    from holdfast.recovery import fsck, restore
    from holdfast.workspace.heal_pages import heal_pages

    conflicted = porcelain.unmerged(store.root) if store.in_git else []
    segments = [path for path in conflicted if path.endswith(".jsonl") and path.startswith("events/")]
    views = [path for path in conflicted if os.path.basename(path) in publish.VIEWS]
    marks = [path for path in conflicted if _is_mark(path)]
    faults = [_settled(store, path) for path in segments if store.settle_conflict(path)]
    faults += [_settled_mark(store, path) for path in marks]
    moved = []
    for path in conflicted:
        if path.startswith(("sessions/", "history/")) and path not in (*views, *marks):
            changed = store.put_back(path)
            moved += changed
            faults += [_put_back(path, changed)] if changed else []
    made = []
    for path in views:
        stream = store.stream_at(os.path.dirname(path))
        store.drop_file(path)
        if stream and (store.is_stream(stream) or store.is_archived(stream)):
            session = workspace.session(f"{owner(stream)}/{last_part(stream)}")
            publish.publish(session)
            made += [
                f"{os.path.relpath(store.folder_of(stream), store.root)}/{name}" for name in publish.VIEWS
            ]
        faults.append(Fault(stream, path, "a merge left it in conflict", harmless=True, action="made anew"))
    faults += workspace.store.check(fix=True)
    faults += publish.check(workspace, fix=True, quick=True)
    back = [fault.where for fault in faults if fault.action == restore.PUT_BACK]
    if back and not porcelain.tracked(store.root, back):
        back = []
    # Untracked, it would stand in the way of the next merge that brings it.
    named = [f.where for f in faults if f.action == fsck.WRITTEN_AGAIN and store.in_git]
    named = [path for path in named if porcelain.tracked(store.root, _folders_of(path))]
    anew = {*_tracked_views(store, faults), *_tracked_segments(store, faults)}
    staged = sorted({*segments, *moved, *back, *named, *marks, *views, *made, *anew})
    if store.in_git and integration.views_are_local(store.root):
        staged = [path for path in staged if os.path.basename(path) not in publish.VIEWS]
        faults += [_kept_out(path) for path in integration.untrack_views(store.root)]
        conflicted = [path for path in conflicted if path not in views]
    if staged and not porcelain.stage(store.root, staged):
        faults.append(Fault("", ".", "git did not stage the healed files", action="stage them with git add"))
    for path in conflicted:
        if path not in staged:
            faults.append(
                Fault("", path, "a merge left it in conflict", action="not ours to settle: edit it")
            )
    return faults + heal_pages(workspace)


def _folders_of(path: str) -> list[str]:
    """The folders of an archived session: git may have its joined segments, and nothing else of it."""
    from holdfast.store.files.segments import EVENTS

    folder = os.path.dirname(path)
    return [folder, f"{EVENTS}/{folder}"]


def _kept_out(path: str) -> Fault:
    """A view that another branch has in git, where views stay out of it."""
    return Fault("", path, "a view that a merge brought into git", harmless=True, action="no longer tracked")


def _is_mark(path: str) -> bool:
    """Whether archiving has made the file: the stub that stays in a session's folders, or the name of an archive."""
    from holdfast.recovery import archive
    from holdfast.store.files import segments

    name = os.path.basename(path)
    owner = path.startswith("history/") and path.count("/") == 3 and name == archive.OWNER
    return owner or (path.startswith(("sessions/", "history/", "events/")) and name == segments.STUB)


def _settled_mark(store: GitBacked, path: str) -> Fault:
    """A stub stays only in the old folders of a session that is archived: git may have moved it to those of another,
    or to the archive, whose views look alike. The name of an archive is written again by the check that follows."""
    from holdfast.store.files import segments

    stream = "/".join(path.removeprefix("events/").split("/")[:3])
    is_stub = os.path.basename(path) == segments.STUB
    if is_stub and not (stream.startswith("sessions/") and store.is_archived(stream)):
        store.drop_file(path)
    return Fault("", path, "a merge left it in conflict", harmless=True, action="settled")


def _put_back(path: str, changed: list[str]) -> Fault:
    """What is said of a file that git had put into the folder of another session."""
    action = f"put back where it was added: {', '.join(other for other in changed if other != path)}"
    return Fault("", path, "a merge left it in conflict", harmless=True, action=action)


def _settled(store: GitBacked, path: str) -> Fault:
    stream = store.stream_at(os.path.dirname(path))
    return Fault(stream, path, "a merge left it in conflict", harmless=True, action="all sides joined")


def _tracked_segments(store: GitBacked, faults: list[Fault]) -> list[str]:
    """Segments that were restored: what git would commit of them otherwise is the damage."""
    from holdfast.git import porcelain
    from holdfast.recovery import restore

    mended = [fault.where for fault in faults if restore.RESTORED in fault.action]
    return sorted(porcelain.tracked(store.root, mended)) if mended and store.in_git else []


def _tracked_views(store: GitBacked, faults: list[Fault]) -> list[str]:
    """Views that were made anew and that git tracks: staged, so that the next git commit has them right."""
    from holdfast.git import porcelain

    made = [fault.where.partition(":")[0] for fault in faults if fault.action == "made anew"]
    made = [path for path in made if os.path.basename(path) in publish.VIEWS]
    return sorted(porcelain.tracked(store.root, made)) if made and store.in_git else []
