"""The command line: ``holdfast COMMAND …``.

Each command lives in the module of its group and is imported only when it is called: starting up must cost no
more than the one command needs. A command parses, calls one library method, and returns what to print.
"""

from __future__ import annotations

import os
import sys

from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from holdfast.edge.cli.command import Command

GROUPS = {
    "Everyday": {
        "init": "setup",
        "start": "sessions",
        "status": "sessions",
        "resume": "sessions",
        "do": "acts",
        "decide": "decisions",
        "settle": "decisions",
        "phase": "phases",
        "task": "tasks",
        "loop": "loops",
        "note": "notes",
        "discuss": "breaks",
        "return": "breaks",
        "checkpoint": "checkpoints",
        "pause": "breaks",
        "continue": "breaks",
        "complete": "breaks",
        "recover": "decisions",
        "handoff": "handoffs",
    },
    "The work": {
        "goal": "goals",
        "focus": "goals",
        "mark": "goals",
        "phases": "phases",
        "complete-phase": "phases",
        "skip-to": "phases",
        "plan": "plans",
        "risk": "concerns",
        "blocker": "concerns",
        "next": "concerns",
        "error": "concerns",
        "remedy": "concerns",
        "legal": "concerns",
        "compaction": "concerns",
    },
    "Sessions and history": {
        "sessions": "sessions",
        "switch": "sessions",
        "brief": "sessions",
        "view": "handoffs",
        "log": "history",
        "show": "history",
        "diff": "history",
    },
    "Working beside others": {
        "who": "team",
        "claim": "team",
        "release": "team",
        "hook-commit-message": "team",
    },
    "Knowledge": {
        "backlog": "backlogs",
        "budget": "budgets",
        "control": "rules",
        "export": "exports",
        "fact": "rules",
        "message": "messages",
        "order": "rules",
        "prefer": "rules",
        "ref": "references",
    },
    "Agent hosts": {
        "install": "hosts",
        "uninstall": "hosts",
        "hook": "hosts",
    },
    "Checks": {
        "validate": "checks",
        "lint": "checks",
        "verify": "checks",
        "sync": "checks",
        "advise": "checks",
        "schema": "checks",
    },
    "Programs and upkeep": {
        "mcp": "servers",
        "batch": "batches",
        "import": "imports",
        "archive": "upkeep",
        "restore": "upkeep",
        "prune": "upkeep",
        "rotate": "upkeep",
        "record": "notes",
        "doctor": "setup",
        "heal": "team",
        "agents-md": "handoffs",
    },
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}


def load(name: str) -> Command:
    """The command of that name."""
    from importlib import import_module

    module = import_module(f"holdfast.edge.cli.{COMMANDS[name]}")
    command: Command = module.COMMANDS[name]
    return command


def script() -> NoReturn:
    """The installed command. It ends at once: taking the interpreter down in order costs a tenth of a command."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv and "-h" not in sys.argv:
        from holdfast.edge.hooks import run

        status = run(sys.argv[2:])
    else:
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
        # The reader went away (a pager, head): no error, and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _crash(error, as_json)


def _prepare_output() -> None:
    """Whatever the terminal can show, an answer must not fail when its command is done."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed by whoever started us; stays open to the end
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None)
        if encoding and encoding.lower() not in ("utf-8", "utf8") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def as_text(data: dict[str, Any]) -> str:
    """A JSON object in one line; characters that the output cannot have are escaped."""
    import json

    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower() not in ("utf-8", "utf8")
    return json.dumps(data, ensure_ascii=plain) + "\n"


def _crash(error: Exception, as_json: bool) -> int:
    """What nobody foresaw: all of it on standard error, and with --json an object all the same."""
    from traceback import print_exc

    if isinstance(error, OSError) and error.filename is None:
        sys.stderr.write(f"holdfast: The answer cannot be written: {error.strerror}.\n")
        return 6
    print_exc()
    return _fail(HoldfastError(f"{type(error).__name__}: {error}"), as_json) if as_json else 1


def _dispatch(given: list[str]) -> int:
    name = next((word for word in given if not word.startswith("-")), None)
    if "--version" in given and name is None:
        from holdfast.version import __version__

        sys.stdout.write(f"holdfast {__version__}\n")
        return 0
    if name is None or (name == "help" and len(given) == 1):
        from holdfast.edge.cli.overview import overview

        sys.stdout.write(overview())
        return 0
    if name == "help":
        return _dispatch([*given[1:], "--help"])
    if name not in COMMANDS:
        from holdfast.edge.cli.overview import unknown

        raise unknown(name)
    from holdfast.edge.cli.command import run

    rest = list(given)
    rest.remove(name)
    return run(name, load(name), rest)


def _fail(error: HoldfastError, as_json: bool) -> int:
    from holdfast.edge.cli import hints

    if as_json:
        sys.stdout.write(as_text({"ok": False, "error": error.as_json(hints.text)}))
    else:
        from holdfast.edge.render import clean

        sys.stderr.write(f"holdfast: {clean(error.message)}\n")
        if error.hint:
            sys.stderr.write(f"  {clean(hints.text(error.hint))}\n")
    return error.status
