"""task."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.core.concepts import task as concept
from holdfast.edge.cli.command import Command, Output, done, on_session, verbs
from holdfast.edge.render import clean, paint, table
from holdfast.typed import Any
from holdfast.workspace.handle import Receipt
from holdfast.workspace.session import Session


def _current(session: Session) -> str | None:
    entry = concept.current(session.peek().state)
    return entry["id"] if entry else None


def _moved(session: Session, said: str, receipt: Receipt) -> Output:
    """The answer of a command that may have changed the current task."""
    state = session.peek().state
    entry = concept.current(state)
    now = f"Now: {entry['id']} {clean(entry['title'], 80)}" if entry else "No current task."
    return done(f"{said} {paint(receipt.id, 'bold')}. {now}", receipt, current=entry["id"] if entry else None)


def _id(
    parser: argparse.ArgumentParser, what: str = "the task, such as T-3 (default: the current one)"
) -> None:
    parser.add_argument("id", nargs="?", help=what)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", help="what to do")
    parser.add_argument(
        "--after", action="append", default=[], metavar="ID", help="a task to wait for; repeatable"
    )


def _add(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.add_task(
            arguments.title, depends_on=arguments.after, op=arguments.op, expect=arguments.expect
        )
        return done(f"Added {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser, "the task, such as T-3 (default: the next that is ready)")


def _start(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.start_task(arguments.id, op=arguments.op, expect=arguments.expect)
        return done(f"Started {paint(receipt.id, 'bold')} (current).", receipt, current=_current(session))

    return on_session(arguments, act)


def _done_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--result", metavar="TEXT", help="what later tasks build on")


def _done(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.complete_task(
            arguments.id, arguments.result, op=arguments.op, expect=arguments.expect
        )
        return _moved(session, "Completed", receipt)

    return on_session(arguments, act)


def _reason_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--because", required=True, metavar="WHY", help="the reason")


def _skip(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.skip_task(
            arguments.id, reason=arguments.because, op=arguments.op, expect=arguments.expect
        )
        return _moved(session, "Skipped", receipt)

    return on_session(arguments, act)


def _block(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.block_task(
            arguments.id, reason=arguments.because, op=arguments.op, expect=arguments.expect
        )
        return done(f"Blocked {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _unblock(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.unblock_task(arguments.id, op=arguments.op, expect=arguments.expect)
        return done(f"Unblocked {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", action="store_true", help="the results of completed tasks, in full")


def _list(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        state = session.peek().state
        tasks = state["tasks"]
        data: dict[str, Any] = {
            "current": contested.value(state["registers"], "task"),
            "open": list(tasks["open"].values()),
            "ready": [entry["id"] for entry in concept.ready(state)],
            "closed": tasks["closed"],
            "added": tasks["opened"],
            "done": tasks["done"],
        }
        lines = [_table(state)] if tasks["open"] else ["No open tasks."]
        if tasks["done"]:
            lines.append(f"{tasks['done']} closed; the last: {_closed(tasks['closed'][-1])}")
        if arguments.results:
            data["results"] = session.results()
            lines += [
                f"{paint(short_id, 'bold')}  {clean(text)}" for short_id, text in data["results"].items()
            ]
        return Output("\n".join(lines), data)

    return on_session(arguments, act, publish=False)


def _table(state: dict[str, Any]) -> str:
    current = contested.value(state["registers"], "task")
    rows: list[tuple[str, ...]] = []
    for entry in state["tasks"]["open"].values():
        waiting = concept.waits_for(state, entry)
        note = (
            clean(entry["blocked_by"], 200)
            if entry["blocks"]
            else f"after {', '.join(waiting)}"
            if waiting
            else ""
        )
        mark = "→" if entry["id"] == current else " "
        rows.append((mark, entry["id"], entry["status"], clean(entry["title"], 200), note))
    return table(rows, (" ", "task", "status", "title", "waits for"), keep=3)


def _closed(entry: dict[str, Any]) -> str:
    said = entry["result"] or entry["reason"]
    return f"{entry['id']} {entry['outcome']}{': ' + clean(said, 80) if said else ''}"


COMMANDS = {
    "task": verbs(
        "Steps of the work: add, start, complete, skip or block them.",
        {
            "add": Command(
                "Add a task at the end.",
                _add_arguments,
                _add,
                ('holdfast task add "Write the migration"', 'holdfast task add "Run it" --after T-1'),
                writes=True,
            ),
            "start": Command(
                "Start a task and make it the current one.",
                _start_arguments,
                _start,
                ("holdfast task start T-1", "holdfast task start"),
                writes=True,
            ),
            "done": Command(
                "Complete a task; the next ready one becomes current.",
                _done_arguments,
                _done,
                ('holdfast task done --result "214 rows migrated"', "holdfast task done T-4"),
                writes=True,
            ),
            "skip": Command(
                "Skip a task, with the reason.",
                _reason_arguments,
                _skip,
                ('holdfast task skip T-5 --because "the customer dropped it"',),
                writes=True,
            ),
            "block": Command(
                "Block a task, with the reason.",
                _reason_arguments,
                _block,
                ('holdfast task block T-2 --because "no access to staging"',),
                writes=True,
            ),
            "unblock": Command(
                "Unblock a task.",
                _id,
                _unblock,
                ("holdfast task unblock T-2",),
                writes=True,
            ),
            "list": Command(
                "List the open tasks and the last closed one.",
                _list_arguments,
                _list,
                ("holdfast task list", "holdfast task list --results --json"),
            ),
        },
        default="list",
    ),
}
