"""The bearer token of the HTTP server: created once per workspace, readable by its owner only.

A cloned repository may contain a token that its author knows. So a second file holds the device and inode number of
the first, which nobody can know beforehand.
"""

from __future__ import annotations

import os
import stat
import time

from holdfast.errors import Forbidden, Usage

VARIABLE = "HOLDFAST_MCP_TOKEN"
NAME = "mcp-token"
LEAST = 16
"""The shortest token, in characters. Generated tokens have 43."""
_TIMEOUT_S = 2
"""How long to wait for another server that starts at the same time and is about to write its token."""


def find_token(folder: str | None) -> tuple[str, str]:
    """The token, and a line that says where it is. ``folder`` is the workspace's, if it has one."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        if len(given) < LEAST or not given.isascii() or not given.isprintable() or " " in given:
            raise Usage(f"{VARIABLE} must have at least {LEAST} printable ASCII characters, without spaces.")
        return given, f"the token is the value of {VARIABLE}"
    if folder is None:
        token = _made()
        return token, f"no workspace to store a token in; the token of this run is {token}"
    local = os.path.join(folder, "local")
    if os.path.islink(local):
        raise Forbidden(f"{local} is a symbolic link; a token is not stored behind one.")
    path = os.path.join(local, NAME)
    try:
        return _make_file(path), f"created a token in {path}"
    except FileExistsError:
        return _read_file(path), f"the token is in {path}"


def _made() -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def _make_file(path: str) -> str:
    """Create the file with a new token; servers that start at the same time agree on one."""
    if os.path.lexists(path):
        raise FileExistsError(path)
    token = _made()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    own = _write(path, token)
    try:
        os.link(own, path)  # unlike rename, never replaces an existing token
        os.rename(_write(f"{path}.place", _place(os.stat(path))), f"{path}.place")
    finally:
        os.unlink(own)
    return token


def _write(path: str, text: str) -> str:
    """Write a new file next to ``path`` that only its owner can read; return its name."""
    own = f"{path}.{os.getpid():x}"
    descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, text.encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return own


def _place(about: os.stat_result) -> str:
    return f"{about.st_dev} {about.st_ino}"


def _was_made_here(path: str, about: os.stat_result) -> bool:
    until = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            with open(f"{path}.place", encoding="utf-8", errors="replace") as file:
                return file.read(100).strip() == _place(about)
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(0.05)


def _read_file(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise Forbidden(f"The token in {path} cannot be read: {error.strerror}.") from error
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise Forbidden(
                f"{path} is readable by others, so its token is not secret.",
                hint=f"Remove the file to create a new token; or set {VARIABLE}.",
            )
        if not _was_made_here(path, about):
            raise Forbidden(
                f"{path} was not created here: somebody else may know its token.",
                hint=f"Remove the file to create a new token; or set {VARIABLE}.",
            )
        token = os.read(descriptor, 1_000).decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)
    if len(token) < LEAST or not token.isascii():
        raise Forbidden(f"{path} does not hold a token.", hint="Remove the file to create a new token.")
    return token
