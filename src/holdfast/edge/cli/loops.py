"""loop."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, done, nothing, on_session, verbs
from holdfast.edge.render import clean, paint, table, when
from holdfast.workspace.session import Session


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", help="what is open")
    parser.add_argument("--context", metavar="TEXT", help="where it came up and what is known")


def _add(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.add_loop(
            arguments.question, context=arguments.context, op=arguments.op, expect=arguments.expect
        )
        return done(f"{paint(receipt.id, 'bold')} is kept.", receipt)

    return on_session(arguments, act)


def _explore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the loop, such as LOOP-007")


def _explore(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.explore_loop(arguments.id, op=arguments.op, expect=arguments.expect)
        return done(f"{paint(receipt.id, 'bold')} is being explored.", receipt)

    return on_session(arguments, act)


def _close_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the loop, such as LOOP-007")
    parser.add_argument("outcome", help="the answer")
    parser.add_argument("--decide", metavar="TEXT", help="make a decision of it, in the same commit")
    parser.add_argument("--because", metavar="WHY", help="the reason of the decision (default: the outcome)")


def _close(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.close_loop(
            arguments.id,
            arguments.outcome,
            decide=arguments.decide,
            because=arguments.because,
            op=arguments.op,
            expect=arguments.expect,
        )
        closed = [loop for loop in session.peek().state["loops"]["closed"] if loop["id"] == receipt.id]
        decision = closed[-1]["decision"] if closed else None
        text = f"{paint(receipt.id, 'bold')} is closed."
        if decision:
            text += f" It became {paint(decision, 'bold')}."
        return done(text, receipt, decision=decision)

    return on_session(arguments, act)


def _list(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        loops = session.peek().state["loops"]
        rows: list[tuple[str, ...]] = [
            (loop["id"], loop["status"], when(loop["at"]), clean(loop["title"], 80))
            for loop in loops["open"].values()
        ]
        lines = [table(rows, ("loop", "status", "captured", "question"))] if rows else ["No open loop."]
        for loop in loops["closed"][-5:]:
            became = f" ({loop['decision']})" if loop["decision"] else ""
            lines.append(f"closed {loop['id']}: {clean(loop['outcome'], 80)}{became}")
        return Output("\n".join(lines), {"open": list(loops["open"].values()), "closed": loops["closed"]})

    return on_session(arguments, act, publish=False)


COMMANDS = {
    "loop": verbs(
        "Open questions: keep them, explore them, close them with an outcome.",
        {
            "add": Command(
                "Keep an open question.",
                _add_arguments,
                _add,
                ('holdfast loop add "Can one invoice hold two types?" --context "seen in the March export"',),
                writes=True,
            ),
            "explore": Command(
                "Begin to look into a question.",
                _explore_arguments,
                _explore,
                ("holdfast loop explore LOOP-007",),
                writes=True,
            ),
            "close": Command(
                "Answer a question; the answer can become a decision.",
                _close_arguments,
                _close,
                (
                    'holdfast loop close LOOP-007 "They never mix"',
                    'holdfast loop close LOOP-7 "They never mix" --decide "One table for all" --because "no mixing"',
                ),
                writes=True,
            ),
            "list": Command(
                "Show the open questions and the last answers.", nothing, _list, ("holdfast loop list",)
            ),
        },
        default="list",
    ),
}
