"""What the disk or the server below a workspace does not promise."""

from __future__ import annotations

import os

from holdfast.fs.mounts import fast_commit_device
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def check(workspace: Workspace) -> list[Fault]:
    """Whether the workspace is on an ext4 with fast commits, which can lose what was synced last, or on a server whose
    settings lose something."""
    if limits := workspace.store.capabilities.limits:
        from holdfast.store.faults import SERVER_LIMIT

        return [Fault(SERVER_LIMIT, "", "the server", {"problem": limit}, harmless=True) for limit in limits]
    if not os.path.isabs(workspace.where):
        return []
    device = fast_commit_device(workspace.where)
    if not device:
        return []
    from holdfast.store.faults import FAST_COMMITS

    return [Fault(FAST_COMMITS, "", device, harmless=True)]
