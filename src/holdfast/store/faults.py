"""The kinds of faults, and their sentences for people.

A ``Fault`` (``store.protocol``) is data: its kind, where it is, what the kind's sentence needs, and what was done
about it. Programs compare kinds and outcomes, which are stable; the sentences below are the only ones, and may change.
``docs/reference/faults.md`` lists every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.errors import Hint, Use
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.store.protocol import Fault

# -- kinds: the log ---------------------------------------------------------------------------------------

DAMAGED_LINE = "damaged-line"
"""A line that cannot be read, or does not follow the one before it. Data: ``problem``, ``used``."""
MALFORMED_COMMIT = "malformed-commit"
"""A line with a correct checksum that holds no valid commit. Data: ``problem``."""
TORN_TAIL = "torn-tail"
"""Bytes after the last complete line of a segment. Data: ``bytes``, ``own``."""
DAMAGED_SEGMENT = "damaged-segment"
"""A segment restored from git. Data: ``commits``, ``sources``, ``saved_as``."""
BEHIND_GIT = "behind-git"
"""A segment that lacks commits which git has. Data: ``commits``."""
LOST_COMMITS = "lost-commits"
"""Commits that this workspace had read, gone from a segment that was cut or overwritten in place. Data: ``commits``."""
REMOVED_COMMITS = "removed-commits"
"""Commits that git removed from the working tree before a git commit had them. Data: ``commits``."""
REMOVED_TEXT = "removed-text"
"""A message text that git removed from the working tree before a git commit had it."""
MISSING_TEXT = "missing-text"
"""A missing long text that a commit names."""
CHANGED_TEXT = "changed-text"
"""A long text whose file has other bytes than were written."""
REPEATED_NUMBER = "repeated-number"
"""A number that two places gave to different things, because both wrote as one writer. Data: ``id``, ``commits``."""
UNUSED_TEXT = "unused-text"
"""A file among the long texts that no commit names: a crash between a text and its line leaves one."""
MALFORMED_TEXTS = "malformed-texts"
"""A commit that names its long texts in a way that no release writes. Data: ``commit``."""
PENDING_JOURNAL = "pending-journal"
"""The journal of a process that died, in a workspace that cannot be written."""
MISPLACED_SEGMENT = "misplaced-segment"
"""A segment in the folder of another stream. Data: ``owner``, if known."""
NOT_A_SEGMENT = "not-a-segment"
"""A file among the segments that is not a segment."""
MISSING_OWNER = "missing-owner"
"""An archive without the file that names its stream."""
IGNORED_BY_GIT = "ignored-by-git"
"""Segments that git ignores. Data: ``others``, how many besides this one."""
TRACKED_CACHE = "tracked-cache"
"""Files under ``local/`` that git tracks: they come from others. Data: ``others``, how many besides this one."""
TEMP_FILE = "temp-file"
"""A temporary file of a process that died."""
QUARANTINED = "quarantined"
"""A file in quarantine. Data: ``report``."""

# -- kinds: databases -------------------------------------------------------------------------------------

DAMAGED_DATABASE = "damaged-database"
"""The engine's own check found something. Data: ``problem``."""
DANGLING_ROW = "dangling-row"
"""A row that refers to a missing row. Data: ``parent``."""
MISSING_ROWS = "missing-rows"
"""Rows of a stream that are gone. Data: ``last``."""
UNORDERED_ID = "unordered-id"
"""A commit whose id is not later than the one before it."""
WRONG_COLUMNS = "wrong-columns"
"""Columns that differ from the line that they repeat."""
INVALID_STREAM = "invalid-stream"
"""A stream whose name is not allowed. Data: ``problem``."""

# -- kinds: views, merges, surroundings ------------------------------------------------------------------

