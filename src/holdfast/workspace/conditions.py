"""Looking at the world: whether what a condition names is true here. Nothing that is stored is executed."""

from __future__ import annotations

from holdfast.core import conditions
from holdfast.errors import HoldfastError, NotFound
from holdfast.git import look as git
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

Condition = dict[str, Any]
Seen = tuple["bool | None", str]
"""Whether it is true (None: that cannot be seen from here), and what was seen, as a clause."""
NO_GIT = "git is not available here"
_LOOPBACK = ("127.0.0.1", "::1")
_TIMEOUT_S = 1.0
_WORDS = {True: "done", False: "not done", None: "cannot tell"}


class Look:
    """Evaluates conditions; git is queried once for all of them."""

    def __init__(self, workspace: Workspace, wanted: list[Condition]) -> None:
        self._files = workspace.files("project")
        folder = self._files.project
        kinds = {kind for condition in wanted for kind in condition}
        ids = [condition["commit-exists"] for condition in wanted if "commit-exists" in condition]
        self._names = {
            "commit": git.commits(folder, ids) if ids else set(),
            "branch": git.branches(folder) if "branch-exists" in kinds else set(),
            "tag": git.tags(folder) if "tag-exists" in kinds else set(),
        }

    def at(self, condition: Condition) -> Seen:
        """Whether a condition is true."""
        kind, value = next(iter(condition.items()))
        if kind == "port-open":
            return _port(value)
        what = kind.removesuffix("-exists")
        if what not in self._names:
            return self._file(kind, value)
        names = self._names[what]
        if names is None:
            return None, NO_GIT
        return value in names, f"there is {'a' if value in names else 'no'} {what} {value}"

    def _file(self, kind: str, value: Any) -> Seen:
        path = value["path"] if kind == "file-hash" else value
        try:
            found = self._files.look(path)
        except NotFound:
            return kind == "file-missing", f"there is no file {path}"
        except HoldfastError as error:
            return None, error.message
        if kind == "file-hash":
            same = found.hash == value["hash"]
            return same, f"{path} {'is unchanged' if same else 'has different content'}"
        return kind == "file-exists", f"there is a file {path}"


def _port(number: int) -> Seen:
    """Whether something on this machine accepts connections at a port of the loopback."""
    import errno
    import socket

    refused = 0
    for address in _LOOPBACK:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.settimeout(_TIMEOUT_S)
                client.connect((address, number))
                # The kernel may have chosen that very port for this end of the connection.
                if client.getsockname() != client.getpeername():
                    return True, f"port {number} accepts connections"
                refused += 1
        except OSError as error:
            # A machine without IPv6 has no address to bind: nothing can listen there.
            gone = (errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
            refused += error.errno in gone
    if refused == len(_LOOPBACK):
        return False, f"nothing listens on port {number}"
    return None, f"port {number} does not answer"


def evaluated(workspace: Workspace, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Decisions with what a look at the world says of each: ``status`` (done, not done, cannot tell) and ``seen``."""
    wanted = [entry["done_when"] for entry in entries if entry.get("done_when")]
    look = Look(workspace, wanted) if wanted else None
    return [{**entry, **_evaluated(look, entry.get("done_when"))} for entry in entries]


def _evaluated(look: Look | None, condition: Condition | None) -> dict[str, str]:
    if look is None or condition is None:
        return {"status": _WORDS[None], "seen": "nothing says how to see that it was done"}
    answer, seen = look.at(condition)
    return {"status": _WORDS[answer], "seen": seen}


def shown(entry: dict[str, Any]) -> str:
    """The condition of a decision as it is typed; empty if it has none."""
    condition = entry.get("done_when")
    return conditions.shown(condition) if condition else ""
