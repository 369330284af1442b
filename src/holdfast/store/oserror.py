"""Translating errors of the operating system."""

from __future__ import annotations

import errno

from holdfast.errors import Forbidden, HoldfastError, Unavailable

_FORBIDDEN = frozenset([errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP])


def is_forbidden(error: OSError) -> bool:
    """Whether the system refused: to retry does not help."""
    return error.errno in _FORBIDDEN


def translate_oserror(error: OSError, what: str, outcome: str = "") -> HoldfastError:
    """The error of ours that says what a failed file call means for ``what`` was to be done. Only who knows the
    ``outcome`` of the whole call says it: a command may have stored something before."""
    kind = Forbidden if is_forbidden(error) else Unavailable
    where = f"{what} ({error.filename})" if error.filename else what
    return kind(f"{where}: {error.strerror}{'; ' if outcome else ''}{outcome}.")
