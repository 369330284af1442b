"""A program that uses the whole public API. It is checked by mypy and pyright in strict mode, and it is run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import holdfast
from holdfast import Json, JsonObject, Person, Project, Receipt, Session, Workspace


def used(*values: object) -> None:
    """The values are of the types that were declared for them: that is all that is asked here."""
    del values


def decisions(session: Session) -> None:
    made: Receipt = session.decide(
        "Use SQLite", because="one file", action="migrate", alternatives=["JSON"], revisit_when="2 GB"
    )
    when: datetime = made.at
    short_id: str = made.id
    version: int = made.version
    again: bool = made.repeated
    text: str = f"{made.commit} {made.timestamp} {when} {version} {again}"
    decision: holdfast.Decision | None = session.decisions.get(short_id)
    assert decision is not None
    assert decision.action is not None
    planned: str = decision.action + decision.because + decision.text + text
    others: tuple[str, ...] = decision.alternatives
    settled: bool = decision.settled
    used(planned, others, settled)
    assert decision.outcome is None
    session.settle(short_id, "migrated", ok=True, op="settle it once")
    counts: tuple[int, int, int] = (
        session.decisions.opened,
        session.decisions.closed,
        session.decisions.failed,
    )
    last: holdfast.Decision = session.decisions.recent[-1]
    outcome: str | None = last.outcome
    at: datetime | None = last.settled_at
    ok: bool | None = last.ok
    rivals: tuple[holdfast.Closing, ...] = last.rivals
    used(counts, outcome, at, ok, rivals)
    with session.acting("Deploy", because="green", action="deploy") as act:
        name: str = act.id
        act.outcome(f"{name} deployed")


def work(session: Session) -> None:
    session.set_goal("Ship it soon")
    session.set_focus("the release")
    session.mark("blocked")
    session.mark("working")
    session.declare_phases(["plan", "build", "ship"], transitions={"plan": ["build"], "build": ["ship"]})
    session.enter_phase("build")
    session.complete_phase()
    session.skip_to_phase("plan", "again")
    phases: holdfast.Phases = session.phases
    visits: list[str] = [visit.phase for visit in phases.history]
    allowed: Mapping[str, tuple[str, ...]] | None = phases.transitions
    first = session.add_task("Write the notes")
    session.add_task("Publish", depends_on=[first.id])
    session.start_task(first.id)
    session.block_task(reason="no network")
    session.unblock_task()
    session.complete_task(result="written")
    session.skip_task(reason="not today")
    task: holdfast.Task | None = session.task
    tasks: holdfast.Collection[holdfast.Task] = session.tasks
    titles: list[str] = [entry.title for entry in (*tasks.open, *tasks.recent)]
    results: dict[str, str] = session.results()
    plan = session.propose_plan("Release", "in two steps")
    session.edit_plan(plan.id, "in three steps")
    session.approve_plan(plan.id, reason="good")
    session.reject_plan(session.propose_plan("Wait").id, "no")
    outcomes: list[str | None] = [entry.outcome for entry in session.plans.recent]
    used(visits, allowed, task, titles, results, outcomes)


def batches(session: Session) -> None:
    made = session.create_batch(["a", {"b": 1}], title="letters", retries=1)

    def step(item: Json, previous: Json) -> object:
        return [item, previous]

    ended: holdfast.Batch = holdfast.batch.run(session, made.id, step)
    done: tuple[range, ...] = ended.done_items
    items: list[Json] = session.batch_items(made.id)
    result: Json = session.item_result(made.id, 0)
    used(ended.outcome, ended.done, ended.total, done, items, result)
    later = session.create_batch(["c"])
    me: dict[str, object] = {"host": "here"}
    if session.has_item(later.id):
        item: int | None = session.claim_item(later.id, me)
        assert item is not None
        claims: list[JsonObject] = [claim.claimant for claim in session.batch(later.id).running]
        session.fail_item(later.id, item, me, "no disk")
        failure: holdfast.BatchFailure = session.batch(later.id).failures[0]
        used(claims, failure.reason)
    session.retry_failed(later.id)
    session.begin_batch(later.id, ["convert", "{item}"])
    taken: int | None = session.claim_item(later.id, me)
    session.release_items(later.id, "here")
    session.finish_item(later.id, session.claim_item(later.id, me) or 0, me, {"size": 1})
    open_batches: tuple[holdfast.Batch, ...] = session.batches.open
    used(taken, open_batches)
    later = session.create_batch(["d"])
    session.abandon_batch(later.id, "enough")


def concerns(session: Session) -> None:
    loop = session.add_loop("Which port?", context="8080 is taken")
    session.explore_loop(loop.id)
    session.close_loop(loop.id, "8081", decide="Use 8081", because="it is free")
    answer: holdfast.Loop = session.loops.recent[-1]
    waiting: tuple[holdfast.Capture, ...] = session.captures.open
    for captured in waiting:
        if captured.source == "prompt":
            session.confirm_capture(
                captured.id, text=captured.text, because=captured.because, become="decision"
            )
        else:
            session.drop_capture(captured.id, "only an idea")
    made: tuple[holdfast.GitCommit, ...] = session.git_commits
    print([commit.sha for commit in made])
    risk = session.add_risk("The disk is full", severity="high")
    session.close_risk(risk.id, "bought another")
    blocker = session.add_blocker("No key")
    session.close_blocker(blocker.id, "got it")
    session.finish_next(session.add_next("Call Ann").id, "called")
    error = session.add_error("Out of memory", tried="twice")
    session.remedy_error(error.id, "more memory")
    session.legal_review("The licence", outcome="fine")
    remedies: list[str | None] = [entry.remedy for entry in session.errors.recent]
    reviews: holdfast.LegalReviews = session.legal_reviews
    severities: list[str | None] = [entry.severity for entry in session.risks.recent]
    texts: list[str] = [entry.text for entry in session.blockers.recent]
    texts += [entry.text for entry in session.next_actions.recent]
    used(answer.decision, answer.outcome, remedies, reviews.count, reviews.recent, severities, texts)


def context(session: Session) -> None:
    session.add_message("user", "hello")
    session.add_message("tool", "42", tool="calculator")
    messages: list[holdfast.Message] = session.recent(2)
    session.summarize("they said hello", keep=1)
    conversation: holdfast.Messages = session.messages
    summary: holdfast.Summary | None = conversation.summary
    session.set_budget(1000, zones=[10, 20, 30])
    session.spend("prompt", 100)
    session.exclude("prompt")
    session.include("prompt")
    session.unspend("prompt")
    budget: holdfast.Budget = session.budget
    session.refer("README.md", kind="context")
    session.spend_file("README.md", name="the manual")
    session.unrefer("README.md")
    session.compacted("the beginning", trigger="auto")
    compactions: holdfast.Compactions = session.compactions
    references: tuple[holdfast.Reference, ...] = session.references
    stale: list[holdfast.StaleFile] = session.stale()
    session.with_secrets("redact").note("remember")
    session.stopped("wrote the notes")
    notes: holdfast.Notes = session.notes
    used(messages, summary, budget.zone, compactions.last, references, stale)
    assert notes.recent


def lifecycle(session: Session) -> None:
    session.checkpoint("half way", last_completed="one", pending=["two"], tools=["make"])
    checkpoint: holdfast.Checkpoint | None = session.last_checkpoint
    session.discuss("names")
    discussion: holdfast.Discussion | None = session.discussion
    session.return_("settled")
    session.pause("lunch", action="eating")
    pause: holdfast.Pause | None = session.paused
    recovery: holdfast.Recovery = session.recovery
    session.continue_()
    session.hand_off("yours")
    session.claim("bob")
    handoff: holdfast.Handoff | None = session.handoff
    menu: list[str] = [action.usage for action in session.menu()]
    session.do("/add-loop Why?")
    session.complete("shipped")
    completion: holdfast.Completion | None = session.completed
    archived: datetime | None = session.archived_at
    used(checkpoint, discussion, pause, recovery.notes, handoff, menu, completion)
    assert not archived


def tagged(state: set[str], event: holdfast.Event) -> set[str]:
    return state | {event.type}


def tags_from(value: Json) -> set[str]:
    return {str(tag) for tag in value} if isinstance(value, list) else set()


def tags_to(state: set[str]) -> Json:
    return [*sorted(state)]


TAGS = holdfast.Projection("tags", tagged, set[str](), dump=tags_to, load=tags_from)


def with_seconds(data: JsonObject) -> JsonObject:
    return {"seconds": 0, **data}


def history(session: Session) -> None:
    session.record("x.build", {"seconds": 12})
    session.record_all([("x.build", {"seconds": 3}), ("x.done", {})])

    def add(total: int, event: holdfast.Event) -> int:
        seconds: Json = event.data.get("seconds")
        return total + seconds if isinstance(seconds, int) else total

    total: int = session.project(add, 0)
    seconds: holdfast.Projection[int] = holdfast.Projection("seconds", add, 0, version=2)
    kept: int = session.project(seconds)
    before_that: int = session.project(seconds, at=1)
    tags: set[str] = session.project(TAGS, at=session.version)
    who: list[tuple[datetime, str, str, str]] = [
        (event.at, event.by, event.origin, event.commit) for event in next(session.log()).events
    ]
    used(kept, before_that, tags, who)
    kinds: list[str] = [event.type for commit in session.log() for event in commit.events]
    newest: holdfast.Commit = next(session.log(newest_first=True))
    here: holdfast.SearchResult = session.search("JSON", kind=["decision", "note"], status="settled", limit=5)
    hits: tuple[holdfast.Hit, ...] = here.hits
    assert all(0 <= start < end for hit in hits for start, end in hit.marks)
    past: holdfast.SessionState = session.read(at=2)
    now: holdfast.SessionState = session.read()
    raw: JsonObject = session.state
    before: JsonObject = session.at(1)
    changes: list[holdfast.Change] = session.diff(1, session.version)
    lines: list[str] = [line.text for line in now.activity]
    contested: list[Json] = [entry.value for entry in now.contested]

    def change(handle: Session) -> Receipt:
        return handle.note(f"at version {handle.version}", op=None)

    receipt: Receipt = session.update(change)
    used(total, kinds, newest.at, past.goal, raw, before, changes, lines, receipt.id == "")
    assert contested == []
    place: tuple[str, str, str] = (session.id, session.user, session.name)
    facts: tuple[str, str | None, str, str | None] = (
        session.goal,
        session.focus,
        session.status,
        session.phase,
    )
    times: tuple[datetime | None, datetime | None, str | None, int] = (
        session.created,
        session.updated,
        session.updated_by,
        session.own_events,
    )
    used(place, facts, times)


def project(handle: Project) -> None:
    item = handle.add_item("Rewrite", priority="high", tags=["v2"])
    handle.edit_item(item.id, title="Rewrite it")
    handle.start_item(item.id)
    ready: list[holdfast.BacklogItem] = handle.ready()
    handle.close_item(item.id, "done", outcome="done")
    order = handle.order("Never push on Friday")
    orders: holdfast.Collection[holdfast.Order] = handle.orders
    try:
        accepted: str = handle.accept(order.id)
        assert accepted == order.id
    except holdfast.Forbidden:
        pass  # only a person can, and a program is none
    handle.lift(order.id, "it is Monday")
    fact = handle.add_fact("main exists", check={"file-exists": "README.md"})
    check: JsonObject | None = handle.facts.open[0].check
    handle.drop_fact(fact.id)
    handle.caught("lint", "an unused import", outcome="removed")
    controls: holdfast.Controls = handle.controls
    decided = handle.decide("All JSON", because="git diff")
    handle.settle(decided.id, "done")
    state: holdfast.ProjectState = handle.read()
    used(ready, orders, check, controls.recent, state.decisions.closed, handle.backlog.recent)


def person(handle: Person) -> None:
    handle.prefer("language", "en")
    preferences: Mapping[str, str] = handle.preferences
    language: str | None = handle.preference("language")
    handle.unprefer("language")
    state: holdfast.PersonState = handle.read()
    used(preferences, language, handle.user)
    assert state.preferences == {}


def errors(workspace: Workspace) -> None:
    try:
        workspace.session("no-such-session")
    except holdfast.NotFound as error:
        code: str = error.code
        message: str = error.message
        status: int = error.status
        base: holdfast.HoldfastError = error
        used(code, message, status, base)


def main(folder: str) -> None:
    (Path(folder) / "README.md").write_text("Read me.")
    with holdfast.init(folder, user="alice", by="agent-1") as workspace:
        session: Session = workspace.start("Ship it", op="start once")
        workspace.upcast("x.build", 1, with_seconds)
        for use in (decisions, work, batches, concerns, context, history, lifecycle):
            use(session)
        project(workspace.project)
        person(workspace.me)
        errors(workspace)
        names: list[str] = workspace.sessions(user="alice", limit=10)
        same: Session = workspace.session(names[0])
        current: str | None = workspace.current()
        workspace.switch(same.name)
        lease: holdfast.Lease = workspace.lease(session.name)
        session.under(lease).note("mine alone")
        lease.release()
        session.decide("Tag it", because="green", action="git tag")
        unsettled: list[holdfast.Unsettled] = workspace.recover()
        total: int = workspace.search("JSON", since="7d", semantic=False).total
        assert total >= 0
        decided: list[holdfast.Decided] = workspace.decisions(status="settled", since="7d", text="JSON")
        chosen: bool = decided[0].decision.choice
        workspace.publish()
        faults: list[holdfast.Fault] = workspace.doctor()
        where: str = workspace.where
        used(current, unsettled[0].decision.id, where, decided[0].session, chosen)
        assert not faults
    with holdfast.open(folder, user="alice", origin="human", secrets="refuse") as again:
        goal: str = again.session().goal
        assert goal
    saved: bool = holdfast.checkpoint("from a script", tools=["make"], where=folder)
    assert saved


if __name__ == "__main__":
    main(sys.argv[1])
