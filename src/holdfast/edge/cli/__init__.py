"""The command line: ``holdfast COMMAND …``.

Each command is in the module of its group and is imported only when it is called: starting up must cost no more than
the one command needs. A command parses, calls one library method, and returns what to print.
"""

from __future__ import annotations

import os
import sys

from holdfast.edge.cli.table import COMMANDS, EVERYDAY, GROUPS, load
from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from holdfast.edge.cli.lock_wait import Waiting

__all__ = ["COMMANDS", "EVERYDAY", "GROUPS", "load", "main", "script"]


def script() -> NoReturn:
    """The installed command. It exits immediately: an orderly interpreter shutdown costs a tenth of a command."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv and "-h" not in sys.argv:
        from holdfast.edge.hooks import run

        status = run(sys.argv[2:])
    else:
        from holdfast.workspace.waits import enter_while_waiting

        enter_while_waiting(waiting)
        status = main()
    sys.stderr.flush()
    os._exit(status)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    _prepare_output()
    try:
        status = _dispatch(given)
        sys.stdout.flush()
        return status
    except HoldfastError as error:
        return _fail(error, as_json)
    except BrokenPipeError:
        # The reader closed the pipe (a pager, head): no error, and nothing more to print.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _crash(error, as_json)


def waiting(fd: int) -> Waiting:
    """Entered while somebody else holds a lock."""
    from holdfast.edge.cli.lock_wait import Waiting

    return Waiting(fd)


def _prepare_output() -> None:
    """Whatever the terminal can show, printing must not fail after the command has succeeded."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - stays open to the end
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None)
        if encoding and encoding.lower() not in ("utf-8", "utf8") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _crash(error: Exception, as_json: bool) -> int:
    """An unexpected error: its traceback on standard error, and with --json still one object."""
    from traceback import print_exc

    if isinstance(error, OSError) and error.filename is None:
        sys.stderr.write(f"holdfast: The answer cannot be written: {error.strerror}.\n")
        return 6
    print_exc()
    return _fail(HoldfastError(f"{type(error).__name__}: {error}"), as_json) if as_json else 1


_LEADING = ("--json", "--workspace", "--session", "--op", "--expect", "--allow-secret", "-h", "--help")
"""Options that may come before the command."""


def _dispatch(given: list[str]) -> int:
    from holdfast.edge.cli.command import first_word, run

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

    for word in leading:
        if word[:1] == "-" and word.partition("=")[0] not in _LEADING:
            raise overview.unknown_option(word)
    if name is None and any(word not in ("-h", "--help") for word in leading):
        raise overview.no_command()
    if name is not None and name not in COMMANDS:
        raise overview.unknown(name)


def _fail(error: HoldfastError, as_json: bool) -> int:
    from holdfast.edge.cli import hints

    if as_json:
        from holdfast.edge.cli.command import as_text

        sys.stdout.write(as_text({"ok": False, "error": error.as_json(hints.text)}))
    else:
        from holdfast.edge.render import clean, wrap

        sys.stderr.write(wrap(f"holdfast: {clean(error.message)}") + "\n")
        if error.hint:
            sys.stderr.write(wrap(f"  {clean(hints.text(error.hint))}") + "\n")
    return error.status
