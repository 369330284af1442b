"""The version of a dependency, as the project's lock files name it."""

from __future__ import annotations

import json

from holdfast.errors import HoldfastError, NotFound
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.attachments import Attachments

_CAP = 32_000_000
_TABLES = ("uv.lock", "poetry.lock", "Cargo.lock", "pdm.lock")
_LINES = ("requirements.txt", "requirements.lock", "constraints.txt")
_JSON = "package-lock.json"
_GO = "go.mod"


def version_of(files: Attachments, name: str) -> set[str] | None:
    """The versions that the lock files in the project's folder name; None if there is no such file."""
    wanted, found, looked = _plain(name), set(), False
    for path, read in (
        *((path, _from_tables) for path in _TABLES),
        *((path, _from_lines) for path in _LINES),
        (_JSON, _from_json),
        (_GO, _from_go),
    ):
        try:
            text = files.read(path, _CAP).decode("utf-8", "replace")
        except NotFound:
            continue
        except HoldfastError:  # a link, or too large
            continue
        looked = True
        found |= {version for package, version in read(text) if _plain(package) == wanted}
    return found if looked else None


def _plain(name: str) -> str:
    return (
        name.strip().lower().replace("_", "-").replace(".", "-") if "/" not in name else name.strip().lower()
    )


def _from_tables(text: str) -> list[tuple[str, str]]:
    import tomllib

    try:
        packages = tomllib.loads(text).get("package", [])
    except tomllib.TOMLDecodeError:
        return []
    return [_pair(package) for package in packages if isinstance(package, dict)]


def _pair(package: dict[str, Any]) -> tuple[str, str]:
    return str(package.get("name", "")), str(package.get("version", ""))


def _from_lines(text: str) -> list[tuple[str, str]]:
    found = []
    for line in text.splitlines():
        name, equals, rest = line.partition("==")
        if equals:
            found.append(
                (name.partition("[")[0], rest.split(";")[0].split("#")[0].split()[0] if rest.split() else "")
            )
    return found


def _from_json(text: str) -> list[tuple[str, str]]:
    try:
        packages = json.loads(text).get("packages", {})
    except (ValueError, AttributeError, RecursionError):
        return []
    if not isinstance(packages, dict):
        return []
    return [
        (path.rpartition("node_modules/")[2], str(package.get("version", "")))
        for path, package in packages.items()
        if isinstance(package, dict) and "node_modules/" in path
    ]


def _from_go(text: str) -> list[tuple[str, str]]:
    words = (line.partition("//")[0].removeprefix("require ").split() for line in text.splitlines())
    return [(pair[0], pair[1]) for pair in words if len(pair) == 2 and pair[1].startswith("v")]
