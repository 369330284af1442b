"""init, doctor."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli.command import Command, Output, open_here
from holdfast.edge.render import clean, paint


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", help="the project's folder (default: the git repository's root, or here)"
    )


def _init(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace.setup import init

    root, made = init(arguments.folder or os.getcwd(), given=arguments.folder is not None)
    if not made:
        text = f"{root} is a workspace already; nothing was changed."
    else:
        text = f"{root} is ready. Next: {paint('holdfast start GOAL', 'bold')}"
    return Output(text, {"workspace": root, "made": made})


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without losing anything")


def _doctor(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        faults = workspace.doctor(fix=arguments.fix)
    serious = [fault for fault in faults if not fault.harmless]
    lines = []
    for fault in faults:
        mark = paint("note", "dim") if fault.harmless else paint("damaged", "red")
        lines.append(
            f"{mark}  {clean(fault.where)}: {clean(fault.what)}{f' ({fault.action})' if fault.action else ''}"
        )
    if not serious:
        lines.append(paint("The workspace is sound.", "green"))
    data = {"faults": [fault._asdict() for fault in faults]}
    return Output("\n".join(lines), data, status=5 if serious else 0)


COMMANDS = {
    "init": Command(
        "Make a workspace in this project. What is there already is left as it is.",
        _init_arguments,
        _init,
        ("holdfast init", "holdfast init path/to/project"),
    ),
    "doctor": Command(
        "Look the workspace over; name everything that is damaged.",
        _doctor_arguments,
        _doctor,
        ("holdfast doctor", "holdfast doctor --fix"),
    ),
}
