"""backlog."""

from __future__ import annotations

import argparse

from holdfast.core.concepts.backlog import PRIORITIES, STATUSES, contests
from holdfast.edge.cli.command import Command, Output, done, group, nothing, on_project
from holdfast.edge.render import clean, paint, table
from holdfast.errors import Usage
from holdfast.typed import Any
from holdfast.workspace import entries
from holdfast.workspace.project import Project


def _rows(items: list[dict[str, Any]], empty: str) -> str:
    if not items:
        return empty
    rows = []
    for item in items:
        notes = [f"#{clean(tag, 20)}" for tag in item["tags"]]
        notes += [f"after {', '.join(item['depends_on'])}"] if item["depends_on"] else []
        for contest in contests(item):
            rivals = ", ".join(clean(rival["value"], 60) for rival in contest["rivals"])
            notes.append(paint(f"contested {contest['name']}, also: {rivals}", "yellow"))
        title = "  ".join([clean(item["title"], 200), *notes])
        rows.append((item["id"], item["priority"], item["status"], clean(item["epic"] or "", 20), title))
    return table(rows, ("id", "priority", "status", "epic", "title"), keep=3)


def _list(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        items = entries.backlog(project)
        return Output(
            _rows(items, "The backlog is empty. To add an item: holdfast backlog add TITLE"),
            {"backlog": items},
        )

    return on_project(arguments, act)


def _ready(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        items = entries.ready(project)
        return Output(_rows(items, "Nothing is ready."), {"ready": items})

    return on_project(arguments, act)


def _field_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--priority", choices=PRIORITIES, help="how urgent it is")
    parser.add_argument("--epic", metavar="NAME", help="the larger piece of work it belongs to")
    parser.add_argument("--tag", action="append", metavar="TEXT", help="a label; repeatable")
    parser.add_argument(
        "--after", action="append", metavar="ID", help="an item that must be done first; repeatable"
    )


def _fields(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {
        "priority": arguments.priority,
        "epic": arguments.epic,
        "tags": arguments.tag,
        "depends_on": arguments.after,
    }
    return {name: value for name, value in given.items() if value is not None}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", help="what to do")
    _field_arguments(parser)


def _add(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        receipt = project.add_item(
            arguments.title, **_fields(arguments), op=arguments.op, expect=arguments.expect
        )
        return done(f"Added {paint(receipt.id, 'bold')}.", receipt)

    return on_project(arguments, act)


def _id_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the item, such as BL-3")


def _start(arguments: argparse.Namespace) -> Output:
    def act(project: Project) -> Output:
        receipt = project.start_item(arguments.id, op=arguments.op, expect=arguments.expect)
        return done(f"Started {paint(receipt.id, 'bold')}.", receipt)

    return on_project(arguments, act)


def _done_arguments(parser: argparse.ArgumentParser) -> None:
    _id_arguments(parser)
    parser.add_argument("result", nargs="?", help="what came of it")
    parser.add_argument("--dropped", action="store_true", help="it will not be done")


def _done(arguments: argparse.Namespace) -> Output:
    outcome = "dropped" if arguments.dropped else "done"

    def act(project: Project) -> Output:
        receipt = project.close_item(
            arguments.id, arguments.result, outcome=outcome, op=arguments.op, expect=arguments.expect
        )
        return done(f"Closed {paint(receipt.id, 'bold')} as {outcome}.", receipt)

    return on_project(arguments, act)


def _edit_arguments(parser: argparse.ArgumentParser) -> None:
    _id_arguments(parser)
    parser.add_argument("--title", metavar="TEXT", help="what to do")
    parser.add_argument("--status", choices=STATUSES, help="the new status")
    _field_arguments(parser)


def _edit(arguments: argparse.Namespace) -> Output:
    changes = _fields(arguments)
    changes |= {
        name: value for name in ("title", "status") if (value := getattr(arguments, name)) is not None
    }
    if not changes:
        raise Usage("No change was given.", hint="See `holdfast backlog edit --help`.")

    def act(project: Project) -> Output:
        receipt = project.edit_item(arguments.id, **changes, op=arguments.op, expect=arguments.expect)
        return done(f"Changed {paint(receipt.id, 'bold')}.", receipt)

    return on_project(arguments, act)


COMMANDS = {
    "backlog": group(
        "The project's backlog.",
        {
            "list": Command("List all items, most urgent first.", nothing, _list, ("holdfast backlog list",)),
            "ready": Command(
                "List the items that can be started now.",
                nothing,
                _ready,
                ("holdfast backlog ready",),
            ),
            "add": Command(
                "Add an item.",
                _add_arguments,
                _add,
                (
                    'holdfast backlog add "Rotate the keys" --priority high',
                    'holdfast backlog add "Announce" --after BL-3',
                ),
                writes=True,
            ),
            "start": Command(
                "Start an item.", _id_arguments, _start, ("holdfast backlog start BL-3",), writes=True
            ),
            "done": Command(
                "Close an item as done or dropped.",
                _done_arguments,
                _done,
                ('holdfast backlog done BL-3 "in release 2.1"', "holdfast backlog done BL-3 --dropped"),
                writes=True,
            ),
            "edit": Command(
                "Change an item.",
                _edit_arguments,
                _edit,
                (
                    "holdfast backlog edit BL-3 --priority critical",
                    "holdfast backlog edit BL-3 --status blocked",
                ),
                writes=True,
            ),
        },
    ),
}
