"""Layers, cycles and sizes: the arrows are the table in docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast

ROOT = Path(holdfast.__file__).parent
TABLE = Path(__file__).parent.parent / "docs" / "architecture.md"
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
MOST_ATTRIBUTES = 15
DEEPEST = 2
LONGEST = 600
MARKERS = {"Protocol", "Record"}
"""Bases that say what kind of class it is, and have no behaviour to inherit."""


def drawn() -> dict[str, set[str]]:
    """The table "layer | may import" of docs/architecture.md."""
    text = TABLE.read_text().partition("| layer | may import |")[2]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]*) \|$", text.partition("\n\n")[0], re.M)
    return {layer: set(re.findall(r"`([^`]+)`", cell)) for layer, cell in rows}


def name_of(path: Path) -> str:
    parts = ("holdfast", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
LAYERS = drawn()


def layer_of(module: str) -> str:
    """The layer of a module: the longest row of the table that its name begins with."""
    parts = module.split(".")[1:] or ["__init__"]
    for length in range(len(parts), 0, -1):
        if (layer := ".".join(parts[:length])) in LAYERS:
            return layer
    raise AssertionError(f"{module} is in no layer of {TABLE.name}")


def nodes(tree: ast.AST, *, typing_too: bool) -> Iterator[ast.AST]:
    """All nodes; without those that only a type checker sees, if they are not asked for."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not typing_too:
            continue
        yield child
        yield from nodes(child, typing_too=typing_too)


def imported(module: str, *, typing_too: bool) -> set[str]:
    """The modules of holdfast that a module imports, also inside of functions."""
    found = set()
    for node in nodes(TREES[module], typing_too=typing_too):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "holdfast":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else node.module)
    return found - {module}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The nodes that lead back to themselves, in groups."""
    reach = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += graph.get(node, ())
        reach[start] = seen
    looped = {frozenset(other for other in reach[node] if node in reach[other]) for node in graph}
    return sorted(sorted(group) for group in looped if group)


def arrows() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for module in MODULES:
        for other in imported(module, typing_too=True):
            if layer_of(other) != layer_of(module):
                found[layer_of(module)].add(layer_of(other))
    return found


def test_the_arrows_are_exactly_those_that_are_drawn() -> None:
    """Every import between layers is in the table, and every arrow of the table is an import; type hints count."""
    assert arrows() == LAYERS


def test_no_module_imports_itself_by_way_of_others() -> None:
    """There is no cycle of modules, also counting imports inside of functions."""
    assert cycles({module: imported(module, typing_too=False) for module in MODULES}) == []


def test_no_layer_imports_itself_by_way_of_others() -> None:
    """There is no cycle of layers, also counting imports that only a type checker sees."""
    assert cycles(arrows()) == []


def test_core_and_views_are_pure() -> None:
    """Nothing in core or views can reach a clock, a file, a socket or randomness."""
    wrong = []
    for module, tree in TREES.items():
        if layer_of(module) in ("core", "views"):
            for node in ast.walk(tree):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                wrong += [f"{module} imports {name}" for name in names if name.split(".")[0] in PURE]
    assert wrong == []


def test_only_fs_makes_file_calls() -> None:
    """Inside the durable path every file call goes through the port."""
    wrong = []
    for module, tree in TREES.items():
        if layer_of(module).split(".")[0] not in ("core", "views", "store", "recovery", "git", "workspace"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in FILE_CALLS:
                wrong.append(f"{module}:{node.lineno} calls {ast.unparse(node.func)}")
    assert wrong == []


def classes() -> dict[str, ast.ClassDef]:
    """Every class of holdfast, by its module and name."""
    return {
        f"{module}.{node.name}": node
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def attributes(node: ast.ClassDef) -> set[str]:
    """What an object of the class holds: its slots, and what its methods assign to ``self``."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            if isinstance(inner.value, ast.Name) and inner.value.id == "self":
                found.add(inner.attr)
        elif isinstance(inner, ast.Assign) and ast.unparse(inner.targets[0]) == "__slots__":
            found |= {str(name) for name in ast.literal_eval(inner.value)}
    return found


def depth(node: ast.ClassDef, known: dict[str, list[ast.ClassDef]]) -> int:
    """How many classes of holdfast a class inherits from, one after the other."""
    names = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases} - MARKERS
    parents = [parent for name in names for parent in known.get(name, ()) if parent is not node]
    return 1 + max(depth(parent, known) for parent in parents) if parents else 0


def test_classes_hold_few_attributes() -> None:
    """An object that needs more than fifteen attributes is several objects."""
    counts = {name: len(attributes(node)) for name, node in classes().items()}
    print(sorted(((count, name) for name, count in counts.items()), reverse=True)[:10])
    assert {name: count for name, count in counts.items() if count > MOST_ATTRIBUTES} == {}


def test_inheritance_is_shallow() -> None:
    """No class has a grandparent's parent within holdfast: behaviour is composed. What stands in for a public class in
    ``testing`` is one level deeper than that class."""
    known: dict[str, list[ast.ClassDef]] = {}
    for name, node in classes().items():
        known.setdefault(name.rpartition(".")[2], []).append(node)
    depths = {name: depth(node, known) for name, node in classes().items()}
    deepest = {name: DEEPEST + name.startswith("holdfast.testing.") for name in depths}
    assert {name: found for name, found in depths.items() if found > deepest[name]} == {}


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short_and_well_named(module: str) -> None:
    """No module grows past 600 lines or hides behind a name that says nothing."""
    path = MODULES[module]
    assert len(path.read_text().splitlines()) <= LONGEST
    assert path.stem not in ("utils", "util", "helpers", "helper", "common", "misc", "manager")
