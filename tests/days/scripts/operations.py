"""Days of people who run things."""

from __future__ import annotations

from ..engine import DECIDES, Day, Stage, ask


def _cluster(stage: Stage) -> None:
    """Copilot CLI. A cluster is moved to new machines; a plan in its todo table; one command fails and then works."""
    agent = stage.agent("copilot").starts()
    agent.asked(
        "Move the staging cluster to the arm64 machines. Keep one x86 pool for the legacy worker. Do not "
        "apply anything "
        "without showing me the plan output first."
    )
    agent.plans(
        ("Add an arm64 node pool", "in_progress"),
        ("Build images for both architectures", "pending"),
        ("Drain the x86 pool", "pending"),
        ("Pin the legacy worker to x86", "pending"),
    )
    agent.edits("infra/staging/pools.tf")
    agent.runs(
        "terraform plan",
        'Initializing...\n\nError: Unsupported argument\n\n  on pools.tf line 14, in resource "pool" "arm":\n'
        '  14:   machine_kind = "t2a-standard-4"\n\n'
        'An argument named "machine_kind" is not expected here.\n',
        1,
    )
    agent.edits("infra/staging/pools.tf")
    agent.runs("terraform plan", "Plan: 1 to add, 0 to change, 0 to destroy.")
    agent.decides("Three arm nodes of t2a-standard-4", "two could not hold the queue workers during a drain")
    agent.says(
        "Plan: 1 to add, nothing to change or destroy.\n\nI chose three nodes of t2a-standard-4, because two could not "
        "hold the queue workers while one drains. Shall I apply it?"
    )
    agent.asked("yes apply. then the images.")
    agent.runs("terraform apply -auto-approve", "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.")
    agent.edits(".github/workflows/images.yml", "docker/worker.Dockerfile")
    agent.runs(
        "docker buildx build --platform linux/arm64,linux/amd64 docker/worker.Dockerfile",
        "#12 [linux/arm64 4/6] RUN pip install -r requirements.txt\n"
        "#12 41.2 ERROR: Could not find a version that satisfies the requirement pyfoxlib==2.1 (from versions: none)\n"
        "#12 ERROR: process did not complete successfully: exit code: 1\n",
        1,
    )
    agent.plans(
        ("Add an arm64 node pool", "completed"),
        ("Build images for both architectures", "in_progress"),
        ("Drain the x86 pool", "pending"),
        ("Pin the legacy worker to x86", "pending"),
    )
    agent.says(
        "The pool is there. The worker image does not build for arm64: pyfoxlib 2.1 has no arm wheel and no source. "
        "Either the vendor gives us one, or that worker stays on x86 together with the legacy one."
    )
    agent.asked(
        "leave it on x86 for now. pin both workers, and open a ticket text for the vendor in docs/vendor.md"
    )
    agent.edits("infra/staging/workers.tf")


CLUSTER = Day(
    "a cluster in Copilot CLI",
    _cluster,
    (
        ask("request", "pin both workers"),
        ask("goal", "staging cluster to the arm64 machines"),
        ask("last words", "pyfoxlib 2.1 has no arm wheel"),
        ask("files", "infra/staging/workers.tf", "docker/worker.Dockerfile"),
        ask("failing command", "docker buildx build", "pyfoxlib==2.1"),
        ask("decision", "t2a-standard-4"),
        ask("constraint", "Do not apply anything without showing me the plan"),
        ask("what is left", "Drain the x86 pool", "Pin the legacy worker to x86"),
    ),
    next_host="copilot",
)


def _incident(stage: Stage) -> None:
    """Claude Code and Copilot CLI side by side during an outage; the first is killed with an action unsettled."""
    first = stage.agent("claude").starts()
    first.asked(
        "Checkout is down, 502 since 09:12. Help me find out. Read-only on the production database, please: no writes, "
        "no locks."
    )
    first.runs(
        "kubectl logs deploy/checkout --tail=40",
        "09:12:04 INFO pool size 20\n09:12:09 ERROR QueuePool limit of size 20 overflow 10 reached, "
        "connection timed out\n",
    )
    first.says(
        "The connection pool is exhausted since 09:12:09. Something holds connections: the report job started at 09:10."
    )
    first.asked("kill the report job then")
    first.decides(
        "Stop the report job before anything else",
        "it holds 26 of 30 connections",
        action="kubectl delete job nightly-report",
    )
    first.runs(
        "kubectl get job nightly-report", "NAME             COMPLETIONS   AGE\nnightly-report   0/1   19m\n"
    )
    second = stage.agent("copilot").starts()
    second.asked("In parallel: write the status page text for customers. Sober, no blame, times in UTC.")
    second.edits("status/2026-03-14.md")
    second.says(
        "The text is in status/2026-03-14.md. It says that checkout has been unavailable since 09:12 UTC and that we "
        "have found the cause."
    )
    first.dies()
    stage.later(3)
    third = stage.agent("claude").starts()
    third.asked("the terminal died. are we back? check the error rate")
    third.runs(
        "curl -fsS http://metrics.internal/errors?service=checkout",
        "curl: (22) The requested URL returned error: 503 Service Unavailable",
        22,
    )
    third.says(
        "I cannot tell yet: the metrics endpoint itself answers 503.\n\nWe agreed to give reports a pool of their own "
        "with five connections, so that this cannot happen again. Open: who restarts the report tonight."
    )
    third.decides("Give reports a pool of their own with five connections", "they starved the checkout")


