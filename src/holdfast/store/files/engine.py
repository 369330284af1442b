"""The files engine: streams as segments under ``.state/``, in plain text, at home in git."""

from __future__ import annotations

import os
import stat
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Iterator

from holdfast.core.stream import checked_note, checked_stream, is_stream_name
from holdfast.errors import Forbidden, Newer, Unavailable
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.fs.symlinks import reject_symlinks
from holdfast.git.refs import GitHead
from holdfast.store.files import segments
from holdfast.store.files.identity import Identity
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.files.segments import EVENTS
from holdfast.store.files.stream import StreamFiles
from holdfast.store.files.stream_reader import Place
from holdfast.store.files.writer_state import remembered
from holdfast.store.oserror import translate_oserror
from holdfast.store.protocol import Appended, Capabilities, Cursor, Fault, Plan, Tail

_OPEN_STREAMS = 100
"""Streams with open files in one process."""


def random_bits(count: int) -> int:
    return int.from_bytes(os.urandom(count // 8), "big")


class FilesStore:
    """A workspace folder. May be shared by threads, by processes, and by processes forked while it is open."""

    def __init__(
        self,
        root: str,
        *,
        clock: Callable[[], int],
        fs: FileSystem = posix,
        bits: Callable[[int], int] = random_bits,
        journal_policy: JournalPolicy | None = None,
    ) -> None:
        self.root = os.path.abspath(root)
        self.capabilities = Capabilities("files", True, True, True, self.root)
        self._fs = fs
        self._clock = clock
        self._bits = bits
        self._habit = journal_policy or JournalPolicy()
        self._mutex = allocate_lock()
        self._handles: dict[str, StreamFiles] = {}
        self._check_root()
        self._start()
        self._closed = False

    def _check_root(self) -> None:
        try:
            mode = self._fs.stat(self.root).st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise translate_oserror(error, self.root) from error
        if stat.S_ISLNK(mode):
            raise Forbidden(f"{self.root} is a link; a workspace must be a real folder.")
        if not stat.S_ISDIR(mode):
            raise Forbidden(f"{self.root} is not a folder.", hint="Move it aside; nothing in it was changed.")
        self._reject_symlinks("local/locks")
        self._reject_symlinks("local/journals")

    def _start(self) -> None:
        """Everything that a forked child must not share with its parent."""
        self._pid = os.getpid()
        tag = f"{self._pid}-{self._bits(32):08x}"
        local = os.path.join(self.root, "local")
        self._place = Place(
            self._fs,
            self.root,
            local,
            Identity(self._fs, local, self._bits, tag),
            GitHead(self._fs, os.path.dirname(self.root)),
            self._clock,
            tag,
            self.get,
            self.put,
            self._habit,
        )
        self._place.identity.copied = self._part

    def _part(self, old: str, new: str) -> None:
        from holdfast.recovery import fork_identity

        fork_identity.part(self._place, old, new)

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        handle = self._handles.get(stream)
        if handle is None or self._pid != os.getpid():
            handle = self._handle(stream)
        with handle.mutex:
            try:
                return handle.append(plan, cursor, expect, op)
            except OSError as error:
                raise translate_oserror(error, stream) from error
            except Newer as error:
                raise segments.named(self._fs, self.root, handle.paths(), error) from None

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        handle = self._handle(stream)
        with handle.mutex:
            try:
                tail = handle.read(None if newest_first else cursor)
                if newest_first:
                    return tail._replace(lines=self._backward(handle), restarted=True)
                return tail
            except OSError as error:
                raise translate_oserror(error, stream) from error
            except Newer as error:
                raise segments.named(self._fs, self.root, handle.paths(), error) from None

    def _backward(self, handle: StreamFiles) -> Iterator[bytes]:
        try:
            yield from handle.backward()
        except OSError as error:
            raise translate_oserror(error, handle.stream) from error

    def streams(self, prefix: str = "") -> list[str]:
        found = ["project"]
        for user in self._folders(f"{EVENTS}/users"):
            found.append(f"users/{user}")
        for user in self._folders(f"{EVENTS}/sessions"):
            if f"sessions/{user}".startswith(prefix[: len(f"sessions/{user}")]):
                sessions = self._folders(f"{EVENTS}/sessions/{user}")
                found += [f"sessions/{user}/{session}" for session in sessions]
        return sorted(name for name in found if name.startswith(prefix) and self.is_stream(name))

    def put(self, name: str, data: bytes | None) -> None:
        path = self._note_path(name)
        mode = 0o600 if name.startswith("local/keys/") else None
        tag = f"{self._place.tag}-{get_ident()}"  # threads replace the same note at once
        try:
            if data is None:
                try:
                    self._fs.unlink(path)
                except FileNotFoundError:
                    pass
                return
            try:
                durable.replace(self._fs, path, data, tag=tag, durable=False, mode=mode)
            except FileNotFoundError:
                durable.make_folders(self._fs, os.path.dirname(path))
                durable.replace(self._fs, path, data, tag=tag, durable=False, mode=mode)
        except OSError as error:
            raise translate_oserror(error, name) from error

    def get(self, name: str) -> bytes | None:
        try:
            return durable.read_whole(self._fs, self._note_path(name))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise translate_oserror(error, name) from error

    def forget(self, stream: str) -> None:
        from holdfast.recovery import fsck, restore

        handle = self._handle(stream)
        with handle.mutex:
            try:
                restore.put_back(self._place, [stream], self._handle)  # what is another's must not go with it
                handle.lock()
                try:
                    handle.make_sound()  # what dead processes left of it goes too
                    fsck.remove_stream(self._place, stream)
                finally:
                    handle.unlock()
                    handle.close()
            except OSError as error:
                raise translate_oserror(error, stream) from error

    def archive(self, stream: str) -> None:
        """Move a session to ``history/``, its segments joined into one. Repeating after a death completes it."""
        handle = self._handle(stream)
        with handle.mutex:
            from holdfast.recovery import archive

            try:
                handle.lock()
                try:
                    archive.archive(self._place, handle)
                finally:
                    handle.unlock()
                    handle.close()
            except OSError as error:
                raise translate_oserror(error, stream) from error

    def archived(self) -> list[str]:
        """The streams that lie in ``history/``, oldest first."""
        from holdfast.recovery import archive

        try:
            return archive.archived(self._place)
        except OSError as error:
            raise translate_oserror(error, "history") from error

    def is_archived(self, stream: str) -> bool:
        """Whether some of a stream lies in the archive."""
        moved = segments.archive_of(self.root, checked_stream(stream))
        joined = segments.joined_of(self.root, stream)
        return bool(moved) and (self._is_folder(moved) or self._is_folder(joined))

    def folder_of(self, stream: str) -> str:
        """Where a stream's files lie: its own folder, or the archive's if it was archived."""
        if not self.is_stream(stream) and self.is_archived(stream):
            return segments.archive_of(self.root, stream)
        return os.path.join(self.root, *stream.split("/"))

    def size_of(self, stream: str) -> int:
        """Bytes on the disk, over all files of a stream."""
        from holdfast.recovery import archive

        try:
            return archive.size(self._place, stream)
        except OSError as error:
            raise translate_oserror(error, stream) from error

    def check(self, *, fix: bool = False) -> list[Fault]:
        from holdfast.recovery import fsck, restore

        try:
            faults = fsck.stray_files(self._place, fix=fix)
            if fix:
                faults += restore.put_back(self._place, [*self.streams(), *self.archived()], self._handle)
                faults += self.salvage()
            else:
                faults += restore.salvage(self._place, self._handle, fix=False)
            streams = sorted({*self.streams(), *self.archived()})
            return faults + fsck.check_streams(self._place, streams, self._handle, fix=fix)
        except OSError as error:
            raise translate_oserror(error, self.root) from error

    @property
    def in_git(self) -> bool:
        """Whether the workspace is inside a git repository."""
        return self._place.head.common is not None

    def git_heads(self, stream: str) -> tuple[str, str]:
        """Branch and commit when this place last wrote to a stream, and now; empty where that is not known."""
        memory = remembered(self._fs, self._place.local, stream)
        head = self._place.head
        return (head.head_in(memory.token) if memory else ""), head.head()

    def newest_sessions(self, user: str | None, limit: int) -> tuple[list[str], int]:
        """The newest sessions, and how many there are."""
        from holdfast.store.files import listing

        try:
            return listing.newest(self, self._fs, user, limit)
        except OSError as error:
            raise translate_oserror(error, "sessions") from error

    def sessions_in(self, root: str) -> list[str]:
        """The sessions in the workspace of another worktree."""
        from holdfast.store.files import listing

        return listing.in_worktree(self._fs, root)

    def kept_sessions(self, known: set[str]) -> list[str]:
        """Sessions of which commits are only kept out of git's reach, or of which nothing is ``known`` but that."""
        from holdfast.recovery import restore

        return restore.kept_sessions(self._place, self._handle, known)

    def is_stream(self, name: str) -> bool:
        """Whether this is a stream with segments of its own: not one that is wholly in the archive."""
        return is_stream_name(name) and any(
            segments.belongs(name, found) for found in self._folders(f"{EVENTS}/{name}")
        )

    def stream_at(self, folder: str) -> str:
        """The stream whose files or segments lie in a folder (relative to the workspace), live or archived; or none."""
        folder = folder.removeprefix(f"{EVENTS}/")
        if not folder.startswith("history/"):
            return folder if is_stream_name(folder) else ""
        from holdfast.recovery import archive

        return next((s for s in self.archived() if archive.folder_of(self._place, s) == folder), "")

    def drop_file(self, path: str) -> None:
        """Remove a file of the workspace that can be made anew."""
        try:
            self._fs.unlink(os.path.join(self.root, path))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise translate_oserror(error, path) from error

    def settle_conflict(self, path: str) -> bool:
        """Join all sides of a segment (relative to the workspace) that a merge left in conflict. False if it is one of
        another stream, which ``check`` puts back."""
        from holdfast.recovery import restore

        stream = self.stream_at(os.path.dirname(path))
        handle = self._handle(stream)
        with handle.mutex:
            try:
                with handle.holding():
                    return restore.unmerged(self._place, stream, path)
            except OSError as error:
                raise translate_oserror(error, path) from error

    def put_back(self, path: str) -> list[str]:
        """Move a file that a merge put into the folder of another session to where it was added."""
        from holdfast.recovery import misplaced_files

        try:
            return misplaced_files.put_back(self._place, path)
        except OSError as error:
            raise translate_oserror(error, path) from error

    def keep(self, stream: str, path: str) -> None:
        """Keep a file of a session out of git's reach until git has it."""
        from holdfast.recovery import pins

        pins.link(self._place, stream, path)

    def salvage(self) -> list[Fault]:
        """Bring back commits and texts that git removed from the working tree before a git commit had them."""
        from holdfast.recovery import message_texts, restore

        try:
            faults = restore.salvage(self._place, self._handle)
            return faults + message_texts.bring_back(self._place, self._handle, self.folder_of)
        except OSError as error:
            raise translate_oserror(error, self.root) from error

    def close(self) -> None:
        self._closed = True
        if self._pid == os.getpid():
            for handle in self._handles.values():
                handle.close()
        self._handles.clear()

    def __del__(self) -> None:
        """Whoever drops a workspace keeps no files open. What a crash laboratory left behind must not act once more."""
        if not getattr(self, "_closed", True) and self._fs is posix:
            self.close()

    def _handle(self, stream: str) -> StreamFiles:
        if self._closed:
            raise Unavailable("The store is closed.", hint="Open the workspace again.")
        if self._pid != os.getpid():
            # A lock is tied to its open file: a child that went on with the parent's would share its lock.
            self._mutex = allocate_lock()
            self._handles = {}
            self._start()
        handle = self._handles.get(stream)
        if handle is None:
            with self._mutex:
                checked_stream(stream)
                for folder in segments.folders_of(self.root, stream):
                    self._reject_symlinks(folder[len(self.root) + 1 :])
                if len(self._handles) >= _OPEN_STREAMS:
                    self._close_idle()
                handle = self._handles.setdefault(stream, StreamFiles(self._place, stream))
        return handle

    def _close_idle(self) -> None:
        """Give the files of the longest known streams back: a process may see more streams than it may have files.

        Whoever still holds such a handle can go on with it: it opens its files again.
        """
        for stream in list(self._handles)[: _OPEN_STREAMS // 2]:
            handle = self._handles[stream]
            if handle.mutex.acquire(blocking=False):
                try:
                    handle.close()
                finally:
                    handle.mutex.release()
                del self._handles[stream]

    def _reject_symlinks(self, folder: str) -> None:
        try:
            reject_symlinks(self._fs, self.root, folder)
        except OSError as error:
            raise translate_oserror(error, folder) from error

    def _note_path(self, name: str) -> str:
        stream, _, last = checked_note(name).rpartition("/")
        folder = self.folder_of(stream) if stream.startswith("sessions/") else os.path.join(self.root, stream)
        self._reject_symlinks(folder[len(self.root) + 1 :])
        return os.path.join(folder, last)

    def _is_folder(self, name: str) -> bool:
        try:
            return stat.S_ISDIR(self._fs.stat(os.path.join(self.root, name)).st_mode)
        except OSError:
            return False

    def _folders(self, name: str) -> list[str]:
        if not self._is_folder(name):
            return []
        try:
            return self._fs.names(os.path.join(self.root, name))
        except OSError as error:
            raise translate_oserror(error, name) from error
