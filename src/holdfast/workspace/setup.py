"""Creating a workspace."""

from __future__ import annotations

import os

from holdfast.git import integration
from holdfast.store.url import file_path, is_url
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace import discovery, scaffold

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def init(folder: str, *, given: bool = False, track_views: bool = False) -> tuple[str, list[str]]:
    """Create a workspace in the project around ``folder`` (in ``folder`` itself if it was given).

    With ``track_views``, git tracks views, which it does not by default.
    Returns the workspace's folder and the files that were created; none if the workspace existed.
    """
    project = os.path.abspath(folder) if given else discovery.project_root(folder)
    root = os.path.join(project, discovery.FOLDER)
    created = scaffold.create(root)
    if track_views:
        integration.track_views(root)
    return root, created


def is_database(where: str) -> bool:
    """Whether ``where`` is the URL of a database, and not a folder."""
    return bool(where) and is_url(file_path(where))


def init_workspace(
    path: str | os.PathLike[str] | None = None,
    *,
    user: str | None = None,
    by: str | None = None,
    origin: str = "agent",
    secrets: str | None = None,
) -> Workspace:
    """Create a workspace in a folder, if there is none yet, and open it.

    ``path`` is the project's folder, or the URL of a database; without it, the project around the current folder.
    The other arguments are those of ``holdfast.open``.
    """
    from holdfast.workspace.workspace import open_workspace

    where = file_path(os.fspath(path)) if path is not None else ""
    if not is_url(where):
        if os.path.basename(os.path.normpath(where)) == discovery.FOLDER:
            where = os.path.dirname(os.path.abspath(where))
        where, _ = init(where or os.getcwd(), given=bool(where))
    return open_workspace(where, user=user, by=by, origin=origin, secrets=secrets)
