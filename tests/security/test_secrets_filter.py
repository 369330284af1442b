"""The secrets filter: no channel stores a secret unless allowed, and then the log says so."""

from __future__ import annotations

import base64
import json
import random
import stat
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import batch
from holdfast.core.secrets import finder as secrets
from holdfast.core.secrets.kinds import kinds
from holdfast.core.secrets.signs import may_hold
from holdfast.edge.cli import hints, main
from holdfast.errors import HoldfastError, SecretFound, Usage
from holdfast.testing import commands
from holdfast.workspace import secrets_filter, sync
from holdfast.workspace.imports import import_file, original

sys.path.insert(0, str(Path(__file__).parent))
from secret_samples import ALNUM, SAMPLES, some
from test_secrets import HOSTILE, PIECES, PLACEHOLDER, Steps, corpus

ALL = [(kind, text, secret) for kind, text, secret, _ in corpus(1)]


def sample(kind: str = "npm-token", seed: int = 1) -> tuple[str, str]:
    """A text with a made-up secret, and the secret."""
    return SAMPLES[kind][0](random.Random(seed))


TEXT, SECRET = sample()


def stored(folder: Path) -> bytes:
    """Every byte of every file and every name below a folder."""
    found = [str(path.relative_to(folder)).encode() for path in folder.rglob("*")]
    return b"\n".join(found + [path.read_bytes() for path in folder.rglob("*") if path.is_file()])


@pytest.fixture
def session(project: Path) -> Iterator[holdfast.Session]:
    """A session in a folder."""
    with holdfast.open(project) as workspace:
        yield workspace.start("Ship it", phases=["look", "fix", "prove"])


# -- signs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "text", "secret"), ALL)
def test_every_kind_has_a_sign(kind: str, text: str, secret: str) -> None:
    """The pre-check misses nothing that the finder would find."""
    assert may_hold(text)


def test_every_needle_is_a_sign() -> None:
    """Every needle of a kind is also a sign of the pre-check."""
    rng = random.Random("needles")
    for kind in kinds():
        for needle in kind.needles:
            assert may_hold(f"x {needle}{some(rng, ALNUM, 20)}: {some(rng, ALNUM, 40)} @"), needle


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=6).map("".join))
def test_what_the_finder_finds_has_a_sign(text: str) -> None:
    """Whatever surrounds a secret, the pre-check does not miss it."""
    if secrets.find(text):
        assert may_hold(text)


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_pre_check_takes_linear_steps(piece: str) -> None:
    """Four times the text takes at most about four times the steps, and one over the limit takes none."""
    counts = []
    for size in (10_000, 40_000, 1_000_000):
        text = piece * (size // len(piece))
        steps, before = Steps(), sys.gettrace()
        sys.settrace(steps)
        try:
            may_hold(text)
        finally:
            sys.settrace(before)
        counts.append(steps.count)
    assert counts[1] <= 4.6 * counts[0] + 100
    assert counts[2] < 20


# -- no way in --------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(commands.COMMANDS)), st.integers(0, 30), st.sampled_from(ALL)),
        min_size=1,
        max_size=25,
    )
)
def test_no_command_stores_a_secret(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, tuple[str, str, str]]]
) -> None:
    """Random commands with secrets in their texts are refused, and nothing is stored."""
    from holdfast.workspace.setup import init

    folder = tmp_path_factory.mktemp("gate")
    init(str(folder), given=True)
    with holdfast.open(folder / ".state", user="alice") as workspace:
        session = workspace.start("Ship it")
        told: list[HoldfastError] = []
        for command, number, (_, text, _) in steps:
            version = session.version
            step = commands.Step(0, command, number, f"see {text} there")
            try:
                commands.COMMANDS[command](session, commands.Choice(session, step))  # type: ignore[arg-type]
            except HoldfastError as error:
                told.append(error)
                assert session.version == version
        session.note("an end")
    everything = stored(folder)
    refusals = " ".join(error.message for error in told if isinstance(error, SecretFound))
    for _, _, (_, _, secret) in steps:
        assert secret.encode() not in everything
        assert secret not in refusals


SILENT = {
    *(
        "mark",
        "continue",
        "abandon",
        "phases",
        "phase",
        "complete-phase",
        "task start",
        "task unblock",
        "plan approve",
    ),
    *("loop explore", "batch begin", "batch claim", "batch release", "batch retry"),
    *("budget set", "budget spend", "budget include", "budget exclude", "budget drop", "budget measure"),
    *("reference", "reference drop", "handoff claim"),
}
"""Commands without a text of the caller's own."""


