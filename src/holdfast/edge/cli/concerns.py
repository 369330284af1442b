"""risk, blocker, next, error, legal, compaction."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from holdfast.core.concepts.risk import SEVERITIES
from holdfast.edge.cli.command import Command, Output, done, nothing, on_session, verbs
from holdfast.edge.cli.references import anchor_argument, given_anchors
from holdfast.edge.render import clean, paint, table, when
from holdfast.workspace.handle import Receipt
from holdfast.workspace.session import Session

Run = Callable[[argparse.Namespace], Output]


def _text_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what it is")


def _close_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="its id, such as R-1")
    parser.add_argument("outcome", help="what became of it")


def _writing(call: Callable[[Session, argparse.Namespace], Receipt], said: str) -> Run:
    """A command that makes one call and prints the result."""

    def run(arguments: argparse.Namespace) -> Output:
        def act(session: Session) -> Output:
            receipt = call(session, arguments)
            return done(f"{said} {paint(receipt.id, 'bold')}.", receipt)

        return on_session(arguments, act)

    return run


def _listing(name: str, nothing_said: str) -> Run:
    """A command that lists the open entries of a collection."""

    def run(arguments: argparse.Namespace) -> Output:
        def act(session: Session) -> Output:
            found = session.peek().state[name]
            rows: list[tuple[str, ...]] = [
                (entry["id"], when(entry["at"]), clean(entry["by"], 20), clean(entry["text"], 200))
                for entry in found["open"].values()
            ]
            text = table(rows, ("id", "since", "by", "text"), keep=3) if rows else nothing_said
            return Output(text, {"open": list(found["open"].values()), "closed": found["closed"]})

        return on_session(arguments, act, publish=False)

    return run


def _risk_arguments(parser: argparse.ArgumentParser) -> None:
    _text_argument(parser)
    parser.add_argument("--severity", metavar="LEVEL", help=", ".join(SEVERITIES))


def _done_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="its id, such as N-1")
    parser.add_argument("outcome", nargs="?", help="what came of it")


def _error_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what went wrong")
    parser.add_argument("--tried", metavar="TEXT", help="what was tried")
    parser.add_argument("--remedy", metavar="TEXT", help="what was done about it")
    anchor_argument(parser)


def _error(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.add_error(
            arguments.text,
            tried=arguments.tried,
            remedy=arguments.remedy,
            at=given_anchors(arguments.at),
            op=arguments.op,
            expect=arguments.expect,
        )
        text = f"Recorded {paint(receipt.id, 'bold')}."
        if not arguments.remedy:
            text += f" When fixed: holdfast error remedy {receipt.id} REMEDY"
        return done(text, receipt)

    return on_session(arguments, act)


def _remedy_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the error, such as E-2")
    parser.add_argument("remedy", help="what was done about it")


def _legal_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what was reviewed")
    parser.add_argument("--outcome", required=True, metavar="TEXT", help="what came of it")


def _compaction_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--summary", metavar="TEXT", help="what the context was compacted to")
    parser.add_argument("--trigger", metavar="NAME", help="what did it, such as auto or manual")


def _compaction(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.compacted(
            arguments.summary, trigger=arguments.trigger, op=arguments.op, expect=arguments.expect
        )
        count = session.peek().state["compactions"]["count"]
        return done(f"Recorded compaction {count}.", receipt, count=count)

    return on_session(arguments, act)


COMMANDS = {
    "risk": verbs(
        "What may go wrong.",
        {
            "add": Command(
                "Record a risk.",
                _risk_arguments,
                _writing(
                    lambda s, a: s.add_risk(a.text, severity=a.severity, op=a.op, expect=a.expect), "Recorded"
                ),
                ('holdfast risk add "The vendor may drop v1" --severity high',),
                writes=True,
            ),
            "close": Command(
                "Close a risk, with the outcome.",
                _close_arguments,
                _writing(lambda s, a: s.close_risk(a.id, a.outcome, op=a.op, expect=a.expect), "Closed"),
                ('holdfast risk close R-1 "we moved to v2"',),
                writes=True,
            ),
            "list": Command(
                "List the open risks.", nothing, _listing("risks", "No open risks."), ("holdfast risk list",)
            ),
        },
        default="list",
    ),
    "blocker": verbs(
        "What blocks the whole session.",
        {
            "add": Command(
                "Record a blocker.",
                _text_argument,
                _writing(lambda s, a: s.add_blocker(a.text, op=a.op, expect=a.expect), "Recorded"),
                ('holdfast blocker add "No access to staging"',),
                writes=True,
            ),
            "close": Command(
                "Close a blocker, with the outcome.",
                _close_arguments,
                _writing(lambda s, a: s.close_blocker(a.id, a.outcome, op=a.op, expect=a.expect), "Closed"),
                ('holdfast blocker close B-1 "access granted"',),
                writes=True,
            ),
            "list": Command(
                "List the open blockers.",
                nothing,
                _listing("blockers", "No open blockers."),
                ("holdfast blocker list",),
            ),
        },
        default="list",
    ),
    "next": verbs(
        "What to do next.",
        {
            "add": Command(
                "Record a next action.",
                _text_argument,
                _writing(lambda s, a: s.add_next(a.text, op=a.op, expect=a.expect), "Recorded"),
                ('holdfast next add "Ask for the March export"',),
                writes=True,
            ),
            "done": Command(
                "Mark a next action as done.",
                _done_arguments,
                _writing(lambda s, a: s.finish_next(a.id, a.outcome, op=a.op, expect=a.expect), "Done:"),
                ("holdfast next done N-1", 'holdfast next done N-1 "they sent it"'),
                writes=True,
            ),
            "list": Command(
                "List the next actions.",
                nothing,
                _listing("next", "No next actions."),
                ("holdfast next list",),
            ),
        },
        default="list",
    ),
    "error": verbs(
        "What went wrong, and what was done about it.",
        {
            "add": Command(
                "Record an error.",
                _error_arguments,
                _error,
                (
                    'holdfast error add "The import ran out of memory" --tried "more RAM"',
                    'holdfast error add "Port 5432 was taken" --remedy "stopped the other"',
                ),
                writes=True,
            ),
            "remedy": Command(
                "Record what was done about an error.",
                _remedy_arguments,
                _writing(lambda s, a: s.remedy_error(a.id, a.remedy, op=a.op, expect=a.expect), "Closed"),
                ('holdfast error remedy E-2 "read the file in parts"',),
                writes=True,
            ),
            "list": Command(
                "List the errors without a remedy.",
                nothing,
                _listing("errors", "No open errors."),
                ("holdfast error list",),
            ),
        },
        default="list",
    ),
    "legal": Command(
        "Record a legal review and its outcome.",
        _legal_arguments,
        _writing(
            lambda s, a: s.legal_review(a.text, outcome=a.outcome, op=a.op, expect=a.expect), "Recorded"
        ),
        ('holdfast legal "Licence of the parser" --outcome "MIT, may be shipped"',),
        writes=True,
    ),
    "compaction": Command(
        "Record that an agent's context was compacted.",
        _compaction_arguments,
        _compaction,
        (
            "holdfast compaction",
            'holdfast compaction --trigger auto --summary "Importer done, tests pending"',
        ),
        writes=True,
    ),
}
