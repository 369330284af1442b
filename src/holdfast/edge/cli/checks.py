"""validate, lint, verify, sync, advise, schema."""

from __future__ import annotations

import argparse
import json
import os
import sys

from holdfast.edge.cli.command import Command, Output, allow_secret, open_here
from holdfast.edge.cli.progress import show_checks
from holdfast.edge.render import clean, paint
from holdfast.errors import NoWorkspace, Usage
from holdfast.typed import TYPE_CHECKING
from holdfast.views.markdown import visible_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.checks.finding import Finding, Rule

_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}


def _format_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=("text", "sarif", "github"),
        default="text",
        help="the output format (default: text)",
    )


def _reported(
    arguments: argparse.Namespace, found: list[Finding], rules: Iterable[Rule], fine: str
) -> Output:
    from holdfast.checks import finding

    status = 1 if any(f.rule.level != "note" for f in found) else 0
    data = {"findings": [f.as_data() for f in found]}
    if arguments.format == "sarif":
        return Output(
            visible_json(json.dumps(finding.sarif(found, rules), ensure_ascii=False, indent=2)),
            data,
            status,
        )
    if arguments.format == "github":
        return Output(finding.github(found), data, status)
    lines = [
        f"{paint(f.rule.level, _STYLES[f.rule.level])} {f.rule.id}  {clean(f.path, 200)}"
        f"{f':{f.line}' if f.line else ''}: {clean(f.message, 300)} {paint(clean(f.rule.advice, 200), 'dim')}"
        for f in found
    ]
    return Output("\n".join(lines) if found else paint(fine, "green"), data, status)


def _validate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files to check (default: the workspace)",
    )
    _format_argument(parser)


def _validate(arguments: argparse.Namespace) -> Output:
    from holdfast.checks import validate

    if arguments.files:
        found = [finding for path in arguments.files for finding in validate.validate_file(path)]
    else:
        show_checks(arguments)
        with open_here(arguments) as workspace:
            found = validate.validate_workspace(workspace)
    return _reported(arguments, found, validate.RULES, "No problems found.")


def _lint_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", help="the project's folder (default: that of the workspace, or here)"
    )
    parser.add_argument("--rule", action="append", metavar="ID", help="only this rule; repeatable")
    parser.add_argument("--rules", action="store_true", help="list all rules")
    _format_argument(parser)


def _lint(arguments: argparse.Namespace) -> Output:
    from holdfast.checks import lint

    if arguments.rules:
        lines = [f"{rule.id}  {rule.level.ljust(7)}  {rule.summary}" for rule in lint.RULES.values()]
        return Output("\n".join(lines), {"rules": [rule._asdict() for rule in lint.RULES.values()]})
    unknown = set(arguments.rule or ()) - lint.RULES.keys()
    if unknown:
        raise Usage(
            f"There is no rule {', '.join(sorted(unknown))[:80]}.", hint="`holdfast lint --rules` lists them."
        )
    found = lint.lint(_folder(arguments), only=set(arguments.rule) if arguments.rule else None)
    return _reported(arguments, found, lint.RULES.values(), "No problems found.")


def _folder(arguments: argparse.Namespace) -> str:
    if arguments.folder:
        if not os.path.isdir(arguments.folder):
            raise Usage(f"{arguments.folder} is not a folder.")
        return str(arguments.folder)
    from holdfast.workspace import discovery

    try:
        return os.path.dirname(
            discovery.find(arguments.workspace or os.getcwd(), told=bool(arguments.workspace))
        )
    except NoWorkspace:
        return os.getcwd()


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--silent", metavar="AGE", default="2h", help="how long a worker may be silent (default: 2h)"
    )
    _format_argument(parser)


def _verify(arguments: argparse.Namespace) -> Output:
    from holdfast.checks import verify
    from holdfast.core import timestamps
    from holdfast.workspace.clock import wall_clock

    now = wall_clock()
    with open_here(arguments) as workspace:
        found = verify.verify(workspace, now=now, silent=now - timestamps.parse(arguments.silent, now))
    return _reported(arguments, found, verify.RULES, "No problems found.")


