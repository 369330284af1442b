"""Installing into the settings of hosts: everything else stays, twice is once, and uninstall restores the bytes."""

from __future__ import annotations

import json
import os
import shlex
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.edge.cli import main
from holdfast.edge.install import jsonc
from holdfast.edge.install.program import Program, program
from holdfast.edge.install.run import install, uninstall
from holdfast.edge.install.settings import merged, merged_toml, withdrawn, withdrawn_toml
from holdfast.edge.install.targets import HOSTS, Place, Target, targets
from holdfast.errors import HoldfastError, Refused, Usage

COMMAND = "holdfast"


@pytest.fixture
def place(project: Path, tmp_path: Path) -> Place:
    """A project and a home, with the command on PATH."""
    home = tmp_path / "home"
    programs = tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    script = programs / "holdfast"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return Place(False, str(project), str(home), {"PATH": str(programs)})


def for_user(place: Place) -> Place:
    return place._replace(user=True)


def snapshot(*folders: str) -> dict[str, bytes | None]:
    """Every file and folder below, except the workspace and its locks."""
    found: dict[str, bytes | None] = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if ".state" not in path.parts:
                found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


def write(target: Target, text: str) -> Path:
    path = Path(target.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


# -- all hosts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", [False, True])
@pytest.mark.parametrize("host", HOSTS)
def test_uninstall_leaves_nothing(host: str, user: bool, place: Place) -> None:
    """Installed into a clean home and project and uninstalled: no file and no folder remains."""
    here = place._replace(user=user)
    before = snapshot(place.project, place.home)
    done = install([host], here)
    assert {change.path for change in done.changes} == {t.path for t in targets(host, here, COMMAND)}
    inside = snapshot(place.project, place.home)
    again = install([host], here)
    assert again.changes == []
    assert snapshot(place.project, place.home) == inside
    uninstall([host], here)
    assert snapshot(place.project, place.home) == before
    assert uninstall([host], here).changes == []


def test_all_hosts_share_a_project(place: Place) -> None:
    """Hosts share a file: it is removed with the last of them."""
    before = snapshot(place.project, place.home)
    install(list(HOSTS), place)
    assert install(list(HOSTS), place).changes == []
    shared = Path(place.project, ".mcp.json")
    assert shared.exists()
    uninstall(["claude"], place)
    assert shared.exists()
    assert not Path(place.project, ".claude").exists()
    uninstall(["vscode"], place)
    assert Path(place.project, ".github", "hooks", "holdfast.json").exists()
    uninstall([], place)
    assert snapshot(place.project, place.home) == before


@pytest.mark.parametrize("host", HOSTS)
def test_a_dry_run_changes_nothing(host: str, place: Place) -> None:
    """A dry run shows the changes and makes none."""
    before = snapshot(place.project, place.home)
    assert install([host], place, dry_run=True).changes
    assert snapshot(place.project, place.home) == before
    install([host], place)
    inside = snapshot(place.project, place.home)
    assert uninstall([host], place, dry_run=True).changes
    assert snapshot(place.project, place.home) == inside


# -- what a person has ------------------------------------------------------------------------------------------

SETTINGS = {
    "plain": '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash"]}\n}\n',
    "comments": '// mine\n{\n\t"model": "opus", // the best\n\t/* list */ "hooks": {\n'
    '\t\t"Stop": [\n\t\t\t{"hooks": []},\n\t\t],\n\t},\n}',
    "comments once": '{/**/"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": []},\n\t\t],\n\t},\n}',
    "crlf": '{\r\n    "model": "opus",\r\n    "hooks": {}\r\n}\r\n',
    "one line": '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo hi"}]}]},"a":1}',
    "empty object": "{}",
    "odd spacing": '{ "hooks" :\n{ "Stop":[ ] } , "mcpServers":{ } }\n\n\n',
    "bom": '\ufeff{\n  "a": [1, 2.5e3, null, true, "\\u00e9 {//no comment"]\n}\n',
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_restored(name: str, place: Place) -> None:
    """Whatever the file looks like: everything in it stays, and uninstall restores it byte for byte."""
    path = write(targets("claude", place, COMMAND)[0], SETTINGS[name])
    path.chmod(0o600)
    before = jsonc.parse(SETTINGS[name]).value
    install(["claude"], place)
    inside = jsonc.parse(path.read_bytes().decode()).value
    for key, value in before.items():
        if key == "permissions":
            assert inside[key] == {"allow": [*value["allow"], "mcp__holdfast"], "ask": ["mcp__holdfast__act"]}
        elif key != "hooks":
            assert inside[key] == value
    for event, entries in before.get("hooks", {}).items():
        assert inside["hooks"][event][: len(entries)] == entries
    assert "holdfast hook claude" in json.dumps(inside["hooks"]["SessionStart"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    uninstall(["claude"], place)
    assert path.read_bytes() == SETTINGS[name].encode()


def test_edits_in_between_stay(place: Place) -> None:
    """A person edits the file after installing: only our part is removed."""
    path = write(targets("claude", place, COMMAND)[0], SETTINGS["plain"])
    install(["claude"], place)
    path.write_text(path.read_text().replace('"opus"', '"sonnet" /* cheaper */'))
    uninstall(["claude"], place)
    assert path.read_text() == SETTINGS["plain"].replace('"opus"', '"sonnet" /* cheaper */')


def test_hooks_added_among_ours_stay(place: Place) -> None:
    """A person adds hooks inside our entries: they stay, ours are removed, and the file is still JSON."""
    path = Path(targets("claude", place, COMMAND)[0].path)
    install(["claude"], place)
    found: dict[str, Any] = json.loads(path.read_text())
    mine = {"type": "command", "command": "my-hook --holdfast hook"}
    found["hooks"]["Stop"][0]["hooks"].append(mine)
    found["hooks"]["PreToolUse"] = [{"hooks": [mine]}]
    path.write_text(json.dumps(found, indent=4))
    uninstall(["claude"], place)
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [mine]}], "PreToolUse": [{"hooks": [mine]}]}
    }


