"""decide, settle, recover, decisions."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from holdfast.core.concepts.decision import RECOVERY
from holdfast.core.stream import PROJECT
from holdfast.edge.cli.command import (
    Command,
    Output,
    at_least,
    on_project,
    on_session,
    open_here,
    typed_time,
)
from holdfast.edge.cli.references import anchor_argument, given_anchors
from holdfast.edge.render import age, clean, paint, plural, when
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.decisions import DecisionCommands
from holdfast.workspace.entries import unsettled as unsettled_entries

if TYPE_CHECKING:
    from holdfast.workspace.decision_list import DecisionList


def _decide_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what was decided")
    parser.add_argument("--because", required=True, metavar="WHY", help="the reason")
    parser.add_argument("--action", help="what will be done now: the decision is unsettled until `settle`")
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
    anchor_argument(parser)
    action_arguments(parser)
    _project_argument(parser)


def action_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said of an action, for whoever finds it without an outcome."""
    parser.add_argument(
        "--done-when",
        metavar="WHAT",
        help="how to see that it was done: file:PATH, git-tag:NAME, git-branch:NAME, commit:ID, port:N",
    )
    parser.add_argument(
        "--recovery",
        choices=RECOVERY,
        help="if its outcome stays unknown: read-only and idempotent can be repeated, "
        "check-first after a look, never not at all",
    )


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
            at=given_anchors(arguments.at),
            done_when=arguments.done_when,
            recovery=arguments.recovery,
            op=arguments.op,
            expect=arguments.expect,
        )
        name = paint(receipt.id, "bold")
        action = arguments.action or arguments.done_when or arguments.recovery
        if action:
            then = f"holdfast settle {receipt.id} OUTCOME{' --project' if arguments.project else ''}"
            text = f"Recorded {name}. When done: {then}"
        else:
            text = f"Recorded {name}, a choice. (To announce what you do now: --action.)"
        data = {"id": receipt.id, "version": receipt.version, "commit": receipt.commit}
        return Output(text, {**data, "choice": not action})

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
    from holdfast.workspace.conditions import evaluated

    with open_here(arguments) as workspace:
        unsettled = evaluated(workspace, unsettled_entries(workspace))
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
        lines += _judgement(decision)
        option = f"--session {place}" if decision["user"] else "--project"
        lines.append(f"      holdfast settle {decision['id']} OUTCOME [--failed] {option}")
        lines.append("")
    return Output("\n".join(lines), {"unsettled": unsettled})


_CLASSES = {
    "read-only": "it changes nothing and can be run again",
    "idempotent": "it can be run again",
    "check-first": "look before it is run again",
    "never": "do not run it again",
}


def _judgement(decision: dict[str, Any]) -> list[str]:
    """Whether it looks done, what may be done if not, and what to do next."""
    from holdfast.workspace.conditions import shown

    lines = []
    if condition := shown(decision):
        lines.append(f"    done if  {clean(condition, 200)}")
    status = decision["status"]
    colour = {"done": "green", "not done": "red"}.get(status, "yellow")
    lines.append(f"    status   {paint(status, colour)}: {clean(decision['seen'], 200)}")
    if recovery := decision.get("recovery"):
        lines.append(f"    class    {recovery}: {_CLASSES[recovery]}")
    then = {
        "done": "Confirm it:",
        "not done": "Do it and record the outcome, or record that it was not done (--failed):",
    }
    return [*lines, f"    {then.get(status, 'Check whether it was done, then run:')}"]


_STATUSES = {
    "open": ("unsettled", "only announced actions without an outcome"),
    "settled": ("settled", "only those with an outcome"),
    "failed": ("failed", "only those that failed"),
    "choices": ("choice", "only choices, which need no outcome"),
}


def _decisions_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    for name, (_, said) in _STATUSES.items():
        which.add_argument(f"--{name}", action="store_true", help=said)
    parser.add_argument("--project", action="store_true", help="only decisions of the project itself")
    parser.add_argument("--by", metavar="ACTOR", help="only those of this actor")
    parser.add_argument("--since", metavar="WHEN", help="not before: 7d, 2026-01-21, 2026-01-21T14:30")
    parser.add_argument("--until", metavar="WHEN", help="not after")
    parser.add_argument("--grep", metavar="TEXT", help="only those with this text, in upper or lower case")
    parser.add_argument(
        "--limit",
        type=at_least(0),
        default=50,
        metavar="N",
        help="how many, newest first (default: 50; 0: all)",
    )