@pytest.mark.parametrize("command", sorted(set(commands.COMMANDS) - SILENT))
def test_every_command_with_a_text_is_scanned(session: holdfast.Session, command: str) -> None:
    """With an open entry of every concept, each command that takes a text is refused for the secret in it."""
    for prepare in (
        *("task add", "task start", "plan propose", "decide", "loop add", "risk add", "blocker add"),
        *("next add", "next add", "error", "batch create", "batch claim", "message", "capture", "capture"),
        *(("discuss",) if command == "return" else ()),
    ):
        step = commands.Step(0, prepare, 2, "plain")
        commands.COMMANDS[prepare](session, commands.Choice(session, step))  # type: ignore[arg-type]
    refused = 0
    for number in (*range(1, 24, 2), *range(0, 24, 2)):  # odd: with the texts that can be left out
        step = commands.Step(0, command, number, f"plain {TEXT}")
        try:
            commands.COMMANDS[command](session, commands.Choice(session, step))  # type: ignore[arg-type]
        except SecretFound:
            refused += 1
        except HoldfastError:
            continue
    assert refused
    assert SECRET.encode() not in stored(Path(session.workspace.where))


OTHERS: dict[str, Callable[[holdfast.Workspace], object]] = {
    "own event": lambda w: w.session().record("x.deploy", {"a": [{"b": f"x {TEXT}"}]}),
    "own event's name": lambda w: w.session().record("x.deploy", {TEXT: 1}),
    "own event, known by its name": lambda w: w.session().record(
        "x.deploy", {"deep": {"password": some(random.Random(1), ALNUM, 12)}}
    ),
    "own event of the project": lambda w: w.project.record("x.deploy", {"a": TEXT}),
    "backlog": lambda w: w.project.add_item(TEXT),
    "order": lambda w: w.project.order(TEXT),
    "control": lambda w: w.project.caught("gate", TEXT),
    "fact": lambda w: w.project.add_fact(TEXT),
    "project's decision": lambda w: w.project.decide("x", because=TEXT),
    "preference": lambda w: w.me.prefer("theme", TEXT),
    "preference by its key": lambda w: w.me.prefer("api_token", some(random.Random(2), ALNUM, 12)),
    "short message": lambda w: w.session().add_message("user", TEXT),
    "long message": lambda w: w.session().add_message("user", "word " * 20_000 + TEXT),
    "long message, at the cut": lambda w: w.session().add_message(
        "user", "x" * 3_990 + f" {TEXT} " + "y " * 5000
    ),
    "tool": lambda w: w.session().add_message("tool", "x", tool=TEXT),
    "summary": lambda w: (w.session().add_message("user", "x"), w.session().summarize(TEXT)),
    "operation id": lambda w: w.session().note("x", op=TEXT),
    "start": lambda w: w.start(f"Use {TEXT}"),
    "phase": lambda w: w.start("x", phases=["a", TEXT[:60]]),
    "batch item": lambda w: w.session().create_batch([{"header": TEXT}]),
    "batch title": lambda w: w.session().create_batch(["x"], title=TEXT),
    "slash action": lambda w: w.session().do(f"/discuss {TEXT}"),
    "acting": lambda w: w.session().acting("x", because=TEXT).__enter__(),
    "handoff": lambda w: w.session().hand_off(TEXT),
    "claim on a path": lambda w: w.presence.claim([f"{w.where}/../{TEXT}"]),
    "actor": lambda w: holdfast.open(w.where, by=TEXT),
}


@pytest.mark.parametrize("way", OTHERS)
def test_other_inputs_are_scanned(session: holdfast.Session, project: Path, way: str) -> None:
    """Streams of project and user, own events, attachments, operation ids: each is refused."""
    session.workspace.publish()  # which also copies the segment
    before = stored(project)
    with pytest.raises(SecretFound) as caught:
        OTHERS[way](session.workspace)
    told = "".join(traceback.format_exception(caught.value)) + hints.text(caught.value.hint)
    session.workspace.publish()
    after = stored(project)
    for secret in (SECRET, some(random.Random(1), ALNUM, 12), some(random.Random(2), ALNUM, 12)):
        assert secret not in told
        assert secret.encode() not in after
    assert "Nothing was written" in caught.value.message
    if way not in ("summary", "claim on a path", "actor", "start", "phase"):
        assert after.count(b'"sum":') == before.count(b'"sum":')


