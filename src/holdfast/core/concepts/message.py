"""Messages: the last part of a conversation, kept selectively.

The state has the last few messages; a summary replaces older ones. The text of a long message is a file in the
session's context folder, which the message names.
"""

from __future__ import annotations

from holdfast.core import contested
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any, Record

EVENTS = {"message.added": 1, "messages.summarized": 1}
STEPS: dict[Any, Any] = {}
KEPT = 20
LONG = 2000
"""Characters of a message that the state keeps; a longer one becomes a context file."""
ROLE_CAP = 40
SUMMARY_CAP = 8000


class ContextFile(Record):
    """The file that holds the text of a long message."""

    path: str
    size: int
    hash: str


def blank() -> dict[str, Any]:
    return {"messages": {"count": 0, "recent": [], "summary": None}}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    messages = state["messages"]
    messages["count"] += 1
    messages["recent"].append(entry(data, commit))
    del messages["recent"][:-KEPT]


def entry(data: dict[str, Any], commit: Commit) -> dict[str, Any]:
    """A message as stored in the state."""
    message = {"role": data["role"], "text": excerpt(data["text"], LONG), "at": commit.at, "by": commit.by}
    message |= {key: data[key] for key in ("tool", "file", "size", "hash") if data.get(key) is not None}
    return {**message, "origin": commit.origin, "commit": commit.id}


def _summarized(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    messages = state["messages"]
    messages["recent"] = [message for message in messages["recent"] if message["commit"] > data["through"]]
    messages["summary"] = {
        "text": data["text"],
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "covers": data["covers"],
    }
    # If two clones summarized concurrently, the register shows that the log has another summary.
    contested.put(state["registers"], "summary", one_line(data["text"], 200), data["saw"], commit)


FOLDS = {"message.added": _added, "messages.summarized": _summarized}
HEADLINES = {
    "message.added": lambda data: (
        f"Message by {one_line(data['role'])}{' ' + one_line(data['tool'], 60) if data.get('tool') else ''}: "
        f"{one_line(data['text'], 80)}"
    ),
    "messages.summarized": lambda data: (
        f"Summarized {data['covers']:,} messages: {one_line(data['text'], 80)}"
    ),
}


def check(role: str, text: str, tool: str | None = None) -> None:
    """Rule: whether a message may be stored. Called before its text is written to a file."""
    checked_text(role, "role", cap=ROLE_CAP)
    checked_text(text, "message", empty=tool is not None)
    if tool is not None:
        checked_text(tool, "tool", cap=NAME_CAP)


def add(
    state: dict[str, Any], role: str, text: str, tool: str | None = None, file: ContextFile | None = None
) -> list[Event]:
    """Add a message. With ``file``, that file has the whole text and the log its beginning."""
    check(role, text, tool)
    data: dict[str, Any] = {"role": role, "text": text}
    if tool is not None:
        data["tool"] = tool
    if file is not None:
        data |= {"text": text[:LONG], "file": file.path, "size": file.size, "hash": file.hash}
    return [Event("message.added", data)]


def summarize(state: dict[str, Any], text: str, keep: int = 0) -> list[Event]:
    """Replace all messages but the last ``keep``, and the previous summary, by a new summary."""
    messages = state["messages"]
    if isinstance(keep, bool) or not isinstance(keep, int) or not 0 <= keep <= KEPT:
        raise Refused(f"Between 0 and {KEPT} messages can be kept with a summary; nothing was written.")
    recent = messages["recent"]
    covered = recent[: len(recent) - keep]
    if not covered and messages["summary"] is None:
        raise Refused(
            "There is no message to summarize; nothing was written.",
            hint=Hint(Use("message.add"), " adds one."),
        )
    data = {
        "text": checked_text(text, "summary", cap=SUMMARY_CAP),
        "through": covered[-1]["commit"] if covered else "",
        "covers": messages["count"] - (len(recent) - len(covered)),
        "saw": contested.seen(state["registers"], "summary"),
    }
    return [Event("messages.summarized", data)]
