"""What all streams of a workspace folder share."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.fs.port import FileSystem
from holdfast.git.refs import GitHead
from holdfast.store.files.identity import WriterIdentity
from holdfast.store.files.journal import JournalPolicy
from holdfast.typed import Record


class Place(Record):
    """A workspace folder, as one process sees it."""

    fs: FileSystem
    root: str
    local: str
    identity: WriterIdentity
    head: GitHead
    clock: Callable[[], int]
    tag: str
    load: Callable[[str], bytes | None]
    save: Callable[[str, bytes | None], None]
    journal_policy: JournalPolicy
