"""`holdfast run`: a real command in a real process, killed where it hurts."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.running.output import KEPT, Tail

CLI = [sys.executable, "-c", "from holdfast.edge.cli import script; script()"]
TOKEN = "ghp_" + "x7Kq2mZp9LrT4vWc8BnY1sDf6GhJ3kA0eRuQ"
WAITS = "echo ready; read line < {fifo}; echo $line"
"""A shell command that says that it runs, and ends when it is told to."""


@pytest.fixture
def session(project: Path) -> Iterator[holdfast.Session]:
    with holdfast.open(project) as workspace:
        yield workspace.start("Ship it")


def run(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, "run", *words], capture_output=True, text=True, check=False, **more)


def start(*words: str, **more: Any) -> subprocess.Popen[str]:
    """Start a run in a session of its own, so that no terminal of the tests is involved."""
    return subprocess.Popen(
        [*CLI, "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def killed(place: str, *words: str) -> None:
    """Run with SIGKILL to itself at a place in the code: nothing after it happens, as in a power cut."""
    imports = "import os, subprocess, holdfast.workspace.decisions as d"
    code = f"{imports}; {place} = lambda *a, **k: os.kill(os.getpid(), 9)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nfrom holdfast.edge.cli import script; script()", "run", *words],
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def decision(session: holdfast.Session, name: str = "D-1") -> holdfast.Decision:
    found = session.read().decisions.get(name)
    assert found is not None
    return found


# -- a plain run -------------------------------------------------------------------------------------------------------


def test_output_and_exit_code_are_those_of_the_command(session: holdfast.Session) -> None:
    """Standard input, output and error pass through, the exit code is passed on, and the outcome has both."""
    done = run("--because", "tests pass", "--", "sh", "-c", "cat; echo oops >&2; exit 3", input="hello\n")
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert done.stderr == "oops\nholdfast: D-1: Exit status 3.\n"
    made = decision(session)
    assert (made.ok, made.exit_code, made.because) == (False, 3, "tests pass")
    assert made.action == "sh -c 'cat; echo oops >&2; exit 3'"
    assert made.outcome is not None
    assert made.outcome.startswith("Exit status 3.")
    assert {"hello", "oops"} <= set(made.outcome.split())


def test_the_decision_is_there_while_the_command_runs(session: holdfast.Session) -> None:
    """The command itself finds its own decision unsettled: it was durable before the start."""
    code = f"{sys.executable} -c 'from holdfast.edge.cli import script; script()' recover --json"
    done = run("--", "sh", "-c", code)
    (found,) = json.loads(done.stdout)["unsettled"]
    assert (found["id"], found["status"]) == ("D-1", "cannot tell")
    assert decision(session).ok is True


def test_a_command_with_options_and_dashes_is_passed_on_as_it_is(session: holdfast.Session) -> None:
    """Words after -- are the command's, also --json, -- and empty ones."""
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    done = run("--", sys.executable, "-c", code, "--json", "--once", "", "--", "-x")
    assert json.loads(done.stdout) == ["--json", "--once", "", "--", "-x"]


def test_an_option_of_the_command_does_not_change_how_a_refusal_is_printed(session: holdfast.Session) -> None:
    """A --json after -- is the command's: a refusal stays a sentence on standard error."""
    session.announce("x", "y", "z", once="k")
    done = run("--once", "k", "--", "true", "--json")
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("holdfast: k was started by ")


def test_a_command_that_does_not_exist(session: holdfast.Session) -> None:
    """It fails like in a shell, with 127, and is settled as failed."""
    done = run("--", "no-such-command-here")
    assert done.returncode == 127
    assert "could not be started: No such file" in done.stderr
    made = decision(session)
    assert (made.ok, made.exit_code) == (False, 127)


def test_a_command_that_cannot_be_executed(session: holdfast.Session, project: Path) -> None:
    """It fails like in a shell, with 126."""
    (project / "plain.txt").write_text("x")
    assert run("--", "./plain.txt").returncode == 126