def test_the_error_names_kind_field_and_position(session: holdfast.Session) -> None:
    """The error says which kind, where, and what to do; not the value."""
    with pytest.raises(SecretFound) as caught:
        session.decide("Use it", because=f"two\nlines {TEXT}")
    assert caught.value.message == (
        "decision.made.because holds what looks like a secret (npm-token, characters 7 to "
        f"{6 + len(SECRET)} of line 2). Nothing was written."
    )
    assert (caught.value.code, caught.value.status) == ("HF-SECRET", 1)
    assert "--allow-secret" in hints.text(caught.value.hint)
    with pytest.raises(SecretFound, match=r"in a name.*and 3 more"):
        session.record("x.y", {TEXT: 1, "a": [TEXT] * 7})


def test_a_refused_number_is_not_used_up(session: holdfast.Session) -> None:
    """The next decision gets the number that the refused one would have had."""
    with pytest.raises(SecretFound):
        session.decide("Use it", because=TEXT)
    assert session.decide("Use it", because="it is there").id == "D-1"


# -- policies ---------------------------------------------------------------------------------------------------------


def test_allowed_by_the_caller_and_recorded(session: holdfast.Session) -> None:
    """An allowed secret is stored unchanged, and the same commit records kind and field, never the value twice."""
    session.with_secrets("allow").decide("Use it", because=TEXT)
    commit = list(session.log())[-1]
    assert commit.events[0].data["because"] == TEXT
    assert commit.events[1].type == "secret.allowed"
    assert commit.events[1].data == {
        "found": [{"kind": "npm-token", "field": "decision.made.because"}],
        "count": 1,
        "how": "asked",
    }
    with pytest.raises(SecretFound):
        session.note(TEXT)
    with holdfast.open(session.workspace.where, secrets="allow") as workspace:
        workspace.me.prefer("theme", TEXT)
        assert workspace.me.preference("theme") == TEXT


def test_allowed_in_a_long_message(session: holdfast.Session) -> None:
    """A secret that only the context file has is recorded too."""
    session.with_secrets("allow").add_message("user", "word " * 20_000 + TEXT)
    types = [event.type for event in list(session.log())[-1].events]
    assert types == ["message.added", "secret.allowed"]
    assert session.recent(1)[0].text.endswith(TEXT)


def test_redacted_with_a_stable_placeholder(session: holdfast.Session, project: Path) -> None:
    """The same secret has the same placeholder in every process of a clone; only the owner can read the key."""
    one = session.with_secrets("redact")
    one.note(f"a {TEXT} b")
    one.add_message("user", "word " * 20_000 + TEXT)
    with holdfast.open(project, secrets="redact") as other:
        other.session().note(f"c {TEXT}")
        other.me.prefer("api_token", some(random.Random(2), ALNUM, 12))
        assert PLACEHOLDER.fullmatch(other.me.preference("api_token") or "")
    log = json.dumps([event.data for commit in session.log() for event in commit.events])
    (placeholder,) = set(PLACEHOLDER.findall(log))
    assert session.recent(1)[0].text == "word " * 20_000 + placeholder
    assert SECRET.encode() not in stored(project)
    key = project / ".state" / secrets_filter.KEY
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    assert "/local/" in (project / ".state" / ".gitignore").read_text().splitlines()


def test_a_damaged_key_is_regenerated(session: holdfast.Session, project: Path) -> None:
    """A power cut can leave an empty key: placeholders then differ from earlier ones, and nothing fails."""
    session.with_secrets("redact").note(TEXT)
    (project / ".state" / secrets_filter.KEY).write_bytes(b"")
    session.with_secrets("redact").note(TEXT)
    log = json.dumps([event.data for commit in session.log() for event in commit.events])
    assert len(set(PLACEHOLDER.findall(log))) == 2


@pytest.mark.parametrize("channel", sorted(secrets_filter.CHANNELS))
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", {}),
        ('secrets = "allow"\n', {"": "allow"}),
        ('secrets = "redact"\n', {"": "redact"}),
        ('[secrets]\nhook = "refuse"\n', {"hook": "refuse"}),
        ('[secrets]\ndefault = "redact"\nmcp = "allow"\n', {"": "redact", "mcp": "allow"}),
    ],
)
def test_policy_by_channel(project: Path, channel: str, config: str, expected: dict[str, str]) -> None:
    """config.toml sets the policy for all channels or for one; the caller's policy takes precedence."""
    (project / ".state" / "config.toml").write_text("format = 1\n" + config)
    wanted = expected.get(channel, expected.get("", secrets_filter.CHANNELS[channel]))
    with holdfast.open(project, channel=channel) as workspace:
        assert secrets_filter.policy_of(workspace)[0] == wanted
        assert secrets_filter.policy_of(workspace, "redact") == ("redact", "asked")


