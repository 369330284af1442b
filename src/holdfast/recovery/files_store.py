"""The files engine with its repair: check, forget, archive, and recovery of what git removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from holdfast.core.stream import is_stream_name
from holdfast.fs import posix
from holdfast.fs.port import FileSystem
from holdfast.git.refs import UNSEARCHED, Repository
from holdfast.store.files import pins, segments
from holdfast.store.files.engine import FilesEngine, random_bits
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.files.segments import EVENTS
from holdfast.store.numbered import check_unchanged
from holdfast.store.oserror import translate_oserror
from holdfast.store.protocol import ARCHIVE, ATTACHMENTS, CHANGES, GIT, LISTING, Fault

_EXTENSIONS = frozenset([ARCHIVE, ATTACHMENTS, CHANGES, GIT, LISTING])


class FilesStore(FilesEngine):
    """A workspace folder, with the optional protocols of the files engine."""

    def __init__(
        self,
        root: str,
        *,
        clock: Callable[[], int],
        fs: FileSystem = posix,
        bits: Callable[[int], int] = random_bits,
        journal_policy: JournalPolicy | None = None,
        repository: Repository | None = UNSEARCHED,
    ) -> None:
        super().__init__(
            root, clock=clock, fs=fs, bits=bits, journal_policy=journal_policy, repository=repository
        )
        self.capabilities = self.capabilities._replace(extensions=_EXTENSIONS)

    def forget(self, stream: str, expect: int | None = None) -> None:
        from holdfast.recovery import fsck, restore

        handle = self._handle(stream)
        with handle.mutex:
            try:
                # Segments of other streams must not be removed with it.
                restore.move_misplaced(self._place, [stream], self._handle)
                try:
                    with handle.lock:
                        handle.recover()  # what dead processes left of it goes too
                        if expect is not None:
                            check_unchanged(stream, expect, handle.read(None).version)
                        fsck.remove_stream(self._place, stream)
                finally:
                    handle.close()
            except OSError as error:
                raise translate_oserror(error, stream, "not completed") from error

    def archive(self, stream: str) -> None:
        """Move a session to ``history/``, its segments joined into one. Repeating after a crash completes it."""
        handle = self._handle(stream)
        with handle.mutex:
            from holdfast.recovery import archive

            try:
                try:
                    with handle.lock:
                        archive.archive(self._place, handle)
                finally:
                    handle.close()
            except OSError as error:
                raise translate_oserror(error, stream, "not completed") from error

    def archived(self) -> list[str]:
        """The streams in ``history/``, oldest first."""
        from holdfast.recovery import archive

        try:
            return archive.archived(self._place)
        except OSError as error:
            raise translate_oserror(error, "history") from error

    def has_archive(self) -> bool:
        """Whether ``history/`` has anything, without reading it."""
        return bool(self._folders("history"))

    def size_of(self, stream: str) -> int:
        """Bytes on the disk, over all files of a stream."""
        from holdfast.recovery import archive

        try:
            return archive.size(self._place, stream)
        except OSError as error:
            raise translate_oserror(error, stream) from error

    @property
    def index_path(self) -> str:
        """Where the index of the workspace is."""
        self._reject_symlinks("local")
        return os.path.join(self._place.local, "index.db")

    def changes(self, known: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The streams, live and archived, whose stamp is not the known one, with their new stamps, and the known
        streams that are gone."""
        from holdfast.recovery import changes

        try:
            return changes.changes(self._place, known, self.archived)
        except OSError as error:
            raise translate_oserror(error, self.root) from error

    def check(self, *, fix: bool = False) -> list[Fault]:
        from holdfast.recovery import fsck, restore

        try:
            faults = fsck.stray_files(self._place, fix=fix)
            if fix:
                faults += restore.move_misplaced(
                    self._place, [*self.streams(), *self.archived()], self._handle
                )
                faults += self.salvage()
            else:
                faults += restore.salvage(self._place, self._handle, fix=False)
            streams = sorted({*self.streams(), *self.archived()})
            faults += fsck.check_streams(self._place, streams, self._handle, fix=fix)
            # After git was asked: what it has needs no copy.
            return faults + restore.restore_cut(self._place, self._handle, faults, fix=fix)
        except OSError as error:
            raise translate_oserror(error, self.root) from error

    def pinned_sessions(self, known: set[str]) -> list[str]:
        """Sessions that have commits only in pins, or of which nothing but that is ``known``."""
        from holdfast.recovery import restore

        return restore.pinned_sessions(self._place, self._handle, known)

    def has_elsewhere(self, stream: str, commit_id: str) -> bool:
        """Whether git or a pin has a commit that the stream lacks: on another branch, stashed, reset."""
        from holdfast.recovery import elsewhere

        try:
            return elsewhere.has(self._place, stream, commit_id)
        except OSError as error:
            raise translate_oserror(error, stream) from error

    def stream_at(self, folder: str) -> str:
        """The stream whose files or segments are in a folder (relative to the workspace), live or archived; or none."""
        folder = folder.removeprefix(f"{EVENTS}/")
        if not folder.startswith("history/"):
            return folder if is_stream_name(folder) else ""
        from holdfast.recovery import owner

        return next((s for s in self.archived() if owner.folder_of(self._place, s) == folder), "")

    def settle_conflict(self, path: str) -> bool:
        """Settle a segment or a long text (relative to the workspace) that a merge left in conflict: join all sides of
        a segment, take the correct version of a text. False if it belongs to another stream: ``check`` moves such a
        segment back."""
        from holdfast.core.long_texts import is_path
        from holdfast.recovery import long_texts, restore

        is_text = is_path(path)
        stream = self.stream_at(os.path.dirname(os.path.dirname(path) if is_text else path))
        handle = self._handle(stream)
        with handle.mutex:
            try:
                with handle.lock:
                    if is_text:
                        return long_texts.settle(self._place, stream, path)
                    return restore.settle_conflict(self._place, stream, path)
            except OSError as error:
                raise translate_oserror(error, path) from error

    def is_archive_marker(self, path: str) -> bool:
        """Whether archiving wrote this file: the stub in a session's old folders, or the file that names an archive."""
        from holdfast.recovery.owner import OWNER

        name = os.path.basename(path)
        names_archive = path.startswith("history/") and path.count("/") == 3 and name == OWNER
        return names_archive or (
            path.startswith(("sessions/", "history/", "events/")) and name == segments.STUB
        )

    def settle_marker(self, path: str) -> None:
        """A stub belongs only in the old folders of an archived session: git's rename detection may have moved it to
        another session or to the archive. ``check`` rewrites the file that names an archive."""
        stream = "/".join(path.removeprefix(f"{EVENTS}/").split("/")[:3])
        is_stub = os.path.basename(path) == segments.STUB
        if is_stub and not (stream.startswith("sessions/") and self.is_archived(stream)):
            self.drop_file(path)

    def commit_ids(self, data: bytes) -> set[str]:
        """The ids of the commits in the bytes of a segment."""
        return segments.ids_in(data)

    def put_back(self, path: str) -> list[str]:
        """Move a file that a merge put into another session's folder back to where it was added."""
        from holdfast.recovery import misplaced_files

        try:
            return misplaced_files.put_back(self._place, path)
        except OSError as error:
            raise translate_oserror(error, path) from error

    def settle_text(self, path: str) -> bool:
        """Settle the text of a long message that a merge left in conflict; False if it is no such text."""
        from holdfast.recovery import message_texts

        try:
            return message_texts.settle(self._place, path)
        except OSError as error:
            raise translate_oserror(error, path) from error

    def restore_segment(self, stream: str, where: str) -> Fault | None:
        """Add what any version of a segment in git has to it; None if that is nothing."""
        from holdfast.recovery import restore

        handle = self._handle(stream)
        with handle.mutex:
            try:
                with handle.lock:
                    return restore.from_git(self._place, stream, os.path.join(self.root, where))
            except OSError as error:
                raise translate_oserror(error, where) from error

    def mirror(self, stream: str) -> None:
        """Copy what this writer appended to a stream to where neither git nor an editor reaches it."""
        handle = self._handle(stream)
        with handle.mutex:
            try:
                with handle.lock:
                    if name := handle.segments.growing():
                        pins.mirror(self._place, stream, handle.segments.path_of(name))
            except OSError:
                pass  # only a safety net: the commits are stored

    def salvage(self) -> list[Fault]:
        """Restore commits and texts that git removed from the working tree before a git commit had them."""
        from holdfast.recovery import long_texts, message_texts, restore

        try:
            faults = restore.salvage(self._place, self._handle)
            faults += long_texts.restore_pinned(self._place, self._handle)
            return faults + message_texts.restore_pinned(self._place, self._handle, self.folder_of)
        except OSError as error:
            raise translate_oserror(error, self.root) from error
