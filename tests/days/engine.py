"""The day simulator: agents in hosts, a project in git, questions at the end, and the score of the next brief."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import holdfast
from holdfast.core.tokens import estimate
from holdfast.edge.hooks import answered
from holdfast.packages.hosts import HOOKS
from holdfast.workspace.setup import init

from .dialects import DIALECTS, Claude, Payload, Todo

SILENT, DECIDES = "never calls us", "decides"
VARIANTS = (SILENT, DECIDES)
BUDGET = 2_000
MINUTE = 60_000_000_000
KEYS = ("additionalContext", "context")


class Question(NamedTuple):
    """What the next session must know, and the literal facts that answer it."""

    about: str
    facts: tuple[str, ...]
    only: str = ""
    """The variant in which it can be answered; empty for both."""


def ask(about: str, *facts: str, only: str = "") -> Question:
    return Question(about, facts, only)


class Day(NamedTuple):
    """A scripted day."""

    name: str
    play: Callable[[Stage], None]
    questions: tuple[Question, ...]
    next_host: str = "claude"
    """The host in which work continues."""
    held_out: bool = False
    """Whether nothing was tuned to this day."""
    processes: bool = False
    """Whether every hook is a process of its own."""


class Score(NamedTuple):
    """How well a brief answers the questions of its day."""

    day: str
    variant: str
    missing: list[str]
    asked: int
    tokens: int
    noise: int
    """Tokens of lines that no question needs."""
    body: int
    """Tokens of all lines that are not part of the fixed frame."""
    text: str

    @property
    def answered(self) -> int:
        return self.asked - len(self.missing)

    @property
    def share(self) -> float:
        return self.noise / self.body if self.body else 0.0


# -- the clock ------------------------------------------------------------------------------------------------


class Clock:
    """The time of the simulated day: it runs on from the real time, and a script moves it forward."""

    def __init__(self) -> None:
        self._real = time.time_ns
        self.ahead = 0

    def __call__(self) -> int:
        return self._real() + self.ahead

    def later(self, minutes: float) -> None:
        self.ahead += int(minutes * MINUTE)


@contextmanager
def simulated_time() -> Iterator[Clock]:
    """Within the scope this process's clock is a simulated one."""
    clock = Clock()
    real_ns, real = time.time_ns, time.time
    time.time_ns, time.time = clock, lambda: clock() / 1e9
    try:
        yield clock
    finally:
        time.time_ns, time.time = real_ns, real


# -- the stage ------------------------------------------------------------------------------------------------


class Stage:
    """A project in git with a workspace, and the agents that work in it."""

    def __init__(self, folder: Path, variant: str, clock: Clock, *, processes: bool = False) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.project = folder / "project"
        self.variant, self.clock, self.processes = variant, clock, processes
        self.project.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        (self.project / "README.md").write_text("# The project\n")
        init(str(self.project), given=True)
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "The project as it is")
        self.conversations = 0
        self.hosts: list[subprocess.Popen[bytes]] = []
        self.complaints: list[str] = []

    def git(self, *words: str) -> str:
        env = os.environ | {
            "GIT_AUTHOR_NAME": "Alice",
            "GIT_AUTHOR_EMAIL": "alice@example.org",
            "GIT_COMMITTER_NAME": "Alice",
            "GIT_COMMITTER_EMAIL": "alice@example.org",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_COMMITTER_DATE": f"{self.clock() // 1_000_000_000} +0000",
        }
        done = subprocess.run(
            ["git", *words], cwd=self.project, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def agent(self, host: str, conversation: str = "") -> Agent:
        """A new conversation in a host."""
        self.conversations += 1
        return Agent(self, host, conversation or f"conversation {self.conversations}")

    def launched(self) -> subprocess.Popen[bytes]:
        """The process of a host: hooks ask whether it still runs."""
        self.hosts.append(subprocess.Popen(["sleep", "3600"]))
        return self.hosts[-1]

    def closed(self) -> None:
        """Every terminal is closed: the hosts are gone, whatever they were doing."""
        for process in self.hosts:
            process.kill()
            process.wait()

    def later(self, minutes: float) -> None:
        self.clock.later(minutes)

    def cloned(self) -> None:
        """Work goes on in another clone: everything is committed here and cloned there."""
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", "End of the day")
        other = self.project.parent / "clone"
        subprocess.run(["git", "clone", "--quiet", str(self.project), str(other)], check=True)
        self.project = other

    @contextmanager
    def person(self, name: str) -> Iterator[holdfast.Workspace]:
        """The workspace of another person, in a clone of theirs; what they do is merged here afterwards."""
        clone = self.project.parent / name
        subprocess.run(["git", "clone", "--quiet", str(self.project), str(clone)], check=True)
        with holdfast.open(str(clone), user=name, by=name) as workspace:
            yield workspace
        here, self.project = self.project, clone
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", f"What {name} did")
        self.project = here
        self.git("pull", "--quiet", str(clone), "main")

    def hook(self, host: str, event: str, payload: Payload, process: int) -> str:
        """Call the hook as the host's process does; returns the text that it injects."""
        os.environ["HOLDFAST_PID"] = str(process)
        call = self._process if self.processes else self._here
        said = call(host, event, payload)
        log = self.project / ".state" / "local" / "hooks.log"
        if log.exists():
            self.complaints = log.read_text().splitlines()
        return injected(said)

    def _here(self, host: str, event: str, payload: Payload) -> str:
        class Stdin:
            buffer = io.BytesIO(json.dumps(payload).encode())

        before, folder = sys.stdin, Path.cwd()
        sys.stdin = Stdin  # type: ignore[assignment]
        os.chdir(self.project)
        try:
            return answered([host, event])
        finally:
            sys.stdin = before
            os.chdir(folder)

    def _process(self, host: str, event: str, payload: Payload) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "hook", host, event],
            cwd=self.project,
            input=json.dumps(payload),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def killed(self, host: str, event: str, payload: Payload) -> None:
        """Start a hook as a process and kill it before it has answered."""
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "hook", host, event],
            cwd=self.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.send_signal(signal.SIGKILL)
        process.communicate()


