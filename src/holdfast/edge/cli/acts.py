"""do."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, done, on_session
from holdfast.edge.render import clean, paint
from holdfast.workspace.session import Session


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="*", help="a slash action and its text; without it, show the menu")


def _do(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        if not arguments.action:
            return _menu(session)
        left = session.do(" ".join(arguments.action), op=arguments.op, expect=arguments.expect)
        if isinstance(left, str):
            from holdfast.edge.cli.sessions import show

            return show(left, session)
        about = f" ({left.id})" if left.id else ""
        said = (
            session.peek().state["recent"][-1]["text"]
            if not left.repeated
            else "Already recorded; nothing was written."
        )
        return done(f"{clean(said, 160)}{about if left.id not in said else ''}", left)

    return on_session(arguments, act)


def _menu(session: Session) -> Output:
    menu = session.menu()
    width = max(len(action.usage) for action in menu)
    lines = []
    for title, core in (("core", True), ("now", False)):
        chosen = [action for action in menu if action.core is core]
        if chosen:
            lines.append(paint(title, "dim"))
            lines += [f"  {action.usage.ljust(width)}  {clean(action.does, 100)}" for action in chosen]
    data = [{"action": f"/{a.name}", "usage": a.usage, "does": a.does, "core": a.core} for a in menu]
    return Output("\n".join(lines), {"session": session.id, "actions": data})


COMMANDS = {
    "do": Command(
        "Run a slash action, or show the menu.",
        _arguments,
        _do,
        ("holdfast do", 'holdfast do "/close-loop LOOP-007 They never mix"', "holdfast do /complete-phase"),
        writes=True,
    ),
}