INCIDENT = Day(
    "an outage, two hosts, one killed",
    _incident,
    (
        ask("request", "check the error rate"),
        ask("goal", "Checkout is down"),
        ask("last words", "metrics endpoint itself answers 503"),
        ask("failing command", "metrics.internal/errors?service=checkout", "503 Service Unavailable"),
        ask("decision", "pool of their own"),
        ask("constraint", "Read-only on the production database"),
        ask("what is left", "who restarts the report tonight"),
        ask("files", "status/2026-03-14.md"),
        ask("unsettled action", "kubectl delete job nightly-report", only=DECIDES),
    ),
    held_out=True,
)


def _release(stage: Stage) -> None:
    """Claude Code with tasks. A release on its branch; tests fail, are fixed, fail elsewhere; a tag is announced."""
    agent = stage.agent("claude-tasks").starts()
    agent.asked("Prepare release 2.4 on a branch of its own. The changelog is written for users, not for us.")
    agent.branches("release-2.4")
    agent.plans(
        ("Changelog of 2.4", "in_progress"),
        ("Version numbers", "pending"),
        ("Full test run", "pending"),
        ("Tag and publish", "pending"),
    )
    agent.edits("CHANGELOG.md")
    agent.says(
        "The changelog has 14 entries, grouped by what a user notices. Breaking: the old export flag is gone."
    )
    agent.asked("The flag must come back as a deprecated alias, we promised that until 3.0.")
    agent.edits("src/export/options.py", "CHANGELOG.md", "tests/test_options.py")
    agent.runs(
        "pytest -q",
        "FAILED tests/test_options.py::test_alias - DeprecationWarning: --old-export\n1 failed, 611 passed in 48s",
        1,
    )
    agent.edits("src/export/options.py")
    agent.runs("pytest -q", "612 passed in 47s")
    agent.decides("Keep --old-export as a deprecated alias until 3.0", "it was promised in 2.0")
    agent.commits("Export: --old-export is a deprecated alias")
    agent.plans(
        ("Changelog of 2.4", "completed"),
        ("Version numbers", "completed"),
        ("Full test run", "in_progress"),
        ("Tag and publish", "pending"),
    )
    agent.edits("pyproject.toml", "src/export/version.py")
    agent.runs(
        "tox -e py311,py314",
        "py311: OK (52s)\npy314: FAIL code 1 (49s)\n"
        "  tests/test_dates.py::test_utc - AttributeError: type object 'datetime.datetime' has no attribute 'utcnow'\n"
        "evaluation failed :( (103s)",
        1,
    )
    agent.says(
        "Python 3.11 is green, 3.14 is not: test_dates uses utcnow, which is gone.\n"
        "I'm going with datetime.now(UTC) in the code too, because the tests only show what users would hit."
    )
    agent.decides("Replace utcnow by now(UTC) in the code", "it is gone in 3.14")
    agent.asked("ok. and no tag before both are green!")
    agent.edits("src/export/dates.py", "tests/test_dates.py")
    agent.decides("Tag v2.4.0 when both are green", "the last gate", action="git tag -s v2.4.0")


RELEASE = Day(
    "a release on a branch",
    _release,
    (
        ask("request", "no tag before both are green"),
        ask("goal", "Prepare release 2.4"),
        ask("last words", "Python 3.11 is green"),
        ask("files", "src/export/dates.py", "tests/test_dates.py"),
        ask("failing command", "tox -e py311,py314", "has no attribute 'utcnow'"),
        ask("decision: alias", "deprecated alias"),
        ask("decision: utc", "now(UTC)"),
        ask("constraint", "changelog is written for users"),
        ask("what is left", "Tag and publish"),
        ask("commit", "Export: --old-export is a deprecated alias"),
        ask("branch", "release-2.4"),
        ask("unsettled action", "git tag -s v2.4.0", only=DECIDES),
    ),
)

DAYS = (CLUSTER, INCIDENT, RELEASE)