def test_a_command_that_is_killed(session: holdfast.Session) -> None:
    """A command that dies by a signal exits as in a shell, and the signal is named."""
    done = run("--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + signal.SIGKILL
    assert decision(session).outcome == "Killed by SIGKILL (exit status 137)."


def test_no_command_is_a_usage_error(session: holdfast.Session) -> None:
    """Nothing to run: nothing is written."""
    assert run("--once", "k").returncode == 2
    assert session.read().decisions.opened == 0


def test_json_is_one_object_and_the_output_goes_to_standard_error(session: holdfast.Session) -> None:
    """With --json, standard output has exactly one object."""
    done = run("--json", "--", "sh", "-c", "echo out; exit 4")
    assert json.loads(done.stdout) == {
        "ok": False,
        "id": "D-1",
        "exit_code": 4,
        "ran": True,
        "said": "D-1: Exit status 4.",
    }
    assert done.stderr.startswith("out\n")
    assert done.returncode == 4


def test_the_end_of_a_long_output_is_kept(session: holdfast.Session) -> None:
    """Megabytes pass through in full; the outcome has their end, and the state shows its last line."""
    done = run("--", sys.executable, "-c", "for n in range(200000): print('line', n)")
    assert done.stdout.count("\n") == 200_000
    outcome = decision(session).outcome
    assert outcome is not None
    assert outcome.startswith("Exit status 0.")
    assert outcome.endswith("line 199999")
    assert len(outcome) < 700
    (stored,) = [
        event for commit in session.log() for event in commit.events if event.type == "decision.settled"
    ]
    said = str(stored.data["outcome"])
    assert 1_900 < len(said) < KEPT + 100
    assert said.splitlines()[1:3][0] == "…"


def test_secrets_are_replaced_in_what_is_kept_only(session: holdfast.Session, project: Path) -> None:
    """The command gets its words and prints what it prints; the log has neither secret."""
    code = f"import sys; print('x' * {KEPT - 30}); print(sys.argv[1])"
    done = run("--", sys.executable, "-c", code, TOKEN)
    assert TOKEN in done.stdout
    stored = b"".join(path.read_bytes() for path in (project / ".state").rglob("*") if path.is_file())
    assert TOKEN.encode() not in stored
    assert TOKEN[-20:].encode() not in stored
    assert decision(session).ok is True


@pytest.mark.parametrize("before", [120, 170, 3_970])
def test_no_half_of_a_secret_is_kept_where_a_command_line_is_cut(
    session: holdfast.Session, project: Path, before: int
) -> None:
    """Titles and long command lines are cut after secrets are replaced."""
    assert run("--", "true", "x" * before, TOKEN).returncode == 0
    stored = b"".join(path.read_bytes() for path in (project / ".state").rglob("*") if path.is_file())
    assert TOKEN[:16].encode() not in stored


def test_a_key_that_looks_like_a_secret_is_refused(session: holdfast.Session) -> None:
    """What the log cannot hold could not be found there again, so it would be run twice."""
    done = run("--once", TOKEN, "--", "true")
    assert done.returncode == 1
    assert TOKEN not in done.stderr
    assert session.read().decisions.opened == 0


def test_a_reader_that_goes_away_ends_the_command(session: holdfast.Session) -> None:
    """As in a pipe without us: the command gets SIGPIPE, and that is its outcome."""
    started = start("--", "sh", "-c", "while :; do echo y; done")
    assert started.stdout is not None
    assert started.stderr is not None
    assert started.stdout.readline() == "y\n"
    started.stdout.close()
    assert started.wait() == 128 + signal.SIGPIPE
    started.stderr.close()
    assert decision(session).ok is False


def test_what_stays_in_the_background_is_not_awaited(session: holdfast.Session, tmp_path: Path) -> None:
    """A command that leaves a process behind, with its output open, has ended when it has ended."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = start("--", "sh", "-c", f"(read line < {fifo}) & echo started")
    assert done.wait() == 0
    fifo.write_text("end\n")
    done.communicate()
    assert decision(session).outcome == "Exit status 0. The output ends with:\nstarted"


# -- signals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_passed_on_and_settled_as_failed(
    session: holdfast.Session, tmp_path: Path, number: signal.Signals
) -> None:
    """Whoever stops the run stops the command; the outcome says by what."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # Python itself waits, not a child of a shell: the signal goes to the command and not to a group.
    code = (
        "import signal, sys; signal.signal(2, signal.SIG_DFL); print('ready', flush=True); open(sys.argv[1])"
    )
    started = start("--", sys.executable, "-c", code, str(fifo))
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    started.send_signal(number)
    started.communicate()
    assert started.returncode == 128 + number
    made = decision(session)
    assert made.ok is False
    assert made.outcome is not None
    assert made.outcome.startswith(
        f"Interrupted by {number.name}: killed by {number.name} (exit status {128 + number})."
    )


def test_control_c_on_a_terminal(session: holdfast.Session) -> None:
    """The key reaches the command once, which sees a terminal; its own exit code is passed on."""
    code = (
        "import signal, sys\n"
        "count = []\n"
        "signal.signal(signal.SIGINT, lambda *_: count.append(1))\n"
        "print('ready', sys.stdout.isatty(), sys.stdin.isatty(), flush=True)\n"
        "signal.pause()\n"
        "print('interrupted', flush=True)\n"
        "sys.stdin.readline()\n"
        "print('interrupts', len(count), flush=True); sys.exit(7)\n"
    )
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*CLI, "run", "--", sys.executable, "-c", code])
    shown = b""
    while b"ready" not in shown or b"\n" not in shown:
        shown += os.read(master, 1000)
    assert b"ready True True" in shown
    os.write(master, b"\x03")
    while b"interrupted\r\n" not in shown:
        shown += os.read(master, 1000)
    os.write(master, b"go on\n")
    try:
        while part := os.read(master, 1000):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert b"interrupts 1\r\n" in shown
    made = decision(session)
    assert (made.ok, made.exit_code) == (False, 7)
    assert made.outcome is not None
    assert made.outcome.startswith("Interrupted by SIGINT: exit status 7.")


