"""init, doctor."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli import hints
from holdfast.edge.cli.command import Command, Output, open_here
from holdfast.edge.render import clean, paint


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", help="the project's folder (default: the git repository's root, or here)"
    )
    parser.add_argument(
        "--views",
        choices=("git", "local"),
        default="git",
        help="local: keep STATE.md and state.json out of git",
    )
    parser.add_argument(
        "--merge-driver",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="have this clone merge views without conflicts (asked on a terminal)",
    )
    parser.add_argument(
        "--install",
        metavar="HOST",
        action="append",
        help="put hooks into an agent host's settings here, as `holdfast install` does; auto: all that are found "
        "(asked on a terminal)",
    )
    parser.add_argument(
        "--commit-hook", action="store_true", help="name the session in the message of every git commit"
    )


def _init(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace.setup import init

    root, made = init(arguments.folder or os.getcwd(), given=arguments.folder is not None)
    told = _tell_git(root, arguments)
    hosts, shown = _tell_hosts(root, arguments, made=bool(made))
    if not made:
        text = f"{root} is a workspace already{'' if told or shown else '; nothing was changed'}."
    else:
        text = f"{root} is ready. Next: {paint('holdfast start GOAL', 'bold')}"
    warnings = []
    if os.environ.get("HOLDFAST_URL"):
        warnings.append(
            "HOLDFAST_URL is set: commands use what it names, not this folder, until it is unset."
        )
    data = {"workspace": root, "made": made, "git": told, "hosts": hosts, "warnings": warnings}
    return Output("\n".join([text, *told, *shown, *(paint(line, "yellow") for line in warnings)]), data)


def _tell_hosts(root: str, arguments: argparse.Namespace, *, made: bool) -> tuple[list[str], list[str]]:
    """Put hooks into the settings of agent hosts, only if asked to; returns which, and what to say."""
    wanted = arguments.install
    if wanted is None and (not made or arguments.json or not _is_terminal()):
        return [], []
    from holdfast.edge.cli.hosts import install_output
    from holdfast.edge.install.run import install
    from holdfast.edge.install.targets import Place, present

    place = Place(False, os.path.dirname(root), os.path.expanduser("~"), os.environ)
    if wanted is None:
        found = present(place)
        question = f"Put hooks into this project's settings of {', '.join(found)}, so that agents remember?"
        wanted = found if found and _agreed(question) else []
    elif "auto" in wanted:
        wanted = [*(host for host in wanted if host != "auto"), *present(place)]
    if not wanted:
        return [], []
    done = install(wanted, place)
    return done.hosts, [install_output(done).text]


def _tell_git(root: str, arguments: argparse.Namespace) -> list[str]:
    """What the clone was told, each only with consent."""
    from holdfast.git import integration

    told = []
    if arguments.views == "local" and integration.keep_views_local(root):
        told.append("Views stay out of git.")
    driver = arguments.merge_driver
    if driver is None and arguments.views != "local" and not arguments.json:
        driver = _ask(root)
    if driver and integration.register_driver(root):
        told.append("This clone merges views without conflicts.")
    if arguments.commit_hook:
        told.append(integration.install_hook(root))
    return told


def _ask(root: str) -> bool:
    """Ask a person at a terminal, once: everybody else has said no by saying nothing."""
    from holdfast.git.integration import has_driver, in_git

    if not _is_terminal() or not in_git(root) or has_driver(root):
        return False
    return _agreed("Register a merge driver in this clone's git config, so that views never conflict?")


def _is_terminal() -> bool:
    import sys

    return sys.stdin.isatty() and sys.stdout.isatty()


def _agreed(question: str) -> bool:
    import sys

    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without losing anything")


def _doctor(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        faults = workspace.doctor(fix=arguments.fix)
    serious = [fault for fault in faults if not fault.harmless]
    lines = []
    for fault in faults:
        mark = paint("note", "dim") if fault.harmless else paint("damaged", "red")
        action = f" ({clean(hints.text(fault.action))})" if fault.action else ""
        lines.append(f"{mark}  {clean(fault.where)}: {clean(fault.what)}{action}")
    if not serious:
        lines.append(paint("The workspace is sound.", "green"))
    data = {"faults": [fault.as_json(hints.text) for fault in faults]}
    return Output("\n".join(lines), data, status=5 if serious else 0)


COMMANDS = {
    "init": Command(
        "Make a workspace in this project. What is there already is left as it is.",
        _init_arguments,
        _init,
        (
            "holdfast init",
            "holdfast init path/to/project",
            "holdfast init --merge-driver --commit-hook",
            "holdfast init --install auto",
        ),
    ),
    "doctor": Command(
        "Look the workspace over; name everything that is damaged.",
        _doctor_arguments,
        _doctor,
        ("holdfast doctor", "holdfast doctor --fix"),
    ),
}
