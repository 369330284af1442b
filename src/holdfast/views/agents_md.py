"""The block in AGENTS.md: updated between two marker lines, without touching a byte of the rest.

Only a block with a valid seal is replaced. Anything else (an edit, half a block, two blocks, conflict markers) is
reported with its lines, and the file is left as it is.
"""

from __future__ import annotations

from holdfast.errors import Refused
from holdfast.typed import Any
from holdfast.views import guidance, parts
from holdfast.views.fence import fenced, quoted, token
from holdfast.views.seal import MARK, condition, sealed

BEGIN = b"<!-- holdfast:begin"
END = b"<!-- holdfast:end -->"
_ORDERS = 20
_CONFLICT = (b"<<<<<<< ", b">>>>>>> ")


def block(state: dict[str, Any] | None, project: dict[str, Any] | None = None) -> str:
    """The text of the block, markers included, with LF line endings."""
    lines = [
        f"{BEGIN.decode()} {MARK} made by holdfast; write outside of this block -->",
        "## Working memory",
        "",
        *guidance.short(),
    ]
    orders = parts.opened(project or {}, "orders")
    if orders:
        lines += ["", "Standing orders:", ""]
        lines += [f"- {token(order['id'])} {quoted(order['text'], order, 600)}" for order in orders[:_ORDERS]]
        if len(orders) > _ORDERS:
            lines.append(f"- {len(orders) - _ORDERS} more: `holdfast order list`")
    if state is not None:
        lines += [
            "",
            "The last session:",
            "",
            f"- goal: {fenced(parts.value(state, 'goal'), 300)}{_guessed(state)}",
        ]
        if parts.value(state, "phase"):
            lines.append(f"- phase: {fenced(parts.value(state, 'phase'), 100)}")
        unsettled = len(parts.opened(state, "decisions"))
        if unsettled:
            lines.append(f"- {parts.noun(unsettled, 'decision')} never confirmed: `holdfast recover`")
        lines += [f"- next: {fenced(entry['text'], 200)}" for entry in parts.opened(state, "next")[:3]]
    # Without a commit id: the file is tracked by git, and must change only when its words do.
    return sealed("\n".join([*lines, END.decode()]) + "\n", None)


def merged(found: bytes | None, text: str) -> bytes:
    """The file with the block in it: replaced where it was, else added at the end."""
    if not found:
        return text.encode()
    if found.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused(
            "The file is UTF-16, which agents do not read; nothing was written.", hint="Save it as UTF-8."
        )
    place = _place(found)
    # A block keeps its line endings; a new one takes those of the file.
    example = found if place is None else found[place[0] : place[1]]
    line_end = b"\r\n" if b"\r\n" in example else b"\n"
    fresh = text.encode().replace(b"\n", line_end)
    if place is None:
        gap = line_end if found.endswith((b"\n", b"\r")) else line_end * 2
        return found + gap + fresh
    start, end = place
    if not found[start:end].endswith(b"\n"):  # the block ends the file, without a final line feed
        fresh = fresh.rstrip(b"\r\n")
    return found[:start] + fresh + found[end:]


def cut_out(found: bytes, stand_in: bytes) -> tuple[bytes, bytes]:
    """The block, and the file with a placeholder in its place; a file without a block is unchanged."""
    place = _place(found)
    if place is None:
        return b"", found
    start, end = place
    return found[start:end], found[:start] + stand_in + found[end:]


def has_block(found: bytes | None) -> bool:
    """Whether a block, complete or damaged, is in the file."""
    return found is not None and (BEGIN in found or END in found)


def _place(found: bytes) -> tuple[int, int] | None:
    """Where the block begins and ends; None if there is none; refused if that is ambiguous."""
    begins, ends, conflicts = [], [], []
    at = 0
    for number, line in enumerate(found.splitlines(keepends=True), 1):
        if line.lstrip(b" \t\xef\xbb\xbf").startswith(BEGIN):
            begins.append((number, at + line.index(BEGIN)))
        elif BEGIN in line:
            begins.append((number, -1))
        if END in line:
            ends.append((number, at + len(line) if line.strip() == END else -1))
        if line.startswith(_CONFLICT):
            conflicts.append(number)
        at += len(line)
    if conflicts and (begins or ends or len(conflicts) > 1):
        raise _damaged(
            conflicts, "conflict markers of a merge", "Resolve the merge, then run the command again."
        )
    if not begins and not ends:
        return None
    numbers = sorted([number for number, _ in (*begins, *ends)])
    whole = len(begins) == len(ends) == 1 and begins[0][0] < ends[0][0] and min(begins[0][1], ends[0][1]) >= 0
    if not whole:
        raise _damaged(numbers, "a damaged block", _REPAIR)
    start, end = begins[0][1], ends[0][1]
    inner = found[start:end].replace(b"\r\n", b"\n")
    if condition(inner if inner.endswith(b"\n") else inner + b"\n") != "intact":
        raise _damaged(numbers, "a block that was edited by hand", _REPAIR)
    return start, end


_REPAIR = (
    "Move what you wrote outside of the block, and remove the rest of the block with both of its markers: the next "
    "run regenerates it."
)


def _damaged(lines: list[int], what: str, hint: str) -> Refused:
    shown = ", ".join(map(str, lines[:6]))
    return Refused(f"The file has {what} (line {shown}); nothing was written.", hint=hint)


def _guessed(state: dict[str, Any]) -> str:
    return " (guessed)" if parts.is_goal_guessed(state) else ""
