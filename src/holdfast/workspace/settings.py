"""The settings of a workspace: ``config.toml``, read only when something depends on one."""

from __future__ import annotations

import os

from holdfast.errors import Usage
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.typed import Any

NAME = "config.toml"


def read(root: str, fs: FileSystem = posix) -> dict[str, Any]:
    """The settings in a workspace's folder; none if there is no file."""
    try:
        data = durable.read_whole(fs, os.path.join(root, NAME))
    except OSError:
        return {}
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except ValueError as error:
        raise Usage(
            f"{NAME} cannot be read: {error}.", hint=f"Correct {NAME} in {root}; nothing was written."
        ) from None
