"""Importing a host's transcript: a conversation becomes a session after the fact.

What hooks would have recorded is recorded: prompts, the last words of every turn, compaction summaries, the files that
were edited, the commands that still fail, the last plan. Each keeps the time at which it happened. Importing again
adds nothing; a transcript that has grown adds what is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.core import concepts, failures, fold, stated, summary_lines
from holdfast.core.codec import Commit, Event
from holdfast.core.foreign import Left
from holdfast.core.hashing import blake2b
from holdfast.core.requests import goal_of, is_request
from holdfast.core.text import both_ends, one_line
from holdfast.errors import HoldfastError, Refused
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace import capture
from holdfast.workspace.imports import REHEARSED, seen_now
from holdfast.workspace.secrets_filter import passed_value
from holdfast.workspace.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.workspace.session import Session

TOGETHER = 100
"""Steps per commit."""
FILES = 100
COMMANDS = 10
_OUTSIDE = "not a file of this project"


class Step(Record):
    """One thing that a transcript says, and its line: a conversation's id, a prompt, words of the agent, a summary, an
    edit, a command that ran, a plan."""

    line: int
    kind: str
    data: dict[str, Any]
    at: str = ""


class Taken(Record):
    """What an import did."""

    file: str
    host: str
    session: str
    taken: dict[str, int]
    """How many new records there are, by kind."""
    known: int
    """Records that an earlier import had taken."""
    left: list[Left]
    secrets: list[Left]
    """Lines with a secret, which was replaced by a placeholder (or allowed)."""


def import_transcript(workspace: Workspace, name: str, host: str, items: Iterable[Step | Left]) -> Taken:
    """Import a transcript as a session of its own."""
    own = Workspace(
        workspace.store,
        user=workspace.user,
        by=host,
        origin="import",
        secrets=workspace.secrets,
        channel="import",
        surroundings=workspace.surroundings,
    )
    left: list[Left] = []
    secrets: list[Left] = []
    steps: list[Step] = []
    for item in items:
        if isinstance(item, Left):
            left.append(item)
        else:
            steps.append(_cleaned(own, item, secrets))
    found = _reduced(steps)
    prompts = [step.data["text"] for step in found if step.kind == "prompt"]
    asked = next(filter(is_request, prompts), prompts[0] if prompts else "")
    if not asked:
        raise Refused(
            f"{name} has no prompt in it; nothing was written.", hint="Is it a transcript of another host?"
        )
    conversation = next((step.data["id"] for step in steps if step.kind == "conversation"), "") or name
    key = blake2b(f"{host}:{conversation}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    current = workspace.current()
    session = own.start(goal_of(asked), op=f"transcript:{key}")
    if current is not None:
        workspace.switch(current)
    run = _Run(session, host, key)
    run.commit_all(found)
    own.publish()
    left += run.left
    left.sort(key=lambda each: each.line)
    return Taken(name, host, f"{session.user}/{session.id}", run.taken, run.known, left, secrets)


def _cleaned(workspace: Workspace, step: Step, secrets: list[Left]) -> Step:
    """A step without secrets, before its texts are shortened: half a token would not be recognised."""
    data, _ = passed_value(workspace, step.data, "transcript")
    if data != step.data:
        secrets.append(Left(step.line, step.kind, "a placeholder was kept in its place"))
    return step._replace(data=data)


def _reduced(steps: list[Step]) -> list[Step]:
    """What a session keeps: of the agent's words the last of every turn, of edits, commands and plans the latest."""
    kept: list[Step] = []
    words: Step | None = None
    edits: dict[str, Step] = {}
    runs: dict[str, Step] = {}
    plan: Step | None = None
    for step in steps:
        if step.kind == "said":
            words = step._replace(kind="final")
        elif step.kind == "edit":
            edits.pop(step.data["path"], None)
            edits[step.data["path"]] = step
        elif step.kind == "ran":
            name = failures.plain(step.data["command"])
            runs.pop(name, None)
            if step.data["status"]:
                runs[name] = step
        elif step.kind == "plan":
            plan = step
        elif step.kind in ("prompt", "summary") and step.data["text"].strip():
            if words is not None:
                kept.append(words)
                words = None
            kept.append(step)
    last = [step for step in (words, plan) if step is not None]
    rest = [*list(edits.values())[-FILES:], *list(runs.values())[-COMMANDS:], *last]
    return sorted([*kept, *rest], key=lambda step: step.line)


