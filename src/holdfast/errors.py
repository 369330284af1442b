"""Errors that callers can act on, and the hints that they carry.

There is one class per kind of failure. Each has a stable code, the exit status of the command line, and a hint: what
the caller can do next. The docstring of a class is its default message, so the two cannot drift apart.

A hint is data. It names use cases ("settle D-1"), not commands: the reader may be at a shell, behind an MCP client
or in a Python program: each of them renders the same hint in its own terms (``edge/cli/hints.py``,
``edge/mcp/hints.py``, and ``PYTHON`` below, which tracebacks show). No hint suggests what destroys data.
"""

from __future__ import annotations

from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PYTHON = {
    "batch.create": "session.create_batch({items})",
    "budget.drop": "session.unspend({name})",
    "budget.show": "session.budget",
    "complete": "session.complete()",
    "continue": "session.continue_()",
    "discuss": "session.discuss({topic})",
    "do": "session.menu()",
    "doctor": "workspace.doctor()",
    "doctor.fix": "workspace.doctor(fix=True)",
    "fact.drop": "workspace.project.drop_fact({id})",
    "handoff": "session.hand_off({message})",
    "heal": "workspace.heal()",
    "import": "holdfast import",
    "init": "holdfast.init()",
    "install": "holdfast install {host}",
    "install.user": "holdfast install {host} --user",
    "lease.anyway": "workspace.presence.lease({session}, anyway=True)",
    "loop.add": "session.add_loop({title})",
    "message.add": "session.add_message({role}, {text})",
    "order.lift": "workspace.project.lift({id})",
    "pause": "session.pause()",
    "phase.enter": "session.enter_phase({name})",
    "phase.skip": "session.skip_to_phase({name}, {because})",
    "plan.edit": "session.edit_plan({id}, {text})",
    "plan.propose": "session.propose_plan({title})",
    "plan.show": "session.plans",
    "prefer": "workspace.me.preferences",
    "recover": "workspace.recover()",
    "ref.drop": "session.unrefer({path})",
    "ref.list": "session.references",
    "restore": "holdfast restore {session}",
    "return": "session.return_()",
    "secrets.allow": 'session.with_secrets("allow")',
    "sessions": "workspace.sessions()",
    "sessions.all": "holdfast sessions --all",
    "sessions.close_abandoned": "holdfast sessions --close-abandoned",
    "settle": "session.settle({id}, {outcome})",
    "settle.done": "session.settle({id}, {outcome})",
    "settle.failed": "session.settle({id}, {outcome}, ok=False)",
    "start": "workspace.start({goal})",
    "status": "session.read()",
    "switch": "workspace.switch({session})",
    "sync": "holdfast sync",
    "take_over": "session.claim(take_over=True)",
    "task.list": "session.tasks",
    "task.start": "session.start_task({id})",
    "task.unblock": "session.unblock_task({id})",
    "usage": "help(holdfast)",
    "who": "workspace.presence.who()",
}
"""Every use case that a hint can name, as a Python expression. What the library cannot do is a command."""


class Use:
    """A use case with the arguments that are known; the reader supplies the others."""

    __slots__ = ("arguments", "name")

    def __init__(self, name: str, /, **arguments: str) -> None:
        self.name = name
        self.arguments = arguments

    def fill(self, form: str, known: Callable[[str], str], unknown: Callable[[str], str]) -> str:
        """``form`` with each ``{parameter}`` or ``{parameter|label}`` replaced: ``known`` renders a value that the use
        has, ``unknown`` the label of one that it lacks."""
        filled, *rest = form.split("{")
        for piece in rest:
            slot, _, after = piece.partition("}")
            parameter, _, label = slot.partition("|")
            value = self.arguments.get(parameter)
            filled += (unknown(label or parameter) if value is None else known(value)) + after
        return filled

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Use) and (self.name, self.arguments) == (other.name, other.arguments)

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self.arguments.items())))

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"Use({self.name!r}{given})"


class Hint:
    """What the caller can do next: text, with use cases in it that each edge renders in its own terms."""

    __slots__ = ("parts",)

    def __init__(self, *parts: str | Use) -> None:
        self.parts = parts

    @property
    def uses(self) -> tuple[Use, ...]:
        """The use cases that the hint names, in order."""
        return tuple(part for part in self.parts if isinstance(part, Use))

    def render(self, render: Callable[[Use], str]) -> str:
        """The text, with every use case rendered."""
        return "".join(part if isinstance(part, str) else render(part) for part in self.parts)

    def __str__(self) -> str:
        return self.render(_in_python)

    def __bool__(self) -> bool:
        return any(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hint) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Hint({', '.join(map(repr, self.parts))})"


