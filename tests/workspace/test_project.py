"""What belongs to all sessions: backlog, standing orders, controls, facts, decisions, preferences."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.concepts import fact, order, preference
from holdfast.errors import HoldfastError, InvalidName, NotFound, Refused, TooLarge
from holdfast.testing.hostile import TEXTS
from holdfast.workspace.project import Project
from holdfast.workspace.workspace import Workspace


@pytest.fixture
def workspace() -> Workspace:
    """A workspace in memory."""
    return holdfast.open("memory:", user="alice")


@pytest.fixture
def project_handle(workspace: Workspace) -> Project:
    """The project of a workspace in memory."""
    return workspace.project


def titles(items: Iterable[holdfast.BacklogItem]) -> list[str]:
    return [item.title for item in items]


def test_ready_lists_unblocked_items_by_priority(project_handle: Project) -> None:
    """Waiting, blocked and started items are left out; the most urgent comes first, then the oldest."""
    backlog = project_handle
    first = backlog.add_item("design", priority="low", epic="v2", tags=["a", "b", "a"]).id
    backlog.add_item("build", priority="critical", depends_on=[first])
    urgent = backlog.add_item("hotfix", priority="high").id
    blocked = backlog.add_item("wait", priority="critical").id
    backlog.edit_item(blocked, status="blocked")
    backlog.add_item("later", priority="low")
    assert titles(backlog.ready()) == ["hotfix", "design", "later"]
    assert titles(backlog.backlog.open) == ["build", "wait", "hotfix", "design", "later"]
    backlog.start_item(urgent)
    backlog.close_item(first, "drawn")
    assert titles(backlog.ready()) == ["build", "later"]
    (closed,) = backlog.state["backlog"]["closed"]
    assert (closed["outcome"], closed["result"], closed["tags"], closed["epic"]) == (
        "done",
        "drawn",
        ["a", "b"],
        "v2",
    )


def test_an_item_that_waits_cannot_be_started(project_handle: Project) -> None:
    """The refusal names its dependencies and what is ready; nothing is written."""
    first = project_handle.add_item("first").id
    second = project_handle.add_item("second", depends_on=["BL-1"]).id
    version = project_handle.version
    with pytest.raises(Refused, match=f"{second} waits for {first}.*Ready now: {first}"):
        project_handle.start_item("bl-2")
    with pytest.raises(Refused, match="depend on itself"):
        project_handle.edit_item("BL-1", depends_on=["BL-2"])
    with pytest.raises(Refused, match="depend on itself"):
        project_handle.edit_item("BL-1", depends_on=["BL-1"])
    with pytest.raises(NotFound):
        project_handle.add_item("third", depends_on=["BL-9"])
    for changes in (
        {"priority": "urgent"},
        {"status": "done"},
        {"owner": "x"},
        {"title": ""},
        {"title": "first"},
    ):
        with pytest.raises(Refused):
            project_handle.edit_item(first, **changes)
    with pytest.raises(TooLarge):
        project_handle.add_item("x" * 601)
    assert project_handle.version == version


def test_closing_twice_says_when_it_was_closed(project_handle: Project) -> None:
    """A short form of the id finds the closed item too."""
    project_handle.add_item("first")
    project_handle.close_item("BL-1", outcome="dropped")
    with pytest.raises(Refused, match="is closed already"):
        project_handle.close_item("BL-1")
    with pytest.raises(NotFound, match="no open backlog item BL-7"):
        project_handle.close_item("BL-7")


def test_standing_orders_hold_until_lifted(project_handle: Project) -> None:
    """An order is in the state in full until it is lifted; their number is limited."""
    text = "Write it down first. " * 40
    given = project_handle.order(text)
    assert project_handle.state["orders"]["open"][given.id]["text"] == text
    project_handle.lift("so-1", "not needed")
    assert project_handle.state["orders"]["open"] == {}
    with pytest.raises(TooLarge):
        project_handle.order("x" * (order.ORDER_CAP + 1))
    for number in range(order.MOST):
        project_handle.order(f"order {number}")
    with pytest.raises(Refused, match="100 standing orders"):
        project_handle.order("one more")


def test_controls_keep_the_last_twenty_and_count_all(project_handle: Project) -> None:
    """The catch log in the state is bounded; who caught it is the actor unless another name is given."""
    for number in range(25):
        project_handle.caught("review", f"catch {number}", outcome="mended")
    project_handle.caught("lint", "last", caught_by="bob", notes="by hand")
    controls = project_handle.state["controls"]
    assert (controls["count"], len(controls["last"])) == (26, 20)
    assert (controls["last"][-1]["caught_by"], controls["last"][0]["caught_by"]) == ("bob", "alice")


@pytest.mark.parametrize(
    "check",
    [
        {"file-exists": "./src//app.py"},
        {"file-missing": "TODO"},
        {"branch-exists": "feature/x-1"},
        {"commit-exists": "0a1b2c3"},
        {"file-hash": {"path": "a", "hash": "0" * 64}},
        None,
    ],
)
def test_a_fact_has_a_check_of_the_closed_set(
    project_handle: Project, check: dict[str, object] | None
) -> None:
    """Each kind of check is stored in normal form."""
    receipt = project_handle.add_fact("it is so", check=check)
    kept = project_handle.state["facts"]["open"][receipt.id]["check"]
    assert kept == ({"file-exists": "src/app.py"} if check == {"file-exists": "./src//app.py"} else check)
    project_handle.drop_fact(receipt.id, "no longer")
    assert project_handle.state["facts"]["open"] == {}


@pytest.mark.parametrize(
    "check",
    [
        {},
        {"shell": "rm -rf x"},
        {"file-exists": "a", "branch-exists": "b"},
        {"file-exists": "../x"},
        {"file-exists": "/etc/passwd"},
        {"file-exists": "session:x"},
        {"file-exists": 5},
        {"branch-exists": "--upload-pack=x"},
        {"branch-exists": "a..b"},
        {"branch-exists": "a b"},
        {"branch-exists": "a\n"},
        {"branch-exists": "@{-1}"},
        {"branch-exists": "x.lock"},
        {"branch-exists": "a/"},
        {"commit-exists": "HEAD"},
        {"commit-exists": "--help"},
        {"commit-exists": "0a1b2c3\n"},
        {"file-hash": "a"},
        {"file-hash": {"path": "a", "hash": "xyz"}},
        {"file-hash": {"path": "a", "hash": "0" * 64, "more": 1}},
        ["file-exists", "a"],
        "file-exists",
    ],
    ids=ascii,
)
def test_any_other_check_is_refused(project_handle: Project, check: object) -> None:
    """A check outside the closed set, or one that could be read as an option or an expression, is refused."""
    with pytest.raises(Refused):
        project_handle.add_fact("it is so", check=check)  # type: ignore[arg-type]
    assert project_handle.version == 0


def test_the_number_of_facts_is_bounded(project_handle: Project) -> None:
    """One fact beyond the limit is refused."""
    for number in range(fact.MOST):
        project_handle.add_fact(f"fact {number}")
    with pytest.raises(Refused, match="500 facts"):
        project_handle.add_fact("one more")


def test_a_decision_of_the_project_is_like_one_of_a_session(workspace: Workspace) -> None:
    """It is listed by recover, settled by its short id, and no session has it."""
    session = workspace.start("Ship it")
    made = workspace.project.decide("All JSON", because="git diff", action="convert")
    assert made.id.startswith("D-1.")
    (unsettled,) = workspace.recover()
    assert (unsettled.decision.id, unsettled.session) == (made.id, "")
    assert session.state["decisions"]["made"] == 0
    workspace.project.settle("D-1", "done")
    with pytest.raises(Refused, match="is settled already"):
        workspace.project.settle("D-1", "again")
    assert workspace.recover() == []


def test_preferences_belong_to_the_user(workspace: Workspace) -> None:
    """They are set, read, set again, listed and dropped; values round-trip."""
    me = workspace.me
    me.prefer("language", "en")
    me.prefer("tone", " $2 \u202e|`x`\r\n")
    me.prefer("language", "de")
    assert workspace.me.preferences == {"language": "de", "tone": " $2 \u202e|`x`\r\n"}
    assert me.preference("language") == "de"
    me.unprefer("language")
    assert me.preference("language", "none") == "none"
    with pytest.raises(NotFound):
        me.unprefer("language")
    for key in ("", "A", "../x", "a b", "x" * 65, 5):
        with pytest.raises(HoldfastError):
            me.prefer(key, "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidName):
        me.prefer("Ä", "x")
    with pytest.raises(TooLarge):
        me.prefer("tone", "x" * (preference.VALUE_CAP + 1))


def test_the_number_of_preferences_is_bounded(workspace: Workspace) -> None:
    """A full list refuses a new key; dropping one makes room."""
    me = workspace.me
    for number in range(preference.MOST):
        me.prefer(f"key{number}", "x")
    with pytest.raises(Refused):
        me.prefer("another", "x")
    me.unprefer("key0")
    me.prefer("another", "x")


@pytest.mark.parametrize("text", [t for t in TEXTS if t.strip()], ids=lambda text: ascii(text[:20]))
def test_every_text_is_unchanged_in_the_log(project: Path, text: str) -> None:
    """A command's text is in the log unchanged, or refused for its size."""
    handle = holdfast.open(str(project)).project
    for act in (
        lambda: handle.add_item(text),
        lambda: handle.order(text),
        lambda: handle.caught("review", text, outcome=text, notes=text),
        lambda: handle.add_fact(text),
    ):
        try:
            act()
        except TooLarge:
            assert len(text) > 600
            continue
        *_, last = handle.log()
        data = last.events[0].data
        assert text in data.values()
    assert len(json.dumps(handle.state, ensure_ascii=False)) < 20_000