def test_a_file_without_a_ledger_entry(place: Place) -> None:
    """In another clone there is no ledger entry: our part is found and removed anyway."""
    path = write(targets("claude", place, COMMAND)[0], '{\n  "model": "opus"\n}\n')
    install(["claude"], place)
    elsewhere = place._replace(home=place.home + "-other")
    uninstall([], elsewhere)
    assert path.read_text() == '{\n  "model": "opus"\n}\n'


def test_an_older_command_is_replaced(place: Place) -> None:
    """After holdfast has moved, installing again leaves one hook per event, with the new command."""
    path = Path(targets("claude", place, COMMAND)[0].path)
    install(["claude"], place)
    path.write_text(path.read_text().replace("holdfast hook", "/old/bin/holdfast hook"))
    install(["claude"], place)
    found = json.loads(path.read_text())
    assert "/old/bin" not in json.dumps(found)
    assert all(len(entries) == 1 for entries in found["hooks"].values())
    uninstall(["claude"], place)
    assert not path.exists()


UNUSUAL = {
    "not JSON": '{"a": 1,,}',
    "a list": "[]",
    "hooks is a list": '{"hooks": []}',
    "an event is an object": '{"hooks": {"Stop": {}}}',
    "twice the same key": '{"hooks": {}, "hooks": {}}',
    "empty": "",
    "cut off": '{"hooks": {"Stop": [',
    "deep": '{"a":' * 200 + "1" + "}" * 200,
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_files_are_refused(name: str, place: Place) -> None:
    """A file that we cannot parse stays unchanged, and so do all the others."""
    path = write(targets("claude", place, COMMAND)[0], UNUSUAL[name])
    with pytest.raises(Refused, match="nothing was changed"):
        install(["claude"], place)
    assert path.read_text() == UNUSUAL[name]
    assert not Path(place.project, ".mcp.json").exists()


def test_other_servers_of_our_name_are_refused(place: Place) -> None:
    """An MCP server that somebody else called holdfast is not replaced."""
    own = '{"mcpServers": {"holdfast": {"command": "ropes", "args": []}}}'
    path = write(targets("cursor", place, COMMAND)[1], own)
    with pytest.raises(Refused, match="not added by holdfast"):
        install(["cursor"], place)
    assert path.read_text() == own


def test_a_file_that_is_not_utf8_is_refused(place: Place) -> None:
    """A file in another encoding is not touched."""
    path = Path(targets("gemini", place, COMMAND)[0].path)
    path.parent.mkdir()
    path.write_bytes('{"a": "é"}'.encode("latin-1"))
    with pytest.raises(Refused, match="not UTF-8"):
        install(["gemini"], place)


def test_a_link_stays_a_link(place: Place, tmp_path: Path) -> None:
    """Settings behind a symbolic link: the link stays, its target is changed and restored."""
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}\n")
    path = Path(targets("gemini", for_user(place), COMMAND)[0].path)
    path.parent.mkdir()
    path.symlink_to(kept)
    install(["gemini"], for_user(place))
    assert path.is_symlink()
    assert "holdfast hook gemini" in kept.read_text()
    uninstall(["gemini"], for_user(place))
    assert path.is_symlink()
    assert kept.read_text() == "{}\n"


