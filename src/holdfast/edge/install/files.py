"""Read and replace a settings file atomically, keeping its mode and following symbolic links."""

from __future__ import annotations

import os
import stat

from holdfast.errors import Forbidden

LARGEST = 16 << 20


def read(path: str) -> bytes | None:
    """The bytes of a file; None if it does not exist."""
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Forbidden(f"{path} is not a regular file; nothing was changed.")
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        if os.path.islink(path):
            raise Forbidden(f"{path} is a dangling symbolic link; nothing was changed.") from None
        return None
    except (NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise Forbidden(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > LARGEST:
        raise Forbidden(f"{path} is larger than {LARGEST:,} bytes; nothing was changed.")
    return data


def write(path: str, data: bytes) -> None:
    """Replace the file. A symbolic link stays a link: its target is replaced."""
    real = os.path.realpath(path)
    temporary = f"{real}.holdfast-{os.getpid()}"
    try:
        mode = stat.S_IMODE(os.stat(real).st_mode)
    except FileNotFoundError:
        mode = 0o644
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.rename(temporary, real)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise Forbidden(f"{path} cannot be written: {error.strerror}.") from error
