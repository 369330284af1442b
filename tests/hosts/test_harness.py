"""The harness itself: every host runs offline against the fake model, and its hooks fire as recorded."""

from __future__ import annotations

import json
import re

import pytest

from . import setup
from .fake_model import FakeModel, Reply
from .host import kill
from .payloads import FOLDER, MAY_MISS, Scrubber, fixtures_of, load, shape_of
from .scenario import HOSTS, Step, play, stage

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]

COMPACTING = {
    "claude": "PreCompact",
    "codex": "PreCompact",
    "opencode": "experimental.session.compacting",
    "gemini": "PreCompress",
    "copilot": "preCompact",
    "copilot-claude-settings": "PreCompact",
}


class Day:
    """What one host did in the whole scenario."""

    def __init__(self, name: str) -> None:
        self.name = name
        with stage(name) as at:
            self.steps = play(at)
            self.strays = list(at.model.strays)
            self.made = (at.host.project / "made.txt").read_text()
            self.notes = (at.folder / "notes.txt").read_text()
            self.found, self.order = fixtures_of(self.steps, Scrubber(at.host, setup.tool_folder()))

    def step(self, name: str) -> Step:
        """One step by name."""
        return next(step for step in self.steps if step.name == name)


@pytest.fixture(params=list(HOSTS))
def host(request: pytest.FixtureRequest) -> str:
    """The name of each host that is installed."""
    name: str = request.param
    tool = HOSTS[name].tool or name
    if setup.entry_of(tool) is None:
        pytest.skip(setup.why_absent(tool))
    return name


def one_turn_reaches_the_fake_model(day: Day) -> None:
    """A host answers a prompt offline, and its tools change the project."""
    step = day.step("tools")
    assert step.run.status == 0, step.run.stderr[-2000:]
    assert step.run.saw("TOOLS")
    assert step.run.requests[-1].results == 4, "each of the four tool calls gave a result"
    assert day.made.strip() == "two"


def nothing_tries_to_leave_the_machine(day: Day) -> None:
    """With telemetry and updates off a host asks for no other address."""
    assert [line for line in day.strays if line.startswith("CONNECT")] == []


def a_resumed_session_holds_the_earlier_turn(day: Day) -> None:
    """Resume sends the conversation again."""
    run = day.step("resume").run
    assert run.status == 0, run.stderr[-2000:]
    assert run.saw("TOOLS")
    assert run.saw("go on")


def compaction_is_real(day: Day) -> None:
    """The summary replaces the conversation: the next request no longer holds the old tool calls."""
    step = day.step("compact")
    assert step.run.status == 0, step.run.stderr[-2000:]
    assert COMPACTING[day.name] in [record.event for record in step.records]
    after = day.step("remote").run.requests[0]
    assert not any(turn.role == "tool" for turn in after.turns)


def a_tool_of_an_mcp_server_is_called(day: Day) -> None:
    """The model's call reaches the server that was registered with the host."""
    assert day.step("remote").run.status == 0
    assert day.notes == "kept\n"


def payloads_are_the_recorded_ones(day: Day) -> None:
    """What hooks are given has the fields of the fixtures, and every fixture still has its event."""
    recorded = load(day.name)
    assert set(recorded) - set(day.found) <= MAY_MISS.get(day.name, set())
    assert set(day.found) <= set(recorded)
    for name, payload in day.found.items():
        assert shape_of(payload) == shape_of(recorded[name]), name


def test_a_day_of_a_host(host: str) -> None:
    """The whole scenario, played once per host because it is slow; each check names what it covers."""
    day = Day(host)
    print("; ".join(f"{step.name} {step.run.seconds:.1f} s" for step in day.steps))
    for check in (
        one_turn_reaches_the_fake_model,
        nothing_tries_to_leave_the_machine,
        a_resumed_session_holds_the_earlier_turn,
        compaction_is_real,
        a_tool_of_an_mcp_server_is_called,
        payloads_are_the_recorded_ones,
    ):
        check(day)


def test_a_killed_host_has_run_its_hooks(host: str) -> None:
    """Killed mid-turn, a host has run its hooks for start and prompt, and a new one starts cleanly."""
    with stage(host) as at:
        at.model.on("HANG", Reply(text="thinking", hang=True))
        process = at.host.start("HANG")
        try:
            assert at.model.hanging.wait(60), "the host did not reach the model"
        finally:
            kill(process)
            process.communicate()
        before = at.recorder.events()
        assert before
        assert not {"Stop", "agentStop", "AfterAgent", "SessionEnd"} & set(before)
        run = at.host.turn("hello again")
        assert run.status == 0, run.stderr[-2000:]
        assert len(at.recorder.events()) > len(before)


@pytest.mark.parametrize("recorder", sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
def test_fixtures_name_no_machine(recorder: str) -> None:
    """No path, time or name of the recording machine is in a fixture, and sequences name fixtures."""
    recorded = load(recorder)
    assert recorded
    for name, payload in recorded.items():
        text = json.dumps(payload)
        assert not re.search(r'"/(tmp|root|home|work|Users|private)\b', text), name
        assert not re.search(r"holdfast-host-|20(?!26-01-01)\d\d-\d\d-\d\dT", text), name
    order = json.loads((FOLDER / recorder / "sequence.json").read_text())
    assert {each for names in order.values() for each in names} <= set(recorded)


def test_the_model_answers_by_script() -> None:
    """Replies of a rule follow the tool results; the default ends the turn; errors keep their status."""
    import http.client

    with FakeModel() as model:
        model.on("RUN", Reply(text="first"), Reply(text="second"))
        model.on("BAD", Reply(text="broken", status=503))

        def ask(*roles: tuple[str, str]) -> tuple[int, str]:
            link = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=5)
            messages = [{"role": role, "content": text} for role, text in roles]
            link.request("POST", "/v1/chat/completions", json.dumps({"messages": messages}))
            answer = link.getresponse()
            body = json.loads(answer.read())
            link.close()
            return answer.status, body.get("choices", [{}])[0].get("message", {}).get("content", "")

        assert ask(("user", "RUN")) == (200, "first")
        assert ask(("user", "RUN"), ("tool", "x")) == (200, "second")
        assert ask(("user", "RUN"), ("tool", "x"), ("tool", "y")) == (200, model.default.text)
        assert ask(("user", "BAD"))[0] == 503
        assert [request.results for request in model.requests] == [0, 1, 2, 0]
