"""Days with more than one agent, person or clone."""

from __future__ import annotations

from ..engine import DECIDES, Day, Stage, ask


def _two_agents(stage: Stage) -> None:
    """Claude Code and Codex at the same time, each on its own topic; the second one goes on longest."""
    api = stage.agent("claude").starts()
    api.asked(
        "Add rate limits to the public API: 100 requests a minute per key. Existing keys must not break, so first only "
        "count and log."
    )
    docs = stage.agent("codex").starts()
    docs.asked("Write the page about webhooks for the developer portal. Every example must run as it is.")
    api.edits("api/limits.py", "api/middleware.py")
    docs.edits("portal/webhooks.md")
    api.decides(
        "Count in Redis with a sliding window", "fixed windows let through twice the limit at the boundary"
    )
    api.says(
        "Counting works. I decided to count in Redis with a sliding window, because fixed windows let "
        "through twice the "
        "limit at the boundary."
    )
    docs.runs(
        "python portal/run_examples.py webhooks",
        "1 verify_signature.py ok\n2 retry.py FAILED\n"
        'Traceback (most recent call last):\n  File "retry.py", line 9, in <module>\n'
        "NameError: name 'deliver' is not defined\n",
        1,
    )
    api.ends()
    docs.decides("Examples import from the published client", "copied snippets went stale twice")
    docs.says(
        "The page has four examples; the second one fails because it uses deliver before importing it. "
        "Decision: examples import from the published client, because copied snippets went stale twice."
    )
    docs.asked("Fix the second example, then add one for rotating the secret.")
    docs.edits("portal/examples/retry.py", "portal/examples/rotate_secret.py")
    docs.runs(
        "python portal/run_examples.py webhooks", "1 verify_signature.py ok\n2 retry.py ok\n3 list.py ok\n"
    )
    docs.says(
        "All examples run. rotate_secret.py is written and not in the runner's list yet; that and a diagram of the "
        "delivery order are left."
    )


TWO_AGENTS = Day(
    "two agents, two topics",
    _two_agents,
    (
        ask("request", "one for rotating the secret"),
        ask("goal", "page about webhooks"),
        ask("last words", "not in the runner's list yet"),
        ask("what is left", "diagram of the delivery order"),
        ask("files", "portal/examples/rotate_secret.py", "portal/webhooks.md"),
        ask("decision here", "published client"),
        ask("decision of the other agent", "sliding window"),
        ask("constraint", "Every example must run as it is"),
    ),
    next_host="codex",
)


def _handed_over(stage: Stage) -> None:
    """Bob hands work over, Alice works on something else in Codex; it goes on in another clone."""
    with stage.person("bob") as workspace:
        session = workspace.start("Move the mail templates to the new editor")
        session.decide("Keep the plain-text part", because="two authorities require it")
        session.hand_off("Half of the templates are moved; dunning-3 still has the old footer")
    agent = stage.agent("codex").starts()
    agent.asked(
        "The search index grows by 2 GB a week. Find out what fills it and stop it. We cannot reindex during office "
        "hours."
    )
    agent.runs("python tools/index_stats.py", "attachments: 71 %\nmessages: 22 %\nother: 7 %\n")
    agent.says(
        "71 % of the index are attachments: the extracted text of PDF files, indexed twice per version."
    )
    agent.asked("Index only the latest version of an attachment.")
    agent.edits("search/attachments.py", "search/versions.py", "tests/test_versions.py")
    agent.decides(
        "Index only the latest version, drop older ones in a nightly job", "nobody searches in old versions"
    )
    agent.runs("pytest tests/test_versions.py -q", "5 passed in 0.30s")
    agent.commits("Search: index only the latest version")
    agent.says(
        "New versions replace old ones in the index. We decided that a nightly job drops the older ones, "
        "because nobody "
        "searches in old versions.\n\nNot done yet: the job itself, and a figure of how much it frees."
    )
    agent.asked("Write the job. At most 10,000 documents per run, it has to be interruptible.")
    agent.edits("search/jobs/drop_old_versions.py")
    agent.decides(
        "Try the job on the copy of the index first",
        "a wrong filter would empty the index",
        action="python -m search.jobs.drop_old_versions --index copy",
    )
    agent.runs(
        "python -m search.jobs.drop_old_versions --index copy --dry-run",
        'Traceback (most recent call last):\n  File "search/jobs/drop_old_versions.py", line 33, in run\n'
        "    cursor = client.scroll(batch)\n"
        "ConnectionRefusedError: [Errno 111] Connection refused\n",
        1,
    )
    stage.cloned()


HANDED_OVER = Day(
    "a handoff, another clone",
    _handed_over,
    (
        ask("request", "At most 10,000 documents per run"),
        ask("goal", "search index grows by 2 GB a week"),
        ask("last words", "a nightly job drops the older ones"),
        ask("what is left", "how much it frees"),
        ask("files", "search/jobs/drop_old_versions.py", "search/versions.py"),
        ask("failing command", "drop_old_versions --index copy --dry-run", "Connection refused"),
        ask("decision", "latest version"),
        ask("constraint", "cannot reindex during office hours"),
        ask("commit", "Search: index only the latest version"),
        ask("waiting handoff", "dunning-3 still has the old footer"),
        ask("unsettled action", "python -m search.jobs.drop_old_versions --index copy", only=DECIDES),
    ),
    held_out=True,
)

DAYS = (TWO_AGENTS, HANDED_OVER)