# -- killed ------------------------------------------------------------------------------------------------------------

BEFORE = "subprocess.Popen"
AFTER = "d.DecisionCommands.settle"


@pytest.mark.parametrize(("place", "has_run"), [(BEFORE, False), (AFTER, True)])
def test_killed_before_the_start_or_before_the_outcome(
    session: holdfast.Session, project: Path, place: str, has_run: bool
) -> None:
    """Both leave the same: an unsettled decision. The key is refused until somebody has checked and settled it."""
    killed(place, "--once", "ship", "--", "touch", "shipped")
    assert (project / "shipped").exists() is has_run
    (found,) = session.workspace.recover()
    assert (found.decision.once, found.status) == ("ship", "cannot tell")
    again = run("--once", "ship", "--", "touch", "again")
    assert again.returncode == 125
    assert not (project / "again").exists()
    assert (
        "its outcome was never recorded: `touch shipped` may have run in full, in part or not at all"
        in again.stderr
    )
    assert f"`holdfast settle D-1 OUTCOME --session {session.user}/{session.id}`" in again.stderr
    assert "--failed" in again.stderr
    # As a person follows the advice: done, then it is not run again; not done, then it is.
    words = ["settle", "D-1", "checked", *([] if has_run else ["--failed"])]
    assert main(words) == 0
    after = run("--once", "ship", "--", "touch", "again")
    assert after.returncode == 0
    assert (project / "again").exists() is not has_run


