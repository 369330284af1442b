"""The public API: its names, its types, and what importing it costs."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast

PROGRAM = Path(__file__).parent / "typed_usage.py"
HANDLES = (holdfast.Workspace, holdfast.Session, holdfast.Project, holdfast.Person)


def test_dir_shows_exactly_the_public_names() -> None:
    """What ``dir`` shows is what ``__all__`` has, each of it can be had, and nothing else can."""
    assert dir(holdfast) == sorted(holdfast.__all__)
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    with pytest.raises(AttributeError):
        _ = holdfast.no_such_name  # type: ignore[attr-defined]


def test_every_error_class_is_public() -> None:
    """Whatever holdfast raises can be caught by a name of the top package."""
    from holdfast import errors

    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, Exception)]
    assert {cls.__name__ for cls in classes} <= set(holdfast.__all__)


def test_importing_costs_nothing() -> None:
    """The package loads its parts when they are used; the handles need neither typing nor dataclasses."""
    code = (
        "import sys, holdfast\n"
        "first = [name for name in sys.modules if name.startswith('holdfast.')]\n"
        "holdfast.Session, holdfast.Workspace, holdfast.Project, holdfast.Person\n"
        "print(first, sorted({'typing', 'dataclasses', 'datetime'} & sys.modules.keys()))"
    )
    asked = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "['holdfast.typed', 'holdfast.version'] []"


def public_methods(cls: type) -> list[tuple[str, inspect.Signature]]:
    found = []
    for name, member in inspect.getmembers(cls):
        target = member.fget if isinstance(member, property) else member
        if name.startswith("_") or not callable(target):
            continue
        if not (inspect.getdoc(target) or "").startswith("Internal"):
            found.append((f"{cls.__name__}.{name}", inspect.signature(target)))
    return found


@pytest.mark.parametrize("cls", HANDLES)
def test_no_any_in_a_public_signature(cls: type) -> None:
    """A type checker knows what every public method takes and returns."""
    for name, signature in public_methods(cls):
        assert "Any" not in str(signature), name
        assert signature.return_annotation is not inspect.Signature.empty, name


@pytest.mark.parametrize(
    "function",
    [
        holdfast.init,
        holdfast.open,
        holdfast.checkpoint,
        holdfast.batch.run,
        holdfast.batch.run_command,
        *(value for name in holdfast.kit.__all__ if inspect.isfunction(value := getattr(holdfast.kit, name))),
    ],
)
def test_no_any_in_a_public_function(function: Callable[..., object]) -> None:
    """The functions of the package are typed as its handles are."""
    signature = inspect.signature(function)
    assert "Any" not in str(signature)
    assert signature.return_annotation is not inspect.Signature.empty


def models() -> list[type]:
    return [cls for name in holdfast.__all__ if dataclasses.is_dataclass(cls := getattr(holdfast, name))]


def test_read_models_are_frozen_and_typed() -> None:
    """No field is ``Any``, and none can be set."""
    assert len(models()) > 40
    for cls in models():
        assert cls.__dataclass_params__.frozen, cls  # type: ignore[attr-defined]
        for field in dataclasses.fields(cls):
            assert "Any" not in str(field.type), (cls, field.name)


def test_every_public_thing_has_a_description() -> None:
    """``help`` says something about each name, method and property."""
    for name in holdfast.__all__:
        value = getattr(holdfast, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
    for cls in HANDLES:
        for name, member in vars(cls).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{cls.__name__}.{name}"


def test_the_program_runs(tmp_path: Path) -> None:
    """The program that the type checkers look at works."""
    subprocess.run([sys.executable, "-W", "error", str(PROGRAM), str(tmp_path)], check=True)


def test_the_program_uses_every_public_name_of_the_handles() -> None:
    """A method or property that the program does not use is not checked by the type checkers either."""
    used = {node.attr for node in ast.walk(ast.parse(PROGRAM.read_text())) if isinstance(node, ast.Attribute)}
    left = {
        name.partition(".")[2]
        for cls in (holdfast.Session, holdfast.Project, holdfast.Person)
        for name, _ in public_methods(cls)
    }
    assert left - used == set()


def test_mypy_accepts_the_program(tmp_path: Path) -> None:
    """In strict mode, as a caller of the installed package runs it."""
    asked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert asked.returncode == 0, asked.stdout + asked.stderr


def test_pyright_accepts_the_program(tmp_path: Path) -> None:
    """In strict mode: nothing of the API is unknown to it."""
    settings = {
        "typeCheckingMode": "strict",
        "include": [str(PROGRAM)],
        "pythonVersion": "3.11",
        "extraPaths": [str(Path(holdfast.__file__).parent.parent)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    asked = subprocess.run(
        [
            sys.executable,
            "-m",
            "basedpyright",
            "-p",
            str(tmp_path),
            "--pythonpath",
            sys.executable,
            "--outputjson",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    report = json.loads(asked.stdout)
    found = [f"{one['range']['start']['line'] + 1}: {one['message']}" for one in report["generalDiagnostics"]]
    assert found == []
    assert report["summary"]["filesAnalyzed"] == 1
