"""message."""

from __future__ import annotations

import argparse
import sys

from holdfast.edge.cli.command import Command, Output, at_least, done, group, on_session
from holdfast.edge.render import clean, paint, when
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
        return done("Kept.", receipt)

    return on_session(arguments, act)


def _recent_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("n", nargs="?", type=at_least(1), default=20, help="how many (default: 20)")


def _recent(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        messages = recent_messages(session, arguments.n)
        summary = session.peek().state["messages"]["summary"]
        lines = []
        if summary:
            lines += [paint(f"summary of {summary['covers']:,} messages", "bold"), clean(summary["text"]), ""]
        for message in messages:
            tool = f" {clean(message['tool'], 60)}" if "tool" in message else ""
            cut = (
                f" (the rest was in {clean(message['file'])}, which is gone or changed)"
                if "cut" in message
                else ""
            )
            lines.append(f"{paint(clean(message['role']) + tool, 'bold')}  {when(message['at'])}")
            lines += [clean(message["text"]) + cut, ""]
        data = {"session": session.id, "summary": summary, "messages": messages}
        return Output("\n".join(lines) or "No message yet.", data)

    return on_session(arguments, act, publish=False)


def _summarize_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="what was said so far, in short")
    parser.add_argument(
        "--keep", type=at_least(0), default=0, metavar="N", help="keep the last N messages beside it"
    )


def _summarize(arguments: argparse.Namespace) -> Output:
    def act(session: Session) -> Output:
        receipt = session.summarize(
            arguments.text, keep=arguments.keep, op=arguments.op, expect=arguments.expect
        )
        return done("The summary stands for the messages before it; the log has them all.", receipt)

    return on_session(arguments, act)


COMMANDS = {
    "message": group(
        "The end of the conversation, kept selectively.",
        {
            "recent": Command(
                "Show the last messages, and the summary of those before.",
                _recent_arguments,
                _recent,
                ("holdfast message recent", "holdfast message recent 5 --json"),
            ),
            "add": Command(
                "Keep a message or a tool's answer; a long one becomes a context file.",
                _add_arguments,
                _add,
                (
                    'holdfast message add user "Ship it on Friday"',
                    "make test | holdfast message add tool - --tool make",
                ),
                writes=True,
            ),
            "summarize": Command(
                "Put a summary in the place of the messages so far.",
                _summarize_arguments,
                _summarize,
                ('holdfast message summarize "Agreed on SQLite; open: backups" --keep 4',),
                writes=True,
            ),
        },
    ),
}
