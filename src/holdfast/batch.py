"""Running a batch: every item done once, whatever dies on the way.

    import holdfast
    from holdfast import batch

    with holdfast.open() as workspace:
        session = workspace.start("Convert the archive")
        made = session.create_batch(["a.tiff", "b.tiff"], title="convert", retries=1)
        batch.run(session, made.id, lambda item, previous: convert(item))

This module uses nothing but holdfast's public methods: it is how any program can build on them. An item is claimed
before it is started and its outcome is written after it, so a successor knows what is done, what failed and what was
under way. An item that was under way when its worker died is run again: let it be harmless to repeat.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from holdfast.errors import Refused, Usage
from holdfast.workspace.session import Session

POLL = 0.02
KEPT = 2000
"""Bytes of a command's output that are kept as its result or as the reason of its failure."""

_WHOLE = "\0whole"

if TYPE_CHECKING:
    from holdfast.workspace.models import Batch, Json, JsonObject

Work = Callable[["Json", "Json"], object]
Report = Callable[["Batch"], None]
Claimant = dict[str, object]
"""How a claim names the process that works: see ``claimant``."""


def run(session: Session, batch: str, work: Work, *, report: Report | None = None) -> Batch:
    """Call ``work(item, previous)`` for each item that is not done; what it returns is the item's result.

    ``previous`` is the result of the item before, or None. An exception fails the item with its text as reason.
    Several processes can run the same batch at once.
    """
    me = claimant(os.getpid())
    items = session.batch_items(batch)
    session.begin_batch(batch)
    while True:
        item = session.claim_item(batch, me, dead=dead_claims(session, batch))
        if item is None:
            if not _others_at_work(session, batch):
                return session.batch(batch)
            time.sleep(POLL)
            continue
        known = session.batch(batch).sequence and item > 0
        previous = session.item_result(batch, item - 1) if known else None
        try:
            result = work(items[item], previous)
        except Exception as error:
            _fail(session, batch, item, me, error)
        else:
            try:
                session.finish_item(batch, item, me, result)
            except Refused as refusal:  # the result is too large, or holds a secret: it cannot be built on
                _fail(session, batch, item, me, refusal)
        if report is not None:
            report(session.batch(batch))


def run_command(
    session: Session, batch: str, command: Sequence[str], *, jobs: int = 1, report: Report | None = None
) -> Batch:
    """Run a command for each item that is not done, ``jobs`` at a time.

    ``{item}`` in a word of the command stands for the item; no shell is involved. The command finds the item's number
    in HOLDFAST_ITEM and a name for the one piece of work, the same at each try, in HOLDFAST_OP.
    """
    if not command:
        raise Usage("A command is needed: holdfast batch run -- COMMAND {item}.")
    items = session.batch_items(batch)
    session.with_secrets("redact").begin_batch(batch, command)  # kept to be shown, so not in full
    workers: dict[int, _Worker] = {}
    try:
        while True:
            while len(workers) < max(1, jobs):
                worker = _start(session, batch, items, command)
                if worker is None:
                    break
                workers[worker.pid] = worker
            if not workers and not _others_at_work(session, batch):
                return session.batch(batch)
            for pid, status in _ended(workers):
                _settle(session, batch, workers.pop(pid), status)
                if report is not None:
                    report(session.batch(batch))
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGTERM)


def _fail(session: Session, batch: str, item: int, me: Claimant, error: Exception) -> None:
    """Write down why an item failed. Nobody chose these words: a secret in them is replaced, the rest is kept."""
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    session.with_secrets("redact").fail_item(batch, item, me, reason)


class _Worker(NamedTuple):
    pid: int
    item: int
    claimant: Claimant
    output: IO[bytes]


def _start(session: Session, batch: str, items: list[Json], command: Sequence[str]) -> _Worker | None:
    """Start a worker for the next item.

    The process exists before it has an item, so that the claim can name it; it becomes the command when it is told to
    go. If this process dies before that, the pipe closes and the worker ends; if it dies after, the claim names
    the very process that is still at work, and nobody takes its item.
    """
    if not session.has_item(batch, dead=dead_claims(session, batch)):
        return None
    ear, mouth = os.pipe()
    output = tempfile.TemporaryFile()  # noqa: SIM115 - the worker's, until it is settled
    place = {"HOLDFAST_SESSION": f"{session.user}/{session.id}"}
    pid = os.fork()
    if pid == 0:
        os.close(mouth)
        _become(ear, output.fileno(), batch, command, place)
    os.close(ear)
    me = claimant(pid)
    item = None
    try:
        item = session.claim_item(batch, me, dead=dead_claims(session, batch))
        if item is not None:
            text = (
                items[item] if isinstance(items[item], str) else json.dumps(items[item], ensure_ascii=False)
            )
            os.write(mouth, f"{item}\0{text}{_WHOLE}".encode())
    finally:
        os.close(mouth)
        if item is None:
            os.waitpid(pid, 0)
            output.close()
    return None if item is None else _Worker(pid, item, me, output)


