"""decide, settle, recover."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from holdfast.edge.cli.command import Command, Output, on_project, on_session, open_here
from holdfast.edge.render import clean, paint, plural, when
from holdfast.workspace.decisions import DecisionCommands
from holdfast.workspace.entries import unsettled as unsettled_entries


def _decide_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what was decided")
    parser.add_argument("--because", required=True, metavar="WHY", help="the reason")
    parser.add_argument("--action", help="what will be done now; settle it afterwards")
    parser.add_argument(
        "--alternative",
        action="append",
        default=[],
        metavar="TEXT",
        help="an option that was not chosen; repeatable",
    )
    parser.add_argument("--revisit-when", metavar="TEXT", help="when to decide again")
    parser.add_argument("--loop", metavar="ID", help="the loop that it answers")
    parser.add_argument("--task", metavar="ID", help="the task that it belongs to")
    parser.add_argument("--risk", metavar="ID", help="the risk that it is about")
    parser.add_argument("--supersedes", metavar="ID", help="the earlier decision that it replaces")
    _project_argument(parser)


def _project_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--project", action="store_true", help="a decision of the whole project, not of a session"
    )


def _where(arguments: argparse.Namespace, act: Callable[[DecisionCommands], Output]) -> Output:
    return on_project(arguments, act) if arguments.project else on_session(arguments, act)


def _decide(arguments: argparse.Namespace) -> Output:
    def act(place: DecisionCommands) -> Output:
        receipt = place.decide(
            arguments.text,
            because=arguments.because,
            action=arguments.action,
            alternatives=arguments.alternative,
            revisit_when=arguments.revisit_when,
            loop=arguments.loop,
            task=arguments.task,
            risk=arguments.risk,
            supersedes=arguments.supersedes,
            op=arguments.op,
            expect=arguments.expect,
        )
        then = f"holdfast settle {receipt.id} OUTCOME{' --project' if arguments.project else ''}"
        text = f"Recorded {paint(receipt.id, 'bold')}. When done: {then}"
        return Output(text, {"id": receipt.id, "version": receipt.version, "commit": receipt.commit})

    return _where(arguments, act)


def _settle_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the decision, such as D-12")
    parser.add_argument("outcome", help="how it turned out")
    parser.add_argument("--failed", action="store_true", help="it did not work")
    _project_argument(parser)


def _settle(arguments: argparse.Namespace) -> Output:
    def act(place: DecisionCommands) -> Output:
        receipt = place.settle(
            arguments.id, arguments.outcome, ok=not arguments.failed, op=arguments.op, expect=arguments.expect
        )
        text = f"Settled {paint(receipt.id, 'bold')}{' as failed' if arguments.failed else ''}."
        return Output(text, {"id": receipt.id, "version": receipt.version, "commit": receipt.commit})

    return _where(arguments, act)


def _recover_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # none of its own


def _recover(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        unsettled = unsettled_entries(workspace)
    if not unsettled:
        return Output("No unsettled decisions.", {"unsettled": []})
    lines = [f"{plural(len(unsettled), 'unsettled decision')} (oldest first):", ""]
    for decision in unsettled:
        place = f"{decision['user']}/{decision['session']}" if decision["user"] else decision["session"]
        lines.append(f"{paint(decision['id'], 'bold')}  {clean(decision['text'], 200)}")
        lines.append(f"    by {clean(decision['by'], 60)}, {when(decision['at'])}, in {place}")
        lines.append(f"    because  {clean(decision['because'], 200)}")
        if decision["action"]:
            lines.append(f"    planned  {clean(decision['action'], 200)}")
        option = f"--session {place}" if decision["user"] else "--project"
        lines.append("    Check whether it was done, then run:")
        lines.append(f"      holdfast settle {decision['id']} OUTCOME [--failed] {option}")
        lines.append("")
    return Output("\n".join(lines), {"unsettled": unsettled})


COMMANDS = {
    "decide": Command(
        "Record a decision before you act on it.",
        _decide_arguments,
        _decide,
        (
            'holdfast decide "Move to SQLite" --because "8 writers" --action "migrate"',
            'holdfast decide "Keep JSON" --because "git diff" --alternative YAML',
            'holdfast decide "No cache" --because "it is fast" --revisit-when "p95 > 1 s"',
        ),
        writes=True,
    ),
    "settle": Command(
        "Record the outcome of a decision.",
        _settle_arguments,
        _settle,
        (
            'holdfast settle D-12 "migrated, 214 rows"',
            'holdfast settle D-12 "disk full, rolled back" --failed',
        ),
        writes=True,
    ),
    "recover": Command(
        "List decisions without an outcome, in all sessions.",
        _recover_arguments,
        _recover,
        ("holdfast recover", "holdfast recover --json"),
        repairs=True,
    ),
}