CONFLICT = "conflict"
"""A file that a merge left in conflict. Data: ``moved_to``, if it was moved."""
CONFLICT_MARKERS = "conflict-markers"
"""Conflict markers in a file. Data as for ``damaged-segment``, if it is a segment; ``owned``: holdfast wrote it all."""
WRONG_STATE = "wrong-state"
"""A saved state, or a view of it, that differs from the fold of the log."""
STALE_VIEW = "stale-view"
"""A view that does not show the state."""
EDITED_VIEW = "edited-view"
"""A view edited by a person."""
MERGED_VIEW = "merged-view"
"""A view or page of which git merged two versions. Data: ``saved_as``, where the merged text is saved."""
VIEW_AHEAD = "view-ahead"
"""A view shows a commit that neither the log nor git has. Data: ``commit``; ``saved_as``, where the view is saved."""
TRACKED_VIEW = "tracked-view"
"""A view that a merge brought into git, in a workspace that keeps views out of it."""
UNWRITTEN_VIEW = "unwritten-view"
"""A view or page that could not be written. The commit is stored. Data: ``problem``."""
NOT_STAGED = "not-staged"
"""Git did not stage healed files."""
INVALID_SETTINGS = "invalid-settings"
"""A setting in config.toml that is not allowed. Data: ``problem``."""
LOCAL_PRESENCE = "local-presence"
"""Presence is not shared because the git directory is not writable."""
MALFORMED_PRESENCE = "malformed-presence"
"""The record of an agent or a lease that is not whole. Nobody uses it."""
FAST_COMMITS = "fast-commits"
"""The workspace is on an ext4 with fast commits, where a power cut can take what was synced last."""
SERVER_LIMIT = "server-limit"
"""The server does not keep all that it could. Data: ``problem``."""
HOOK_ERRORS = "hook-errors"
"""Errors in hooks of agent hosts. Data: ``errors``, ``last``."""
DEAD_HOOK = "dead-hook"
"""Settings of an agent host that call a holdfast which does not run, or only in an active virtual environment: the
host works, and nothing is remembered. Data: ``host``, ``user``, ``command``, ``problem``."""

# -- outcomes: what was done about a fault ------------------------------------------------------------------

ACCEPTED = "accepted"
"""No copy has the lost commits: the log continues without them."""
CUT_OFF = "cut-off"
"""The bytes were moved to ``local/quarantine/``."""
MERGED = "merged"
"""All sides of a conflict were merged."""
MOVED = "moved"
"""The file was moved where it belongs."""
RECOVERED = "recovered"
"""Recovered from a pin: a copy that git cannot remove."""
REGENERATED = "regenerated"
"""The view was regenerated from the log."""
REMOVED = "removed"
"""The file was removed."""
RESTORED = "restored"
"""Commits were restored from git or from a copy."""
REWRITTEN = "rewritten"
"""Data derived from the log was rewritten."""
SETTLED = "settled"
"""The conflict was settled."""
UNTRACKED = "untracked"
"""The view is no longer tracked by git."""

Data = dict[str, Any]


def what(kind: str, data: Data) -> str:
    """What is wrong, as a sentence without a full stop."""
    said = _WHAT[kind]
    return said if isinstance(said, str) else said(data)


def action(kind: str, data: Data, done: str) -> Hint:
    """What was done about it, or what can be done."""
    if done:
        said = _DONE[done]
        return Hint(said if isinstance(said, str) else said(data))
    remedy = _REMEDY.get(kind, _NONE)
    return remedy if isinstance(remedy, Hint) else remedy(data)


def bounded(found: Iterable[Fault], most: int = 20) -> list[Fault]:
    """The faults of one file or table. Of those with a ``problem``, ``most`` of a kind are named one by one, and one
    more stands for all others: a hostile file can have millions."""
    named: list[Fault] = []
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    for fault in found:
        counts[fault.kind] = count = counts.get(fault.kind, 0) + 1
        if count <= most + 1 or "problem" not in fault.data:
            last[fault.kind] = len(named)
            named.append(fault)
    for kind, index in last.items():
        if (more := counts[kind] - most) > 1 and "problem" in named[index].data:
            problem = f"{more:,} more from here on, this one: {named[index].data['problem']}"
            named[index] = named[index]._replace(data={**named[index].data, "problem": problem})
    return named


def _problem(data: Data) -> str:
    return str(data["problem"])


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def _commits(data: Data) -> str:
    return _counted(data["commits"], "commit")


def _ignored(data: Data) -> str:
    return "git ignores it" + (f", and {_counted(data['others'], 'more segment')}" if data["others"] else "")


