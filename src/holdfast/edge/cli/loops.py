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
        return done(f"Recorded {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _explore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the loop, such as LOOP-007")


def _explore(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.explore_loop(arguments.id, op=arguments.op, expect=arguments.expect)
        return done(f"Exploring {paint(receipt.id, 'bold')}.", receipt)

    return on_session(arguments, act)


def _close_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the loop, such as LOOP-007")
    parser.add_argument("outcome", help="the answer")
    parser.add_argument("--decide", metavar="TEXT", help="record a decision in the same commit")
    parser.add_argument("--because", metavar="WHY", help="the reason for the decision (default: the outcome)")


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
        text = f"Closed {paint(receipt.id, 'bold')}."
        if decision:
            text += f" Recorded {paint(decision, 'bold')}."
        return done(text, receipt, decision=decision)

    return on_session(arguments, act)


def _list(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        loops = session.peek().state["loops"]
        rows: list[tuple[str, ...]] = [
            (loop["id"], loop["status"], when(loop["at"]), clean(loop["title"], 200))
            for loop in loops["open"].values()
        ]
        lines = (
            [table(rows, ("loop", "status", "captured", "question"), keep=3)] if rows else ["No open loops."]
        )
        for loop in loops["closed"][-5:]:
            became = f" ({loop['decision']})" if loop["decision"] else ""
            lines.append(f"closed {loop['id']}: {clean(loop['outcome'], 80)}{became}")
        return Output("\n".join(lines), {"open": list(loops["open"].values()), "closed": loops["closed"]})

    return on_session(arguments, act, publish=False)


COMMANDS = {
    "loop": verbs(
        "Open questions: record, explore and close them.",
        {
            "add": Command(
                "Record an open question.",
                _add_arguments,
                _add,
                ('holdfast loop add "Can one invoice mix types?" --context "March export"',),
                writes=True,
            ),
            "explore": Command(
                "Start to look into a question.",
                _explore_arguments,
                _explore,
                ("holdfast loop explore LOOP-007",),
                writes=True,
            ),
            "close": Command(
                "Close a question with its answer, or with a decision.",
                _close_arguments,
                _close,
                (
                    'holdfast loop close LOOP-007 "They never mix"',
                    'holdfast loop close LOOP-7 "They never mix" --decide "One table"',
                ),
                writes=True,
            ),
            "list": Command(
                "List the open questions and the last answers.", nothing, _list, ("holdfast loop list",)
            ),
        },
        default="list",
    ),
}
