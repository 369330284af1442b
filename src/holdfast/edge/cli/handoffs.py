"""handoff, view, agents-md."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli.command import Command, Output, done, group, on_session, open_here
from holdfast.edge.render import clean, paint, plural
from holdfast.errors import NoSession, NoWorkspace, Usage
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace import handover
from holdfast.workspace.session import Session

if TYPE_CHECKING:
    from holdfast.workspace.project_files import ProjectFolder


def _handoff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", nargs="?", help="what to know first")


def _handoff(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        left = handover.hand_off(session, arguments.message, op=arguments.op, expect=arguments.expect)
        short_id = paint(left.receipt.id, "bold")
        where = f" and wrote {clean(os.path.relpath(left.path))}" if left.path else ""
        lines = [f"Recorded {short_id}{where}.", "To claim it: holdfast resume --claim"]
        lines += [*(paint(clean(warning), "yellow") for warning in left.warnings)]
        if not left.path:
            lines += ["", left.text]
        return done("\n".join(lines), left.receipt, path=left.path, warnings=left.warnings)

    return on_session(arguments, act)


def _view_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", help="STATE.md, state.json, DECISIONS.md, LOOPS.md, CONTEXT.md, handoff or continue"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="also write it: the handoff to handoff/latest.md, others to the session's folder",
    )


def _view(arguments: argparse.Namespace) -> Output:
    from holdfast.views import decisions_md, pages, state_json, state_md

    renders = {
        "state.md": ("STATE.md", state_md.render),
        "state.json": ("state.json", state_json.render),
        "decisions.md": ("DECISIONS.md", decisions_md.render),
        "loops.md": ("LOOPS.md", pages.loops_md),
        "context.md": ("CONTEXT.md", pages.context_md),
        "handoff": ("", pages.handoff_md),
        "continue": ("", pages.continue_here),
    }
    wanted = arguments.name.lower()
    wanted = wanted if wanted in renders else f"{wanted}.md"
    if wanted not in renders:
        names = ", ".join(name or short for short, (name, _) in renders.items())
        raise Usage(f"There is no view {arguments.name[:40]!r}.", hint=f"One of: {names}.")
    name, render = renders[wanted]

    def act(session: Session) -> Output:
        text = handover.handoff_page(session) if wanted == "handoff" else render(session.peek().state)
        if arguments.write and wanted == "handoff":
            handover.write_handoff_page(session)
        elif arguments.write:
            if not name:
                raise Usage("`holdfast pause` writes that view.")
            session.workspace.store.put(f"{session.stream}/{name}", text.encode())
        return Output(text, {"session": session.id, "view": name or wanted, "text": text})

    return on_session(arguments, act, publish=False)


def _agents_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file", default=handover.AGENTS, metavar="NAME", help="another file in the project's top folder"
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if the block is out of date"
    )


def _agents(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        try:
            session = workspace.session(arguments.session)
        except NoSession:
            session = None
        path, changed = handover.refresh_block(
            workspace, session, file=arguments.file, write=not arguments.check
        )
    if arguments.check:
        text = f"{clean(path)}: the block is {'out of date' if changed else 'up to date'}."
        return Output(text, {"path": path, "current": not changed}, status=1 if changed else 0)
    text = f"{clean(path)}: the block is up to date{' (regenerated)' if changed else ''}."
    return Output(text, {"path": path, "changed": changed})


def _prune_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", metavar="SIZE", default="75k", help="the size to get below (default: 75k)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be moved; change nothing")


def _prune(arguments: argparse.Namespace) -> Output:
    from holdfast.checks import agents_md
    from holdfast.workspace.upkeep import parse_size

    folder = _folder_of_page(arguments)
    found = folder.read(handover.AGENTS) if folder is not None else None
    if folder is None or found is None:
        raise Usage("There is no AGENTS.md in this project.", hint="")
    archive = (folder.read(_ARCHIVE) or b"").decode()
    page, kept, moved = agents_md.prune(found.decode(), archive, parse_size(arguments.target))
    if moved and not arguments.dry_run:
        # The archive first: a crash in between leaves an entry in both files, never in none.
        folder.write(_ARCHIVE, kept.encode())
        folder.write(handover.AGENTS, page.encode())
    size = len(page.encode())
    text = f"AGENTS.md has {plural(size, 'byte')}; nothing to move."
    if moved:
        verb = "Would move" if arguments.dry_run else "Moved"
        entries = plural(len(moved), "entry", "entries")
        text = f"{verb} {entries} to {_ARCHIVE}; AGENTS.md has {plural(size, 'byte')}."
    too_large = size > agents_md.MOST_BYTES
    if too_large:
        text += f" The limit is {agents_md.MOST_BYTES:,}: what is left has no date to move it by. Shorten it by hand."
    data = {
        "moved": [{"line": e.line, "date": e.date} for e in moved],
        "archive": _ARCHIVE,
        "size": size,
    }
    return Output(text, data, status=1 if too_large else 0)


def _folder_of_page(arguments: argparse.Namespace) -> ProjectFolder | None:
    """The folder of AGENTS.md: that of the workspace, or the current one if there is none."""
    from holdfast.workspace.project_files import ProjectFolder, project_folder_of

    try:
        with open_here(arguments) as workspace:
            return project_folder_of(workspace.where)
    except NoWorkspace:
        if arguments.workspace:
            raise
        return ProjectFolder(os.getcwd())


_ARCHIVE = "AGENTS.archive.md"


COMMANDS = {
    "handoff": Command(
        "Hand the session over: write handoff/latest.md.",
        _handoff_arguments,
        _handoff,
        ("holdfast handoff", 'holdfast handoff "The migration is half done; see D-12"'),
        writes=True,
    ),
    "view": Command(
        "Show a view of the session.",
        _view_arguments,
        _view,
        (
            "holdfast view LOOPS.md",
            "holdfast view CONTEXT.md --write",
            "holdfast view handoff --session latest --write",
        ),
    ),
    "agents-md": group(
        "Maintain holdfast's block in AGENTS.md, and the file's size.",
        {
            "block": Command(
                "Update the block; the rest of the file is unchanged.",
                _agents_arguments,
                _agents,
                (
                    "holdfast agents-md block",
                    "holdfast agents-md block --check",
                    "holdfast agents-md block --file CLAUDE.md",
                ),
            ),
            "prune": Command(
                "Move the oldest dated entries to an archive file.",
                _prune_arguments,
                _prune,
                ("holdfast agents-md prune", "holdfast agents-md prune --target 50k --dry-run"),
            ),
        },
    ),
}
