"""Which hook answers each host honours: the facts that the hook dialects are built on."""

from __future__ import annotations

import json

import pytest

from . import setup
from .fake_model import Reply
from .host import Run
from .scenario import HOSTS, Stage, stage

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]

MARKER = "MARKER-4711"


def nested(event: str, text: str) -> str:
    """The form of Claude Code, Codex and Gemini CLI."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def top(event: str, text: str) -> str:
    """The form of Copilot CLI."""
    return json.dumps({"additionalContext": text})


def both(event: str, text: str) -> str:
    """Both forms in one object."""
    return json.dumps({**json.loads(nested(event, text)), "additionalContext": text})


def plain(event: str, text: str) -> str:
    """No JSON at all."""
    return text


FORMS = (nested, top, both, plain)

# For each host and event: the forms by which a text reaches the model in the same turn.
HONOURED = {
    ("claude", "SessionStart"): {nested, both, plain},
    ("claude", "UserPromptSubmit"): {nested, both, plain},
    ("claude", "PostToolUse"): {nested, both},
    ("codex", "SessionStart"): {nested, plain},
    ("codex", "UserPromptSubmit"): {nested, plain},
    ("codex", "PostToolUse"): {nested},
    ("codex", "Stop"): set(),
    ("gemini", "SessionStart"): {nested, both},
    ("gemini", "BeforeAgent"): {nested, both},
    ("gemini", "AfterTool"): {nested, both},
    ("copilot", "sessionStart"): {top, both},
    ("copilot", "userPromptSubmitted"): {top, both},
    ("copilot", "postToolUse"): {top, both},
    ("copilot-claude-settings", "SessionStart"): {top, both},
    ("copilot-claude-settings", "UserPromptSubmit"): {top, both},
    ("opencode", "experimental.chat.system.transform"): {plain},
}


def on_stage(name: str) -> None:
    """Skip, with the reason, when the host is not installed."""
    tool = HOSTS[name].tool or name
    if setup.entry_of(tool) is None:
        pytest.skip(setup.why_absent(tool))


def turn_with_tool(at: Stage) -> Run:
    """One turn in which a shell command runs."""
    at.model.on("TOOLS", Reply(call=at.host.shell_call("echo fine")))
    run = at.host.turn("TOOLS")
    assert run.status == 0, run.stderr[-2000:]
    assert run.requests
    return run


@pytest.mark.parametrize(("name", "event"), HONOURED)
def test_forms_that_reach_the_model(name: str, event: str) -> None:
    """Of the four output formats, exactly the listed ones reach the model."""
    on_stage(name)
    forms = FORMS if name != "opencode" else (plain,)
    seen = set()
    for form in forms:
        with stage(name) as at:
            at.recorder.answer(event, form(event, MARKER))
            if turn_with_tool(at).saw(MARKER):
                seen.add(form)
    assert seen == HONOURED[name, event]


# The event, the form, whether the summariser reads the text, whether the first request afterwards holds it.
COMPACTION = (
    ("claude", "PreCompact", plain, True, True),
    ("claude", "SessionStart", nested, False, True),
    ("codex", "PreCompact", plain, False, False),
    ("codex", "SessionStart", nested, False, True),
    ("copilot", "preCompact", top, False, False),
    ("copilot", "userPromptSubmitted", top, False, True),
    ("gemini", "PreCompress", nested, False, False),
    ("gemini", "BeforeAgent", nested, False, True),
    ("opencode", "experimental.session.compacting", plain, True, False),
    ("opencode", "experimental.chat.system.transform", plain, True, True),
)


@pytest.mark.parametrize(("name", "event", "form", "summariser", "afterwards"), COMPACTION)
def test_texts_around_a_compaction(
    name: str, event: str, form: object, summariser: bool, afterwards: bool
) -> None:
    """A text output before or after a compaction reaches the summariser or the next turn, as listed."""
    on_stage(name)
    assert callable(form)
    with stage(name) as at:
        at.host.turn("some first words")
        at.host.turn("some more words", resume=True)
        at.recorder.answer(event, form(event, MARKER))
        compaction = at.host.compact()
        assert compaction.status == 0
        summary = compaction.requests[0]
        assert any(MARKER in turn.text for turn in summary.turns) is summariser
        assert at.host.turn("the next words", resume=True).saw(MARKER) is afterwards


# The longest text that arrives complete, and by how much more it is cut. Claude Code counts UTF-16 units.
CAPS = (
    ("claude", "x", 10_000, 10_001),
    ("claude", "\U0001f600", 5_000, 5_001),
    ("codex", "x", 10_000, 10_008),
    ("codex", "é", 5_000, 5_004),
)


@pytest.mark.parametrize(("name", "letter", "whole", "cut"), CAPS)
def test_caps_of_injected_text(name: str, letter: str, whole: int, cut: int) -> None:
    """A text at the limit arrives unchanged; a longer one does not."""
    on_stage(name)
    for count, arrives in ((whole, True), (cut, False)):
        text = letter * count
        with stage(name) as at:
            at.recorder.answer("SessionStart", nested("SessionStart", text))
            assert at.host.turn("hello").saw(text) is arrives, count


@pytest.mark.parametrize(
    ("name", "event", "form"), [("gemini", "SessionStart", nested), ("copilot", "sessionStart", top)]
)
def test_hosts_without_a_cap(name: str, event: str, form: object) -> None:
    """These two pass 200,000 characters on, so nothing but our own limit keeps a brief short."""
    on_stage(name)
    assert callable(form)
    text = "word " * 40_000 + "end"
    with stage(name) as at:
        at.recorder.answer(event, form(event, text))
        assert at.host.turn("hello").saw(text)
