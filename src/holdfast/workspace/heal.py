"""Repair after a merge, a reset or an editor: conflicts, lost segments, stale views.

It needs no merge driver and no person. Segments are merged line by line, views are regenerated from them. Files that
holdfast did not write, such as those in ``context/``, are left as they are and reported.
"""

from __future__ import annotations

import os

from holdfast.core.stream import last_part, owner
from holdfast.git.integration import VIEWS as TRACKED_VIEWS
from holdfast.store import faults
from holdfast.store.protocol import Fault, GitBacked, git_backed
from holdfast.typed import TYPE_CHECKING, Record
from holdfast.workspace import publish

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


class Healed(Record):
    """What one step found and did."""

    faults: list[Fault]
    changed: list[str]
    """Paths whose present content is to be staged."""


def heal(workspace: Workspace) -> list[Fault]:
    """Resolve every conflict in our own files, repair segments and views, and stage what changed."""
    store = git_backed(workspace.store)
    if store is None:
        return publish.check(workspace, fix=True)
    from holdfast.git import porcelain
    from holdfast.workspace.heal_pages import heal_pages

    conflicted = porcelain.conflicted(store.root) if store.in_git else []
    done = [
        *_resolve_conflicts(workspace, store, conflicted),
        _repair_segments(workspace, store),
        _regenerate_views(workspace, store),
    ]
    found = [fault for step in done for fault in step.faults]
    changed = {path for step in done for path in step.changed}
    if store.in_git:
        found += _stage(store, conflicted, changed)
    return found + heal_pages(workspace)


# -- conflicts --------------------------------------------------------------------------------------------


def _resolve_conflicts(workspace: Workspace, store: GitBacked, conflicted: list[str]) -> list[Healed]:
    """Resolve conflicts in our own files. Segments come first: views are generated from them."""
    segments = [path for path in conflicted if path.startswith("events/") and _is_in_log(path)]
    markers = [path for path in conflicted if store.is_archive_marker(path)]
    views = [path for path in conflicted if _is_view(path)]
    others = [
        path
        for path in conflicted
        if path.startswith(("sessions/", "history/")) and path not in (*views, *markers)
    ]
    return [
        *(_merge_segment(store, path) for path in segments),
        *(_resolve_archive_marker(store, path) for path in markers),
        *(_resolve_session_file(store, path) for path in others),
        *(_resolve_view(workspace, store, path) for path in views),
    ]


def _is_in_log(path: str) -> bool:
    """Whether a file is a segment or a long text."""
    from holdfast.core import long_texts

    return path.endswith(".jsonl") or long_texts.is_path(path)


def _merge_segment(store: GitBacked, path: str) -> Healed:
    """The union of all sides, or the correct version of a long text. Not for another stream's segment:
    ``_repair_segments`` moves that one."""
    if not store.settle_conflict(path):
        return Healed([], [path])
    return Healed([_conflict(path, faults.MERGED, store.stream_at(os.path.dirname(path)))], [path])


def _resolve_archive_marker(store: GitBacked, path: str) -> Healed:
    store.settle_marker(path)
    return Healed([_conflict(path, faults.SETTLED)], [path])


def _resolve_session_file(store: GitBacked, path: str) -> Healed:
    """Move a file that git's rename detection put into another session's folder; keep the text of a message that one
    side does not have."""
    changed = store.put_back(path)
    if not changed and store.settle_text(path):
        return Healed([_conflict(path, faults.SETTLED)], [path])
    if not changed:
        return Healed([], [])
    targets = [other for other in changed if other != path]
    return Healed([_conflict(path, faults.MOVED, moved_to=targets)], changed)


def _resolve_view(workspace: Workspace, store: GitBacked, path: str) -> Healed:
    """Regenerate both views of a session; remove a view whose session is not here."""
    stream = store.stream_at(os.path.dirname(path))
    store.drop_file(path)
    regenerated = []
    if stream and (store.is_stream(stream) or store.is_archived(stream)):
        publish.publish(workspace.session(f"{owner(stream)}/{last_part(stream)}"))
        folder = os.path.relpath(store.folder_of(stream), store.root)
        regenerated = [f"{folder}/{name}" for name in TRACKED_VIEWS]
    return Healed([_conflict(path, faults.REGENERATED, stream)], [path, *regenerated])


def _conflict(path: str, done: str, stream: str = "", **data: list[str]) -> Fault:
    return Fault(faults.CONFLICT, stream, path, {**data}, done=done, harmless=bool(done))


# -- segments ---------------------------------------------------------------------------------------------


def _repair_segments(workspace: Workspace, store: GitBacked) -> Healed:
    """Restore, recover and move segments. If untracked, a moved one would block the next merge that adds it."""
    found = workspace.store.check(fix=True)
    if not store.in_git:
        return Healed(found, [])
    from holdfast.git import porcelain
    from holdfast.workspace import soundness

    found += soundness.restore_all_lost(workspace)
    moved = [fault.where for fault in found if fault.done == faults.MOVED]
    restored = [fault.where for fault in found if fault.done == faults.RESTORED]
    named = [fault.where for fault in found if fault.kind == faults.MISSING_OWNER]
    return Healed(
        found,
        [
            *(moved if moved and porcelain.tracked(store.root, moved) else ()),
            *(porcelain.tracked(store.root, restored) if restored else ()),
            *(path for path in named if porcelain.tracked(store.root, _archive_folders(path))),
        ],
    )


def _archive_folders(path: str) -> list[str]:
    """The folders of an archived session: git may have its joined segments, and nothing else of it."""
    folder = os.path.dirname(path)
    return [folder, f"events/{folder}"]


# -- views ------------------------------------------------------------------------------------------------


def _regenerate_views(workspace: Workspace, store: GitBacked) -> Healed:
    """Regenerate stale views; those that git tracks are staged, so that the next git commit includes them."""
    found = publish.check(workspace, fix=True, quick=True)
    regenerated = [fault.where.partition(":")[0] for fault in found if fault.done == faults.REGENERATED]
    if not regenerated or not store.in_git:
        return Healed(found, [])
    from holdfast.git import porcelain

    return Healed(found, sorted(porcelain.tracked(store.root, regenerated)))


def _is_view(path: str) -> bool:
    return os.path.basename(path) in publish.VIEWS


# -- report -----------------------------------------------------------------------------------------------


def _stage(store: GitBacked, conflicted: list[str], changed: set[str]) -> list[Fault]:
    """Stage what changed, and report what git still has in conflict."""
    from holdfast.git import integration, porcelain

    found = []
    if integration.views_are_local(store.root):
        changed = {path for path in changed if not _is_view(path)}
        conflicted = [path for path in conflicted if not _is_view(path)]
        found += [
            Fault(faults.TRACKED_VIEW, "", path, done=faults.UNTRACKED, harmless=True)
            for path in integration.untrack_views(store.root)
        ]
    if changed and not porcelain.stage(store.root, sorted(changed)):
        found.append(Fault(faults.NOT_STAGED, "", "."))
    return found + [_conflict(path, "") for path in conflicted if path not in changed]
