"""Running a command as an action: announced before it starts, settled when it has ended.

The decision is durable before the command exists, and its outcome is the exit code with the end of the output. Whatever
dies in between leaves a decision without an outcome, which says that nobody knows whether the command ran. With a key
(``once``) a command that succeeded is not run again, and one whose outcome is unknown is not run again blindly.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable

from holdfast.core.text import one_line
from holdfast.errors import Hint, HoldfastError, Usage, Use
from holdfast.running.attempts import Attempt, Key, NotRun
from holdfast.running.output import Tail
from holdfast.running.process import Ended, Signals, execute
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace.conditions import evaluated
from holdfast.workspace.conditions import shown as condition_of
from holdfast.workspace.secrets_filter import passed_value

if TYPE_CHECKING:
    from holdfast.workspace.session import Session

__all__ = ["Command", "NotRun", "Ran", "run"]

NO_REASON = "no reason was given"
REPEATABLE = ("read-only", "idempotent")
_COMMAND = 4_000
"""Characters of a command line that are kept."""


class Ran(Record):
    """What became of a command."""

    exit_code: int
    decision: str
    """Empty if there was nothing to announce."""
    said: str
    """One sentence for whoever called it."""
    ran: bool = True


class Command(Record):
    """A command and what is known about it."""

    words: tuple[str, ...]
    because: str | None = None
    once: str | None = None
    """Under this key it succeeds once."""
    done_when: str | None = None
    recovery: str | None = None

    @property
    def line(self) -> str:
        """The command line as text."""
        return shlex.join(os.fsencode(word).decode("utf-8", "replace") for word in self.words)


def run(
    session: Session,
    command: Command,
    *,
    outputs: tuple[int, int] = (1, 2),
    announced: Callable[[], object] = lambda: None,
) -> Ran:
    """Announce a command, run it and record how it ended. ``announced`` is called before it starts.

    Raises ``NotRun`` if it must not be started: an earlier attempt has no outcome, or is still running.
    """
    if not command.words:
        raise Usage("A command is needed; nothing was run.")
    with Signals() as signals:
        if command.once is None:
            return _before(session, command, []) or _run(session, command, outputs, announced, signals, ())
        # A key is compared with what is stored, so nothing in it may be replaced.
        passed_value(session.workspace, {"once": command.once}, "once", "refuse")
        with Key(session.workspace, command.once) as key:
            attempts = key.attempts()
            if done := _succeeded(command, attempts):
                return done
            key.check(attempts)
            done = _before(session, command, attempts)
            return done or _run(session, command, outputs, announced, signals, key.inherited)


# -- before it starts ------------------------------------------------------------------------------------------------


def _succeeded(command: Command, attempts: list[Attempt]) -> Ran | None:
    """The success of an earlier attempt, if there was one."""
    for attempt in attempts:
        if attempt.ok:
            code = attempt.entry["exit_code"] or 0
            settled = f"settled by {attempt.entry['settled_by']} at {attempt.entry['settled_at'][:16]}Z"
            outcome = one_line(attempt.entry["outcome"], 200).rstrip(".")
            said = f"{command.once} was done as {attempt.id}, {settled}: {outcome}. It was not run again."
            return Ran(code, attempt.id, said, ran=False)
    return None


def _before(session: Session, command: Command, attempts: list[Attempt]) -> Ran | None:
    """What makes a start needless; None if the command has to be started. Raises ``NotRun`` if it must not be."""
    for attempt in attempts:
        if attempt.is_open:
            done = _recover(session, command, attempt)
            if done is not None:
                return done
        elif attempt.recovery == "never":
            raise NotRun(
                f"{command.once} was run as {attempt.id} and failed, and its class is never: it is not run again.",
                hint="If it has to be run all the same, give it another key.",
            )
    if command.recovery == "check-first" and command.done_when is not None:
        return _looked(session, command)
    return None


def _recover(session: Session, command: Command, attempt: Attempt) -> Ran | None:
    """Decide about an attempt without an outcome: settle it by what can be seen, or refuse."""
    recovery = attempt.recovery or command.recovery or "check-first"
    if recovery in REPEATABLE:
        attempt.settle(
            f"Interrupted: no outcome was recorded. Run again, as its class is {recovery}.", ok=False
        )
        return None
    seen = evaluated(session.workspace, [attempt.entry])[0]
    if recovery == "check-first" and seen["status"] == "done":
        attempt.settle(f"Done, as seen after an interruption: {seen['seen']}.", ok=True)
        said = f"{command.once} was done as {attempt.id}: {seen['seen']}. It was not run again."
        return Ran(0, attempt.id, said, ran=False)
    if recovery == "check-first" and seen["status"] == "not done":
        attempt.settle(f"Not done, as seen after an interruption: {seen['seen']}.", ok=False)
        return None
    raise _unknown(command, attempt, recovery, seen)


def _unknown(command: Command, attempt: Attempt, recovery: str, seen: dict[str, Any]) -> NotRun:
    entry = attempt.entry
    said = (
        f"{command.once} was started by {entry['by']} at {entry['at'][:16]}Z as {attempt.id}, and its outcome was "
        f"never recorded: `{one_line(str(entry['action']), 200)}` may have run in full, in part or not at all"
    )
    if seen["status"] == "cannot tell" and not entry["done_when"]:
        look = "Check what that command would have changed"
    else:
        look = f"Check it: {condition_of(entry) or 'what it changes'}, {seen['status']} ({seen['seen']})"
    ending = "; its class is never" if recovery == "never" else ""
    place = {"id": attempt.id, "session": attempt.session}
    again = ", then use another key to run it." if recovery == "never" else ", then run this again."
    return NotRun(
        f"{said}{ending}. Nothing was run.",
        hint=Hint(
            f"{look}. If it was done: ",
            Use("settle.done", **place),
            ". If not: ",
            Use("settle.failed", **place),
            again,
        ),
    )


def _looked(session: Session, command: Command) -> Ran | None:
    """Look before the first start: what is done already is not done again."""
    from holdfast.core import conditions

    condition = conditions.typed(command.done_when)
    seen = evaluated(session.workspace, [{"done_when": condition}])[0]
    if seen["status"] == "done":
        return Ran(0, "", f"Done already: {seen['seen']}. It was not run.", ran=False)
    if seen["status"] == "cannot tell":
        raise NotRun(
            f"Whether it is done cannot be seen here: {seen['seen']}. Nothing was run.",
            hint=f"Fix that, or run it without looking first ({conditions.shown(condition)}).",
        )
    return None


# -- the run ---------------------------------------------------------------------------------------------------------


def _run(
    session: Session,
    command: Command,
    outputs: tuple[int, int],
    announced: Callable[[], object],
    signals: Signals,
    inherited: tuple[int, ...],
) -> Ran:
    # Nobody chose the words of a command line to be stored: a secret in it is replaced, and it is run as it is.
    # Before it is cut: half a secret would not be recognised.
    line = _redacted(session, command.line)
    receipt = session.with_secrets("redact").announce(
        one_line(f"Run: {line}", 200),
        command.because or NO_REASON,
        line if len(line) <= _COMMAND else f"{line[:_COMMAND]}…",
        done_when=command.done_when,
        recovery=command.recovery,
        once=command.once,
    )
    announced()
    tail = Tail()
    ended = execute(command.words, _environment(session, command), outputs, signals, tail, inherited)
    said = ended.sentence
    text = _redacted(session, tail.text())
    outcome = f"{said}. The output ends with:\n{tail.end_of(text)}" if text else f"{said}."
    try:
        _settle(session, receipt.id, outcome, ended)
    except HoldfastError as error:
        said = (
            f"{said}, but that could not be recorded ({error.message.rstrip('.')}). "
            f"Stored before that: what was announced; settle {receipt.id} by hand"
        )
    return Ran(ended.exit_code, receipt.id, f"{receipt.id}: {said}.")


def _redacted(session: Session, text: str) -> str:
    return str(passed_value(session.workspace, text, "output", "redact")[0])


def _settle(session: Session, decision: str, outcome: str, ended: Ended) -> None:
    handle = session.with_secrets("redact")
    handle.settle(decision, outcome, ok=ended.ok, exit_code=ended.exit_code)


def _environment(session: Session, command: Command) -> dict[str, str]:
    place = {"HOLDFAST_SESSION": f"{session.user}/{session.id}"}
    return {**os.environ, **place, **({"HOLDFAST_OP": command.once} if command.once else {})}