def _become(ear: int, output: int, batch: str, command: Sequence[str], place: dict[str, str]) -> NoReturn:
    """In the worker: wait for the item, then become the command. Never returns to the caller's code."""
    try:
        heard = b""
        while part := os.read(ear, 1 << 16):
            heard += part
        told = heard.decode()
        if not told.endswith(_WHOLE):
            os._exit(0)  # the runner died before it could say which item
        number, _, item = told.removesuffix(_WHOLE).partition("\0")
        os.dup2(output, 1)
        os.dup2(output, 2)
        words = [word.replace("{item}", item) for word in command]
        own = {"HOLDFAST_ITEM": number, "HOLDFAST_OP": f"{batch}:{number}"}
        os.execvpe(words[0], words, {**os.environ, **place, **own})  # noqa: S606 - the caller's own command
    except BaseException as error:
        os.write(output, f"{command[0]}: {error}".encode())
    finally:
        os._exit(127)


def _ended(workers: dict[int, _Worker]) -> Iterator[tuple[int, int]]:
    """The workers that have ended, each with its exit code; waits briefly if none has."""
    ended = [(pid, os.waitpid(pid, os.WNOHANG)) for pid in workers]
    finished = [(pid, os.waitstatus_to_exitcode(status)) for pid, (found, status) in ended if found]
    if not finished:
        time.sleep(POLL)
    yield from finished


def _settle(session: Session, batch: str, worker: _Worker, code: int) -> None:
    """Write down how a worker ended."""
    with worker.output as output:
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - KEPT))
        said = output.read().decode("utf-8", "replace").strip()
    ending = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    # What the command printed was meant for a screen: secrets in it are replaced, not a reason to lose the rest.
    session = session.with_secrets("redact")
    for words in (said, ""):
        try:
            if code == 0:
                session.finish_item(batch, worker.item, worker.claimant, words or None)
            else:
                session.fail_item(batch, worker.item, worker.claimant, f"{ending}: {words}".rstrip(": "))
            return
        except Refused as refusal:  # too long, say; how it ended is then written without it
            refused = refusal
    raise refused


# -- who is alive -----------------------------------------------------------------------------------------------------


def claimant(worker: int) -> Claimant:
    """How a claim names the process that works and the one that will write down how it ended."""
    runner = os.getpid()
    return {
        "host": os.uname().nodename,
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "space": _space(),
        "worker": [worker, _born(worker)],
        "runner": [runner, _born(runner)],
    }


def dead_claims(session: Session, batch: str) -> list[JsonObject]:
    """The claims whose worker and runner are both gone. Of another host or container nothing can be known here."""
    claims = [claim.claimant for claim in session.batch(batch).running]
    return [claim for claim in claims if not _alive(claim)]


def _alive(claim: dict[str, Any]) -> bool:
    if (claim.get("host"), claim.get("space")) != (os.uname().nodename, _space()):
        return True
    if claim.get("boot") != _read("/proc/sys/kernel/random/boot_id"):
        return False  # the machine restarted: process ids are reused
    return any(map(_is_running, (claim.get("worker"), claim.get("runner"))))


def _is_running(process: object) -> bool:
    """Whether a process that a claim names is there. A claim may have come from anybody."""
    match process:
        case [int(pid), str(born)] if born:
            return _born(pid) == born
    return False


def _others_at_work(session: Session, batch: str) -> bool:
    return any(_alive(claim.claimant) for claim in session.batch(batch).running)


def _born(pid: int) -> str:
    """When a process began, so that a later one with the same number is not taken for it; empty if it is gone."""
    if fields := _read(f"/proc/{pid}/stat").rpartition(")")[2].split():
        return "" if fields[0] in ("Z", "X") else fields[19]
    if os.path.isdir("/proc/self"):
        return ""
    import subprocess

    asked = subprocess.run(  # noqa: S603 - fixed words and a number
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False
    )
    return asked.stdout.decode().strip()


def _space() -> str:
    """Which process numbers this process sees: those of a container or sandbox mean nothing outside of it."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
