"""Arrows between the layers, as docs/architecture.md draws them."""

from __future__ import annotations

import ast
from pathlib import Path

import holdfast

ROOT = Path(holdfast.__file__).parent
PURE = {
    "os",
    "time",
    "random",
    "secrets",
    "socket",
    "logging",
    "subprocess",
    "threading",
    "asyncio",
    "io",
    "pathlib",
}
ALLOWED = {
    "errors": set(),
    "core": {"errors", "core"},
    "views": {"errors", "core", "views"},
    "packages": {"packages"},
    "fs": {"errors", "fs"},
    "git": {"errors", "core", "fs", "git", "recovery"},
    "store": {"errors", "core", "fs", "git", "recovery", "store"},
    "recovery": {"errors", "core", "fs", "git", "store", "recovery"},
    "workspace": {"errors", "core", "fs", "git", "store", "recovery", "views", "workspace"},
    "checks": {"errors", "core", "git", "store", "views", "workspace", "checks"},
    "edge": {"errors", "core", "git", "store", "views", "workspace", "checks", "batch", "packages", "edge"},
    "batch": {"errors", "Session", "Batch", "Json", "JsonObject"},  # as any program: public names alone
    "adapters": {"errors", "core", "workspace", "adapters"},
}
FILE_CALLS = {
    "open",
    "os.open",
    "os.mkdir",
    "os.rename",
    "os.replace",
    "os.unlink",
    "os.remove",
    "os.write",
    "os.listdir",
}


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    return [p for p in ROOT.rglob("*.py") if layer_of(p) in ALLOWED]


def imports(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += (
                [node.module] if node.module != "holdfast" else [f"holdfast.{a.name}" for a in node.names]
            )
    return found


def test_no_arrow_that_is_not_drawn() -> None:
    """A module imports only from the layers that its own layer may see."""
    wrong = []
    for path in modules():
        layer = layer_of(path)
        for name in imports(ast.parse(path.read_text())):
            parts = name.split(".")
            if parts[0] != "holdfast" or len(parts) == 1 or parts[1] == "__version__":
                continue
            if parts[1] not in ALLOWED[layer] | {"typed"}:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_core_and_views_are_pure() -> None:
    """Nothing in core or views can reach a clock, a file, a socket or randomness."""
    wrong = []
    for path in modules():
        if layer_of(path) in ("core", "views"):
            used = {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}
            wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(used & PURE)]
    assert wrong == []


def test_only_fs_makes_file_calls() -> None:
    """Inside the durable path every file call goes through the port."""
    wrong = []
    for path in modules():
        if layer_of(path) not in ("core", "views", "store", "workspace"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in FILE_CALLS:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} calls {ast.unparse(node.func)}")
    assert wrong == []


def test_modules_are_short_and_well_named() -> None:
    """No module grows past 600 lines or hides behind a name that says nothing."""
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 600, path
        assert path.stem not in ("utils", "util", "helpers", "helper", "common", "misc", "manager"), path
