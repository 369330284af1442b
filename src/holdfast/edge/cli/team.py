"""heal, who, claim, release, hook-commit-message: working beside others, in git."""

from __future__ import annotations

import argparse

from holdfast.edge.cli import hints
from holdfast.edge.cli.command import Command, Output, nothing, open_here
from holdfast.edge.render import clean, paint, table, when
from holdfast.errors import HoldfastError, Refused
from holdfast.typed import Any


def _heal(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        faults = workspace.heal()
    serious = [fault for fault in faults if not fault.harmless]
    lines = []
    for fault in faults:
        mark = paint("healed", "green") if fault.harmless else paint("open", "red")
        action = hints.text(fault.action)
        lines.append(f"{mark}  {clean(fault.where)}: {clean(fault.what)} ({clean(action)})")
    if not faults:
        lines.append("There was nothing to heal.")
    return Output(
        "\n".join(lines),
        {"faults": [fault.as_json(hints.text) for fault in faults]},
        status=1 if serious else 0,
    )


def _who(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        presence = workspace.presence
        people = presence.who()
        shared = presence.folder.shared
        for person in people:
            holder = presence.holder(person["session"]) if person["session"] else None
            person["lease"] = bool(holder and holder["process"] == person["process"])
    cells = [
        (
            paint(person["state"], "green" if person["state"] == "alive" else "dim"),
            clean(person["by"], 30) + (" (you)" if person["me"] else ""),
            clean(person["session"] or "", 60) + (" (lease)" if person["lease"] else ""),
            when(person["since"]),
            when(person["seen"]),
            clean(person["worktree"], 60),
            clean(", ".join(person["claims"]), 60),
        )
        for person in people
    ]
    text = (
        table(cells, ("", "who", "session", "since", "seen", "where", "claims"))
        if people
        else "Nobody is here."
    )
    if not shared:
        text += (
            "\nOther worktrees do not see who is here: the git directory cannot be written, or there is none."
        )
    return Output(text, {"people": people, "shared": shared})


def _claim_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders (none: the session itself)"
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="also if somebody else works on them; a session: if you know that its holder elsewhere is gone",
    )


def _claim(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        presence = workspace.presence
        if not arguments.paths:
            session = workspace.session(arguments.session)
            lease = presence.lease(f"{session.user}/{session.id}", anyway=arguments.anyway)
            presence.beat(f"{session.user}/{session.id}")
            return Output(
                f"You hold {session.user}/{session.id}, number {lease.number}.",
                {"session": session.id, "number": lease.number},
            )
        taken = presence.claim(arguments.paths, anyway=arguments.anyway)
    lines = [
        paint(
            f"{clean(entry['path'], 100)}: {clean(entry['by'], 60)} works on {clean(entry['claimed'], 100)}"
            f" since {when(entry['since'])}",
            "yellow",
        )
        for entry in taken
    ]
    if taken and not arguments.anyway:
        others = ", ".join(sorted({clean(entry["by"], 60) for entry in taken}))
        refusal = Refused(
            f"Nothing was claimed: {others} works there.",
            hint="Work on something else, or talk to them; --anyway claims it all the same.",
        )
        data: dict[str, Any] = {"taken": taken, "claimed": [], "error": refusal.as_json(hints.text)}
        return Output(
            "\n".join([*lines, refusal.message, hints.text(refusal.hint)]), data, status=refusal.status
        )
    lines.append(f"Claimed: {clean(', '.join(arguments.paths), 300)}")
    return Output("\n".join(lines), {"taken": taken, "claimed": arguments.paths})


def _release_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="what to give back (none: everything)")


def _release(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        presence = workspace.presence
        given = presence.release(arguments.paths or None)
        if not arguments.paths:
            try:
                session = workspace.session(arguments.session)
                name = f"{session.user}/{session.id}"
                holder = presence.holder(name)
                if holder and holder["process"] == list(presence.process):
                    presence.lease(name).release()
                    given.append(name)
            except HoldfastError:
                pass  # no session here: then there is no lease to give back either
    return Output(f"Given back: {clean(', '.join(given)) or 'nothing'}", {"released": given})


def _hook_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the file with the message, as git gives it to the hook")


def _hook(arguments: argparse.Namespace) -> Output:
    """Never stops a commit: without a session, or on any error, the message stays as it is."""
    import os

    from holdfast.git.integration import add_trailer

    try:
        with open_here(arguments) as workspace:
            session = workspace.session(arguments.session)
            trailer = f"Holdfast-Session: {session.user}/{session.id}"
            added = add_trailer(os.getcwd(), os.path.abspath(arguments.file), trailer)
    except (HoldfastError, OSError):
        return Output("", {"added": False})
    return Output("", {"added": added})


COMMANDS = {
    "heal": Command(
        "Put right what a merge left in our files, and stage it: conflicts, stale views, lost segments.",
        nothing,
        _heal,
        ("holdfast heal",),
    ),
    "who": Command(
        "Show who works on what in all worktrees of this repository, alive or gone.",
        nothing,
        _who,
        ("holdfast who", "holdfast who --json"),
    ),
    "claim": Command(
        "Say which files you work on, so that others are warned; without a path, hold the session.",
        _claim_arguments,
        _claim,
        ("holdfast claim src/billing", "holdfast claim"),
    ),
    "release": Command(
        "Give back what you claimed.",
        _release_arguments,
        _release,
        ("holdfast release", "holdfast release src/billing"),
    ),
    "hook-commit-message": Command(
        "Name the current session in a git commit's message; called by the hooks of `init --commit-hook`.",
        _hook_arguments,
        _hook,
        ("holdfast hook-commit-message .git/COMMIT_EDITMSG",),
    ),
}
