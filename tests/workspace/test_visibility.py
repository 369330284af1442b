"""Batches, imports, archived sessions and stale files are visible in state.json, STATE.md, status and brief."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.workspace.imports import import_file

PAGE = "# S\n\n## Decisions\n\n- Use A\n\nstray words | nobody knows\n"


@pytest.fixture
def session(project: Path) -> Iterator[holdfast.Session]:
    """A session with a batch half done and an import."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Ship it")
        made = session.create_batch(["a", "b", "c"], title="convert")
        me = {"host": "h"}
        for item in (0, 1):
            assert session.claim_item(made.id, me) == item
        session.finish_item(made.id, 0, me, "fine")
        session.fail_item(made.id, 1, me, "broken")
        import_file(workspace, "STATE.md", PAGE.encode())
        workspace.publish()
        yield session


def folder_of(session: holdfast.Session) -> Path:
    return Path(session.workspace.where) / session.stream


def test_a_batch_is_shown_with_its_counts(
    session: holdfast.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """state.json has the numbers; STATE.md, status and the brief say them."""
    shown = json.loads((folder_of(session) / "state.json").read_text())
    (batch,) = shown["batches"]["open"]
    assert (batch["title"], batch["total"], batch["done"], batch["failed"]) == ("convert", 3, 1, 1)
    assert shown["batches"]["open_count"] == 1
    page = (folder_of(session) / "STATE.md").read_text()
    assert f"**Batch:** {batch['id']} convert: 1 of 3 done, 1 failed" in page
    assert main(["status"]) == 0
    assert "convert: 1 of 3 done, 1 failed" in capsys.readouterr().out
    assert main(["brief"]) == 0
    assert f"`holdfast batch status {batch['id']}`" in capsys.readouterr().out
    assert main(["batch", "status", batch["id"]]) == 0


def test_an_import_is_shown(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """state.json and status name the last file with its counts; CONTEXT.md lists the last few."""
    shown = json.loads((folder_of(session) / "state.json").read_text())
    assert shown["imports"]["count"] == 1
    assert shown["imports"]["last"]["file"] == "STATE.md"
    assert main(["status"]) == 0
    assert "imports  1, last STATE.md: " in capsys.readouterr().out
    assert main(["view", "CONTEXT.md"]) == 0
    assert "| STATE.md | state-md |" in capsys.readouterr().out.replace("\\", "")


def test_archived_sessions_are_found(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """`sessions` mentions them, lists them on request, and views of one say that it is archived."""
    session.abandon_batch(session.batch().id, "enough")
    session.complete("done")
    assert main(["archive", "add", session.id]) == 0
    capsys.readouterr()
    assert main(["sessions"]) == 0
    assert "--archived lists" in capsys.readouterr().out
    assert main(["sessions", "--archived", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sessions"]
    assert row["session"] == session.id
    assert row["archived_at"]
    assert main(["status", "--session", session.id]) == 0
    assert "archived" in capsys.readouterr().out
    assert main(["brief", "--session", session.id]) == 0
    assert "archived and read-only" in capsys.readouterr().out


def test_stale_files_come_first_in_the_brief(
    session: holdfast.Session, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A referenced file that changed or is missing comes before the goal, fenced as data, also in resume."""
    for name in ("a.md", "b.md", "c.md"):
        (project / name).write_text("x")
        session.refer(name)
    (project / "a.md").write_text("y")
    (project / "b.md").unlink()
    for command in ("brief", "resume"):
        assert main([command]) == 0
        output = capsys.readouterr().out
        assert output.index("CHANGED «a.md» is changed") < output.index("## Goal")
        assert output.index("CHANGED «b.md» is gone") < output.index("## Goal")
        assert "CHANGED «c.md»" not in output


def test_log_show_and_diff_of_project_and_user(
    session: holdfast.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """The history of the project's and the user's streams can be read like a session's."""
    session.workspace.project.add_item("First")
    second = session.workspace.project.add_item("Second").id
    session.workspace.me.prefer("theme", "dark")

    def run(*words: str, status: int = 0) -> dict[str, object]:
        assert main([*words, "--json"]) == status
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    log = run("log", "--project", "--type", "backlog")
    assert log["stream"] == "project"
    assert [c["events"][0]["data"]["title"] for c in log["commits"]] == ["Second", "First"]  # type: ignore[attr-defined]
    assert run("show", second, "--project")["events"][0]["data"]["title"] == "Second"  # type: ignore[index]
    assert len(run("show", "--at", "1", "--project")["state"]["backlog"]["open"]) == 1  # type: ignore[index,arg-type]
    assert "Second" in json.dumps(run("diff", "1", "2", "--project"))
    assert run("log", "--user")["stream"] == run("log", "--user", "alice")["stream"] == "users/alice"
    assert "dark" in json.dumps(run("show", "--user"))
    assert "dark" in json.dumps(run("diff", "0", "1", "--user"))
    assert run("log", "--user", "nobody", status=4)["error"]["code"] == "HF-NOT-FOUND"  # type: ignore[index]
    assert run("log", "--user", "../x", status=2)["error"]["code"] == "HF-NAME"  # type: ignore[index]
    run("log", "--project", "--user", status=2)
    run("log", "--project", "--git", status=2)
    assert main(["show", "--project"]) == 0
    assert "First" in capsys.readouterr().out
