"""The files engine: streams as plain-text segments under ``.state/``, made for git."""

from __future__ import annotations

import os
import stat
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Iterator

from holdfast.core.stream import checked_note, checked_stream, is_stream_name
from holdfast.errors import Forbidden, Newer, Unavailable
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.fs.symlinks import forget_passed, reject_symlinks
from holdfast.git.refs import UNSEARCHED, GitHead, Repository, find_repository
from holdfast.store.files import segments
from holdfast.store.files.blobs import Blobs
from holdfast.store.files.identity import WriterIdentity
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.files.lockfile import stored_state
from holdfast.store.files.place import Place
from holdfast.store.files.seal import Seal
from holdfast.store.files.segments import EVENTS
from holdfast.store.files.stream import Stream
from holdfast.store.oserror import NOTHING_STORED, translate_oserror
from holdfast.store.protocol import Appended, Capabilities, Cursor, Plan, Tail

_SEALED = ("local/snapshots/", "local/ops/", "local/accepted/", "local/projections.")
"""Notes that are believed: only as this place wrote them."""
_OPEN_STREAMS = 100
"""Streams with open files in one process."""


def random_bits(count: int) -> int:
    return int.from_bytes(os.urandom(count // 8), "big")


class FilesEngine:
    """Streams in a workspace folder. May be shared by threads, processes, and processes forked while it is open."""

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
        self.root = os.path.abspath(root)
        if repository is UNSEARCHED:
            repository = find_repository(fs, os.path.dirname(self.root))
        self._repository = repository
        self.capabilities = Capabilities("files", True, True, True, self.root)
        self._fs = fs
        self._clock = clock
        self._bits = bits
        self._journal_policy = journal_policy or JournalPolicy()
        self._mutex = allocate_lock()
        self._handles: dict[str, Stream] = {}
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
        forget_passed()
        self._reject_symlinks("local/locks")
        self._reject_symlinks("local/journals")

    def _start(self) -> None:
        """Create everything that a forked child must not share with its parent."""
        self._pid = os.getpid()
        tag = f"{self._pid}-{self._bits(32):08x}"
        local = os.path.join(self.root, "local")
        self._place = Place(
            self._fs,
            self.root,
            local,
            WriterIdentity(self._fs, local, self._bits, tag),
            GitHead(self._fs, self._repository),
            self._clock,
            tag,
            self.get,
            self.put,
            self._journal_policy,
        )
        self._place.identity.copied = self._fork_identity
        self._blobs = Blobs(self._place)
        self._seal = Seal(self._place, self._bits)

    def _fork_identity(self, old: str, new: str) -> None:
        from holdfast.store.files import fork_identity

        fork_identity.fork(self._place, old, new)

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
                return self._blobs.append(handle, plan, cursor, expect, op)
            except OSError as error:
                raise translate_oserror(error, stream, outcome=NOTHING_STORED) from error
            except Newer as error:
                raise segments.named(self._fs, self.root, handle.segments.paths(), error) from None

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        handle = self._handle(stream)
        with handle.mutex:
            try:
                is_enough = handle.segments.is_order_known or not newest_first
                tail = handle.read(cursor if is_enough else None)
                if newest_first:
                    return tail._replace(lines=self._backward(handle), restarted=True)
                return self._blobs.attach(stream, tail)
            except OSError as error:
                raise translate_oserror(error, stream) from error
            except Newer as error:
                raise segments.named(self._fs, self.root, handle.segments.paths(), error) from None

    def _backward(self, handle: Stream) -> Iterator[bytes]:
        try:
            yield from self._blobs.attached(handle.stream, handle.backward())
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
        tag = f"{self._place.tag}-{get_ident()}"  # threads may replace the same file at the same time
        try:
            if data is not None and name.startswith(_SEALED):
                data = self._seal.sealed(name, data)
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
            data = durable.read_whole(self._fs, self._note_path(name))
            return self._seal.opened(name, data) if name.startswith(_SEALED) else data
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise translate_oserror(error, name) from error

    def is_archived(self, stream: str) -> bool:
        """Whether any part of a stream is archived."""
        moved = segments.archive_of(self.root, checked_stream(stream))
        joined = segments.joined_of(self.root, stream)
        return bool(moved) and (self._is_folder(moved) or self._is_folder(joined))

    def folder_of(self, stream: str) -> str:
        """The folder of a stream's files: its own, or the archive's if it was archived."""
        if self.is_archived(stream) and not self.is_stream(stream):
            return segments.archive_of(self.root, stream)
        return os.path.join(self.root, *stream.split("/"))

    @property
    def in_git(self) -> bool:
        """Whether the workspace is inside a git repository."""
        return self._place.head.common is not None

    def git_heads(self, stream: str) -> tuple[str, str]:
        """Branch and commit at this writer's last append to a stream, and now; empty if unknown."""
        state = stored_state(self._fs, self._place.local, stream)
        head = self._place.head
        return (head.head_in(state.token) if state else ""), head.head()

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

    def is_stream(self, name: str) -> bool:
        """Whether this stream has live segments, rather than being entirely archived."""
        return is_stream_name(name) and any(
            segments.belongs(name, found) for found in self._folders(f"{EVENTS}/{name}")
        )

    def drop_file(self, path: str) -> None:
        """Remove a file of the workspace that can be regenerated."""
        try:
            self._fs.unlink(os.path.join(self.root, path))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise translate_oserror(error, path) from error

    def pin(self, stream: str, path: str) -> None:
        """Keep a file of a session out of git's reach until git has it."""
        from holdfast.store.files import pins

        pins.pin_file(self._place, stream, path)

    def close(self) -> None:
        self._closed = True
        if self._pid == os.getpid():
            for handle in self._handles.values():
                handle.close()
        self._handles.clear()

    def __del__(self) -> None:
        """A dropped store closes its files, except under a crash-consistency harness."""
        if not getattr(self, "_closed", True) and self._fs is posix:
            self.close()

    def _handle(self, stream: str) -> Stream:
        if self._closed:
            raise Unavailable("The store is closed.", hint="Open the workspace again.")
        if self._pid != os.getpid():
            # A lock is tied to its open file: a child that kept using the parent's file would share its lock.
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
                handle = self._handles.setdefault(stream, Stream(self._place, stream))
        return handle

    def _close_idle(self) -> None:
        """Close the files of the streams opened longest ago: a process may use more streams than it may have files.

        A handle that is still in use reopens its files.
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