def _decisions(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace.anchors import standings
    from holdfast.workspace.decision_list import Wanted, decisions

    status = next((value for name, (value, _) in _STATUSES.items() if getattr(arguments, name)), None)
    with open_here(arguments) as workspace:
        stream = PROJECT if arguments.project else None
        if arguments.session:
            stream = workspace.session(arguments.session).stream
        wanted = Wanted(
            status,
            stream,
            arguments.by,
            typed_time(arguments.since) if arguments.since else None,
            typed_time(arguments.until) if arguments.until else None,
            arguments.grep.lower() if arguments.grep else None,
        )
        found = decisions(workspace, wanted, arguments.limit)
        for decision in found.entries:
            places = standings(workspace, decision["stream"], decision)
            decision["at_places"] = [place._asdict() for place in places]
    missed = [
        f"{clean(stream, 120)} could not be read: {clean(why, 200)}" for stream, why in found.unreadable
    ]
    data = {
        "decisions": found.entries,
        "total": found.total,
        "looked_at": found.looked_at,
        "unreadable": dict(found.unreadable),
    }
    if not found.total:
        many = plural(found.looked_at, "stream")
        nothing = f"No decision matches in {many} (sessions, archive and project)."
        return Output("\n".join([nothing, *missed]), data)
    lines = [_counted(found), ""]
    for decision in found.entries:
        lines += [*_listed(decision), ""]
    if found.total > len(found.entries):
        lines.append(f"{found.total - len(found.entries):,} more: --limit N shows them.")
    return Output("\n".join([*lines, *missed]), data)


def _counted(found: DecisionList) -> str:
    """How many decisions there are, and of which kinds."""
    counts = [
        plural(found.counts[status], "choice") if status == "choice" else f"{found.counts[status]:,} {status}"
        for status in ("unsettled", "settled", "failed", "choice")
        if status in found.counts
    ]
    return f"{plural(found.total, 'decision')}, newest first: {', '.join(counts)}"


_COLOURS = {"unsettled": "yellow", "failed": "red"}


def _listed(decision: dict[str, Any]) -> list[str]:
    """One decision of the list."""
    from holdfast.workspace.anchors import Standing
    from holdfast.workspace.clock import wall_clock

    status = decision["status"]
    mark = "" if status in ("settled", "choice") else f" [{paint(status, _COLOURS[status])}]"
    lines = [f"{paint(clean(decision['id'], 40), 'bold')}{mark}  {clean(decision['text'], 200)}"]
    rows = [
        ("because", "because"),
        ("action", "to do"),
        ("outcome", "outcome"),
        ("superseded_by", "replaced by"),
    ]
    lines += [f"    {label.ljust(8)} {clean(decision[key], 300)}" for key, label in rows if decision[key]]
    lines += [f"    at       {clean(Standing(**place), 200)}" for place in decision["at_places"]]
    place = f"{decision['user']}/{decision['session']}" if decision["user"] else "the project"
    who = f"{clean(decision['by'], 60)}, {age(decision['at'], wall_clock())}, in {clean(place, 120)}"
    return [*lines, f"    {paint(who, 'dim')}"]


COMMANDS = {
    "decide": Command(
        "Record a decision: a choice, or an action before it is done.",
        _decide_arguments,
        _decide,
        (
            'holdfast decide "Move to SQLite" --because "8 writers" --action "migrate"',
            'holdfast decide "Keep JSON" --because "git diff" --alternative YAML',
            'holdfast decide "No cache" --because "it is fast" --revisit-when "p95 > 1 s"',
            'holdfast decide "One lock" --because "order" --at src/db.py:40-60',
            'holdfast decide "Release" --because "all green" --done-when git-tag:v1.4',
        ),
        writes=True,
        details="With --action, --done-when or --recovery it is unsettled until its outcome is recorded, "
        "and `holdfast recover` lists it. "
        "Without, it is a choice and needs no outcome.",
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
        details="Each says done, not done or cannot tell, by a look at what its --done-when names. "
        "Nothing is run.",
        repairs=True,
    ),
    "decisions": Command(
        "List what was decided in all sessions, with reason and outcome.",
        _decisions_arguments,
        _decisions,
        (
            "holdfast decisions",
            "holdfast decisions --since 7d --grep sqlite",
            "holdfast decisions --open",
            "holdfast decisions --session 2026-01-21-a1b2c3d4 --json",
        ),
        details="Archived sessions and the project are included; `holdfast show ID --session S` shows one in full.",
    ),
}