def test_the_environment_comes_before_the_configuration(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HOLDFAST_SECRETS takes precedence over config.toml, for workspaces without a folder and for single runs."""
    monkeypatch.setenv(secrets_filter.VARIABLE, "redact")
    (project / ".state" / "config.toml").write_text('secrets = "allow"\n')
    with holdfast.open(project) as workspace:
        assert secrets_filter.policy_of(workspace) == ("redact", "environment")


@pytest.mark.parametrize(
    "config", ['secrets = "alow"\n', "secrets = 3\n", '[secrets]\nhoks = "redact"\n', "secrets = \n"]
)
def test_an_invalid_setting_never_allows_a_secret(
    session: holdfast.Session, project: Path, config: str
) -> None:
    """An invalid setting is an error, and nothing is written; ordinary commits continue."""
    (project / ".state" / "config.toml").write_text(config)
    session.note("ordinary")
    with pytest.raises(Usage, match=r"config\.toml"):
        session.note(TEXT)
    assert SECRET.encode() not in stored(project)
    (fault,) = session.workspace.doctor()
    assert fault.where == "config.toml"
    assert not fault.harmless
    assert main(["doctor"]) == 5


def test_a_wrong_policy_is_refused(session: holdfast.Session) -> None:
    """A misspelt policy of the caller is an error immediately."""
    with pytest.raises(Usage, match="one of refuse, redact, allow"):
        session.with_secrets("alow")
    with pytest.raises(Usage):
        holdfast.open(session.workspace.where, secrets="yes")


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{}/s.db"])
def test_other_engines(tmp_path: Path, url: str) -> None:
    """The filter applies to every engine."""
    with holdfast.open(url.format(tmp_path), user="alice", by="me") as workspace:
        session = workspace.start("Ship it")
        with pytest.raises(SecretFound):
            session.note(TEXT)
        with pytest.raises(SecretFound):
            session.add_message("user", "word " * 20_000 + TEXT)
        session.with_secrets("redact").note(TEXT)
        assert PLACEHOLDER.fullmatch(session.state["notes"]["last"][-1]["text"])
    assert SECRET.encode() not in stored(tmp_path)


# -- what nobody typed ------------------------------------------------------------------------------------------------


def test_an_exception_is_settled_without_its_secret(session: holdfast.Session) -> None:
    """A secret in an exception's text hides neither the exception nor the failure."""
    with pytest.raises(ValueError, match="npm"), session.acting("Deploy", because="it is ready"):
        raise ValueError(f"cannot log in with {TEXT}")
    (decision,) = session.state["decisions"]["closed"]
    assert decision["ok"] is False
    assert decision["outcome"].startswith("ValueError: cannot log in with [secret:npm-token:")


def test_a_batch_continues_despite_secrets(session: holdfast.Session) -> None:
    """A secret in an error or in a command's output is redacted; one in a result fails the item, with the reason."""
    made = session.create_batch(["error", "result", "fine"])

    def work(item: Any, previous: Any) -> str:
        if item == "error":
            raise ValueError(TEXT)
        return TEXT if item == "result" else "ok"

    after = batch.run(session, made.id, work)
    reasons = [failure.reason for failure in after.failures]
    assert reasons[0].startswith("ValueError: [secret:npm-token:")
    assert reasons[1].startswith("SecretFound: batch.item-done.result holds")
    assert after.done_items == (range(2, 3),)
    again = session.create_batch(["x"])
    batch.run_command(session, again.id, ["echo", TEXT])
    assert str(session.item_result(again.id, 0)).startswith("[secret:npm-token:")
    assert SECRET.encode() not in stored(Path(session.workspace.where))


def test_the_one_line_checkpoint_returns_false(
    project: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """It returns False, logs why without the secret, and starts no session for what it cannot save."""
    with caplog.at_level("INFO", logger="holdfast"):
        assert holdfast.checkpoint(f"step {TEXT}") is False
        assert holdfast.checkpoint("step", tools=iter([TEXT])) is False
        assert holdfast.checkpoint("step", instruction=TEXT) is False
    assert "npm-token" in caplog.text
    assert SECRET not in caplog.text
    with holdfast.open(project) as workspace:
        assert workspace.sessions() == []
    assert SECRET.encode() not in stored(project)
    assert holdfast.checkpoint("step", tools=iter(["Read"])) is True


# -- files ------------------------------------------------------------------------------------------------------------

FILES = {
    "STATE.md": f"# State\n\n## Decisions\n\n- Use {TEXT} for it\n- Keep it small\n",
    "session-state.json": json.dumps({"goal": "g", "decisions": [f"Use {TEXT}", "Keep it small"]}, indent=1),
    "backlog.yaml": f"items:\n  - id: B-1\n    title: {TEXT}\n  - id: B-2\n    title: Keep it small\n",
    "events.yaml": f'events:\n  - date: "2026-03-04"\n    summary: {TEXT}\n  - summary: Keep it small\n',
    "catch-log.tsv": "date\tcontrol\tcaught\tagent\toutcome\tnotes\n"
    f"2026-03-04\treview\t{TEXT}\tW\tfixed\t\n2026-03-05\treview\tKeep it small\tW\tfixed\t\n",
    "decisions.yaml": f"recent:\n  - id: S-1\n    decision: {TEXT}\n    why: X\n"
    "  - id: S-2\n    decision: Keep it small\n",
}


@pytest.mark.parametrize("name", FILES)
def test_an_import_keeps_all_but_the_secret(session: holdfast.Session, project: Path, name: str) -> None:
    """The secret's line is reported and redacted, the rest is imported, and a second import adds nothing."""
    workspace = session.workspace
    found = import_file(workspace, name, FILES[name].encode())
    line = FILES[name][: FILES[name].index(SECRET)].count("\n") + 1
    assert [(left.line, left.text) for left in found.secrets] == [(line, "npm-token")]
    everything = stored(project)
    assert SECRET.encode() not in everything
    assert base64.b64encode(FILES[name].encode())[:200] not in everything
    log = [c for handle in (session, workspace.project) for c in handle.log()]
    written = json.dumps([event.data for commit in log for event in commit.events])
    assert "Keep it small" in written
    assert len(set(PLACEHOLDER.findall(written))) == 1
    assert sum(found.taken.values()) >= 2
    again = import_file(workspace, name, FILES[name].encode())
    assert again.taken == {}
    assert len(log) == sum(len(list(handle.log())) for handle in (session, workspace.project))


def test_an_import_that_may_not_redact_refuses_before_it_writes(project: Path) -> None:
    """File and line are reported, no session is started, nothing is written."""
    before = stored(project)
    with holdfast.open(project, secrets="refuse") as workspace:
        with pytest.raises(SecretFound, match=r"STATE\.md:5: npm-token") as caught:
            import_file(workspace, "STATE.md", FILES["STATE.md"].encode())
        assert SECRET not in caught.value.message
    assert stored(project).count(b'"sum":') == before.count(b'"sum":') == 0


def test_an_import_can_be_allowed(project: Path) -> None:
    """Then the original can be recovered byte for byte, and the log records the secret."""
    with holdfast.open(project, secrets="allow") as workspace:
        data = FILES["STATE.md"].encode()
        found = import_file(workspace, "STATE.md", data)
        assert [left.why for left in found.secrets] == ["it was allowed and is kept"]
        session = workspace.session()
        (digest,) = {e.data["hash"] for c in session.log() for e in c.events if e.type == "import.kept"}
        assert original(session, digest) == data
        assert any(e.type == "secret.allowed" for c in session.log() for e in c.events)


@pytest.mark.parametrize("frame", [b"\xef\xbb\xbf%s", b"\xff\xfe broken %s"])
def test_bytes_that_are_kept_as_base64_hold_no_secret(
    session: holdfast.Session, project: Path, frame: bytes
) -> None:
    """Bytes that are stored as Base64 are redacted before they are encoded."""
    import_file(session.workspace, "STATE.md", frame % FILES["STATE.md"].encode())
    (digest,) = {e.data["hash"] for c in session.log() for e in c.events if e.type == "import.kept"}
    kept = original(session, digest)
    assert SECRET.encode() not in kept
    assert kept.startswith(frame[:2])
    assert b"Keep it small" in kept


def test_a_page_edited_by_hand_is_refused_with_its_secret(session: holdfast.Session) -> None:
    """``sync --accept`` accepts nothing while a secret is in the page; with redaction it does."""
    session.set_focus("Read the code")
    session.workspace.publish()
    page = Path(session.workspace.where) / session.stream / "STATE.md"
    page.write_text(page.read_text().replace("Read the code", f"Use {TEXT}"))
    version = session.version
    with pytest.raises(SecretFound):
        sync.accept(session)
    assert session.version == version
    sync.accept(session.with_secrets("redact"))
    assert session.version == version + 1
    assert SECRET.encode() not in stored(Path(session.workspace.where))