def _sync_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--accept", action="store_true", help="record the changes; without it they are only shown"
    )
    allow_secret(parser)


def _sync(arguments: argparse.Namespace) -> Output:
    from holdfast.workspace import sync

    with open_here(arguments) as workspace:
        session = workspace.session(arguments.session)
        seen = sync.accept(session) if arguments.accept else sync.drift(session)
    lines = [clean(line, 300) for line in sync.report(seen)]
    if arguments.accept:
        lines.append("Recorded the changes. STATE.md is regenerated; the edited text is in the log.")
    elif seen.edited:
        lines.append("To record the changes: holdfast sync --accept. Until then the file is not touched.")
    data = {
        "edited": seen.edited,
        "accepted": bool(arguments.accept),
        "changes": [change._asdict() for change in seen.changes],
        "left": [left._asdict() for left in seen.left],
    }
    return Output("\n".join(lines), data, 1 if seen.edited and not arguments.accept else 0)


def _advise_arguments(parser: argparse.ArgumentParser) -> None:
    from holdfast.checks.advise import QUESTIONS

    for question in QUESTIONS:
        parser.add_argument(f"--{question.name}", choices=("yes", "no"), help=question.text)


def _advise(arguments: argparse.Namespace) -> Output:
    from holdfast.checks.advise import NEED, QUESTIONS, advise, needs_memory

    answers = {
        question.name: getattr(arguments, question.name) == "yes"
        for question in QUESTIONS
        if getattr(arguments, question.name) is not None
    }
    if not answers:
        if arguments.json or not sys.stdin.isatty():
            raise Usage(
                "Without a terminal, give the answers as options.",
                hint="holdfast advise --steps yes --users no",
            )
        for question in QUESTIONS:
            if question.name not in NEED and not needs_memory(answers)[0]:
                break
            if question.name in NEED and needs_memory({"fits": True, **answers})[0]:
                continue
            sys.stdout.write(f"{question.text} [y/N] ")
            sys.stdout.flush()
            answers[question.name] = sys.stdin.readline().strip().lower().startswith("y")
    advice = advise(answers)
    if not advice.memory:
        return Output(f"You need no memory: {advice.memory_because}.", advice._asdict())
    lines = [
        f"You need memory: {advice.memory_because}. Kind: {advice.kind}.",
        f"Isolate by {advice.isolation}: {advice.isolation_because}.",
        f"Engine {paint(advice.engine, 'bold')} ({advice.url}): {advice.engine_because}.",
    ]
    return Output("\n".join(lines), advice._asdict())


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="which one (default: list them)")


def _schema(arguments: argparse.Namespace) -> Output:
    from holdfast.checks import schema

    if arguments.name is None:
        return Output("\n".join(schema.NAMES), {"schemas": list(schema.NAMES)})
    text = schema.text(arguments.name)
    return Output(text, {"schema": json.loads(text)})


COMMANDS = {
    "validate": Command(
        "Check commits, views and session-state.json against schemas.",
        _validate_arguments,
        _validate,
        ("holdfast validate", "holdfast validate state/session-state.json --format github"),
    ),
    "lint": Command(
        "Find bad practice: large states, long instructions, secrets.",
        _lint_arguments,
        _lint,
        ("holdfast lint", "holdfast lint --format sarif", "holdfast lint --rules"),
    ),
    "verify": Command(
        "Check that recorded files, branches, commits and facts hold.",
        _verify_arguments,
        _verify,
        ("holdfast verify", "holdfast verify --silent 30m --json"),
    ),
    "sync": Command(
        "Show or record the changes of a hand-edited STATE.md.",
        _sync_arguments,
        _sync,
        ("holdfast sync", "holdfast sync --accept"),
    ),
    "advise": Command(
        "Advise whether you need memory, and which engine.",
        _advise_arguments,
        _advise,
        ("holdfast advise", "holdfast advise --steps yes --users yes --json"),
    ),
    "schema": Command(
        "Print a JSON Schema of what holdfast writes or reads.",
        _schema_arguments,
        _schema,
        ("holdfast schema", "holdfast schema session-state"),
    ),
}