def _hook_errors(data: Data) -> str:
    return f"{_counted(data['errors'], 'error')} in hooks, the last: {data['last']}"


def _owner(data: Data) -> str:
    return f"a segment of {data.get('owner') or 'another session'}"


_WHAT: dict[str, str | Callable[[Data], str]] = {
    DAMAGED_LINE: _problem,
    MALFORMED_COMMIT: _problem,
    TORN_TAIL: lambda data: f"{_counted(data['bytes'], 'byte')} after the last complete line",
    DAMAGED_SEGMENT: "a damaged segment",
    BEHIND_GIT: lambda data: f"it lacks {_commits(data)} that git has",
    LOST_COMMITS: lambda data: f"{_commits(data)} lost: the segment was cut or overwritten",
    REMOVED_COMMITS: lambda data: (
        f"{_commits(data)} that git removed from the working tree before a git commit had them"
    ),
    REMOVED_TEXT: "a text that git removed from the working tree before a git commit had it",
    MISSING_TEXT: "a long text is missing",
    CHANGED_TEXT: "a long text is not the one that was written",
    REPEATED_NUMBER: lambda data: (
        f"{data['id']} was given {data['commits']} times: a copied machine wrote as the same writer"
    ),
    UNUSED_TEXT: "a long text that no commit names",
    MALFORMED_TEXTS: lambda data: f"the commit {data['commit']} names its long texts in a malformed way",
    PENDING_JOURNAL: "the journal of a process that died; its commits may be missing here",
    MISPLACED_SEGMENT: _owner,
    NOT_A_SEGMENT: "not a segment",
    MISSING_OWNER: "the file that names the stream is missing",
    IGNORED_BY_GIT: _ignored,
    TRACKED_CACHE: lambda data: (
        "git tracks it, so another repository can replace it"
        + (f", and {_counted(data['others'], 'more file')} there" if data["others"] else "")
    ),
    TEMP_FILE: "a leftover temporary file",
    QUARANTINED: lambda data: str(data["report"]),
    DAMAGED_DATABASE: _problem,
    DANGLING_ROW: lambda data: f"refers to nothing in {data['parent']}",
    MISSING_ROWS: lambda data: f"missing, up to row {data['last']}",
    UNORDERED_ID: "its id is not later than the one before",
    WRONG_COLUMNS: "the id or op column differs from the line",
    INVALID_STREAM: _problem,
    CONFLICT: "a merge left it in conflict",
    CONFLICT_MARKERS: "conflict markers of a merge",
    WRONG_STATE: "the saved state differs from the log",
    STALE_VIEW: "the view is stale or damaged",
    EDITED_VIEW: "the view was edited by hand",
    MERGED_VIEW: "git merged two versions",
    VIEW_AHEAD: lambda data: f"the view shows a commit that is lost: {data['commit']}",
    TRACKED_VIEW: "a view that a merge brought into git",
    UNWRITTEN_VIEW: lambda data: f"could not be written: {data['problem']}",
    NOT_STAGED: "git did not stage the healed files",
    INVALID_SETTINGS: _problem,
    LOCAL_PRESENCE: "the git directory cannot be written, so other worktrees do not see who works here",
    MALFORMED_PRESENCE: "this presence record is not whole",
    SERVER_LIMIT: _problem,
    FAST_COMMITS: "this ext4 uses fast commits: a power cut can take the last commit, although it was synced",
    HOOK_ERRORS: _hook_errors,
    DEAD_HOOK: lambda data: f"{data['host']} calls {data['command']}, which {data['problem']}",
}

