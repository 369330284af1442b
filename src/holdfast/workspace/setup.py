"""Making a workspace."""

from __future__ import annotations

import os

from holdfast.workspace import discovery, scaffold


def init(folder: str, *, given: bool = False) -> tuple[str, list[str]]:
    """Make a workspace in the project around ``folder`` (in ``folder`` itself if it was given).

    Returns the workspace's folder and the files that were made; none if there was a workspace already.
    """
    project = os.path.abspath(folder) if given else discovery.project_root(folder)
    root = os.path.join(project, discovery.FOLDER)
    return root, scaffold.create(root)
