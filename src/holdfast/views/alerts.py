"""What changed around a session since its last commit, as lines for the brief."""

from __future__ import annotations

from holdfast.typed import Any
from holdfast.views.fence import fenced, token

SHOWN = 5


def damaged(where: str, what: str) -> str:
    """Damage in the session's log."""
    return f"DAMAGED {fenced(where, 200)}: {fenced(what, 200)}; `holdfast doctor`"


def changed_files(stale: list[dict[str, Any]]) -> list[str]:
    """Files that the session refers to and that changed."""
    lines = [
        f"CHANGED {fenced(entry['path'], 200)} is {_problem(entry['problem'])} since {token(str(entry['at'])[:16])}"
        for entry in stale[:SHOWN]
    ]
    if len(stale) > SHOWN:
        lines.append(f"CHANGED {len(stale) - SHOWN} more files: `holdfast ref check`")
    return lines


def stale_anchors(stale: list[tuple[str, str]]) -> list[str]:
    """Records whose place is not what it was: the id, and what became of the place."""
    lines = [f"STALE {token(short_id)}: {fenced(what, 200)}" for short_id, what in stale[:SHOWN]]
    if len(stale) > SHOWN:
        lines.append(f"STALE {len(stale) - SHOWN} more records: `holdfast decisions`, `holdfast fact list`")
    return lines


def git_moved(before: str, now: str) -> str:
    """Git HEAD differs from the one at the session's last commit."""
    return f"GIT MOVED since this place last wrote to the session: {_head(before)} then, {_head(now)} now"


def others_at_work(people: list[dict[str, Any]]) -> list[str]:
    """Other agents that work on the session."""
    return [
        f"ALSO AT WORK on this session: {fenced(str(person['by']), 60)} in "
        f"{fenced(str(person['worktree']), 200)}, last seen {token(str(person['seen'])[:16])}"
        for person in people[:SHOWN]
    ]


def _head(head: str) -> str:
    if head.startswith("refs/"):
        branch, _, commit = head.removeprefix("refs/heads/").partition(" ")
        named = fenced(branch, 100)
        return f"{named} at {token(commit[:10])}" if commit else f"{named} without a commit"
    return f"detached at {token(head[:10])}"


def _problem(text: str) -> str:
    return text if text in ("gone", "changed") else fenced(text, 120)
