"""Importing other tools' files: every record once, every line accounted for, the original text saved."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from holdfast.core import concepts, fold, foreign, ids
from holdfast.core.codec import Commit, Event
from holdfast.core.foreign import Left, Record
from holdfast.core.hashing import blake2b
from holdfast.core.text import one_line
from holdfast.errors import HoldfastError, NotFound, TooLarge
from holdfast.workspace.cleaning import Cleaning
from holdfast.workspace.handle import Handle
from holdfast.workspace.importers import IMPORTERS, PROJECT_KINDS
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace

TOGETHER = 200
"""Records per commit."""
REHEARSED = "0" * 16 + "-" + "1" * ids.WRITER_LENGTH
"""The id of a commit that is only folded to see what comes of it."""


class Imported(NamedTuple):
    """What an import did."""

    file: str
    format: str
    session: str
    taken: dict[str, int]
    """How many new records there are, by kind."""
    known: int
    """Records that an earlier import had taken."""
    repeated: int
    """Records that were in the file more than once."""
    left: list[Left]
    secrets: list[Left]
    """Lines with a secret, which was replaced by a placeholder (or allowed)."""


def import_file(
    workspace: Workspace,
    name: str,
    data: bytes,
    *,
    format_name: str | None = None,
    session: str | None = None,
) -> Imported:
    """Import a file. If there is no session, one is started for it.

    Repeating it changes nothing, also after a crash half-way; lines added to the file are imported.
    """
    if len(data) > foreign.MAX_SIZE:
        raise TooLarge(
            f"{name} has {len(data):,} bytes; the limit is {foreign.MAX_SIZE:,}. Nothing was written."
        )
    text, encoding = _decoded(data)
    chosen = format_name or foreign.recognise(name, text)
    own = Workspace(
        workspace.store,
        user=workspace.user,
        by=workspace.by,
        origin="import",
        secrets=workspace.secrets,
        channel="import",
        surroundings=workspace.surroundings,
    )
    cleaning = Cleaning(own, name, data)
    run = _Run(own, name[-200:], cleaning, text, chosen, session)
    run.store_original(encoding)
    run.import_records()
    report = run.end()
    own.publish()
    return report


class _Run:
    def __init__(
        self,
        workspace: Workspace,
        name: str,
        cleaning: Cleaning,
        text: str,
        format_name: str,
        session: str | None,
    ) -> None:
        self.name, self.text, self.format = name, text, format_name
        self.cleaning, self.data = cleaning, cleaning.data
        self.digest = blake2b(self.data, digest_size=16).hexdigest()
        self.project: Handle = workspace.project
        self.session: Session | None = None
        self.home: Handle = self.project
        if format_name not in ("backlog-yaml", "decision-index", "catch-log", "events-yaml"):
            self.session = self.home = self._session(workspace, session)
        self.seen: set[str] = set()
        self.new = 0
        self.taken: dict[str, int] = {}
        self.known = self.repeated = 0
        self.left: list[Left] = []

    def _session(self, workspace: Workspace, name: str | None) -> Session:
        if name is not None or workspace.current() is not None:
            return workspace.session(name)
        return workspace.start(f"Continue what {self.name} describes", op=f"import:{self.digest}")

    # -- the original -------------------------------------------------------------------------------------

    def store_original(self, encoding: str) -> None:
        """The file's text, in parts, each with its own operation id: a crash half-way loses nothing."""
        if encoding == "utf-8":
            kept = self.data.decode() if self.cleaning.found else self.text
        else:
            kept = b64encode(self.data).decode()
        size = concepts.imports.PART
        parts = max(1, -(-len(kept) // size))
        for part in range(parts):
            piece = kept[part * size : (part + 1) * size]
            events = concepts.imports.keep(self.name, self.digest, part + 1, parts, piece, encoding)
            self.home.commit(lambda state, mint, events=events: events, op=f"import:{self.digest}:{part}")  # type: ignore[misc]

    # -- the records --------------------------------------------------------------------------------------

    def import_records(self) -> None:
        known = {True: self._known(self.project), False: self._known(self.home)}
        later: list[Record] = []
        for in_project in (True, False):
            waiting = self._fresh(known[in_project], in_project, later)
            while batch := list(islice(waiting, TOGETHER)):
                self._commit(self.project if in_project else self.home, batch)
        fresh = [r for r in later if _hash(r) not in known[True]]
        for start in range(0, len(fresh), TOGETHER):
            self._commit(self.project, fresh[start : start + TOGETHER])

    def _fresh(self, known: set[str], in_project: bool, later: list[Record]) -> Iterator[Record]:
        """The records that a stream does not have yet. Reading twice costs less than holding them all in memory."""
        for item in map(self.cleaning.of, foreign.reader(self.format)(self.text)):
            if isinstance(item, Left):
                if in_project:
                    self.left.append(item)
                continue
            if (item.kind in PROJECT_KINDS or self.session is None) is not in_project:
                continue
            name = _hash(item)
            if name in self.seen:
                self.repeated += 1
            elif name in known:
                self.seen.add(name)
                self.known += 1
            else:
                self.seen.add(name)
                yield item
            if item.kind == "backlog" and item.data["depends_on"]:
                later.append(
                    Record(item.line, "link", {k: item.data[k] for k in ("was", "depends_on", "title")})
                )

    def _known(self, handle: Handle) -> set[str]:
        found: set[str] = set()
        if handle.peek().state["imports"]["taken"]:
            for commit in handle.stored_commits():
                for event in commit.events:
                    if event.type == "import.took":
                        found.update(event.data["hashes"])
        return found

    def _commit(self, handle: Handle, records: list[Record]) -> None:
        """One commit for many records; records that a rule refuses are skipped."""
        hashes = [_hash(record) for record in records]
        done: list[tuple[Record, Left | None]] = []

        def rule(state: dict[str, Any], mint: Any) -> list[Event]:
            done.clear()
            rehearsed = json.loads(json.dumps(state))
            events: list[Event] = []
            took: list[str] = []
            for record, name in zip(records, hashes, strict=True):
                try:
                    imported = IMPORTERS[record.kind](
                        rehearsed, mint, record.data, self._where(record), handle
                    )
                except HoldfastError as error:
                    done.append((record, Left(record.line, _shown(record), error.message)))
                    continue
                commit = Commit(REHEARSED, "", "", "import", None, tuple(imported), "")
                fold.fold(rehearsed, [commit])
                events += [seen_now(event, state) for event in imported]
                took.append(name)
                done.append((record, None))
            if not took:
                raise _NothingImported()
            return [concepts.imports.took(took), *events]

        op = blake2b("".join(hashes).encode(), digest_size=16).hexdigest()
        try:
            handle.commit(rule, op=f"import:took:{op}")
        except _NothingImported:
            pass
        for record, left in done:
            if left is not None:
                self.left.append(left)
            else:
                self.taken[record.kind] = self.taken.get(record.kind, 0) + 1

    def _where(self, record: Record) -> str:
        return f"{self.name}:{record.line}"

    def end(self) -> Imported:
        self.left.sort(key=lambda left: left.line)
        total = sum(self.taken.values())
        if total:
            self.home.commit(
                lambda state, mint: concepts.imports.end(
                    self.name, self.digest, self.format, total, len(self.left)
                ),
                op=f"import:{self.digest}:ended:{self.home.version}",
            )
        place = f"{self.session.user}/{self.session.id}" if self.session is not None else ""
        found = self.cleaning.found
        return Imported(
            self.name, self.format, place, self.taken, self.known, self.repeated, self.left, found
        )


class _NothingImported(HoldfastError):
    """No record could be taken; nothing was written."""


def _decoded(data: bytes) -> tuple[str, str]:
    """The text of a file, and how it can be stored exactly."""
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode(), "base64" if data.startswith(
            b"\xef\xbb\xbf"
        ) else "utf-8"
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), "base64"


def _hash(record: Record) -> str:
    plain = json.dumps([record.kind, record.data], ensure_ascii=False, sort_keys=True)
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _shown(record: Record) -> str:
    return one_line(json.dumps(record.data, ensure_ascii=False), 500)


def seen_now(event: Event, state: dict[str, Any]) -> Event:
    """Without the ids that only the rehearsal had."""
    saw = event.data.get("saw")
    if isinstance(saw, list) and REHEARSED in saw:
        return event._replace(data={**event.data, "saw": [name for name in saw if name != REHEARSED]})
    if isinstance(saw, dict):
        plain = {key: [name for name in names if name != REHEARSED] for key, names in saw.items()}
        return event._replace(data={**event.data, "saw": plain})
    return event


def original(handle: Handle, digest: str) -> bytes:
    """The bytes of an imported file, from the log."""
    from base64 import b64decode

    pieces: dict[int, str] = {}
    encoding = ""
    for commit in handle.stored_commits():
        for event in commit.events:
            if event.type == "import.kept" and event.data["hash"] == digest:
                pieces[event.data["part"]] = event.data["text"]
                encoding = event.data["encoding"]
    if not pieces:
        raise NotFound(f"No file with the hash {digest[:64]} was imported here.")
    text = "".join(pieces[part] for part in sorted(pieces))
    return text.encode() if encoding == "utf-8" else b64decode(text)
