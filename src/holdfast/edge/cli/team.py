"""heal, who, claim, release, hook-commit-message."""

from __future__ import annotations

import argparse

from holdfast.edge.cli import hints
from holdfast.edge.cli.command import Command, Output, nothing, open_here
from holdfast.edge.render import clean, paint, recently, table, when
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
        lines.append("Nothing to heal.")
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
            recently(person["since"]),
            recently(person["seen"]),
            clean(person["worktree"], 60),
            clean(", ".join(person["claims"]), 60),
        )
        for person in people
    ]
    text = (
        table(cells, ("", "who", "session", "since", "seen", "where", "claims"), keep=5)
        if people
        else "Nobody is working here."
    )
    if not shared:
        text += "\nNot shown in other worktrees: no writable git directory."
    return Output(text, {"people": people, "shared": shared})


def _claim_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders (none: the session itself)"
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="claim even if somebody else works on it",
    )


def _claim(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        presence = workspace.presence
        if not arguments.paths:
            session = workspace.session(arguments.session)
            lease = presence.lease(f"{session.user}/{session.id}", anyway=arguments.anyway)
            presence.beat(f"{session.user}/{session.id}")
            return Output(
                f"Claimed session {session.user}/{session.id} (lease {lease.number}).",
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
            hint="Work on something else, or talk to them; --anyway claims it regardless.",
        )
        data: dict[str, Any] = {"taken": taken, "claimed": [], "error": refusal.as_json(hints.text)}
        return Output(
            "\n".join([*lines, refusal.message, hints.text(refusal.hint)]), data, status=refusal.status
        )
    lines.append(f"Claimed {clean(', '.join(arguments.paths), 300)}.")
    return Output("\n".join(lines), {"taken": taken, "claimed": arguments.paths})


def _release_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="what to release (none: everything)")


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
                pass  # no session here, so no lease to release
    return Output(f"Released {clean(', '.join(given)) or 'nothing'}.", {"released": given})


def _hook_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the file with the message, as git gives it to the hook")


def _hook(arguments: argparse.Namespace) -> Output:
    """Never stops a commit: without a session, or on any error, the message is left unchanged."""
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
        "Repair what a git merge, rebase or reset left, and stage it.",
        nothing,
        _heal,
        ("holdfast heal",),
        repairs=True,
    ),
    "who": Command(
        "Show who works on what, in all worktrees.",
        nothing,
        _who,
        ("holdfast who", "holdfast who --json"),
    ),
    "claim": Command(
        "Claim files or the session, so that others are warned.",
        _claim_arguments,
        _claim,
        ("holdfast claim src/billing", "holdfast claim"),
    ),
    "release": Command(
        "Release what you claimed.",
        _release_arguments,
        _release,
        ("holdfast release", "holdfast release src/billing"),
    ),
    "hook-commit-message": Command(
        "Add the session to a git commit message (git hook).",
        _hook_arguments,
        _hook,
        ("holdfast hook-commit-message .git/COMMIT_EDITMSG",),
    ),
}