def injected(said: str) -> str:
    """The text in the answer to a host."""
    if not said.strip():
        return ""
    try:
        answer: Any = json.loads(said)
    except ValueError:
        return said
    answer = answer.get("hookSpecificOutput", answer)
    return str(next((answer[key] for key in KEYS if key in answer), ""))


def is_registered(host: str, event: str, payload: Payload) -> bool:
    """Whether the hooks that ``holdfast install`` registers are called for an event."""
    if host == "opencode":
        return True  # the plug-in decides itself
    for hook in HOOKS[host]:
        if hook.event == event:
            tool = str(payload.get("tool_name") or payload.get("toolName") or "")
            return not hook.matcher or re.fullmatch(hook.matcher, tool) is not None
    return False


class Agent:
    """An agent in a host, as the script makes it act. It speaks in both variants; it calls us only in one."""

    def __init__(self, stage: Stage, host: str, conversation: str) -> None:
        self.stage = stage
        self.dialect = DIALECTS[host](stage.project, stage.home, conversation)
        self.host = self.dialect.host
        self.process = stage.launched()
        self.heard: list[str] = []

    def _tell(self, payloads: Sequence[tuple[str, Payload]]) -> None:
        for event, payload in payloads:
            if not is_registered(self.host, event, payload):
                continue
            said = self.stage.hook(self.host, event, payload, self.process.pid)
            if said:
                self.heard.append(said)

    def starts(self, source: str = "startup") -> Agent:
        self._tell(self.dialect.start(source))
        return self

    def asked(self, text: str) -> Agent:
        """A person asks."""
        self.stage.later(2)
        self._tell(self.dialect.asks(text))
        return self

    def edits(self, *paths: str) -> Agent:
        for path in paths:
            file = self.stage.project / path
            file.parent.mkdir(parents=True, exist_ok=True)
            old = file.read_text().rpartition("\n")[2] if file.exists() else ""
            new = f"line {self.dialect.key()}"
            with file.open("a") as out:
                out.write(f"\n{new}")
            self._tell(self.dialect.edits(path, old, new))
        return self

    def runs(self, command: str, output: str = "", status: int = 0) -> Agent:
        self._tell(self.dialect.runs(command, output, status))
        return self

    def commits(self, message: str) -> Agent:
        self.stage.git("add", "-A", "--", ".", ":!.state")
        self.stage.git("commit", "--quiet", "--allow-empty", "-m", message)
        branch, short = (
            self.stage.git("branch", "--show-current"),
            self.stage.git("rev-parse", "--short", "HEAD"),
        )
        return self.runs(f'git commit -am "{message}"', f"[{branch} {short}] {message}\n 3 files changed\n")

    def branches(self, name: str) -> Agent:
        self.stage.git("checkout", "--quiet", "-b", name)
        return self.runs(f"git checkout -b {name}", f"Switched to a new branch '{name}'\n")

    def plans(self, *steps: Todo) -> Agent:
        self._tell(self.dialect.plans(steps))
        return self

    def delegates(self, kind: str, task: str, result: str) -> Agent:
        assert isinstance(self.dialect, Claude)
        self._tell(self.dialect.delegates(kind, task, result))
        return self

    def says(self, text: str) -> Agent:
        """The turn ends with these words."""
        self.stage.later(1)
        self._tell(self.dialect.says(text))
        return self

    def compacts(self, summary: str) -> Agent:
        self._tell(self.dialect.compacts(summary))
        return self

    def ends(self) -> Agent:
        self._tell(self.dialect.ends())
        self.process.terminate()
        self.process.wait()
        return self

    def dies(self, asked: str = "") -> Agent:
        """kill -9 at the host, and at its hook if a prompt is on its way."""
        if asked:
            for event, payload in self.dialect.asks(asked):
                self.stage.killed(self.host, event, payload)
        self.process.kill()
        self.process.wait()
        return self

    # -- only in the variant that decides ----------------------------------------------------------------------

    @contextmanager
    def _session(self) -> Iterator[holdfast.Session]:
        os.environ["HOLDFAST_PID"] = str(self.process.pid)
        with holdfast.open(str(self.stage.project), by=self.host) as workspace:
            yield workspace.session()

    def decides(self, text: str, because: str, action: str | None = None) -> str:
        """Record a decision with its reason; with an action, it stays unsettled until ``settles``."""
        if self.stage.variant != DECIDES:
            return ""
        with self._session() as session:
            return str(session.decide(text, because=because, action=action).id)

    def settles(self, decision: str, outcome: str, *, ok: bool = True) -> None:
        if self.stage.variant == DECIDES:
            with self._session() as session:
                session.settle(decision, outcome, ok=ok)