def test_a_plug_in_that_was_edited_stays(place: Place) -> None:
    """Our own file, changed by a person, is neither overwritten nor removed."""
    path = Path(targets("opencode", place, COMMAND)[0].path)
    install(["opencode"], place)
    path.write_text(path.read_text() + "// mine\n")
    with pytest.raises(Refused, match="edited"):
        install(["opencode"], place)
    with pytest.raises(Refused, match="edited"):
        uninstall(["opencode"], place)
    assert path.read_text().endswith("// mine\n")


# -- Codex --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", 'model = "x"', "# mine\n[a]\nb = 1 # two\n", "[mcp_servers.other]\r\nurl = 'x'\r\n"]
)
def test_toml(text: str, place: Place) -> None:
    """The server is the last table, the rest is unchanged, and uninstall restores the bytes."""
    path = write(targets("codex", place, COMMAND)[1], text)
    install(["codex"], place)
    found = tomllib.loads(path.read_bytes().decode())
    assert found["mcp_servers"]["holdfast"] == {"command": "holdfast", "args": ["mcp"]}
    assert path.read_bytes().startswith(text.encode())
    uninstall(["codex"], place)
    assert path.read_bytes() == text.encode()


def test_toml_with_tables_after_ours(place: Place) -> None:
    """Tables that were added after ours stay when ours is removed."""
    path = write(targets("codex", place, COMMAND)[1], "a = 1\n")
    install(["codex"], place)
    path.write_text(path.read_text().replace('args = ["mcp"]', "args = ['mcp']") + "\n[b]\nc = 2\n")
    uninstall(["codex"], place)
    assert tomllib.loads(path.read_text()) == {"a": 1, "b": {"c": 2}}


def test_an_inline_table_is_refused(place: Place) -> None:
    """Where a table at the end would not be TOML, nothing is changed."""
    text = "mcp_servers = {other = {command = 'x'}}\n"
    path = write(targets("codex", place, COMMAND)[1], text)
    with pytest.raises(Refused, match="nothing was changed"):
        install(["codex"], place)
    assert path.read_text() == text


# -- any settings -------------------------------------------------------------------------------------------------

_KEYS = st.sampled_from(["a", "hooks", "mcpServers", "Stop", "SessionStart", "é\n", 'q"', "holdfast"])
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_WANTED = {
    "hooks": {
        event: [{"hooks": [{"type": "command", "command": "holdfast hook claude"}]}]
        for event in ("SessionStart", "Stop", "PreCompact")
    },
    "mcpServers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}},
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(_KEYS, _VALUES, max_size=5),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.booleans(),
    st.booleans(),
)
def test_any_settings_are_restored(value: dict[str, Any], indent: Any, commented: bool, crlf: bool) -> None:
    """Installed, and removed by the ledger's pieces or, without a ledger, by structure."""
    text = json.dumps(value, indent=indent)
    if commented:
        text = f"// {{ head\n{text}/* tail */\n"
    if crlf:
        text = text.replace("\n", "\r\n")
    try:
        done = merged(text, _WANTED)
    except Refused:
        return  # hooks of another shape: left alone
    inside = jsonc.parse(done.text).value
    assert [k for k in inside if k in value] == list(value)
    assert withdrawn(done.text, done.pieces, done.made) == text
    assert jsonc.parse(withdrawn(done.text, [], done.made)).value == value


