"""Plan all changes of an installation or uninstallation, then apply them: nothing is written before all are known."""

from __future__ import annotations

import os

from holdfast.edge.install import jsonc, settings
from holdfast.edge.install.files import write
from holdfast.edge.install.ledger import Entry, Ledger, digest, missing
from holdfast.edge.install.targets import Target
from holdfast.errors import Refused
from holdfast.typed import Record


class Change(Record):
    """The change of one file."""

    path: str
    before: bytes | None
    after: bytes | None
    """None: the file is removed, or not created."""
    entry: Entry | None
    """The ledger's entry afterwards."""
    folders: list[str]
    """Folders to create for the file, or to remove with it if empty."""

    @property
    def changes(self) -> bool:
        return self.before != self.after


def install(target: Target, host: str, ledger: Ledger, before: bytes | None) -> Change:
    """Plan the installation of a host into a file."""
    known = ledger.get(target.path)
    hosts = sorted({*(known["hosts"] if known else ()), host})
    folders = missing(os.path.dirname(target.path))
    made = before is None or bool(known and known["made"])
    known_folders = known["folders"] if known else []
    try:
        after, pieces, keys = _with(target, before, known)
    except Refused as reason:
        raise _refusal(target.path, reason) from None
    if known is not None and before == after:
        pieces, keys = known["pieces"], known["keys"]
    entry = {"hosts": hosts, "made": made, "folders": [*known_folders, *folders], "after": digest(after)}
    return Change(target.path, before, after, {**entry, "pieces": pieces, "keys": keys}, folders)


def _with(
    target: Target, before: bytes | None, known: Entry | None
) -> tuple[bytes, list[str], list[list[str]]]:
    if target.kind == "own":
        ours = known is not None and before is not None and digest(before) == known["after"]
        if before is not None and not ours and not target.is_own(before):
            raise Refused("it was not created by holdfast or was edited since")
        return target.text.encode(), [], []
    pieces: list[str] = known["pieces"] if known else []
    keys: list[list[str]] | None = known["keys"] if known else None
    if target.kind == "toml":
        text = _text(before or b"")
        if settings.toml_server(text) == target.wanted:
            return text.encode(), pieces, []
        merged = settings.merged_toml(settings.withdrawn_toml(text, pieces), target.wanted)
        return merged.text.encode(), merged.pieces, []
    if before is None:
        return settings.fresh(target.wanted, target.skeleton).encode(), [], [[key] for key in target.wanted]
    text = _text(before)
    if not text.strip():
        raise Refused("it is empty")
    unwanted = "permissions" not in target.wanted and settings.has_rules(pieces, keys)
    if settings.has(text, target.wanted) and not unwanted:
        return before, pieces, keys or []
    if unwanted or settings.holds(jsonc.parse(text).value):
        text = settings.withdrawn(text, pieces, keys)
    merged = settings.merged(text, target.wanted)
    return merged.text.encode(), merged.pieces, merged.made


def uninstall(target: Target, host: str, ledger: Ledger, before: bytes | None) -> Change:
    """Plan the removal of a host from a file. A file that other hosts also use stays unchanged."""
    known = ledger.get(target.path)
    left = [each for each in known["hosts"] if each != host] if known else []
    if known is not None and left:
        return Change(target.path, before, before, {**known, "hosts": left}, [])
    folders = known["folders"] if known else []
    if before is None:
        return Change(target.path, None, None, None, folders)
    if known is not None and known["made"] and digest(before) == known["after"]:
        return Change(target.path, before, None, None, folders)
    try:
        after = _without(target, before, known)
    except Refused as reason:
        raise _refusal(target.path, reason) from None
    if after is None or (known is not None and known["made"] and _is_bare(target, after)):
        return Change(target.path, before, None, None, folders)
    return Change(target.path, before, after, None, [])


def _without(target: Target, before: bytes, known: Entry | None) -> bytes | None:
    if target.kind == "own":
        if target.is_own(before):
            return None
        if known is None:
            return before  # not our file
        raise Refused("it was edited since holdfast created it; remove it by hand if you do not want it")
    text = _text(before)
    pieces: list[str] = known["pieces"] if known else []
    keys: list[list[str]] | None = known["keys"] if known else None
    if target.kind == "toml":
        return settings.withdrawn_toml(text, pieces).encode()
    if not text.strip() or not (settings.holds(jsonc.parse(text).value) or settings.has_rules(pieces, keys)):
        return before
    return settings.withdrawn(text, pieces, keys).encode()


def _is_bare(target: Target, after: bytes) -> bool:
    """Whether a file has nothing left but the skeleton of a new one."""
    text = _text(after)
    if target.kind == "toml":
        return not text.strip()
    return jsonc.parse(text).value in ({}, target.skeleton, {**target.skeleton, "hooks": {}})


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8") from None


def _refusal(path: str, reason: Refused) -> Refused:
    return Refused(
        f"{path}: {reason.message}; nothing was changed.",
        hint="Fix the file, or add holdfast by hand: see docs/howto/agents.md.",
    )


def carry_out(changes: list[Change], ledger: Ledger) -> None:
    """Apply all changes. The ledger is written first: it may list what does not exist, never the reverse."""
    for change in changes:
        if change.entry is not None:
            ledger.put(change.path, change.entry)
    ledger.save()
    for change in changes:
        if change.changes:
            _write(change)
    for change in changes:
        if change.entry is None:
            ledger.put(change.path, None)
    ledger.save()


def _write(change: Change) -> None:
    if change.after is None:
        os.unlink(os.path.realpath(change.path))
        for folder in reversed(change.folders):
            try:
                os.rmdir(folder)
            except OSError:
                break  # the folder is not empty
        return
    for folder in change.folders:
        os.makedirs(folder, exist_ok=True)
    write(change.path, change.after)