def _in_python(use: Use) -> str:
    form = PYTHON[use.name]
    known = str if form.startswith("holdfast ") else repr
    return f"`{use.fill(form, known, lambda parameter: '…')}`"


class HoldfastError(Exception):
    """Something went wrong in holdfast."""

    code = "HF-ERROR"
    status = 1
    hint = Hint("Run ", Use("doctor"), " to check the workspace.")

    def __init__(self, message: str | None = None, *, hint: Hint | str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        if hint is not None:
            self.hint = hint if isinstance(hint, Hint) else Hint(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    @property
    def __notes__(self) -> list[str]:
        """What a traceback shows below the message: the hint, and what ``add_note`` adds."""
        notes: list[str] | None = self.__dict__.get("_notes")
        if notes is None:
            notes = self.__dict__["_notes"] = [f"Hint: {self.hint}"] if self.hint else []
        return notes

    @__notes__.setter
    def __notes__(self, notes: list[str]) -> None:
        self.__dict__["_notes"] = notes

    def after(self, done: str, hint: Hint | None = None) -> HoldfastError:
        """The same error for whoever has stored something before it: says first what was ``done``."""
        return type(self)(f"{done} {self.message}", hint=hint or self.hint)

    def as_json(self, render: Callable[[Hint], str] = str) -> dict[str, str]:
        """The error as ``--json`` prints it."""
        return {"code": self.code, "message": self.message, "hint": render(self.hint)}


class Refused(HoldfastError):
    """A rule refused the command; nothing was written."""

    code = "HF-REFUSED"
    status = 1
    hint = Hint()


class TooLarge(Refused):
    """The text is over its size limit; nothing was written."""

    code = "HF-TOO-LARGE"
    hint = Hint("Save the text as a file, and record a short note that names the file.")


class SecretFound(Refused):
    """The text holds what looks like a secret; nothing was written."""

    code = "HF-SECRET"
    hint = Hint(
        "Leave it out, and say where it is stored. To store it anyway: ",
        Use("secrets.allow"),
        ". `secrets` in config.toml sets the policy.",
    )


class Usage(HoldfastError):
    """The command was not understood."""

    code = "HF-USAGE"
    status = 2
    hint = Hint(Use("usage"), " shows the arguments and examples.")


class InvalidName(Usage):
    """The name cannot be used; nothing was written."""

    code = "HF-NAME"
    hint = Hint(
        "Names are 1 to 64 characters out of a-z, 0-9, '.', '_' and '-', and start with a letter or digit."
    )


class Conflict(HoldfastError):
    """The stream is no longer at the expected version; nothing was written."""

    code = "HF-CONFLICT"
    status = 3
    hint = Hint("Read the state again and retry with the new version.")


class NotFound(HoldfastError):
    """There is no such thing here."""

    code = "HF-NOT-FOUND"
    status = 4
    hint = Hint(Use("sessions"), " lists the sessions.")


class NoWorkspace(NotFound):
    """There is no workspace here."""

    code = "HF-NO-WORKSPACE"
    hint = Hint("Run ", Use("init"), " in the top folder of the project, or set HOLDFAST_URL.")


class NoSession(NotFound):
    """There is no current session here."""

    code = "HF-NO-SESSION"
    hint = Hint(
        Use("start"),
        " starts one; ",
        Use("sessions"),
        " lists them, ",
        Use("switch"),
        " makes one current. ",
        Use("sessions.all"),
        " includes other branches and worktrees.",
    )


class Damaged(HoldfastError):
    """The store holds something that cannot be read."""

    code = "HF-DAMAGED"
    status = 5
    hint = Hint(Use("doctor"), " names each damaged line. Everything else stays readable.")


class Newer(Damaged):
    """The data was written by a newer release of holdfast; nothing was changed."""

    code = "HF-NEWER"
    hint = Hint("Upgrade holdfast on this machine. This release does not change the data.")


class Unavailable(HoldfastError):
    """The storage engine cannot be reached."""

    code = "HF-UNAVAILABLE"
    status = 6
    hint = Hint("Fix the cause and retry. Nothing was lost.")


class UnknownOutcome(Unavailable):
    """Writing failed half-way: the commit may or may not be stored."""

    code = "HF-UNKNOWN"
    hint = Hint(
        "Open the session again and check. With an operation id (op) the command can be retried safely."
    )


class Forbidden(HoldfastError):
    """This is not allowed here."""

    code = "HF-FORBIDDEN"
    status = 7
    hint = Hint("Check the folder's owner, permissions and symbolic links.")
