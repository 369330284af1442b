"""Fuzzing: bytes from outside, or from a damaged disk, never end in anything but a holdfast error.

A normal run mutates sound inputs; in torture atheris looks for new paths through the code, where it is installed
(``make fuzz`` installs it).
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz import targets

from holdfast.core import codec
from holdfast.store.files import segments
from holdfast.store.files.journal import BLOCK, entries_in
from holdfast.store.files.lockfile import WriterState, decode_header, encode_header
from holdfast.testing import scale

ROOT = Path(__file__).parents[2]
EACH = 150


def _segment() -> bytes:
    lines, previous = b"", codec.GENESIS
    for number in range(1, 5):
        line, previous = targets.one_line(number, previous)
        lines += line
    return lines


def _journal() -> bytes:
    data = _segment()
    head = f"1 abcdefgh-1.3b4543.jsonl 0 {len(data)}\n".encode()
    return (head + data).ljust(4 * BLOCK, b"\0")


def _messages() -> list[bytes]:
    calls = [
        {"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"method": "tools/list", "params": {}},
        {"method": "tools/call", "params": {"name": "status", "arguments": {}}},
        {
            "method": "tools/call",
            "params": {"name": "decide", "arguments": {"decision": "x", "because": "y"}},
        },
        {"method": "resources/read", "params": {"uri": "holdfast://brief"}},
        {"method": "prompts/get", "params": {"name": "resume", "arguments": {}}},
    ]
    return [json.dumps({"jsonrpc": "2.0", "id": 1, **call}).encode() for call in calls]


def seeds(name: str) -> list[bytes]:
    """Sound inputs of a target."""
    payload = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": ".", "prompt": "text"}
    started = payload | {"hook_event_name": "SessionStart", "source": "startup"}
    state = WriterState("abcdefgh", segment=1, highest=1, numbers={"D": 3}, token="main\t1")
    return {
        "commit_line": [targets.one_line()[0][:-1]],
        "segment": [_segment()],
        "lock_file": [encode_header(state)],
        "journal": [_journal()],
        "snapshot": [b'{"v":1,"version":1,"head":"x","cursor":null}\n{"notes":{"count":7}}\n', b"{}\n{}"],
        "hook_payload": [json.dumps(one).encode() for one in (payload, started)],
        "mcp_message": _messages(),
    }[name]


TELLING = (b"\0", b"\xff\xfe", b"\n", b"\r\n", b'"', b"{", b"[" * 60, b"9" * 400, b"-1", b"null", b"\\ud800")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, removed, repeated, exchanged for telling ones, or cut off."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(changed) + 1)
        how = rng.randrange(6)
        if how == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del changed[at : at + rng.randrange(1, 40)]
        elif how == 2:
            changed[at:at] = changed[at : at + rng.randrange(1, 40)] * rng.randrange(1, 5)
        elif how == 3:
            telling = (
                b"\0",
                b"\xff\xfe",
                b"\n",
                b"\r\n",
                b'"',
                b"{",
                b"[" * 60,
                b"9" * 400,
                b"-1",
                b"null",
                b"\\ud800",
            )
            changed[at:at] = rng.choice(telling)
        elif how == 4:
            del changed[at:]
        else:
            changed[at:at] = rng.randbytes(rng.randrange(1, 30))
    return bytes(changed)


def test_the_seeds_are_sound() -> None:
    """Control: what the mutations begin with gets past the first check of each reader."""
    assert codec.fault_of(seeds("commit_line")[0], codec.GENESIS) is None
    assert len(list(entries_in(seeds("journal")[0]))) == 1
    assert decode_header(seeds("lock_file")[0]) is not None
    assert len(segments.ids_in(seeds("segment")[0])) == 4


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", targets.TARGETS)
def test_mutated_inputs(name: str) -> None:
    """Sound inputs are taken, and what mutations make of them gives an answer or a holdfast error."""
    rng = random.Random(f"{scale.seed()} {name}")
    target = targets.TARGETS[name]
    for seed in seeds(name):
        targets.run(target, seed)
    for _ in range(scale.scaled(EACH)):
        data = mutated(rng.choice(seeds(name)), rng)
        try:
            targets.run(target, data)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}; input {data[:2000]!r}")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", targets.TARGETS)
def test_atheris_finds_nothing(name: str, tmp_path: Path) -> None:
    """In torture: no input that guided fuzzing comes upon breaks a target."""
    if scale.factor() == 1:
        pytest.skip("only in torture")
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed: `make fuzz` installs it")
    for number, seed in enumerate(seeds(name)):
        (tmp_path / str(number)).write_bytes(seed)
    done = subprocess.run(
        [sys.executable, "tests/fuzz/run.py", name, str(tmp_path), f"-max_total_time={scale.scaled(3)}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
