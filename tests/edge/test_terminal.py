"""What a person sees in a terminal: local times, lines that fit, plural forms, colours only where they show."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core import timestamps
from holdfast.edge import render
from holdfast.edge.cli import main

CLI = [sys.executable, "-c", "from holdfast.edge.cli import script; script()"]
LONG = "Write the migration and test it twice on a copy of the whole production database, 全部のデータ"


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A person in Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def on_terminal(*words: str, columns: int = 80, status: int = 0, **environment: str) -> str:
    """What a command prints on a terminal of that width."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    told = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
    started = subprocess.Popen(
        [*CLI, *words], stdin=terminal, stdout=terminal, stderr=terminal, env=told | environment
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone once the last of it was read
        while part := os.read(master, 4096):
            shown += part
    os.close(master)
    assert started.wait() == status
    return shown.decode().replace("\r\n", "\n")


def width(line: str) -> int:
    plain = re.sub(r"\x1b\[[0-9]*m", "", line)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


@pytest.fixture
def session(project: Path) -> holdfast.Session:
    """A session in which every text is longer than a line."""
    with holdfast.open(project) as workspace:
        session = workspace.start(LONG, phases=["look at all of it", "build"])
        session.add_task(LONG)
        session.add_task("second", depends_on=["T-1"])
        session.start_task("T-1")
        session.block_task(reason=LONG)
        session.decide(LONG, because=LONG, action=LONG)
        session.add_loop(LONG)
        session.add_risk(LONG)
        session.add_blocker(LONG)
        session.add_next(LONG)
        session.add_error(LONG)
        session.checkpoint(LONG)
        session.discuss(LONG)
        workspace.project.add_item(LONG, tags=["one", "two"])
        workspace.project.caught(LONG, LONG)
        return session


TABLES = ["status", "sessions", "task", "loop", "risk", "error", "next", "backlog", "control", "log", "who"]


@pytest.mark.parametrize("columns", [60, 80, 132])
@pytest.mark.parametrize("command", TABLES)
def test_lines_fit_the_terminal(session: holdfast.Session, command: str, columns: int) -> None:
    """No line wraps: what does not fit ends with an ellipsis, also where characters are two columns wide."""
    shown = on_terminal(command, columns=columns)
    assert shown.strip()
    assert [line for line in shown.splitlines() if width(line) > columns] == []
    if columns <= 80 and command not in ("who", "control"):
        assert "…" in shown


@pytest.mark.parametrize("command", TABLES)
def test_a_pipe_gets_whole_lines(
    session: holdfast.Session, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal nothing is cut to a width, and there are no colours."""
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = subprocess.run([*CLI, command], capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in shown
    if command in ("status", "task"):
        assert "on a copy of the whole" in shown


def test_colours_only_where_they_show(session: holdfast.Session) -> None:
    """A terminal has colours, unless NO_COLOR is set or the terminal is dumb."""
    assert "\x1b[" in on_terminal("status", TERM="xterm")
    assert "\x1b" not in on_terminal("status", TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in on_terminal("status", TERM="dumb")


def test_times_are_local_for_people_and_utc_for_programs(
    session: holdfast.Session, berlin: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person reads the local time with its zone; JSON has UTC."""
    assert render.when("2026-01-21T14:30:00.123Z") == "2026-01-21 15:30 CET"
    assert render.when("2026-07-21T14:30:00.123Z") == "2026-07-21 16:30 CEST"
    assert render.when("2026-01-21T23:30:00.000Z") == "2026-01-22 00:30 CET"
    assert render.day("2026-01-21T23:30:00.000Z") == "2026-01-22"
    assert render.when(None) == ""
    assert render.when("last week") == "last week"
    assert main(["status"]) == 0
    assert re.search(r"^last +[0-9-]{10} [0-9:]{5} CES?T by ", capsys.readouterr().out, re.MULTILINE)
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"]["updated_at"].endswith("Z")


def test_a_time_is_read_as_it_is_shown(
    project: Path, berlin: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--since` takes local time, and UTC with a Z."""
    with holdfast.open(project) as workspace:
        workspace.start("Ship it")
    assert main(["log", "--json"]) == 0
    at = json.loads(capsys.readouterr().out)["commits"][0]["at"]
    seconds = timestamps.from_iso(at) // 1000
    local = [time.localtime(seconds + shift) for shift in (-60, 60)]
    before, after = (time.strftime("%Y-%m-%dT%H:%M:%S", then) for then in local)
    found = []
    for since in (before, after, at[:19] + "Z"):
        assert main(["log", "--json", "--since", since]) == 0
        found.append(len(json.loads(capsys.readouterr().out)["commits"]))
    assert found == [1, 0, 1]


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 decisions"), (1, "1 decision"), (2000, "2,000 decisions")]
)
def test_plural_forms(count: int, said: str) -> None:
    """One is singular, all other numbers are plural."""
    assert render.plural(count, "decision") == said


def test_plural_forms_in_commands(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands count in words that fit the number."""
    main(["start", "Ship it"])
    main(["decide", "x", "--because", "y", "--action", "z"])
    capsys.readouterr()
    main(["recover"])
    assert capsys.readouterr().out.startswith("1 unsettled decision (oldest first):")
    main(["decide", "x", "--because", "y", "--action", "z"])
    main(["recover"])
    assert "2 unsettled decisions (oldest first):" in capsys.readouterr().out
    main(["complete"])
    assert "Still open: 2 unsettled decisions." in capsys.readouterr().out


def test_the_words_of_everyday_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From init to recover: what was done, and what to run next."""
    assert main(["init", str(tmp_path)]) == 0
    made, following, then = capsys.readouterr().out.splitlines()
    assert made == f"Created .state/ in {tmp_path}."
    assert following == 'Next: holdfast start "GOAL"'
    assert then == 'Then: holdfast decide "WHAT" --because "WHY"'
    where = ["--workspace", str(tmp_path)]
    main(["start", "Ship it", *where])
    assert re.fullmatch(r"Started session [0-9a-z-]{19} \(current\)\.\n", capsys.readouterr().out)
    main(["decide", "x", "--because", "y", "--action", "z", *where])
    assert capsys.readouterr().out == "Recorded D-1. When done: holdfast settle D-1 OUTCOME\n"
    main(["settle", "D-1", "z", *where])
    assert capsys.readouterr().out == "Settled D-1.\n"
    main(["recover", *where])
    assert capsys.readouterr().out == "No unsettled decisions.\n"


def test_init_asks_in_plain_words(tmp_path: Path) -> None:
    """On a terminal init asks about agents that it finds, and about nothing else."""
    (tmp_path / ".git").mkdir()
    shown = on_terminal("init", str(tmp_path), HOME=str(tmp_path), PATH="/usr/bin:/bin")
    assert "?" not in shown
    assert "driver" not in shown


def test_a_column_without_cells_is_left_out() -> None:
    """A table has no column that is empty in every row."""
    assert render.table([("a", "", "c")], ("one", "two", "three")) == "one  three\na    c"


def test_errors_wrap_at_words(project: Path) -> None:
    """On a terminal no line of an error is longer than the terminal is wide, and no word is broken."""
    shown = on_terminal("status", status=4)
    assert "no current session" in shown
    assert len(shown.splitlines()) > 2
    assert [line for line in shown.splitlines() if width(line) > 80] == []
