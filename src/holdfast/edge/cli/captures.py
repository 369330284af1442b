"""capture."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, nothing, on_session, verbs
from holdfast.edge.render import clean, paint, table, when
from holdfast.errors import Usage
from holdfast.typed import Any
from holdfast.workspace.session import Session


def _several(arguments: argparse.Namespace) -> list[str]:
    """The ids; a key or a version can be given for one commit only."""
    ids: list[str] = list(dict.fromkeys(arguments.ids))
    if len(ids) > 1 and (arguments.op or arguments.expect is not None):
        raise Usage("--op and --expect are for one capture; nothing was written.", hint="Give one id.")
    return ids


def _confirm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="the captures, such as C-3")
    _become_argument(parser)


def _become_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="become",
        choices=("decision", "loop", "next"),
        help="what it becomes (default: by its kind)",
    )


def _confirm(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        made = []
        for short_id in _several(arguments):
            session.confirm_capture(
                short_id, become=arguments.become, op=arguments.op, expect=arguments.expect
            )
            made.append(_settled(session))
        return _said(made)

    return on_session(arguments, act)


def _correct_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the capture, such as C-3")
    parser.add_argument("text", help="what is right")
    parser.add_argument("--because", metavar="WHY", help="the right reason")
    _become_argument(parser)


def _correct(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        session.confirm_capture(
            arguments.id,
            text=arguments.text,
            because=arguments.because,
            become=arguments.become,
            op=arguments.op,
            expect=arguments.expect,
        )
        return _said([_settled(session)])

    return on_session(arguments, act)


def _settled(session: Session) -> dict[str, Any]:
    """The capture that was settled last."""
    entry: dict[str, Any] = session.peek().state["captures"]["closed"][-1]
    return entry


def _said(made: list[dict[str, Any]]) -> Output:
    lines = [
        f"{paint(entry['id'], 'bold')} is now {paint(entry['became'], 'bold')}: {clean(entry['text'], 120)}"
        for entry in made
    ]
    return Output("\n".join(lines), {"confirmed": [{k: e[k] for k in ("id", "became")} for e in made]})


def _drop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="the captures, such as C-3")
    parser.add_argument("--reason", metavar="TEXT", help="why")


def _drop(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        ids = [
            session.drop_capture(short_id, arguments.reason, op=arguments.op, expect=arguments.expect).id
            for short_id in _several(arguments)
        ]
        return Output(f"Dropped {', '.join(paint(short_id, 'bold') for short_id in ids)}.", {"dropped": ids})

    return on_session(arguments, act)


def _list(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        captures = session.peek().state["captures"]
        waiting = list(captures["open"].values())[::-1]
        rows: list[tuple[str, ...]] = [
            (
                entry["id"],
                entry["kind"],
                when(entry["at"]),
                f"{clean(entry['by'], 20)}, {entry['source']}",
                clean(f"{entry['text']}{' because ' + entry['because'] if entry['because'] else ''}", 300),
            )
            for entry in waiting
        ]
        lines = (
            [table(rows, ("capture", "kind", "at", "from", "text"), keep=4), "", _HOW]
            if rows
            else ["Nothing was captured that is not settled."]
        )
        for entry in captures["closed"][-5:]:
            became = f" as {entry['became']}" if entry.get("became") else ""
            lines.append(f"{entry['outcome']} {entry['id']}{became}: {clean(entry['text'], 80)}")
        return Output("\n".join(lines), {"open": waiting, "closed": captures["closed"]})

    return on_session(arguments, act, publish=False)


_HOW = "Right: holdfast capture confirm ID   Nearly: holdfast capture correct ID TEXT   Wrong: holdfast capture drop ID"

COMMANDS = {
    "capture": verbs(
        "What hooks took from conversations: confirm, correct or drop it.",
        {
            "confirm": Command(
                "Confirm captures: they become decisions, loops or next actions.",
                _confirm_arguments,
                _confirm,
                ("holdfast capture confirm C-3 C-4", "holdfast capture confirm C-5 --as loop"),
                writes=True,
            ),
            "correct": Command(
                "Confirm a capture with the right text.",
                _correct_arguments,
                _correct,
                ('holdfast capture correct C-3 "Use WAL mode" --because "two readers"',),
                writes=True,
            ),
            "drop": Command(
                "Drop captures that are wrong or do not matter.",
                _drop_arguments,
                _drop,
                ("holdfast capture drop C-3 C-4", 'holdfast capture drop C-5 --reason "only an idea"'),
                writes=True,
            ),
            "list": Command(
                "List what was captured and not confirmed, newest first.",
                nothing,
                _list,
                ("holdfast capture list",),
            ),
        },
        default="list",
    ),
}
