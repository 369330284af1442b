"""What the command line says of an error that no layer below has translated."""

from __future__ import annotations

import sys

from holdfast.errors import Forbidden, Hint, HoldfastError, Unavailable, UnknownOutcome, Use

_CHECK = Hint(
    "Fix the cause. ",
    Use("status"),
    " shows what is stored: if the command was to write, look before you retry.",
)


class AnswerLost(Unavailable):
    """The answer cannot be written."""

    code = "HF-ANSWER"
    hint = Hint()


def after_commit(error: HoldfastError, stream: str) -> HoldfastError:
    """The error of a command that had written to ``stream`` before it failed: the caller must not write it again."""
    error.message = f"{error.message} Stored before that: a commit to {stream}."
    error.hint = _CHECK
    return error


def explain(error: Exception) -> HoldfastError | None:
    """The error of ours for a failure of the machine; None for a bug of holdfast."""
    if isinstance(error, OSError):
        from holdfast.store.oserror import is_forbidden

        kind = Forbidden if is_forbidden(error) else UnknownOutcome
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return kind(f"The command failed: {where}{error.strerror or error}.", hint=_CHECK)
    if isinstance(error, AttributeError) and isinstance(error.obj, type(sys)):
        error = ImportError(str(error))  # its import had failed half-way
    if isinstance(error, ImportError):
        return UnknownOutcome(f"A part of holdfast or Python cannot be loaded ({error}).", hint=_CHECK)
    if isinstance(error, MemoryError):
        return UnknownOutcome("There is not enough memory.", hint=_CHECK)
    return None
