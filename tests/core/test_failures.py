"""The point of an output, and commands that are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.failures import LENGTH, plain, point, same

OUTPUTS = {
    "pytest": (
        "F.   [100%]\n===== FAILURES =====\n    def test_x():\n>       assert f() == 3\nE       assert 2 == 3\n\n"
        "tests/test_x.py:4: AssertionError\n=== short test summary info ===\n1 failed, 1 passed in 0.02s\n",
        "E assert 2 == 3",
    ),
    "traceback": (
        'starting\nTraceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\n'
        "KeyError: 'price'\n",
        "KeyError: 'price'",
    ),
    "mypy": (
        "src/a.py:18: error: Argument 1 has incompatible type\nFound 1 error in 1 file\n",
        "src/a.py:18: error",
    ),
    "jest": (
        "FAIL a.test.ts\n  ● adds\n\n    Expected: 3\n    Received: 2\n\nTests: 1 failed\n",
        "Expected: 3",
    ),
    "rust": (
        "   Compiling x v0.1.0\nerror[E0308]: mismatched types\n --> src/main.rs:2:5\n",
        "error[E0308]: mismatched",
    ),
    "go": (
        "--- FAIL: TestAdd (0.00s)\n    add_test.go:8: got 2, want 3\nFAIL\nexit status 1\n",
        "got 2, want 3",
    ),
    "git": (
        "fatal: not a git repository (or any of the parent directories): .git\n",
        "fatal: not a git repository",
    ),
    "npm": ("npm ERR! code ELIFECYCLE\nnpm ERR! missing script: build\n", "missing script: build"),
    "curl": ("curl: (7) Failed to connect to localhost port 80\n", "Failed to connect"),
    "nothing telling": ("step one\nstep two\nstep three\n", "step three"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_point_of_an_output(name: str) -> None:
    """The line that says what failed is kept, whatever stands around it."""
    output, wanted = OUTPUTS[name]
    assert wanted in point(output)
    noise = "compiling module {0} of the project\n"
    long = "".join(noise.format(n) for n in range(500)) + output + "exit code 1\n"
    assert wanted in point(long) or name == "nothing telling"


@given(st.text(max_size=3_000))
def test_any_output(output: str) -> None:
    """Whatever a program writes: one line, within the limit, never an error."""
    found = point(output)
    assert len(found) <= LENGTH
    assert "\n" not in found


@given(st.text(max_size=300))
def test_any_command(command: str) -> None:
    """A command is the same as itself, and its plain form is stable."""
    assert same(command, command)
    assert isinstance(plain(command), str)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest tests/x.py -q", "pytest tests/x.py"),
        ("cd app && npm test", "npm test"),
        ("CI=1 make check 2>&1 | tail -20", "make check"),
        ("pytest -x  tests", "pytest tests -v"),
    ],
)
def test_the_same_command(one: str, other: str) -> None:
    """How much is shown, where it runs and settings before it do not make another command."""
    assert same(one, other)


@pytest.mark.parametrize(("one", "other"), [("pytest tests/a", "pytest tests/b"), ("make a | sh", "make a")])
def test_another_command(one: str, other: str) -> None:
    """Other arguments, and a pipe into a program that acts, are another command."""
    assert not same(one, other)
