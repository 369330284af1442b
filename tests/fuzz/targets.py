"""What is fuzzed: each target takes any bytes, and only a holdfast error may come out of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import holdfast
from holdfast.core import codec, ids, validation
from holdfast.core.codec import Draft, Event
from holdfast.edge import hooks
from holdfast.edge.hooks.hosts import NAMES
from holdfast.edge.mcp import wire
from holdfast.errors import HoldfastError
from holdfast.fs import posix
from holdfast.store.files import segments
from holdfast.store.files.journal import entries_in
from holdfast.store.files.lockfile import decode_header, encode_header

STREAM = "sessions/alice/2026-01-15-00000001"
Target = Callable[[bytes], None]


class Broken(Exception):
    """A target answered, and the answer is wrong."""


@cache
def scratch() -> str:
    """A folder for this process, in memory where possible; removed at its end."""
    import atexit

    shm = "/dev/shm"
    base = shm if os.access(shm, os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="holdfast-fuzz-", dir=base)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def commit_line(data: bytes) -> None:
    """A line of a segment: whatever it decodes to is what its checksum says."""
    fault = codec.fault_of(data, None)
    codec.looks_right(data)
    codec.newer_format(data)
    try:
        validation.commit_in(data)
    except HoldfastError:
        return
    if fault is None and codec.decode(data).id != codec.id_of(data):
        raise Broken("the id that orders a line is not the one of its commit")


def segment(data: bytes) -> None:
    """A segment: read forwards and backwards it has the same commits."""
    path = os.path.join(scratch(), "segment")
    Path(path).write_bytes(data)
    part = segments.read_part(posix, path, segments.UNREAD)
    forward = list(segments.forward(posix, path, part.mark.offset))
    if part.ordered and not part.troubles and list(segments.backward(posix, path)) != forward[::-1]:
        raise Broken("read backwards it is another segment")
    segments.ids_in(data)


def lock_file(data: bytes) -> None:
    """A lock-file header: what decodes encodes to the same bytes."""
    state = decode_header(data)
    if state is not None and decode_header(encode_header(state)) is None:
        raise Broken("a header that was decoded cannot be encoded")


def journal(data: bytes) -> None:
    """A journal: every entry that is taken from it is made of whole lines."""
    for entry in entries_in(data):
        if not entry.data.endswith(b"\n"):
            raise Broken("an entry ends within a line")


@cache
def _workspace() -> holdfast.Workspace:
    folder = os.path.join(scratch(), "project")
    os.mkdir(folder)
    return holdfast.init(folder, user="alice")


def snapshot(data: bytes) -> None:
    """A snapshot: the state is that of the log, whatever the cache says."""
    workspace = _workspace()
    if workspace.current() is None:
        session = workspace.start("Ship it")
        for number in range(3):
            session.note(f"note {number}")
    session = workspace.session()
    workspace.store.put(f"local/snapshots/{session.stream.replace('/', '+')}", data)
    again = workspace.session(f"{session.user}/{session.id}")
    if again.state["notes"]["count"] != 3 or again.version != session.version:
        raise Broken("the state is not the fold of the log")


def hook_payload(data: bytes) -> None:
    """What an agent host writes to a hook: answered without an error, in time."""
    host = NAMES[len(data) % len(NAMES)]
    before = os.getcwd()
    os.chdir(_workspace_folder())
    try:
        hooks._answer([host], data, None, time.monotonic() + 8)
    finally:
        os.chdir(before)


def _workspace_folder() -> str:
    _workspace()
    return os.path.join(scratch(), "project")


@cache
def _mcp() -> object:
    from holdfast.edge.mcp.offer import WorkspaceOffer
    from holdfast.edge.mcp.pool import WorkspacePool
    from holdfast.edge.mcp.protocol import Server

    return Server(WorkspaceOffer(WorkspacePool(_workspace_folder())))


def mcp_message(data: bytes) -> None:
    """A message of an MCP client: answered, never with an internal error."""
    from holdfast.edge.mcp.protocol import Peer, Server

    server = _mcp()
    assert isinstance(server, Server)
    try:
        message = wire.decode(data)
    except wire.Failure:
        return
    for one in message if isinstance(message, list) else [message]:
        answer = server.answer(one, Peer(lambda message: None))
        if answer is not None and answer.get("error", {}).get("code") == wire.INTERNAL_ERROR:
            raise Broken("an internal error")


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (commit_line, segment, lock_file, journal, snapshot, hook_payload, mcp_message)
}


def one_line(number: int = 1, previous: str = codec.GENESIS) -> tuple[bytes, str]:
    """A sound line, and its checksum."""
    draft = Draft((Event("note.added", {"text": f"note {number}"}),), "me", "agent", f"op-{number}")
    line, commit = codec.encode(
        draft, ids.next_id(ids.ZERO, number, "abcdefgh"), "2026-01-15T00:00:00.000Z", previous, None
    )
    return line, commit.sum


def run(target: Target, data: bytes) -> None:
    """Run a target; only a holdfast error may come out."""
    with contextlib.suppress(HoldfastError):
        target(data)
