"""order, control, fact, prefer."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, done, group, nothing, on_project, open_here
from holdfast.edge.cli.references import anchor_argument, given_anchors, given_path
from holdfast.edge.render import clean, paint, table, when
from holdfast.errors import Usage
from holdfast.typed import Any
from holdfast.workspace.accepted import sorted_orders
from holdfast.workspace.anchors import standings
from holdfast.workspace.project import Project


def _text_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what applies from now on")


def _order_add(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        receipt = project.order(arguments.text, op=arguments.op, expect=arguments.expect)
        applies = (
            "It applies to every session until it is lifted."
            if project.workspace.origin == "human"
            else f"It applies when a person has accepted it: holdfast order accept {receipt.id}"
        )
        return done(f"Recorded {paint(receipt.id, 'bold')}. {applies}", receipt)

    return on_project(arguments, act)


def _order_list(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        ours, offered = sorted_orders(project.workspace, project.peek().state)
        lines = [_shown_order(order) for order in ours.values()]
        if offered:
            lines += [
                "",
                "Of agents and others; they do not apply until you accept them: holdfast order accept ID",
            ]
            lines += [_shown_order(order) for order in offered.values()]
        orders = [{**order, "accepted": True} for order in ours.values()]
        orders += [{**order, "accepted": False} for order in offered.values()]
        return Output("\n".join(lines).lstrip() or "No standing orders.", {"orders": orders})

    return on_project(arguments, act)


def _shown_order(order: dict[str, Any]) -> str:
    return f"{paint(order['id'], 'bold')}  {clean(order['text'])}  ({_source(order)})"


def _source(entry: dict[str, Any]) -> str:
    return f"{clean(entry['origin'], 20)} {clean(entry['by'], 40)}, {when(entry['at'])}"


def _accept_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="an order from others, such as SO-2.k7f3q2xw")


def _order_accept(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        found = [project.accept(given) for given in arguments.ids]
        return Output(f"Accepted {', '.join(found)}: it applies here from now on.", {"accepted": found})

    return on_project(arguments, act)


def _lift_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the order, such as SO-2")
    parser.add_argument("--reason", metavar="TEXT", help="why it no longer applies")


def _order_lift(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        receipt = project.lift(arguments.id, arguments.reason, op=arguments.op, expect=arguments.expect)
        return done(f"Lifted {paint(receipt.id, 'bold')}.", receipt)

    return on_project(arguments, act)


def _control_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("control", nargs="?", help="the control that fired; without it, list the last ones")
    parser.add_argument("what", nargs="?", help="what it caught")
    parser.add_argument("--outcome", metavar="TEXT", help="what came of it")
    parser.add_argument("--caught-by", metavar="NAME", help="who caught it (default: you)")
    parser.add_argument("--notes", metavar="TEXT", help="anything else")


def _control(arguments: argparse.Namespace) -> Output:
    def fire(project: Project) -> Output:
        receipt = project.caught(
            arguments.control,
            arguments.what or "",
            outcome=arguments.outcome,
            caught_by=arguments.caught_by,
            notes=arguments.notes,
            op=arguments.op,
            expect=arguments.expect,
        )
        return done(f"Recorded {paint(receipt.id, 'bold')}.", receipt)

    def show(project: Project) -> Output:
        controls = project.peek().state["controls"]
        rows = [
            (
                c["id"],
                when(c["at"]),
                clean(c["control"], 30),
                clean(c["what"], 200),
                clean(c["outcome"] or "", 200),
            )
            for c in controls["last"]
        ]
        text = (
            table(rows, ("id", "when", "control", "caught", "outcome"), keep=2)
            if rows
            else "No control has fired."
        )
        return Output(text, {"controls": controls["last"], "count": controls["count"]})

    return on_project(arguments, fire if arguments.control else show)


def _fact_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what is true of the project")
    anchor_argument(parser)
    check = parser.add_argument_group("how to check it, at most one")
    check.add_argument("--file-exists", metavar="PATH", help="true while this file exists")
    check.add_argument("--file-missing", metavar="PATH", help="true while this file does not exist")
    check.add_argument("--file-unchanged", metavar="PATH", help="true while this file is unchanged")
    check.add_argument("--branch-exists", metavar="NAME", help="true while this git branch exists")
    check.add_argument("--commit-exists", metavar="SHA", help="true while this git commit exists")


_CHECKS = ("file-exists", "file-missing", "file-unchanged", "branch-exists", "commit-exists")


def _check_of(project: Project, arguments: argparse.Namespace) -> dict[str, Any] | None:
    given = {kind: getattr(arguments, kind.replace("-", "_")) for kind in _CHECKS}
    wanted = {kind: value for kind, value in given.items() if value is not None}
    if len(wanted) > 1:
        raise Usage(f"A fact has one check, not {' and '.join(f'--{kind}' for kind in wanted)}.")
    if "file-unchanged" in wanted:
        files = project.workspace.files(project.stream)
        found = files.look(files.name(given_path(arguments.file_unchanged)))
        return {"file-hash": {"path": found.path, "hash": found.hash}}
    return wanted or None


def _fact_add(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        check = _check_of(project, arguments)
        receipt = project.add_fact(
            arguments.text,
            check=check,
            at=given_anchors(arguments.at),
            op=arguments.op,
            expect=arguments.expect,
        )
        return done(f"Recorded {paint(receipt.id, 'bold')}.", receipt)

    return on_project(arguments, act)


def _shown_check(check: Any) -> str:
    """A check in one line. One that came from others may have any shape; `verify` refuses it."""
    match check:
        case {**kinds} if len(kinds) == 1:
            kind, value = next(iter(kinds.items()))
            path = value.get("path") if isinstance(value, dict) else value
            return f"{clean(kind, 40)} {clean(path, 80)}"
    return clean(check, 80)


def _fact_list(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        facts = list(project.peek().state["facts"]["open"].values())
        lines = []
        for entry in facts:
            check = f"  [{_shown_check(entry['check'])}]" if entry["check"] else ""
            lines.append(f"{paint(entry['id'], 'bold')}  {clean(entry['text'])}{check}  ({_source(entry)})")
            lines += [
                f"    at {clean(place, 200)}" for place in standings(project.workspace, project.stream, entry)
            ]
        return Output("\n".join(lines) or "No facts.", {"facts": facts})

    return on_project(arguments, act)


def _fact_drop(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        receipt = project.drop_fact(arguments.id, arguments.reason, op=arguments.op, expect=arguments.expect)
        return done(f"Dropped {paint(receipt.id, 'bold')}.", receipt)

    return on_project(arguments, act)


def _fact_drop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the fact, such as F-7")
    parser.add_argument("--reason", metavar="TEXT", help="why it is dropped")


def _prefer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="?", help="what it is about; without it, list all preferences")
    parser.add_argument("value", nargs="?", help="the preference; without it, show what is set")
    parser.add_argument("--drop", action="store_true", help="remove the preference")


def _prefer(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        me = workspace.me
        if arguments.key is None:
            known = dict(me.preferences)
            lines = [f"{paint(key, 'bold')}  {clean(value)}" for key, value in known.items()]
            return Output(
                "\n".join(lines) or "No preferences are set.", {"user": me.user, "preferences": known}
            )
        if arguments.drop:
            receipt = me.unprefer(arguments.key, op=arguments.op, expect=arguments.expect)
            return done("Dropped the preference.", receipt, key=arguments.key)
        if arguments.value is None:
            value = me.preference(arguments.key)
            shown = (
                clean(value) if value is not None else f"No preference is set for {clean(arguments.key, 80)}."
            )
            return Output(shown, {"key": arguments.key, "value": value})
        receipt = me.prefer(arguments.key, arguments.value, op=arguments.op, expect=arguments.expect)
        return done(f"Set for {me.user}.", receipt, key=arguments.key, value=arguments.value)


COMMANDS = {
    "order": group(
        "Standing orders: they apply to every session.",
        {
            "list": Command("List the active orders.", nothing, _order_list, ("holdfast order list",)),
            "add": Command(
                "Give a standing order.",
                _text_arguments,
                _order_add,
                ('holdfast order add "Record decisions before acting on them"',),
                writes=True,
            ),
            "accept": Command(
                "Let orders from others apply in this clone.",
                _accept_arguments,
                _order_accept,
                ("holdfast order accept SO-2.k7f3q2xw",),
            ),
            "lift": Command(
                "End a standing order.",
                _lift_arguments,
                _order_lift,
                ("holdfast order lift SO-2", 'holdfast order lift SO-2 --reason "the release is out"'),
                writes=True,
            ),
        },
    ),
    "control": Command(
        "Record that a control caught something, or list the last.",
        _control_arguments,
        _control,
        (
            'holdfast control review "a decision only in chat" --outcome "recorded"',
            "holdfast control",
        ),
        writes=True,
    ),
    "fact": group(
        "Facts about the project, and how to check them.",
        {
            "list": Command("List the facts.", nothing, _fact_list, ("holdfast fact list",)),
            "add": Command(
                "Record a fact.",
                _fact_arguments,
                _fact_add,
                (
                    'holdfast fact add "Releases are cut from stable" --branch-exists stable',
                    'holdfast fact add "The schema is in db/" --file-exists db/schema.sql',
                ),
                writes=True,
            ),
            "drop": Command(
                "Drop a fact.",
                _fact_drop_arguments,
                _fact_drop,
                ("holdfast fact drop F-7",),
                writes=True,
            ),
        },
    ),
    "prefer": Command(
        "Set one of your preferences, or list them.",
        _prefer_arguments,
        _prefer,
        ("holdfast prefer", "holdfast prefer language en", "holdfast prefer language --drop"),
        writes=True,
    ),
}
