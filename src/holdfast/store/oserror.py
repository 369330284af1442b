"""Translating errors of the operating system."""

from __future__ import annotations

import errno

from holdfast.errors import Forbidden, HoldfastError, Unavailable

_FORBIDDEN = frozenset([errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP])


def translate_oserror(error: OSError, what: str) -> HoldfastError:
    """The holdfast error for a failed file call."""
    kind = Forbidden if error.errno in _FORBIDDEN else Unavailable
    where = f"{what} ({error.filename})" if error.filename else what
    return kind(f"{where}: {error.strerror}; nothing was stored.")
