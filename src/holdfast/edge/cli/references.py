"""ref."""

from __future__ import annotations

import argparse
import os

from holdfast.edge.cli.command import Command, Output, done, group, nothing, on_session
from holdfast.edge.render import clean, paint, plural, table, when
from holdfast.workspace.entries import stale_files
from holdfast.workspace.session import Session


def given_path(text: str) -> str:
    """A path as typed: relative to the current folder, if there is such a file; else as holdfast shows it."""
    here = os.path.join(os.getcwd(), text)
    return here if os.path.lexists(here) else text


def anchor_argument(parser: argparse.ArgumentParser) -> None:
    """The option of commands whose record can be about a place."""
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="PLACE",
        help="where: FILE, FILE:40-60, commit:SHA, branch:NAME, package:NAME@VERSION, URL; repeatable",
    )


def given_anchors(texts: list[str]) -> list[str]:
    """Anchors as typed: a file is relative to the current folder, if there is such a file."""
    found = []
    for text in texts:
        path, colon, lines = text.rpartition(":")
        whole = os.path.lexists(os.path.join(os.getcwd(), text)) or not colon
        found.append(given_path(text) if whole else f"{given_path(path)}:{lines}")
    return found


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a file inside the project")
    parser.add_argument(
        "--kind",
        choices=("context", "artifact"),
        default="context",
        help="input (context, default) or output",
    )


def _add(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.refer(
            given_path(arguments.path), kind=arguments.kind, op=arguments.op, expect=arguments.expect
        )
        entry = next(
            e for e in session.peek().state["references"]["open"].values() if e["commit"] == receipt.commit
        )
        text = f"Added {paint(clean(entry['path']), 'bold')} ({plural(entry['size'], 'byte')})."
        return done(text, receipt, reference=entry)

    return on_session(arguments, act)


def _list(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        entries = sorted(session.peek().state["references"]["open"].values(), key=lambda e: str(e["path"]))
        if not entries:
            return Output("No files. To add one: holdfast ref add PATH", {"references": []})
        rows = [
            (clean(e["path"], 80), str(e["kind"]), f"{e['size']:,}", when(e["at"]), clean(e["by"], 30))
            for e in entries
        ]
        return Output(table(rows, ("path", "kind", "bytes", "since", "by"), keep=0), {"references": entries})

    return on_session(arguments, act, publish=False)


def _drop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a path that `ref list` shows")


def _drop(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        known = session.peek().state["references"]["open"]
        path = arguments.path if arguments.path in known else given_path(arguments.path)
        receipt = session.unrefer(path, op=arguments.op, expect=arguments.expect)
        return done("Dropped the reference; the file is unchanged.", receipt)

    return on_session(arguments, act)


def _check(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        stale = stale_files(session)
        lines = [f"{paint(clean(e['problem']), 'yellow')}  {clean(e['path'])}" for e in stale]
        text = "\n".join(lines) or "All files are unchanged."
        return Output(text, {"stale": stale}, status=1 if stale else 0)

    return on_session(arguments, act, publish=False)


COMMANDS = {
    "ref": group(
        "Files that the session refers to, by path, size and hash.",
        {
            "list": Command("List the files.", nothing, _list, ("holdfast ref list",)),
            "add": Command(
                "Add a file as it is now.",
                _add_arguments,
                _add,
                ("holdfast ref add docs/plan.md", "holdfast ref add report.html --kind artifact"),
                writes=True,
            ),
            "drop": Command(
                "Drop a file from the list.",
                _drop_arguments,
                _drop,
                ("holdfast ref drop docs/plan.md",),
                writes=True,
            ),
            "check": Command(
                "List files that are missing or have changed.", nothing, _check, ("holdfast ref check",)
            ),
        },
    ),
}