def test_killed_while_the_command_runs(session: holdfast.Session, tmp_path: Path) -> None:
    """As long as the command lives on, it counts as running; after that its outcome is unknown."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    started = start("--once", "ship", "--recovery", "idempotent", "--", "sh", "-c", WAITS.format(fifo=fifo))
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    busy = run("--once", "ship", "--", "true")
    assert (busy.returncode, "ship is running now as D-1" in busy.stderr) == (125, True)
    started.kill()
    started.communicate()
    orphan = run("--once", "ship", "--", "true")
    assert (orphan.returncode, "ship is running now as D-1" in orphan.stderr) == (125, True)
    folder = session.workspace.presence.folder
    (lock,) = Path(folder.path, "runs").iterdir()
    fifo.write_text("go on\n")
    with folder.held(f"runs/{lock.stem}"):  # waits until the command has ended
        pass
    assert run("--once", "ship", "--", "true").returncode == 0
    assert (decision(session, "D-1").ok, decision(session, "D-2").ok) == (False, True)


@pytest.mark.parametrize("recovery", ["read-only", "idempotent"])
def test_what_can_be_repeated_is_run_again(session: holdfast.Session, project: Path, recovery: str) -> None:
    """After a crash it runs again; the interrupted attempt is settled as failed, not forgotten."""
    killed(AFTER, "--once", "k", "--recovery", recovery, "--", "touch", "one")
    assert run("--once", "k", "--", "touch", "two").returncode == 0
    assert (project / "two").exists()
    made = decision(session)
    assert made.ok is False
    assert made.outcome is not None
    assert "no outcome was recorded" in made.outcome
    assert decision(session, "D-2").ok is True


def test_what_must_never_be_repeated_is_not_run_again(session: holdfast.Session, project: Path) -> None:
    """Neither after a crash, whatever the second call says, nor after a failure."""
    killed(AFTER, "--once", "pay", "--recovery", "never", "--", "false")
    again = run("--once", "pay", "--recovery", "idempotent", "--", "touch", "again")
    assert (again.returncode, "its class is never" in again.stderr) == (125, True)
    session.settle("D-1", "it was not paid", ok=False)
    assert run("--once", "pay", "--", "touch", "again").returncode == 125
    assert not (project / "again").exists()


@pytest.mark.parametrize("recovery", [[], ["--check-first"], ["--recovery", "check-first"]])
@pytest.mark.parametrize("place", [BEFORE, AFTER])
def test_done_when_decides_after_a_crash(
    session: holdfast.Session, project: Path, place: str, recovery: list[str]
) -> None:
    """What is there was done and is settled so; what is not there is done now."""
    words = ("--once", "k", *recovery, "--done-when", "file:made", "--", "sh", "-c", "echo x >> made")
    killed(place, *words)
    again = run(*words)
    assert again.returncode == 0
    assert (project / "made").read_text() == "x\n"
    made = decision(session)
    assert made.ok is (place == AFTER)
    assert made.outcome is not None
    assert "as seen after an interruption" in made.outcome
    assert run(*words).returncode == 0
    assert (project / "made").read_text() == "x\n"


def test_what_cannot_be_seen_is_refused(session: holdfast.Session, project: Path) -> None:
    """Without git nobody can tell whether a tag is there, so it is not run again."""
    killed(BEFORE, "--once", "k", "--done-when", "git-tag:v1", "--", "touch", "made")
    again = run("--once", "k", "--", "touch", "made")
    assert again.returncode == 125
    assert "git-tag:v1, cannot tell (git is not available here)" in again.stderr
    assert not (project / "made").exists()


# -- once --------------------------------------------------------------------------------------------------------------


def test_a_success_is_not_repeated_in_any_session(session: holdfast.Session, project: Path) -> None:
    """It exits as it did, says so, and writes nothing: in the same session, another one, and after archiving."""
    assert run("--once", "k", "--", "sh", "-c", "echo x >> made").returncode == 0
    again = run("--once", "k", "--", "sh", "-c", "echo x >> made")
    assert (again.returncode, again.stdout) == (0, "")
    assert "k was done as D-1" in again.stderr
    assert "It was not run again" in again.stderr
    session.complete()
    assert main(["archive", "add", session.id]) == 0
    session.workspace.start("Another")
    assert run("--once", "k", "--", "sh", "-c", "echo x >> made").returncode == 0
    assert (project / "made").read_text() == "x\n"


def test_a_failure_is_run_again(session: holdfast.Session) -> None:
    """A recorded failure is no reason not to try again; each attempt is a decision."""
    assert run("--once", "k", "--", "false").returncode == 1
    assert run("--once", "k", "--", "true").returncode == 0
    assert (decision(session, "D-1").ok, decision(session, "D-2").ok) == (False, True)


def test_of_many_at_once_one_runs(session: holdfast.Session, project: Path) -> None:
    """Processes that start together under one key: exactly one of them runs the command."""
    others = [start("--once", "k", "--", "sh", "-c", "echo x >> made") for _ in range(6)]
    codes = [other.communicate() and other.returncode for other in others]
    assert (project / "made").read_text() == "x\n"
    assert set(codes) <= {0, 125}
    assert 0 in codes


def test_check_first_looks_before_the_first_run(session: holdfast.Session, project: Path) -> None:
    """What is done already is not done again, with or without a key, and nothing is written."""
    (project / "made").write_text("by hand\n")
    done = run("--check-first", "--done-when", "file:made", "--", "sh", "-c", "echo x >> made")
    assert (done.returncode, "Done already: there is a file made" in done.stderr) == (0, True)
    assert (project / "made").read_text() == "by hand\n"
    assert session.read().decisions.opened == 0


def test_the_command_knows_its_session_and_key(session: holdfast.Session) -> None:
    """HOLDFAST_SESSION and HOLDFAST_OP tell it where it belongs."""
    done = run("--once", "k", "--", "sh", "-c", "echo $HOLDFAST_SESSION $HOLDFAST_OP")
    assert done.stdout == f"{session.user}/{session.id} k\n"


# -- the end of the output ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"\x1b[31mred\x1b[0m\n", "red"),
        (b"10%\r50%\r100%\r\ndone\r\n", "100%\ndone"),
        (b"\x1b]0;title\x07text\x00\x08\n", "text"),
        (b"\xff\xfe caf\xc3\xa9", "\ufffd\ufffd café"),
        ("a\u202eb".encode(), "ab"),
        (b"\n\n", ""),
    ],
)
def test_the_output_is_kept_as_plain_text(raw: bytes, kept: str) -> None:
    """No escapes, no control or direction characters, and of a progress bar its last state."""
    tail = Tail()
    tail.add(raw)
    assert tail.text() == kept
