"""batch: create, run, resume, status, release, retry, abandon."""

from __future__ import annotations

import argparse
import os
import sys

from holdfast.core import ranges
from holdfast.edge.cli.command import Command, Output, done, group, on_session
from holdfast.edge.render import clean, paint, plural
from holdfast.errors import NotFound, Usage
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views.parts import progress
from holdfast.workspace import entries
from holdfast.workspace.session import Session

if TYPE_CHECKING:
    from holdfast.workspace.models import Batch

_WIDTH = 30


def _as_data(batch: dict[str, Any]) -> dict[str, Any]:
    return {"batch": {**batch, "progress": progress(batch)}}


def _bar(batch: dict[str, Any]) -> str:
    counts = progress(batch)
    return _drawn(counts["done"], counts["total"], counts["failed"])


def _drawn(done: int, total: int, failed: int) -> str:
    full = _WIDTH * done // total
    bar = "█" * full + "░" * (_WIDTH - full)
    return f"{bar} {done:,} of {total:,}" + (f", {failed:,} failed" if failed else "")


def _report(arguments: argparse.Namespace) -> Any:
    """Shows progress on a terminal; a pipe or a dumb terminal gets only the result."""
    if arguments.json or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None

    def show(batch: Batch) -> None:
        end = "\n" if batch.outcome else ""
        sys.stderr.write(f"\r\x1b[K{batch.id}  {_drawn(batch.done, batch.total, batch.failed)}{end}")
        sys.stderr.flush()

    return show


def _summary(batch: dict[str, Any]) -> str:
    counts = progress(batch)
    outcome = batch.get("outcome") or ("running" if counts["running"] else "open")
    lines = [f"{paint(batch['id'], 'bold')}  {clean(batch['title'], 100)}: {outcome}", f"  {_bar(batch)}"]
    if counts["running"]:
        held = sorted(int(item) for item in batch["running"])
        hosts = sorted({claim["claimant"].get("host", "?") for claim in batch["running"].values()})
        lines.append(
            f"  running: items {ranges.shown(ranges.from_numbers(held))} on {clean(', '.join(hosts), 80)}"
        )
    for failure in batch["failures"]:
        lines.append(
            f"  {paint('failed', 'red')}  item {failure['item']}, {failure['tries']}x: {clean(failure['reason'], 160)}"
        )
    if batch["failed"] and "outcome" not in batch:
        lines.append(f"  To retry the failed items: holdfast batch retry {batch['id']}")
    if batch["command"]:
        lines.append(f"  last run with: {clean(' '.join(batch['command']), 160)}")
    return "\n".join(lines)


def _create_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="one item per line; - or nothing reads standard input")
    parser.add_argument("--item", action="append", default=[], help="an item; repeatable, instead of a file")
    parser.add_argument("--title", default="batch", help="what the batch is for")
    parser.add_argument(
        "--retries", type=int, default=0, help="how often a failed item is retried (default: 0)"
    )
    parser.add_argument("--sequence", action="store_true", help="each item waits for the one before")


def _create(arguments: argparse.Namespace) -> Output:
    items = arguments.item or _lines(arguments.file)

    def act(session: Session) -> Output:
        receipt = session.create_batch(
            items,
            title=arguments.title,
            retries=arguments.retries,
            sequence=arguments.sequence,
            op=arguments.op,
            expect=arguments.expect,
        )
        text = (
            f"Created {paint(receipt.id, 'bold')} with {plural(len(items), 'item')}.\n"
            f"Next: holdfast batch run --batch {receipt.id} -- COMMAND {{item}}"
        )
        return done(text, receipt, total=len(items))

    return on_session(arguments, act)


def _lines(name: str | None) -> list[str]:
    try:
        if name in (None, "-"):
            text = sys.stdin.read()
        else:
            with open(str(name), encoding="utf-8") as file:
                text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{name}: {error}.", hint="Give a text file with one item per line.") from None
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="-- COMMAND", help="{item} stands for the item")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many items at a time (default: 1)")
    parser.add_argument("--batch", metavar="ID", help="the batch (default: the newest open one)")


def _run(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        from holdfast import batch as runner

        wanted = entries.batch(session, arguments.batch)
        if "outcome" in wanted:
            return Output(_summary(wanted), _as_data(wanted))
        if not arguments.words:
            last = (
                f" It was last run with: {clean(' '.join(wanted['command']), 300)}"
                if wanted["command"]
                else ""
            )
            raise Usage(
                f"{wanted['id']} needs a command; stored text is never run.{last}",
                hint="holdfast batch run --batch ID [-j N] -- COMMAND {item}",
            )
        runner.run_command(
            session, wanted["id"], arguments.words, jobs=arguments.jobs, report=_report(arguments)
        )
        ended = entries.batch(session, wanted["id"])
        counts = progress(ended)
        status = 0 if counts["done"] == counts["total"] else 1
        return Output(_summary(ended), _as_data(ended), status)

    return on_session(arguments, act)


def _batch_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", nargs="?", help="the batch (default: the newest)")


def _status(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        if arguments.batch is None and not session.peek().state["batches"]["opened"]:
            return Output("No batches in this session.", {"batch": None})
        found = entries.batch(session, arguments.batch)
        return Output(_summary(found), _as_data(found))

    return on_session(arguments, act, publish=False)


def _release_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", help="the batch")
    parser.add_argument("host", help="the machine that is gone, as `batch status` shows it")


def _release(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.release_items(
            arguments.batch, arguments.host, op=arguments.op, expect=arguments.expect
        )
        return done(f"Released the items that {clean(arguments.host, 60)} held.", receipt)

    return on_session(arguments, act)


def _retry_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", help="the batch")


def _retry(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.retry_failed(arguments.batch, op=arguments.op, expect=arguments.expect)
        return done(f"The next run retries the failed items of {receipt.id}.", receipt)

    return on_session(arguments, act)


def _abandon_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", help="the batch")
    parser.add_argument("reason", help="why it will not be completed")


def _abandon(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.abandon_batch(
            arguments.batch, arguments.reason, op=arguments.op, expect=arguments.expect
        )
        return done(f"Closed {receipt.id}.", receipt)

    return on_session(arguments, act)


COMMANDS = {
    "batch": group(
        "Work through a list of items, each once, also after a crash.",
        {
            "status": Command(
                "Show the progress of a batch.",
                _batch_argument,
                _status,
                ("holdfast batch status", "holdfast batch status BATCH-1 --json"),
            ),
            "create": Command(
                "Create a batch from a list of items.",
                _create_arguments,
                _create,
                (
                    "holdfast batch create files.txt --retries 2",
                    "holdfast batch create --item a --item b --sequence",
                ),
                writes=True,
            ),
            "run": Command(
                "Run a command for every item that is not done.",
                _run_arguments,
                _run,
                ("holdfast batch run -j 4 -- convert {item}",),
            ),
            "resume": Command(
                "Same as run: skips what is done, repeats what was running.",
                _run_arguments,
                _run,
                ("holdfast batch resume -j 4 -- convert {item}",),
            ),
            "retry": Command(
                "Retry the failed items with the next run.",
                _retry_arguments,
                _retry,
                ("holdfast batch retry BATCH-1",),
                writes=True,
            ),
            "release": Command(
                "Release the items that a lost machine holds.",
                _release_arguments,
                _release,
                ("holdfast batch release BATCH-1 build-7",),
                writes=True,
            ),
            "abandon": Command(
                "Close a batch that will not be completed.",
                _abandon_arguments,
                _abandon,
                ('holdfast batch abandon BATCH-1 "the source is gone"',),
                writes=True,
            ),
        },
    )
}