@settings(max_examples=100, deadline=None)
@given(_VALUES)
def test_the_parser_reads_json(value: Any) -> None:
    """Whatever the standard library writes is read as the same value."""
    assert jsonc.parse(json.dumps(value)).value == value
    assert jsonc.parse(json.dumps(value, indent=3, ensure_ascii=False)).value == value


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='{}[]",:/*\n 1ae-.\\tru', max_size=40))
def test_the_parser_never_breaks(text: str) -> None:
    """Any text is parsed or refused."""
    try:
        jsonc.parse(text)
    except Refused:
        pass


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["# c\n", "\n", "[t]\nx = 1\n", "[u.v]\n", "[[w]]\ny = 'z'\n"]), unique=True))
def test_any_toml_is_restored(blocks: list[str]) -> None:
    """A table is appended to and removed from any TOML."""
    text = "k = 1\n" + "".join(blocks)
    done = merged_toml(text, {"command": "holdfast", "args": ["mcp"]})
    assert withdrawn_toml(done.text, done.pieces) == text
    assert tomllib.loads(withdrawn_toml(done.text, [])) == tomllib.loads(text)


# -- the command ------------------------------------------------------------------------------------------------


def test_how_hosts_call_holdfast(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name if it is on PATH, else by the path next to the interpreter, quoted; else not at all."""
    assert program(place.environment, place.home) == Program("holdfast", True)
    beside = tmp_path / "a venv"
    beside.mkdir()
    monkeypatch.setattr("sys.executable", str(beside / "python"))
    monkeypatch.setattr("sys.argv", ["x"])
    nowhere = place._replace(environment={"PATH": str(tmp_path / "none")})
    with pytest.raises(HoldfastError, match="neither on PATH"):
        install(["claude"], nowhere)
    (beside / "holdfast").write_text("")
    (beside / "holdfast").chmod(0o755)
    done = install(["claude"], nowhere)
    assert done.program == Program(str(beside / "holdfast"), False)
    found = json.loads(Path(targets("claude", place, COMMAND)[0].path).read_text())
    line = found["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert shlex.split(shlex.split(line)[2])[:3] == [str(beside / "holdfast"), "hook", "claude"]
    assert install(["claude"], nowhere).changes == []
    uninstall(["claude"], nowhere)


def script(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def environment(folder: Path) -> Path:
    """The command in a virtual environment."""
    found = script(folder / "bin" / "holdfast")
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return found


def test_an_activated_environment_is_not_on_path(place: Place, tmp_path: Path) -> None:
    """Its path is written, which works where it is not active; a command outside of it, or a tool, is preferred."""
    inside = environment(tmp_path / "venv")
    active = {"PATH": str(inside.parent)}
    assert program(active, place.home) == Program(str(inside), False, str(tmp_path / "venv"))
    both = {"PATH": os.pathsep.join([str(inside.parent), place.environment["PATH"]])}
    assert program(both, place.home) == Program("holdfast", True)
    (tmp_path / "venv" / "uv-receipt.toml").write_text("")
    assert program(active, place.home) == Program("holdfast", True), "the environment of a tool stays"
    (tmp_path / "venv" / "uv-receipt.toml").unlink()
    tool = script(tmp_path / "tools" / "holdfast")
    assert program({**active, "UV_TOOL_BIN_DIR": str(tool.parent)}, place.home) == Program(str(tool), False)
    mine = script(Path(place.home, ".local", "bin", "holdfast"))
    assert program(active, place.home) == Program(str(mine), False)


def as_person(place: Place, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """The command line runs in the project, with this PATH and nobody else's home."""
    monkeypatch.chdir(place.project)
    monkeypatch.setenv("HOME", place.home)
    monkeypatch.setenv("PATH", path)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_install_says_that_an_environment_is_active(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the environment that the settings depend on, and the command that makes one that stays."""
    inside = environment(tmp_path / "venv")
    as_person(place, monkeypatch, str(inside.parent))
    assert main(["install", "gemini"]) == 0
    shown = capsys.readouterr().out
    assert f"holdfast runs from the virtual environment {tmp_path / 'venv'}:" in shown
    assert "For a command that stays: pipx install holdfast && holdfast install gemini" in shown
    script(tmp_path / "venv" / "bin" / "uv")
    assert main(["install", "gemini", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["command"], printed["environment"]) == (str(inside), str(tmp_path / "venv"))
    assert main(["install", "gemini"]) == 0
    assert "For a command that stays: uv tool install holdfast && " in capsys.readouterr().out
    as_person(place, monkeypatch, place.environment["PATH"])
    assert main(["install", "gemini"]) == 0
    assert "environment" not in capsys.readouterr().out
    assert str(inside) not in Path(place.project, ".gemini", "settings.json").read_text()


def test_a_plug_in_with_another_command_is_ours(place: Place, tmp_path: Path) -> None:
    """The plug-in of a colleague, whose command is elsewhere, is replaced and removed without a ledger entry."""
    inside = environment(tmp_path / "venv")
    install(
        ["opencode"], place._replace(environment={"PATH": str(inside.parent)}, home=place.home + "-other")
    )
    path = Path(targets("opencode", place, COMMAND)[0].path)
    assert str(inside) in path.read_text()
    install(["opencode"], place)
    assert str(inside) not in path.read_text()
    uninstall(["opencode"], place._replace(home=place.home + "-third"))
    assert not path.exists()


def test_as_a_person_types_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The diff is shown; hosts that are present are found; an unknown name is refused."""
    monkeypatch.setenv("HOME", place.home)
    monkeypatch.setenv("PATH", place.environment["PATH"])
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["install"]) == 2
    assert "No agent host was found" in capsys.readouterr().err
    Path(place.home, ".gemini").mkdir()
    assert main(["install", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["hosts"] == ["gemini"]
    assert printed["files"] == [{"path": f"{place.project}/.gemini/settings.json", "action": "make"}]
    assert main(["install", "claude", "--user"]) == 0
    shown = capsys.readouterr().out
    assert "+++ " + os.path.join(place.home, ".claude", "settings.json") in shown
    assert '+            "command": "sh -c \'holdfast hook claude ' in shown
    assert main(["uninstall"]) == 0
    assert "gemini: removed" in capsys.readouterr().out
    assert main(["uninstall", "--user"]) == 0
    assert "claude: removed" in capsys.readouterr().out
    assert main(["install", "emacs"]) == 2


def test_an_unknown_host_name(place: Place) -> None:
    """An unknown host is a usage error."""
    with pytest.raises(Usage, match="Unknown host 'emacs'"):
        uninstall(["emacs"], place)


def test_install_creates_the_workspace(tmp_path: Path, place: Place) -> None:
    """In a project without a workspace, installing creates one; uninstalling leaves it."""
    bare = tmp_path / "bare"
    bare.mkdir()
    here = place._replace(project=str(bare))
    assert install(["gemini"], here).workspace == str(bare / ".state")
    uninstall(["gemini"], here)
    assert sorted(path.name for path in bare.iterdir()) == [".state"]


def test_init_offers_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`init --install` installs into the named or detected hosts; without it a script is not asked."""
    monkeypatch.setenv("HOME", place.home)
    monkeypatch.setenv("PATH", place.environment["PATH"])
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    Path(place.home, ".cursor").mkdir()
    for words, hosts in (
        ([], []),
        (["--install", "gemini"], ["gemini"]),
        (["--install", "auto"], ["cursor"]),
    ):
        folder = tmp_path / f"project-{len(hosts)}-{'-'.join(words)}"
        folder.mkdir()
        assert main(["init", str(folder), "--json", *words]) == 0
        assert json.loads(capsys.readouterr().out)["hosts"] == hosts
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            [".state", *(f".{host}" for host in hosts)]
        )


def test_init_asks_a_person(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal it asks once, and only yes means yes."""
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("HOME", place.home)
    monkeypatch.setenv("PATH", place.environment["PATH"])
    Path(place.home, ".gemini").mkdir()
    for answer, there in (("\n", False), ("y\n", True)):
        folder = tmp_path / f"asked-{there}"
        folder.mkdir()
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        monkeypatch.setattr("sys.stdout", Terminal())
        assert main(["init", str(folder)]) == 0
        assert (folder / ".gemini").exists() is there
