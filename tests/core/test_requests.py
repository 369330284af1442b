"""Prompts as requests: what is a goal, what is small talk, what is a new topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.requests import goal_of, is_better_goal, is_new_topic, is_request, topic

SMALL_TALK = (
    *(
        "hi",
        "Hello!",
        "hey claude",
        "good morning :)",
        "yes",
        "Yes, please.",
        "ok do it",
        "continue",
        "go on",
        "👍",
    ),
    *(
        "thanks, looks good",
        "next",
        "try again",
        "where were we?",
        "what is the status",
        "/clear",
        "/model opus",
    ),
    *("<task-notification>", "", "   ", "weiter", "lgtm"),
)
REQUESTS = (
    *(
        "Fix the build",
        "hi, can you fix the login page?",
        "TOOLS for the tables",
        "bitte den Parser reparieren",
    ),
    *("データベースを移行する", "why does test_login fail?", "rename User to Account"),
)


@pytest.mark.parametrize("prompt", SMALL_TALK)
def test_small_talk_is_no_request(prompt: str) -> None:
    """Greetings, consent, "continue", commands and notices of the host never become a goal."""
    assert not is_request(prompt)


@pytest.mark.parametrize("prompt", REQUESTS)
def test_a_request_is_one(prompt: str) -> None:
    """Whatever names something to do is a request, also after a greeting and in other languages."""
    assert is_request(prompt)


@pytest.mark.parametrize(
    ("prompt", "goal"),
    [
        ("\n\nFix the build\nand then the docs", "Fix the build"),
        ("Hi!\n\nFix the build", "Fix the build"),
        ("Hello Claude, please fix the build", "please fix the build"),
        ("# Migrate the tables\n- copy", "Migrate the tables"),
        ("In config.py, rename port to PORT", "In config.py, rename port to PORT"),
    ],
)
def test_the_goal_of_a_request(prompt: str, goal: str) -> None:
    """The first line that asks for something, without a greeting before it."""
    assert goal_of(prompt) == goal


@pytest.mark.parametrize(
    ("prompt", "work", "new"),
    [
        ("Write release notes for version two of the mobile client", "Fix the login page\nlogin.py", True),
        ("Make the login form remember the user's language", "Fix the login page\nlogin.py", False),
        ("now do the same for the signup dialog and banner", "Fix the login page", False),
        ("yes, continue", "Fix the login page", False),
        ("fix it", "Migrate the tables", False),
        ("Write release notes for the mobile client", "", False),
        ("支払い画面の翻訳を更新する", "ログイン画面のテストを直す login.py", False),
    ],
)
def test_a_new_topic(prompt: str, work: str, new: bool) -> None:
    """A request is a new topic only with several words of its own, none of them of the work, none pointing back."""
    assert is_new_topic(prompt, work) is new


@pytest.mark.parametrize(
    ("prompt", "goal", "placeholder", "better"),
    [
        ("Fix the build", "Work in project", True, True),
        ("ok", "Work in project", True, False),
        ("run it", "Fix the build", False, False),
        (
            "Rewrite the importer so that broken rows are quarantined, retried hourly, reported by mail and counted "
            "on the dashboard, with migrations for customers that upgrade",
            "Fix the importer",
            False,
            True,
        ),
        ("Write release notes for version two of the mobile client", "Fix the login page", False, True),
    ],
)
def test_a_better_goal(prompt: str, goal: str, placeholder: bool, better: bool) -> None:
    """A guessed goal gives way to the first request, to a clearly larger one, and to another topic."""
    assert is_better_goal(prompt, goal, "", placeholder=placeholder) is better


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_is_judged(one: str, other: str) -> None:
    """No text breaks the rules; nothing is a new topic beside itself, and a goal is one short line."""
    assert not is_new_topic(one, one)
    is_better_goal(one, other, one, placeholder=False)
    assert len(goal_of(one)) <= 200
    assert "\n" not in goal_of(one)
    assert topic(one) == topic(one.upper().lower()) or not one.isascii()
