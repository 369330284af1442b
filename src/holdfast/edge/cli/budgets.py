"""budget."""

from __future__ import annotations

import argparse

from holdfast.core.concepts.budget import STRATEGIES, ZONES, total_of
from holdfast.edge.cli.command import Command, Output, group, nothing, on_session
from holdfast.edge.cli.references import given_path
from holdfast.edge.render import clean, paint, plural, table
from holdfast.errors import Usage
from holdfast.typed import Any
from holdfast.workspace.handle import Receipt
from holdfast.workspace.session import Session

_COLOURS = dict(zip(ZONES, ("green", "yellow", "yellow", "red"), strict=True))


def _line(budget: dict[str, Any]) -> str:
    total, how = total_of(budget), ", measured" if budget["measured"] else ""
    if total is None:
        return f"{plural(budget['used'], 'token')} used{how}. To set the total: holdfast budget set TOTAL"
    share = budget["used"] * 100 // total
    zone = paint(budget["zone"], _COLOURS[budget["zone"]])
    return f"{budget['used']:,} of {total:,} tokens ({share} %{how}): {zone}. {STRATEGIES[budget['zone']]}"


def _done(session: Session, receipt: Receipt) -> Output:
    budget = session.peek().state["budget"]
    data = {
        "version": receipt.version,
        "commit": receipt.commit,
        "used": budget["used"],
        "total": total_of(budget),
        "measured": bool(budget["measured"]),
    }
    return Output(_line(budget), {**data, "zone": budget["zone"], "strategy": STRATEGIES[budget["zone"]]})


def _show(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        budget = session.peek().state["budget"]
        rows = [
            ("+" if item["included"] else "-", f"{item['tokens']:,}", clean(name, 100))
            for name, item in sorted(budget["items"].items(), key=lambda pair: (-pair[1]["tokens"], pair[0]))
        ]
        text = _line(budget) + (f"\n\n{table(rows, (' ', 'tokens', 'item'), keep=2)}" if rows else "")
        return Output(text, {"budget": budget, "strategy": STRATEGIES[budget["zone"]]})

    return on_session(arguments, act, publish=False)


def _set_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("total", type=int, help="how many tokens there are")
    parser.add_argument(
        "--zones", metavar="A,B,C", help="percentages at which deliberate, warning and stop begin"
    )


def _set(arguments: argparse.Namespace) -> Output:
    zones = None
    if arguments.zones is not None:
        parts = arguments.zones.split(",")
        if not all(part.strip().isdecimal() for part in parts):
            raise Usage(f"{arguments.zones[:40]!r} are not percentages.", hint="Write --zones 20,40,50.")
        zones = [int(part) for part in parts]

    def act(session: Session) -> Output:
        return _done(
            session,
            session.set_budget(arguments.total, zones=zones, op=arguments.op, expect=arguments.expect),
        )

    return on_session(arguments, act)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="what the item is called (with --file: the path)")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tokens", type=int, metavar="N", help="how many tokens it has")
    source.add_argument("--file", metavar="PATH", help="estimate the tokens of this file")
    parser.add_argument("--excluded", action="store_true", help="list it without counting it")


def _add(arguments: argparse.Namespace) -> Output:
    if arguments.name is None and arguments.file is None:
        raise Usage("An item needs a name.", hint="holdfast budget add NAME --tokens N")

    def act(session: Session) -> Output:
        if arguments.file is not None:
            receipt = session.spend_file(
                given_path(arguments.file),
                name=arguments.name,
                included=not arguments.excluded,
                op=arguments.op,
                expect=arguments.expect,
            )
        else:
            receipt = session.spend(
                arguments.name,
                arguments.tokens,
                included=not arguments.excluded,
                op=arguments.op,
                expect=arguments.expect,
            )
        return _done(session, receipt)

    return on_session(arguments, act)


def _name_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="an item that `budget show` lists")


def _include(arguments: argparse.Namespace) -> Output:
    return on_session(
        arguments, lambda s: _done(s, s.include(arguments.name, op=arguments.op, expect=arguments.expect))
    )


def _exclude(arguments: argparse.Namespace) -> Output:
    return on_session(
        arguments, lambda s: _done(s, s.exclude(arguments.name, op=arguments.op, expect=arguments.expect))
    )


def _drop(arguments: argparse.Namespace) -> Output:
    return on_session(
        arguments, lambda s: _done(s, s.unspend(arguments.name, op=arguments.op, expect=arguments.expect))
    )


COMMANDS = {
    "budget": group(
        "Token budget: what is loaded, and how full the context is.",
        {
            "show": Command(
                "Show the items, the sum and the zone.", nothing, _show, ("holdfast budget show",)
            ),
            "set": Command(
                "Set the total.",
                _set_arguments,
                _set,
                ("holdfast budget set 200000", "holdfast budget set 5000 --zones 30,60,80"),
                writes=True,
            ),
            "add": Command(
                "Add an item.",
                _add_arguments,
                _add,
                ("holdfast budget add schema --tokens 1200", "holdfast budget add --file src/app.py"),
                writes=True,
            ),
            "include": Command(
                "Count an item towards what is used.",
                _name_arguments,
                _include,
                ("holdfast budget include schema",),
                writes=True,
            ),
            "exclude": Command(
                "List an item without counting it.",
                _name_arguments,
                _exclude,
                ("holdfast budget exclude schema",),
                writes=True,
            ),
            "drop": Command(
                "Drop an item.", _name_arguments, _drop, ("holdfast budget drop schema",), writes=True
            ),
        },
    ),
}
