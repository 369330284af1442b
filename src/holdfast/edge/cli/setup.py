"""init, doctor."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli import hints
from holdfast.edge.cli.command import Command, Output, open_here
from holdfast.edge.cli.progress import show_checks
from holdfast.edge.render import clean, paint


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", help="the project's folder (default: the root of the git repository, or here)"
    )
    parser.add_argument(
        "--views",
        choices=("git", "local"),
        help="git: track STATE.md and state.json; local: keep them out of git (default for a new workspace)",
    )
    parser.add_argument(
        "--install",
        metavar="HOST",
        action="append",
        help="add hooks to an agent's settings, as `holdfast install` does; auto: all agents that are found "
        "(asked on a terminal)",
    )
    parser.add_argument(
        "--commit-hook", action="store_true", help="add the session to the message of every git commit"
    )


def _init(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace.setup import init, is_database

    if arguments.folder is None and is_database(os.environ.get("HOLDFAST_URL", "")):
        return _init_database(arguments)
    root, made = init(arguments.folder or os.getcwd(), given=arguments.folder is not None)
    configured = _configure_git(root, arguments)
    hosts, shown = _configure_hosts(root, arguments, made=bool(made))
    if made:
        lines = [
            f"Created {os.path.basename(root)}/ in {clean(os.path.dirname(root))}.",
            "Next: " + paint('holdfast start "GOAL"', "bold"),
            "Then: " + paint('holdfast decide "WHAT" --because "WHY"', "bold"),
        ]
    else:
        lines = [f"{clean(root)} exists already{'' if configured or shown else '; nothing was changed'}."]
    warnings = []
    if os.environ.get("HOLDFAST_URL"):
        warnings.append(
            "HOLDFAST_URL is set: until it is unset, commands use that workspace and not this folder."
        )
    data = {"workspace": root, "made": made, "git": configured, "hosts": hosts, "warnings": warnings}
    return Output(
        "\n".join([*configured, *shown, *lines, *(paint(line, "yellow") for line in warnings)]), data
    )


def _init_database(arguments: argparse.Namespace) -> Output:
    """Set up the store that HOLDFAST_URL names; the project's folder gets nothing."""
    from holdfast.workspace.discovery import FOLDER, project_root

    with open_here(arguments) as workspace:
        where, limits = workspace.where, list(workspace.store.capabilities.limits)
    hosts, shown = _configure_hosts(os.path.join(project_root(os.getcwd()), FOLDER), arguments, made=False)
    lines = [
        f"The workspace is {clean(where)}, as HOLDFAST_URL says.",
        "Next: " + paint('holdfast start "GOAL"', "bold"),
    ]
    data = {"workspace": where, "made": [], "git": [], "hosts": hosts, "warnings": limits}
    return Output("\n".join([*shown, *lines, *(paint(line, "yellow") for line in limits)]), data)


def _configure_hosts(root: str, arguments: argparse.Namespace, *, made: bool) -> tuple[list[str], list[str]]:
    """Add hooks to the settings of agent hosts, only with consent; returns which, and what to print."""
    wanted = arguments.install
    if wanted is None and (not made or arguments.json or not _is_terminal()):
        return [], []
    from holdfast.edge.cli.hosts import install_output
    from holdfast.edge.install.run import install
    from holdfast.edge.install.targets import Place, present

    place = Place(False, os.path.dirname(root), os.path.expanduser("~"), os.environ)
    if wanted is None:
        found = present(place)
        question = f"Add holdfast to this project's settings of {', '.join(found)}?"
        wanted = found if found and _agreed(question) else []
    elif "auto" in wanted:
        wanted = [*(host for host in wanted if host != "auto"), *present(place)]
    if not wanted:
        return [], []
    done = install(wanted, place)
    return done.hosts, [install_output(done).text]


def _configure_git(root: str, arguments: argparse.Namespace) -> list[str]:
    """Configure git as the options say; returns what was done."""
    from holdfast.git import integration

    configured = []
    if arguments.views == "local" and integration.keep_views_local(root):
        configured.append("STATE.md and state.json stay out of git.")
    if arguments.views == "git" and integration.track_views(root):
        configured.append("STATE.md and state.json can be added to git.")
    if arguments.commit_hook:
        configured.append(integration.install_hook(root))
    return configured


def _is_terminal() -> bool:
    import sys

    return sys.stdin.isatty() and sys.stdout.isatty()


def _agreed(question: str) -> bool:
    import sys

    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired without loss")


def _doctor(arguments: argparse.Namespace) -> Output:
    from holdfast.edge.install.health import dead_hooks
    from holdfast.edge.install.run import place_of

    show_checks(arguments)
    with open_here(arguments) as workspace:
        faults = workspace.doctor(fix=arguments.fix)
    faults += dead_hooks(place_of(False, os.environ))
    serious = [fault for fault in faults if not fault.harmless]
    lines = []
    for fault in faults:
        mark = paint("note", "dim") if fault.harmless else paint("damaged", "red")
        action = f" ({clean(hints.text(fault.action))})" if fault.action else ""
        lines.append(f"{mark}  {clean(fault.where)}: {clean(fault.what)}{action}")
    if not serious:
        lines.append(paint("No damage found.", "green"))
    data = {"faults": [fault.as_json(hints.text) for fault in faults]}
    return Output("\n".join(lines), data, status=5 if serious else 0)


COMMANDS = {
    "init": Command(
        "Set up holdfast in this project.",
        _init_arguments,
        _init,
        (
            "holdfast init",
            "holdfast init path/to/project",
            "holdfast init --commit-hook",
            "holdfast init --install auto",
        ),
    ),
    "doctor": Command(
        "Check the workspace for damage.",
        _doctor_arguments,
        _doctor,
        ("holdfast doctor", "holdfast doctor --fix"),
        repairs=True,
    ),
}