# -- the score ------------------------------------------------------------------------------------------------


def play(day: Day, variant: str, folder: Path) -> Score:
    """Play a day, start a new conversation, and score the brief that it gets."""
    with simulated_time() as clock:
        stage = Stage(folder, variant, clock, processes=day.processes)
        try:
            day.play(stage)
            stage.closed()
            stage.later(5)
            successor = stage.agent(day.next_host, "the next one").starts()
        finally:
            stage.closed()
            os.environ.pop("HOLDFAST_PID", None)
    assert not stage.complaints, stage.complaints
    text = successor.heard[-1] if successor.heard else ""
    return score(day, variant, text)


def score(day: Day, variant: str, text: str) -> Score:
    """Which questions a brief answers, and how much of it answers none."""
    asked = [question for question in day.questions if question.only in ("", variant)]
    missing = []
    for question in asked:
        unknown = [fact for fact in question.facts if fact.lower() not in text.lower()]
        if unknown:
            missing.append(f"{question.about}: {' | '.join(unknown)}")
    facts = [fact for question in asked for fact in question.facts]
    noise, body = noise_of(text, facts)
    return Score(day.name, variant, missing, len(asked), estimate(text), noise, body, text)


def noise_of(
    text: str, facts: Sequence[str], show: Callable[[str], object] = lambda line: None
) -> tuple[int, int]:
    """Tokens of the lines that no question needs, and of all lines outside of the frame.

    A line is an entry (``- …``). It is noise if it holds no fact that a question asks for. The frame is everything
    else: header, the rule about stored text, titles, what was left out, and how to record.
    """
    wanted = [fact.lower() for fact in facts]
    noise = body = 0
    for line in text.splitlines():
        if not line.startswith("- "):
            continue
        cost = estimate(line + "\n")
        body += cost
        if not any(fact in line.lower() for fact in wanted):
            noise += cost
            show(line)
    return noise, body


def table(scores: Sequence[Score]) -> str:
    """The scores as a table."""
    lines = [f"{'day':34} {'variant':15} {'answered':>9} {'tokens':>7} {'noise':>6}"]
    for each in scores:
        lines.append(
            f"{each.day:34} {each.variant:15} {each.answered:>3} of {each.asked:>2} {each.tokens:>7} {each.share:>6.0%}"
        )
    return "\n".join(lines)