class _Run:
    """The steps of one transcript on their way into a session."""

    def __init__(self, session: Session, host: str, key: str) -> None:
        self.session, self.host, self.key = session, host, key
        self.taken: dict[str, int] = {}
        self.known = 0
        self.left: list[Left] = []

    def commit_all(self, steps: list[Step]) -> None:
        known = self._taken_before()
        fresh = [step for step in steps if _hash(step) not in known]
        self.known = len(steps) - len(fresh)
        for start in range(0, len(fresh), TOGETHER):
            self._commit(fresh[start : start + TOGETHER])

    def _taken_before(self) -> set[str]:
        found: set[str] = set()
        if self.session.peek().state["imports"]["taken"]:
            for commit in self.session.stored_commits():
                for event in commit.events:
                    if event.type == "import.took":
                        found.update(event.data["hashes"])
        return found

    def _commit(self, steps: list[Step]) -> None:
        done: list[tuple[Step, str]] = []

        def rule(state: dict[str, Any], mint: Any) -> list[Event]:
            done.clear()
            rehearsed = json.loads(json.dumps(state))
            events: list[Event] = []
            for step in steps:
                try:
                    made = [_dated(event, step.at) for event in self._events(rehearsed, mint, step)]
                except HoldfastError as error:
                    done.append((step, error.message))
                    continue
                fold.fold(rehearsed, [Commit(REHEARSED, "", "", "import", None, tuple(made), "")])
                events += [seen_now(event, state) for event in made]
                done.append((step, ""))
            return [concepts.imports.took([_hash(step) for step in steps]), *events]

        op = blake2b("".join(map(_hash, steps)).encode(), digest_size=12).hexdigest()
        self.session.commit(rule, op=f"transcript:{self.key}:{op}")
        for step, why in done:
            if why:
                self.left.append(
                    Left(step.line, one_line(json.dumps(step.data, ensure_ascii=False), 200), why)
                )
            else:
                self.taken[step.kind] = self.taken.get(step.kind, 0) + 1

    def _events(self, state: dict[str, Any], mint: Any, step: Step) -> list[Event]:
        data = step.data
        if step.kind in ("prompt", "final", "summary"):
            return [*self._words(state, step), *self._proposed(state, mint, step)]
        if step.kind == "ran":
            return concepts.error.add(state, mint, capture.failure(data["command"], data["output"]))
        if step.kind == "edit":
            return self._edited(state, data["path"])
        return self._planned(state, mint, data["steps"])

    def _words(self, state: dict[str, Any], step: Step) -> list[Event]:
        text = step.data["text"].strip()
        words = both_ends(text, capture.WORDS_LENGTH)
        if step.kind == "prompt":
            return concepts.message.add(state, "user", words)
        if step.kind == "summary":
            return concepts.compaction.add(text[: capture.SUMMARY_LENGTH], "transcript")
        action = " ".join(both_ends(words, capture.ACTION_LENGTH).split())
        return [*concepts.message.add(state, "assistant", words), *concepts.session.stop(action)]

    def _proposed(self, state: dict[str, Any], mint: Any, step: Step) -> list[Event]:
        """What the words decide or demand."""
        text = step.data["text"]
        if step.kind == "prompt":
            return capture.proposals(state, mint, stated.in_prompt(text), "prompt", self.session, self.host)
        found = summary_lines.read(text) if step.kind == "summary" else []
        source = "summary" if step.kind == "summary" else "message"
        return capture.proposals(
            state, mint, found or stated.in_message(text), source, self.session, self.host
        )

    def _edited(self, state: dict[str, Any], path: str) -> list[Event]:
        files = self.session.files
        try:
            file = files.look(files.name(path))
        except HoldfastError:
            raise Refused(_OUTSIDE) from None
        return concepts.reference.add(state, file.path, file.size, file.hash)

    def _planned(self, state: dict[str, Any], mint: Any, steps: list[list[str]]) -> list[Event]:
        events: list[Event] = []
        for title, status in steps:
            if title.strip() and status not in ("completed", "done", "cancelled"):
                events += concepts.task.add(state, mint, one_line(title, 200))
        return events


def _dated(event: Event, at: str) -> Event:
    """The event with the time at which it happened, where it has one."""
    return event._replace(data={**event.data, "at": at}) if at and event.type in fold.DATED else event


def _hash(step: Step) -> str:
    data = {key: value for key, value in step.data.items() if key != "output"}
    plain = json.dumps([step.kind, data, step.at], ensure_ascii=False, sort_keys=True)
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
