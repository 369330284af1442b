"""plan."""

from __future__ import annotations

import argparse

from holdfast.core import contested
from holdfast.edge.cli.command import Command, Output, done, on_session, verbs
from holdfast.edge.render import block, clean, paint, when
from holdfast.workspace.session import Session


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the plan, such as PLAN-2 (default: the only waiting one)")


def _propose_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", help="the plan in one line")
    parser.add_argument("--text", help="the plan in full")
    parser.add_argument("--supersedes", metavar="ID", help="the waiting plan that it replaces")


def _propose(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.propose_plan(
            arguments.title,
            arguments.text,
            supersedes=arguments.supersedes,
            op=arguments.op,
            expect=arguments.expect,
        )
        return done(
            f"Proposed {paint(receipt.id, 'bold')}. To approve: holdfast plan approve {receipt.id}",
            receipt,
        )

    return on_session(arguments, act)


def _approve_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--because", metavar="WHY", help="the reason")


def _approve(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.approve_plan(
            arguments.id, reason=arguments.because, op=arguments.op, expect=arguments.expect
        )
        return done(f"Approved {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _reject_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--because", required=True, metavar="WHY", help="the reason")


def _reject(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.reject_plan(
            arguments.id, arguments.because, op=arguments.op, expect=arguments.expect
        )
        return done(f"Rejected {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _edit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the new text of the plan")
    parser.add_argument("--id", help="the plan, such as PLAN-2 (default: the only waiting one)")


def _edit(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.edit_plan(arguments.id, arguments.text, op=arguments.op, expect=arguments.expect)
        return done(f"Changed {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _show(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        state = session.peek().state
        plans = state["plans"]
        lines = []
        for entry in plans["open"].values():
            lines.append(f"{paint(entry['id'], 'bold')}  {clean(entry['title'], 100)}")
            lines.append(
                f"    proposed {when(entry['at'])} by {clean(entry['by'], 60)}, revision {entry['revision']}"
            )
            if entry["text"]:
                lines += block(entry["text"], "  ")
            register = state["registers"].get(f"plan {entry['id']}", {})
            for rival in register.get("rivals", ()):
                lines.append(paint(f"    also edited by {clean(rival['by'], 60)}:", "yellow"))
                lines += block(rival["value"], "  ")
        for entry in plans["closed"][-5:]:
            why = f": {clean(entry['reason'], 80)}" if entry["reason"] else ""
            lines.append(f"{entry['id']}  {clean(entry['title'], 80)} ({entry['outcome']}{why})")
        contests = [
            contest for contest in contested.contests(state["registers"]) if contest["name"][:5] == "plan "
        ]
        data = {"open": list(plans["open"].values()), "closed": plans["closed"], "contested": contests}
        return Output("\n".join(lines) or "No plans. To propose one: holdfast plan propose TITLE", data)

    return on_session(arguments, act, publish=False)


COMMANDS = {
    "plan": verbs(
        "Plans: propose, edit, approve or reject them.",
        {
            "propose": Command(
                "Propose a plan for approval.",
                _propose_arguments,
                _propose,
                ('holdfast plan propose "Move to SQLite" --text "1. copy 2. check 3. switch"',),
                writes=True,
            ),
            "approve": Command(
                "Approve a plan.",
                _approve_arguments,
                _approve,
                ("holdfast plan approve", "holdfast plan approve PLAN-2"),
                writes=True,
            ),
            "reject": Command(
                "Reject a plan, with the reason.",
                _reject_arguments,
                _reject,
                ('holdfast plan reject --because "no rollback step"',),
                writes=True,
            ),
            "edit": Command(
                "Change the text of a plan.",
                _edit_arguments,
                _edit,
                ('holdfast plan edit "1. copy 2. check 3. switch 4. keep the old file"',),
                writes=True,
            ),
            "show": Command(
                "Show the waiting plans and the last closed ones.",
                _show_arguments,
                _show,
                ("holdfast plan show",),
            ),
        },
        default="show",
    ),
}
