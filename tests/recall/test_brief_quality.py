"""Scripted projects with a question each: the answer must be in the brief of the next session.

Every project first gets the same noise: sessions with decisions, errors and notes about other things.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast import Session, Workspace
from holdfast.workspace.handover import make_brief

NOISE = (
    ("Translate the manual", "Keep the product name in English", "readers search for it"),
    ("Speed up the landing page", "Serve images as AVIF", "half of the bytes"),
    ("Onboard the new designer", "Share the palette as CSS variables", "one source"),
    ("Move CI to the new runners", "Cache the wheels per interpreter", "mixed caches broke builds"),
    ("Prepare the quarterly report", "Round to thousands", "the board asked for it"),
    ("Clean up old branches", "Delete branches merged for 90 days", "nobody missed them"),
)

Scenario = Callable[[Workspace], list[str]]
"""Builds a project whose current session is the one to brief; returns what the brief must tell."""
SCENARIOS: list[Scenario] = []


def scenario(build: Scenario) -> Scenario:
    SCENARIOS.append(build)
    return build


def edited(workspace: Workspace, session: Session, path: str) -> None:
    """The session works on a file."""
    file = Path(workspace.where).parent / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(file.read_text() + "more\n" if file.exists() else "text\n")
    session.refer(path)


@scenario
def what_was_decided_about_the_same_file(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Import bank statements")
    edited(workspace, earlier, "src/ledger/parse.py")
    earlier.decide("Amounts are integers in cents", because="floats lost a cent per thousand rows")
    later = workspace.start("Support statements of another bank")
    edited(workspace, later, "src/ledger/parse.py")
    return ["Amounts are integers in cents", "floats lost a cent"]


@scenario
def what_was_decided_in_the_same_words(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Choose a queue")
    earlier.decide("Retry webhooks with exponential backoff, five times", because="the partner throttles us")
    workspace.start("Webhooks to the partner arrive twice")
    return ["exponential backoff", "the partner throttles us"]


@scenario
def what_failed_before_and_its_remedy(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Upgrade the database driver")
    earlier.add_error("psycopg raises 'prepared statement exists' behind pgbouncer")
    earlier.remedy_error("E-1", "set prepare_threshold to None")
    later = workspace.start("Move the worker behind pgbouncer")
    later.add_message("user", "the worker should use pgbouncer like the web servers")
    return ["prepare_threshold to None"]


@scenario
def what_is_left(workspace: Workspace) -> list[str]:
    session = workspace.start("Release 2.0")
    for title in ("write the changelog", "tag the release", "announce it"):
        session.add_task(title)
    session.start_task("T-1")
    session.complete_task("T-1")
    session.add_next("ask Ann whether the tag may be signed")
    return ["tag the release", "announce it", "ask Ann whether"]


@scenario
def what_may_have_happened(workspace: Workspace) -> list[str]:
    session = workspace.start("Clean the bucket")
    session.decide("Delete backups older than a year", because="the disk is full", action="run prune --apply")
    return ["Delete backups older than a year", "run prune --apply", "holdfast settle D-1"]


@scenario
def the_newest_of_many_decisions(workspace: Workspace) -> list[str]:
    session = workspace.start("Rewrite the scheduler")
    for number in range(60):
        decision = session.decide(f"Rename helper {number}", because="clearer", action=f"rename {number}")
        session.settle(decision.id, "renamed")
    session.decide("Drop the cron table", because="the queue has schedules", action="run migration 61")
    return ["D-61", "Drop the cron table", "Rename helper 59"]


@scenario
def what_was_asked_last(workspace: Workspace) -> list[str]:
    session = workspace.start("Improve the search page")
    for number in range(30):
        session.add_message("user", f"small request {number}")
    session.add_message(
        "user", "The filter for dates forgets its value.\nKeep it in the URL, not in the cookie."
    )
    return ["filter for dates forgets its value", "not in the cookie"]


@scenario
def what_was_said_last(workspace: Workspace) -> list[str]:
    session = workspace.start("Find the memory leak")
    session.add_message("user", "find out why the worker grows")
    session.add_message(
        "assistant",
        "The cache of templates has no limit. I will cap it at 500 entries and measure again tomorrow.",
    )
    return ["cap it at 500 entries"]


@scenario
def which_command_still_fails(workspace: Workspace) -> list[str]:
    session = workspace.start("Make the build reproducible")
    session.add_error("`make dist` failed: timestamps differ in manifest.json", tried="SOURCE_DATE_EPOCH")
    return ["timestamps differ in manifest.json", "SOURCE_DATE_EPOCH"]


@scenario
def what_the_project_decided(workspace: Workspace) -> list[str]:
    workspace.project.decide("Every table has a tenant column", because="row-level security needs it")
    workspace.start("Add a table for invoices")
    return ["Every table has a tenant column", "row-level security needs it"]


@scenario
def what_is_known_of_the_project(workspace: Workspace) -> list[str]:
    workspace.project.add_fact("The staging server is reset every night at three")
    workspace.start("Debug the nightly job")
    return ["reset every night at three"]


@scenario
def what_the_user_prefers(workspace: Workspace) -> list[str]:
    workspace.me.prefer("tests", "pytest functions, no classes")
    workspace.start("Test the importer")
    return ["pytest functions, no classes"]


@scenario
def which_order_stands(workspace: Workspace) -> list[str]:
    workspace.project.order("Never push to main without a review")
    workspace.start("Fix the typo on the landing page")
    return ["Never push to main without a review"]


@scenario
def what_blocks_it(workspace: Workspace) -> list[str]:
    session = workspace.start("Ship the iOS build")
    session.add_blocker("the certificate expires on Friday and only Kim can renew it")
    return ["only Kim can renew it"]


@scenario
def what_is_still_open(workspace: Workspace) -> list[str]:
    session = workspace.start("Design the API")
    session.add_loop("Should list endpoints use cursors or pages?")
    session.add_risk("clients may depend on the order of fields")
    return ["cursors or pages", "order of fields"]


@scenario
def where_the_checkpoint_was(workspace: Workspace) -> list[str]:
    session = workspace.start("Migrate 40 tables")
    session.checkpoint(
        "tables a to m are migrated",
        last_completed="table m",
        instruction="go on with table n, in batches of 500",
    )
    return ["tables a to m are migrated", "go on with table n, in batches of 500"]


@scenario
def what_another_agent_left_unsettled(workspace: Workspace) -> list[str]:
    other = workspace.start("Rotate the keys")
    other.decide("Revoke the old key", because="it leaked", action="revoke key 7 at the provider")
    workspace.start("Write the incident report")
    return ["Revoke the old key", f"--session {other.user}/{other.id}"]


@scenario
def which_handoff_waits(workspace: Workspace) -> list[str]:
    other = workspace.start("Port the installer")
    other.hand_off("Windows is done; start with the macOS notarisation")
    workspace.start("Look around")
    return ["start with the macOS notarisation", "resume --claim"]


@scenario
def which_files_are_current(workspace: Workspace) -> list[str]:
    session = workspace.start("Split the module")
    for number in range(30):
        edited(workspace, session, f"old/part{number}.py")
    for name in ("core/codec.py", "core/fold.py", "tests/test_fold.py"):
        edited(workspace, session, name)
    return ["core/codec.py", "core/fold.py", "tests/test_fold.py"]


@scenario
def a_decision_that_names_the_file(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Tidy the configuration")
    earlier.decide("settings.toml stays flat, without nested tables", because="operators edit it by hand")
    later = workspace.start("Per-tenant overrides")
    edited(workspace, later, "deploy/settings.toml")
    return ["settings.toml stays flat", "operators edit it by hand"]


@scenario
def a_decision_anchored_at_the_file(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Round amounts")
    edited(workspace, earlier, "src/rounding.py")
    earlier.unrefer("src/rounding.py")
    earlier.decide("Half to even, never half up", because="the auditors compare", at=["src/rounding.py"])
    later = workspace.start("Show totals per quarter")
    edited(workspace, later, "src/rounding.py")
    return ["Half to even, never half up", "about src/rounding.py"]


@scenario
def a_decision_of_an_archived_session(workspace: Workspace) -> list[str]:
    from holdfast.workspace import upkeep

    earlier = workspace.start("Pick a licence")
    earlier.decide("Apache-2.0 for the client, AGPL for the server", because="lawyers reviewed both")
    earlier.complete("licences chosen")
    upkeep.archive(workspace, f"{earlier.user}/{earlier.id}")
    workspace.start("Add licence headers to the server")
    return ["AGPL for the server", "lawyers reviewed both"]


@scenario
def how_an_earlier_decision_turned_out(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Tune the garbage collector")
    decision = earlier.decide("Freeze the heap before forking", because="copy on write", action="gc.freeze()")
    earlier.settle(decision.id, "workers use 40 percent less memory")
    workspace.start("Workers use too much memory after forking")
    return ["Freeze the heap before forking", "40 percent less memory"]


@scenario
def the_replacement_and_not_the_replaced(workspace: Workspace) -> list[str]:
    earlier = workspace.start("Choose the session store")
    first = earlier.decide("Sessions live in Redis", because="fast")
    earlier.decide("Sessions live in PostgreSQL", because="one backup", supersedes=first.id)
    workspace.start("Sessions expire too early")
    return ["Sessions live in PostgreSQL", "!Sessions live in Redis"]


@scenario
def which_phase_and_plan(workspace: Workspace) -> list[str]:
    session = workspace.start("Replace the payment provider")
    session.declare_phases(["research", "build", "switch"])
    session.enter_phase("build")
    session.propose_plan("Run both providers for a week", "1. mirror 2. compare 3. switch")
    return ["(2 of 3)", "waits for approval", "Run both providers for a week"]


@pytest.mark.parametrize("build", SCENARIOS, ids=lambda build: build.__name__)
def test_the_brief_answers(build: Scenario, tmp_path: Path) -> None:
    """A new agent that has only the brief, within 2,000 tokens, can answer the question of each project."""
    holdfast.init(str(tmp_path)).close()
    with holdfast.open(str(tmp_path), user="kim", by="claude") as workspace:
        for goal, decision, reason in NOISE:
            session = workspace.start(goal)
            session.decide(decision, because=reason)
            session.add_error(f"{goal} stopped: no such host")
            session.remedy_error("E-1", "try the other network")
            session.note(f"{goal}: half a day")
        answers = build(workspace)
        packet = make_brief(workspace.session(), 2_000)
    assert packet.tokens <= 2_000
    for answer in answers:
        unwanted = answer.startswith("!")
        assert (answer.lstrip("!") in packet.text) is not unwanted, f"{answer!r}:\n{packet.text}"


def test_there_are_enough_projects() -> None:
    """The set has at least twenty projects."""
    assert len(SCENARIOS) >= 20
