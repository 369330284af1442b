"""The settings of a workspace, ``config.toml``: read only when one is needed."""

from __future__ import annotations

import os

from holdfast.errors import Usage
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.store.protocol import attachments_of
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

NAME = "config.toml"
_FORMAT = b"format = 1"


def window_of(workspace: Workspace) -> int:
    """The size of the model's context that ``[tokens] window`` sets, in tokens; 0 if it does not."""
    attachments = attachments_of(workspace.store)
    found = read(attachments.root).get("tokens") if attachments is not None else None
    window = found.get("window") if isinstance(found, dict) else None
    return window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else 0


def read(root: str, fs: FileSystem = posix) -> dict[str, Any]:
    """The settings of a workspace; empty if there is no file."""
    try:
        data = durable.read_whole(fs, os.path.join(root, NAME))
    except OSError:
        return {}
    lines = [line.strip() for line in data.splitlines()]
    if all(not line or line == _FORMAT or line.startswith(b"#") for line in lines):
        return {
            "format": 1
        }  # as init writes it: hooks read this at every prompt, and the parser costs more than the hook
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise Usage(
            f"{NAME} cannot be read: {error}.", hint=f"Fix {NAME} in {root} and retry. Nothing was written."
        ) from None
