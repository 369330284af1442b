"""Writes docs/reference/faults.md from the constants of holdfast.store.faults and their docstrings."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

from holdfast.store import faults

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "faults.md"
_HEAD = """\
# Faults

What `holdfast doctor` and `holdfast heal` report, and what `Workspace.doctor()` and `Workspace.heal()` return. Programs
compare `kind` and `done`, which are stable; `what` and `action` are sentences for people and may change.

```json
{"kind": "torn-tail", "stream": "sessions/ann/2026-01-21-a1b2c3d4", "where": "events/…/k7f3a2-1.x9.jsonl:12",
 "what": "11 bytes after the last complete line", "harmless": true, "done": "",
 "action": "not read; `holdfast doctor --fix` moves it to quarantine", "data": {"bytes": 11, "own": true}}
```

A fault that is `harmless` needs no action. `where` is a file relative to the workspace, with the line, or a table and a
row. `done` is empty if nothing was done.
"""


def page() -> str:
    """The page: one table per section of the module."""
    source = Path(faults.__file__).read_text()
    lines = source.splitlines()
    body = ast.parse(source).body
    text, section = [_HEAD], ""
    for node, after in pairwise(body):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        if not isinstance(after, ast.Expr) or not isinstance(after.value, ast.Constant):
            continue
        title = next(line for line in reversed(lines[: node.lineno]) if line.startswith("# -- "))
        if title != section:
            section = title
            heading = title.strip("# -").capitalize()
            text += ["", f"## {heading}", "", "| word | meaning |", "| --- | --- |"]
        meaning = " ".join(str(after.value.value).split()).replace("``", "`")
        text.append(f"| `{node.value.value}` | {meaning} |")
    return "\n".join(text).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
