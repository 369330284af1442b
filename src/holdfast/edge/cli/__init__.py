"""The command line: ``holdfast COMMAND …``.

Each command is in the module of its group and is imported only when it is called: starting up must cost no more than
the one command needs. A command parses, calls one library method, and returns what to print.
"""

from __future__ import annotations

import os
import sys

from holdfast.typed import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from holdfast.edge.cli.lock_wait import Waiting
    from holdfast.edge.cli.table import COMMANDS, EVERYDAY, GROUPS, load
    from holdfast.errors import HoldfastError

__all__ = ["COMMANDS", "EVERYDAY", "GROUPS", "load", "main", "script"]


def __getattr__(name: str) -> Any:
    """The table of commands, loaded when it is needed: a failure to load it is reported like any other."""
    if name not in ("COMMANDS", "EVERYDAY", "GROUPS", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from holdfast.edge.cli import table

    return getattr(table, name)


def script() -> NoReturn:
    """The installed command. It exits immediately: an orderly interpreter shutdown costs a tenth of a command."""
    is_hook = sys.argv[1:2] == ["hook"] and "--help" not in sys.argv and "-h" not in sys.argv
    status = _hook() if is_hook else _command()
    try:
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # closed or full
    os._exit(status)


def _hook() -> int:
    """Answer an agent host; 0 whatever happens."""
    try:
        _open_standard_streams()
        from holdfast.edge.hooks import run

        return run(sys.argv[2:])
    except BaseException:
        return 0


def _command() -> int:
    """Run a command that tells its user whom it waits for."""
    try:
        from holdfast.workspace.waits import enter_while_waiting

        enter_while_waiting(waiting)
    except Exception as error:
        return _crash(error, "--json" in sys.argv)
    return main()


def waiting(fd: int) -> Waiting:
    """Entered while somebody else holds a lock."""
    from holdfast.edge.cli.lock_wait import Waiting

    return Waiting(fd)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    try:
        return _run(given, as_json)
    except BrokenPipeError:
        # The reader closed the pipe (a pager, head): no error, and nothing more to print.
        return _silenced()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _crash(error, as_json)


def _run(given: list[str], as_json: bool) -> int:
    _open_standard_streams()
    _prepare_output()
    from holdfast.errors import HoldfastError

    try:
        status = _dispatch(given)
        flush_answer()
        return status
    except HoldfastError as error:
        return _fail(error, as_json)


def flush_answer() -> None:
    """Write out the answer of a command that is done."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from holdfast.edge.cli.crash import AnswerLost

        raise AnswerLost(f"The answer cannot be written: {error.strerror}.") from error


def _silenced() -> int:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
    return 0


def _open_standard_streams() -> None:
    """Open what is closed of standard input, output and error: no file of the store may get one of their numbers."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - stays open to the end
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - stays open to the end
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - stays open to the end


def _prepare_output() -> None:
    """Whatever the terminal can show, printing must not fail after the command has succeeded."""
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None)
        if encoding and encoding.lower() not in ("utf-8", "utf8") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _crash(error: Exception, as_json: bool) -> int:
    """An error that no layer below has translated: one sentence for a failure of the machine; a traceback, for a
    report, for a bug of holdfast. With --json still one object."""
    try:
        from holdfast.edge.cli.crash import explain

        known = explain(error)
        if known is not None:
            return _fail(known, as_json)
        from traceback import print_exception

        print_exception(error)
        from holdfast.errors import HoldfastError

        return _fail(HoldfastError(f"{type(error).__name__}: {error}"), as_json) if as_json else 1
    except Exception:
        # Nothing more can be loaded or written.
        said = error.strerror if isinstance(error, OSError) else str(error)
        try:
            os.write(2, f"holdfast: The command failed: {said}.\n".encode("utf-8", "replace"))
        except OSError:
            pass
        return 6


_LEADING = ("--json", "--workspace", "--session", "--op", "--expect", "--allow-secret", "-h", "--help")
"""Options that may come before the command."""


def _dispatch(given: list[str]) -> int:
    from holdfast.edge.cli.command import begin, first_word, run
    from holdfast.edge.cli.table import COMMANDS, load

    begin()
    place = first_word(given)
    leading, name = given[:place], given[place] if place < len(given) else None
    if "-V" in leading or "--version" in leading:
        from holdfast.version import __version__

        sys.stdout.write(f"holdfast {__version__}\n")
        return 0
    if name is None or name not in COMMANDS or any(word[:1] == "-" for word in leading):
        _check_leading(leading, name)
    if name is None:
        from holdfast.edge.cli.overview import overview

        sys.stdout.write(overview())
        return 0
    return run(name, load(name), leading + given[place + 1 :])


def _check_leading(leading: list[str], name: str | None) -> None:
    """Refuse options before the command that have no meaning there."""
    from holdfast.edge.cli import overview
    from holdfast.edge.cli.table import COMMANDS

    for word in leading:
        if word[:1] == "-" and word.partition("=")[0] not in _LEADING:
            raise overview.unknown_option(word)
    if name is None and any(word not in ("-h", "--help") for word in leading):
        raise overview.no_command()
    if name is not None and name not in COMMANDS:
        raise overview.unknown(name)


def _fail(error: HoldfastError, as_json: bool) -> int:
    from holdfast.edge.cli import hints
    from holdfast.edge.cli.command import as_text, written

    lost_answer = error.code == "HF-ANSWER"
    if not lost_answer and (stream := written()):
        from holdfast.edge.cli.crash import after_commit

        error = after_commit(error, stream)
    if as_json and not lost_answer:
        sys.stdout.write(as_text({"ok": False, "error": error.as_json(hints.text)}))
    else:
        from holdfast.edge.render import clean, wrap

        sys.stderr.write(wrap(f"holdfast: {clean(error.message)}") + "\n")
        if error.hint:
            sys.stderr.write(wrap(f"  {clean(hints.text(error.hint))}") + "\n")
    return error.status
