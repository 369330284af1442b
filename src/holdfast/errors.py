"""Every error that holdfast raises.

One base class. Each class has a stable code, the exit status of the command line, and a hint: what the
caller can do next. The docstring of a class is its default message, so the two cannot drift apart.
No hint ever suggests a command that destroys data.
"""

from __future__ import annotations


class HoldfastError(Exception):
    """Something went wrong in holdfast."""

    code = "HF-ERROR"
    status = 1
    hint = "Run `holdfast doctor` to look at the workspace."

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        if hint is not None:
            self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> dict[str, str]:
        """What `--json` says of it."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class Refused(HoldfastError):
    """A rule refused the command; nothing was written."""

    code = "HF-REFUSED"
    status = 1
    hint = "The message says what is allowed."


class TooLarge(Refused):
    """The text is over its size limit; nothing was written."""

    code = "HF-TOO-LARGE"
    hint = "Save the text as a file, and record a short note that names the file."


class SecretFound(Refused):
    """The text holds what looks like a secret; nothing was written."""

    code = "HF-SECRET"
    hint = (
        "Leave it out, and say where it is kept. If it may be stored: --allow-secret, or in Python "
        '`session.with_secrets("allow")`; `secrets` in config.toml sets the policy.'
    )


class Usage(HoldfastError):
    """The command was not understood."""

    code = "HF-USAGE"
    status = 2
    hint = "Add --help to see the arguments and examples."


class InvalidName(Usage):
    """The name cannot be used; nothing was written."""

    code = "HF-NAME"
    hint = "Names are 1 to 64 characters out of a-z, 0-9, '.', '_' and '-', and start with a letter or digit."


class Conflict(HoldfastError):
    """The stream is no longer at the expected version; nothing was written."""

    code = "HF-CONFLICT"
    status = 3
    hint = "Read the state again, decide again, and retry with the new version."


class NotFound(HoldfastError):
    """There is no such thing here."""

    code = "HF-NOT-FOUND"
    status = 4
    hint = "Run `holdfast sessions` to see what there is."


class NoWorkspace(NotFound):
    """There is no workspace here."""

    code = "HF-NO-WORKSPACE"
    hint = "Run `holdfast init` in the top folder of the project, or set HOLDFAST_URL."


class NoSession(NotFound):
    """There is no current session here."""

    code = "HF-NO-SESSION"
    hint = (
        'Run `holdfast start "GOAL"`, or `holdfast sessions` and `holdfast switch ID`; '
        "`holdfast sessions --all` looks into other branches and worktrees."
    )


class Damaged(HoldfastError):
    """The store holds something that cannot be read."""

    code = "HF-DAMAGED"
    status = 5
    hint = "Run `holdfast doctor`: it names each damaged line and keeps everything else readable."


class Newer(Damaged):
    """The data was written by a newer release of holdfast; nothing was changed."""

    code = "HF-NEWER"
    hint = "Upgrade holdfast on this machine; this release leaves the data as it is."


class Unavailable(HoldfastError):
    """The storage engine cannot be reached."""

    code = "HF-UNAVAILABLE"
    status = 6
    hint = "Look at the cause, mend it, and run the command again: nothing has been lost."


class UnknownOutcome(Unavailable):
    """Writing failed half-way: the commit may or may not be stored."""

    code = "HF-UNKNOWN"
    hint = "Open the session again and look: with op= the same command can be repeated safely."


class Forbidden(HoldfastError):
    """This is not allowed here."""

    code = "HF-FORBIDDEN"
    status = 7
    hint = "Check the owner, the permissions and the links of the folder."
