"""Anchors in the world: what a place is when it is recorded, and what became of it. Nothing stored is ever run."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import anchors
from holdfast.core.anchors import CHANGED, FRESH, GONE, MOVED, UNKNOWN, Anchor
from holdfast.errors import HoldfastError, NotFound, Refused, TooLarge
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace.dependency import version_of

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

FILE_CAP = 8_000_000


class Standing(Record):
    """An anchor as it is now."""

    label: str
    """The anchor as text: ``src/db.py:40-60``."""
    status: str
    """``fresh``, ``moved``, ``changed``, ``gone``, or ``unknown`` if nobody can tell."""
    now: str = ""
    """Where it is now, or what: new lines, another version, another commit."""

    def __str__(self) -> str:
        said = f" to {self.now}" if self.status == MOVED and self.now else f": {self.now}" if self.now else ""
        return f"{self.label} ({self.status}{said})" if self.status != UNKNOWN else self.label


def take(workspace: Workspace, stream: str, texts: Iterable[str]) -> list[Anchor]:
    """The anchors that texts name, with the hashes and commits of now. What is not there is refused."""
    return [_taken(workspace, stream, anchors.parse(text)) for text in texts]


def _taken(workspace: Workspace, stream: str, anchor: Anchor) -> Anchor:
    if "path" in anchor:
        files = workspace.files(stream)
        path = files.name(anchor["path"])
        text = files.read(path, FILE_CAP).decode("utf-8", "surrogateescape")
        return anchors.on_text({**anchor, "path": path}, text)
    if "branch" in anchor:
        commit = _commit(workspace, f"refs/heads/{anchor['branch']}")
        if not commit:
            raise NotFound(f"There is no branch {anchor['branch'][:80]} here; nothing was written.")
        return {**anchor, "commit": commit}
    if "commit" in anchor:
        commit = _commit(workspace, f"{anchor['commit']}^{{commit}}")
        if not commit:
            raise NotFound(f"There is no commit {anchor['commit']} here; nothing was written.")
        return {"commit": commit}
    if "package" in anchor and not anchor["version"]:
        found = version_of(workspace.files(stream), anchor["package"])
        if not found:
            raise Refused(
                f"No lock file here names {anchor['package'][:80]}; nothing was written.",
                hint="Name the version: package:NAME@VERSION.",
            )
        return {**anchor, "version": sorted(found)[-1]}
    return anchor


def standing(workspace: Workspace, stream: str, anchor: Anchor) -> Standing:
    """What became of an anchor. Never fails: what cannot be looked at is unknown."""
    name = anchors.label(anchor)
    try:
        return Standing(name, *_now(workspace, stream, anchor))
    except HoldfastError:
        return Standing(name, UNKNOWN)


def _now(workspace: Workspace, stream: str, anchor: Anchor) -> tuple[str, str]:
    if "path" in anchor:
        files = workspace.files(stream)
        try:
            text = files.read(anchor["path"], FILE_CAP).decode("utf-8", "surrogateescape")
        except NotFound:
            return GONE, ""
        except TooLarge:
            return CHANGED, ""
        status, span = anchors.in_text(anchor, text)
        return status, anchors.place(span) if span is not None and status == MOVED else ""
    if "package" in anchor:
        found = version_of(workspace.files(stream), anchor["package"])
        if found is None:
            return UNKNOWN, ""
        if not found:
            return GONE, ""
        return (FRESH, "") if anchor["version"] in found else (CHANGED, ", ".join(sorted(found)))
    if "url" in anchor or workspace.surroundings.repository is None:
        return UNKNOWN, ""
    if "branch" in anchor:
        commit = _commit(workspace, f"refs/heads/{anchor['branch']}")
        if not commit:
            return GONE, ""
        return (FRESH, "") if commit == anchor.get("commit") else (CHANGED, f"at {commit[:10]}")
    return (FRESH if _commit(workspace, f"{anchor['commit']}^{{commit}}") else GONE), ""


def _commit(workspace: Workspace, name: str) -> str:
    """The full id of a commit; empty if there is none of that name."""
    from holdfast.git import porcelain

    said = porcelain.lines(
        workspace.surroundings.top, "rev-parse", "--verify", "--quiet", "--end-of-options", name
    )
    return said[0] if said else ""


def standings(workspace: Workspace, stream: str, entry: dict[str, Any]) -> list[Standing]:
    """What became of the anchors of an entry."""
    return [standing(workspace, stream, anchor) for anchor in anchors.stored(entry)]
