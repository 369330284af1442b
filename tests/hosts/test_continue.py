"""Work that goes on in the real hosts: failures that end, transcripts that are imported, hosts that are started."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import holdfast
from holdfast.edge.cli.continuing import WAYS

from . import setup
from .fake_model import Reply
from .host import Host
from .installed import installed
from .scenario import HOSTS, bare
from .test_end_to_end import HOSTS as OPTIONS

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]
each_host = pytest.mark.parametrize("host", OPTIONS)
CHECK = "sh check.sh"
SCRIPT = "echo looking; grep -q two made.txt || { echo 'KeyError: two is missing'; exit 3; }\n"


def needs(name: str) -> None:
    """Skip where a host is not installed."""
    tool = HOSTS[name].tool or name
    if setup.entry_of(tool) is None:
        pytest.skip(setup.why_absent(tool))


def run(at: Host, *words: str) -> str:
    """Run holdfast as the host's user, in the project."""
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        cwd=at.project,
        env=at.env(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@each_host
def test_a_failure_ends_when_the_command_succeeds(host: str) -> None:
    """What fails is in the state with its point, until the same command succeeds; the last words are there too."""
    with installed(host, *OPTIONS[host]) as at:
        (at.host.project / "check.sh").write_text(SCRIPT)
        (at.host.project / "made.txt").write_text("one\n")
        at.model.on("CHECK", Reply(call=at.host.shell_call(CHECK)), Reply(text="It fails: two is missing."))
        at.model.on(
            "MEND",
            Reply(call=at.host.edit_call("made.txt", "one", "two")),
            Reply(call=at.host.shell_call(CHECK)),
            Reply(text="It passes now."),
        )
        at.host.turn("CHECK the tables")
        found = at.state()
        (failing,) = found["errors"]["open"].values()
        assert failing["text"] == f"`{CHECK}` failed: KeyError: two is missing"
        assert found["recovery"]["last_action"] == "It fails: two is missing."
        at.host.turn("MEND the tables", resume=True)
        found = at.state()
        assert found["errors"]["open"] == {}
        assert found["recovery"]["last_action"] == "It passes now."
        assert not at.complaints(), at.complaints()


@each_host
def test_a_transcript_becomes_a_session(host: str) -> None:
    """What a host wrote before holdfast was there is found, imported, and not imported twice."""
    needs(host)
    with bare(host) as (at, model, _):
        (at.project / "made.txt").write_text("one\n")
        model.on(
            "TOOLS",
            Reply(call=at.edit_call("made.txt", "one", "two")),
            Reply(call=at.shell_call("echo 'KeyError: gone'; exit 3")),
            Reply(text="I decided to keep the list sorted, because people read it. One command fails."),
        )
        at.turn("TOOLS for the list. Never rename it.")
        at.turn("and what next?", resume=True)
        run(at, "init")
        assert "TOOLS for the list" in run(at, "import", "--from", host)
        (report,) = json.loads(run(at, "import", "--from", host, "--latest", "--json"))["imports"]
        assert (report["taken"]["prompt"], report["taken"]["edit"], report["taken"]["ran"]) == (2, 1, 1)
        (again,) = json.loads(run(at, "import", "--from", host, "--latest", "--json"))["imports"]
        assert (again["taken"], again["session"]) == ({}, report["session"])
        said = run(at, "brief")
        for fact in (
            "and what next?",
            "KeyError: gone",
            "keep the list sorted",
            "Never rename it",
            "made.txt",
        ):
            assert fact in said, fact
        with holdfast.open(at.project, user="alice") as workspace:
            assert workspace.doctor() == []


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_host_is_started_with_the_brief(host: str) -> None:
    """`resume --in` without any hook: the first request of the model has the unsettled decision."""
    needs(host)
    with bare(host) as (at, _, root):
        run(at, "init")
        run(at, "start", "Move the tables")
        run(at, "decide", "Copy them first MARK-9", "--because", "no way back", "--action", "copy")
        programs = root / "programs"
        programs.mkdir()
        (programs / WAYS[host].program).symlink_to(at.entry)
        at.extra_env["PATH"] = f"{programs}:{at.env()['PATH']}"
        words = at.argv("go on", False)[1:]
        more = words if host == "claude" else [word for word in words if word != "go on"]
        done = at.run([sys.executable, "-m", "holdfast", "resume", "--in", host, "--", *more])
        assert done.status == 0, done.stderr[-2000:]
        assert "MARK-9" in "".join(turn.text for turn in done.requests[0].turns)
