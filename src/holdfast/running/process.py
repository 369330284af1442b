"""A command as a child process: its output is passed on as it comes, and its signals are those that we get."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
from collections.abc import Sequence
from types import FrameType

from holdfast.running.output import Tail
from holdfast.typed import Any, Record

_STOPPING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_FROM_KEYS = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to the whole foreground group: the command has got them already."""
_PART = 1 << 16
NOT_FOUND = 127
NOT_STARTED = 126


class Ended(Record):
    """How a command ended."""

    exit_code: int
    sentence: str
    ok: bool


class Signals:
    """Signals to this process while it runs a command: noted, so that none of them prevents the outcome."""

    def __init__(self) -> None:
        self.got: list[signal.Signals] = []
        self._new: list[int] = []
        self._before: dict[int, Any] = {}
        self.reader, self._writer = -1, -1
        self._wakeup = -1

    def __enter__(self) -> Signals:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (*_STOPPING, signal.SIGCHLD, signal.SIGWINCH):
            # What the caller ignores (nohup) stays ignored, for the command too.
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self.reader)
        os.close(self._writer)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._new.append(number)
        if number in _STOPPING:
            self.got.append(signal.Signals(number))

    def take(self) -> list[int]:
        """The signals since the last call."""
        try:
            while os.read(self.reader, _PART):
                pass
        except BlockingIOError:
            pass
        new, self._new = self._new, []
        return new


class _Channel:
    """One output of the command: what it writes is passed on to one of ours."""

    def __init__(self, outer: int) -> None:
        self.outer = outer
        self.terminal = os.isatty(outer)
        """A command that writes to a terminal goes on seeing one."""
        self.reader, self.inner = _terminal_pair(outer) if self.terminal else os.pipe()
        os.set_blocking(self.reader, False)

    def close_inner(self) -> None:
        os.close(self.inner)

    def pass_on(self, tail: Tail) -> bool:
        """Pass on what is there; False at the end of the output."""
        while True:
            try:
                data = os.read(self.reader, _PART)
            except BlockingIOError:
                return True
            except OSError as error:
                if error.errno == errno.EIO:  # a terminal whose other end is closed
                    return False
                raise
            if not data:
                return False
            tail.add(data)
            if not _write(self.outer, data):
                return False  # nobody reads ours any more: the command learns it as it would without us

    def resize(self) -> None:
        if self.terminal:
            _copy_size(self.outer, self.reader)


def _write(fd: int, data: bytes) -> bool:
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select([], [fd], [])
        except OSError:
            return False
    return True


def _terminal_pair(outer: int) -> tuple[int, int]:
    import termios

    reader, inner = os.openpty()
    attributes = termios.tcgetattr(inner)
    attributes[1] &= ~termios.OPOST  # the real terminal does that
    termios.tcsetattr(inner, termios.TCSANOW, attributes)
    _copy_size(outer, reader)
    return reader, inner


def _copy_size(outer: int, reader: int) -> None:
    import fcntl
    import termios

    try:
        fcntl.ioctl(reader, termios.TIOCSWINSZ, fcntl.ioctl(outer, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        pass  # a terminal without a size


def execute(
    words: Sequence[str],
    environment: dict[str, str],
    outputs: tuple[int, int],
    signals: Signals,
    tail: Tail,
    inherited: tuple[int, ...] = (),
) -> Ended:
    """Run a command to its end; its output goes to the two ``outputs`` and into the ``tail``.

    It gets the ``inherited`` open files besides its standard ones.
    """
    if signals.got:
        stop = signals.got[0]
        return Ended(128 + stop, f"Interrupted by {stop.name} before the command was started", False)
    out, err = outputs
    channels = [_Channel(out)] if _is_same(out, err) else [_Channel(out), _Channel(err)]
    try:
        process = subprocess.Popen(  # noqa: S603 - the caller's own command
            list(words),
            stdout=channels[0].inner,
            stderr=channels[-1].inner,
            env=environment,
            pass_fds=inherited,
        )
    except (OSError, ValueError) as error:
        for channel in channels:
            os.close(channel.reader)
        missing = isinstance(error, FileNotFoundError)
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or str(error)
        code = NOT_FOUND if missing else NOT_STARTED
        return Ended(code, f"It could not be started: {reason} (exit status {code})", False)
    finally:
        for channel in channels:
            channel.close_inner()
    _follow(process, channels, signals, tail)
    return _ended(process.returncode, signals)


def _is_same(one: int, other: int) -> bool:
    """Whether two outputs go to the same place: then they share a channel, which keeps their order."""
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _follow(process: subprocess.Popen[bytes], channels: list[_Channel], signals: Signals, tail: Tail) -> None:
    """Pass on output and signals until the process has ended. What it left running in the background is not awaited."""
    poll = select.poll()
    poll.register(signals.reader, select.POLLIN)
    for channel in channels:
        poll.register(channel.reader, select.POLLIN)
    reading = {channel.reader: channel for channel in channels}
    while True:
        has_ended = process.poll() is not None
        for fd, _ in poll.poll(0 if has_ended else None):
            if fd in reading and not reading[fd].pass_on(tail):
                poll.unregister(fd)
                del reading[fd]
                os.close(fd)
        for number in signals.take():
            if number == signal.SIGWINCH:
                for channel in reading.values():
                    channel.resize()
            elif number in _STOPPING and not (number in _FROM_KEYS and _in_foreground()):
                process.send_signal(number)
        if has_ended:
            break
    for channel in reading.values():
        channel.pass_on(tail)
        os.close(channel.reader)


def _in_foreground() -> bool:
    """Whether this process is in the foreground of a terminal, whose keys signal the command too."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _ended(status: int, signals: Signals) -> Ended:
    code = 128 - status if status < 0 else status
    said = f"killed by {_name(-status)} (exit status {code})" if status < 0 else f"exit status {code}"
    if signals.got:
        return Ended(code, f"Interrupted by {signals.got[0].name}: {said}", False)
    return Ended(code, f"{said[0].upper()}{said[1:]}", status == 0)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
