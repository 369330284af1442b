"""message."""

from __future__ import annotations

import argparse
import sys

from holdfast.edge.cli.command import Command, Output, at_least, done, group, on_session
from holdfast.edge.render import block, clean, paint, plural, when
from holdfast.workspace.entries import recent_messages
from holdfast.workspace.session import Session


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", help="who speaks: user, assistant, system, tool …")
    parser.add_argument("text", help="what was said; - reads it from standard input")
    parser.add_argument("--tool", metavar="NAME", help="the tool that was called or that answered")


def _add(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        said = (
            sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
            if arguments.text == "-"
            else arguments.text
        )
        receipt = session.add_message(
            arguments.role, said, tool=arguments.tool, op=arguments.op, expect=arguments.expect
        )
        return done("Recorded.", receipt)

    return on_session(arguments, act)


def _recent_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("n", nargs="?", type=at_least(1), default=20, help="how many (default: 20)")


def _recent(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        messages = recent_messages(session, arguments.n)
        summary = session.peek().state["messages"]["summary"]
        lines = []
        if summary:
            lines += [
                paint(f"summary of {plural(summary['covers'], 'message')}", "bold"),
                *block(summary["text"]),
                "",
            ]
        for message in messages:
            tool = f" {clean(message['tool'], 60)}" if "tool" in message else ""
            cut = (
                f" (the rest was in {clean(message['file'], 200)}, which is gone or changed)"
                if "cut" in message
                else ""
            )
            lines.append(f"{paint(clean(message['role'], 60) + tool, 'bold')}  {when(message['at'])}")
            lines += [*block(message["text"] + cut), ""]
        data = {"session": session.id, "summary": summary, "messages": messages}
        return Output("\n".join(lines) or "No messages.", data)

    return on_session(arguments, act, publish=False)


def _summarize_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the summary")
    parser.add_argument(
        "--keep", type=at_least(0), default=0, metavar="N", help="keep the last N messages as well"
    )


def _summarize(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.summarize(
            arguments.text, keep=arguments.keep, op=arguments.op, expect=arguments.expect
        )
        return done("Recorded the summary. The messages before it stay in the log.", receipt)

    return on_session(arguments, act)


COMMANDS = {
    "message": group(
        "Messages of the conversation that are worth keeping.",
        {
            "recent": Command(
                "Show the last messages and the summary of earlier ones.",
                _recent_arguments,
                _recent,
                ("holdfast message recent", "holdfast message recent 5 --json"),
            ),
            "add": Command(
                "Record a message or a tool's answer.",
                _add_arguments,
                _add,
                (
                    'holdfast message add user "Ship it on Friday"',
                    "make test | holdfast message add tool - --tool make",
                ),
                writes=True,
            ),
            "summarize": Command(
                "Replace the messages so far by a summary.",
                _summarize_arguments,
                _summarize,
                ('holdfast message summarize "Agreed on SQLite; open: backups" --keep 4',),
                writes=True,
            ),
        },
    ),
}
