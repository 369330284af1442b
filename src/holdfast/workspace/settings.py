"""The settings of a workspace, ``config.toml``: read only when one is needed."""

from __future__ import annotations

import os

from holdfast.errors import Usage
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.typed import Any

NAME = "config.toml"


def read(root: str, fs: FileSystem = posix) -> dict[str, Any]:
    """The settings of a workspace; empty if there is no file."""
    try:
        data = durable.read_whole(fs, os.path.join(root, NAME))
    except OSError:
        return {}
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise Usage(
            f"{NAME} cannot be read: {error}.", hint=f"Fix {NAME} in {root} and retry. Nothing was written."
        ) from None