_NONE = Hint()
_REMEDY: dict[str, Hint | Callable[[Data], Hint]] = {
    DAMAGED_LINE: lambda data: Hint(
        "the commit in this line is used" if data["used"] else "this line is not used, all others are"
    ),
    MALFORMED_COMMIT: Hint("not part of the state"),
    TORN_TAIL: lambda data: (
        Hint("not read; ", Use("doctor.fix"), " moves it to quarantine")
        if data["own"]
        else Hint("another writer's; not read")
    ),
    BEHIND_GIT: Hint(Use("doctor.fix"), " restores them from git"),
    LOST_COMMITS: Hint(Use("heal"), " restores them from a copy, if there is one"),
    REMOVED_COMMITS: Hint(Use("heal"), " recovers them"),
    MISSING_TEXT: Hint("the commit is used without it; ", Use("doctor.fix"), " looks for the text"),
    CHANGED_TEXT: Hint("the commit is used without it; ", Use("doctor.fix"), " looks for the text"),
    REPEATED_NUMBER: Hint("the log and the brief show them all, lists only the latest"),
    UNUSED_TEXT: Hint("not read; ", Use("doctor.fix"), " removes it after a day"),
    MALFORMED_TEXTS: Hint("the commit is used as it is"),
    PENDING_JOURNAL: Hint("the first command that can write to the workspace replays it"),
    MISPLACED_SEGMENT: Hint("not read; ", Use("heal"), " moves it where it belongs"),
    NOT_A_SEGMENT: Hint("not read"),
    MISSING_OWNER: Hint(Use("doctor.fix"), " writes it again"),
    IGNORED_BY_GIT: Hint("no git commit will have it; `git check-ignore -v` names the pattern"),
    TRACKED_CACHE: Hint(
        "caches that this place did not write are not used; `git rm -r --cached .state/local`"
    ),
    TEMP_FILE: Hint(Use("doctor.fix"), " removes it"),
    QUARANTINED: Hint("kept for inspection"),
    WRONG_COLUMNS: Hint(Use("doctor.fix"), " sets them from the line"),
    CONFLICT: Hint("holdfast leaves it as it is: edit it"),
    CONFLICT_MARKERS: lambda data: (
        Hint(Use("heal"), " regenerates it")
        if data.get("owned")
        else Hint("holdfast leaves it as it is: edit it")
    ),
    WRONG_STATE: Hint(Use("doctor.fix"), " rebuilds it from the log"),
    STALE_VIEW: Hint("the next command regenerates it"),
    EDITED_VIEW: Hint("left as it is; ", Use("sync"), " shows the changes and takes them in"),
    MERGED_VIEW: Hint("the next command regenerates it"),
    VIEW_AHEAD: lambda data: (
        Hint("kept for inspection")
        if data.get("saved_as")
        else Hint("left as it is; ", Use("heal"), " recovers what it can, and saves the view")
    ),
    UNWRITTEN_VIEW: Hint("the next command writes it again"),
    NOT_STAGED: Hint("stage them with `git add`"),
    INVALID_SETTINGS: Hint("correct it; until then nothing is written"),
    LOCAL_PRESENCE: Hint("to share it, allow writing to holdfast/ in the git directory"),
    MALFORMED_PRESENCE: Hint("not used; ", Use("doctor.fix"), " removes it"),
    SERVER_LIMIT: Hint("docs/howto/servers.md says what each setting keeps"),
    FAST_COMMITS: Hint("`tune2fs -O ^fast_commit` on the unmounted device switches them off"),
    HOOK_ERRORS: Hint("fix the cause, then remove the file"),
    DEAD_HOOK: lambda data: Hint(
        Use("install.user", host=data["host"]) if data["user"] else Use("install", host=data["host"]),
        " writes a command that works",
    ),
}


def _restored(data: Data) -> str:
    sources = data.get("sources")
    origin = ", ".join(f"{count} from {where}" for where, count in sources.items()) if sources else ""
    saved = f"; the damaged file is {data['saved_as']}" if data.get("saved_as") else ""
    return f"restored {_commits(data)} ({origin or 'all were in the file'}){saved}"


def _regenerated(data: Data) -> str:
    saved = data.get("saved_as")
    return f"regenerated; the old text is {saved}" if saved else "regenerated"


def _moved(data: Data) -> str:
    return f"moved to {', '.join(data['moved_to'])}" if data.get("moved_to") else "moved where it belongs"


_DONE: dict[str, str | Callable[[Data], str]] = {
    ACCEPTED: "no copy has them; the log goes on without them",
    CUT_OFF: "moved to local/quarantine/",
    MERGED: "merged from all sides",
    MOVED: _moved,
    RECOVERED: "recovered",
    REGENERATED: _regenerated,
    REMOVED: "removed",
    RESTORED: _restored,
    REWRITTEN: "written again",
    SETTLED: "settled",
    UNTRACKED: "no longer tracked",
}
