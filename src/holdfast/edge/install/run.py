"""Install into hosts and uninstall: several files, planned together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from holdfast.edge.install import plan
from holdfast.edge.install.files import read
from holdfast.edge.install.ledger import Entry, Ledger
from holdfast.edge.install.plan import Change
from holdfast.edge.install.program import NAME, Program, program
from holdfast.edge.install.targets import HOSTS, Place, Target, present, targets
from holdfast.errors import NoWorkspace, Usage
from holdfast.typed import Record
from holdfast.workspace import discovery

Planner = Callable[[Target, str, Ledger, bytes | None], Change]


class Done(Record):
    """What was changed, or would be in a dry run."""

    hosts: list[str]
    place: Place
    changes: list[Change]
    """The files that change."""
    program: Program
    workspace: str
    """The workspace that was created; empty if none was."""


def place_of(user: bool, environment: Mapping[str, str], *, allow: bool = True) -> Place:
    """Where to install from here: the project is the folder of the workspace, else the root of the repository."""
    try:
        project = os.path.dirname(discovery.find(os.getcwd()))
    except NoWorkspace:
        project = discovery.project_root(os.getcwd())
    return Place(user, project, os.path.expanduser("~"), environment, allow)


def install(hosts: list[str], place: Place, *, dry_run: bool = False) -> Done:
    """Install holdfast into the settings of the hosts; into all that are present if none is named."""
    chosen = _checked(hosts) or present(place)
    if not chosen:
        raise Usage(
            "No agent host was found on this machine; nothing was changed.",
            hint=f"Name one: {', '.join(HOSTS)}.",
        )
    called = program(place.environment, place.home)
    ledger = Ledger(place.home, place.environment)
    changes = _planned(chosen, place, called.command, ledger, plan.install)
    made = ""
    if not dry_run:
        made = "" if place.user else _workspace(place)
        plan.carry_out(changes, ledger)
    return Done(chosen, place, [c for c in changes if c.changes], called, made)


def uninstall(hosts: list[str], place: Place, *, dry_run: bool = False) -> Done:
    """Remove holdfast from the settings of the hosts; from all that have it if none is named."""
    ledger = Ledger(place.home, place.environment)
    chosen = _checked(hosts) or list(HOSTS)
    changes = _planned(chosen, place, NAME, ledger, plan.uninstall)
    touched = {change.path for change in changes if change.changes or ledger.get(change.path) is not None}
    if not hosts:
        chosen = [h for h in chosen if any(t.path in touched for t in targets(h, place, NAME))]
    if not dry_run:
        plan.carry_out(changes, ledger)
    return Done(chosen, place, [c for c in changes if c.changes], Program("", True), "")


def _planned(hosts: list[str], place: Place, command: str, ledger: Ledger, planner: Planner) -> list[Change]:
    """One change per file. Two hosts may share a file: the second builds on the result of the first."""
    found: dict[str, Change] = {}
    remembered: dict[str, Entry | None] = {}
    for host in hosts:
        for target in targets(host, place, command):
            earlier = found.get(target.path)
            before = earlier.after if earlier else read(target.path)
            change = planner(target, host, ledger, before)
            if earlier is not None:
                folders = [*earlier.folders, *(f for f in change.folders if f not in earlier.folders)]
                change = change._replace(before=earlier.before, folders=folders)
            found[target.path] = change
            remembered.setdefault(target.path, ledger.get(target.path))
            ledger.put(target.path, change.entry)
    for path, entry in remembered.items():
        ledger.put(path, entry)  # restored: only applied changes are recorded
    return list(found.values())


def _checked(hosts: list[str]) -> list[str]:
    for host in hosts:
        if host not in HOSTS:
            raise Usage(f"Unknown host {host[:40]!r}. Known hosts: {', '.join(HOSTS)}.")
    return list(dict.fromkeys(hosts))


def _workspace(place: Place) -> str:
    """Create the workspace that the hooks need, if the project has none."""
    try:
        discovery.find(place.project)
    except NoWorkspace:
        from holdfast.workspace.setup import init

        return init(place.project, given=True)[0]
    return ""


_LONGEST_SHOWN = 150


def diff(change: Change) -> str:
    """The change of a file, like ``diff -u``."""
    from difflib import unified_diff

    before, after = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for data in (change.before, change.after)
    )
    if not (before and after) and len(before or after) > _LONGEST_SHOWN:
        # Our own file, not somebody's settings: its text is in the package and too long to show.
        done = "made" if after else "removed"
        return f"{change.path}: {done} ({len(before or after)} lines, owned by holdfast)\n"
    old, new = (change.path if data is not None else os.devnull for data in (change.before, change.after))
    lines = unified_diff(before, after, old, new)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
