"""Which session an event of a conversation belongs to: one pure rule over facts that the caller has looked up.

A *conversation* is what an agent host runs under one id. It works on one session, and no other live conversation works
on the same one unless it joined it: by switching to it, claiming its handoff, or being told by HOLDFAST_SESSION. What
ended, died or went away leaves its session to the next conversation. The table is in docs/decisions.
"""

from __future__ import annotations

from holdfast.typed import Record

STAY, TAKE, FOLLOW, NEW = "stay", "take", "follow", "new"
"""Stay in the conversation's session; take the offered one; follow to the one that was chosen; start a new one."""

HOUR_MS = 3_600_000


class Limits(Record):
    """The times of the rule, in milliseconds; ``[sessions]`` in config.toml sets them."""

    away: int = HOUR_MS // 2
    """A conversation whose process cannot be asked counts as away after this time without an event."""
    gap: int = 8 * HOUR_MS
    """A break after which a new topic is a new session, and an idle conversation no longer holds its session."""
    abandoned: int = 7 * 24 * HOUR_MS
    """A session that nobody ended counts as abandoned after this time without a commit."""


class Standing(Record):
    """What one session is to a conversation."""

    name: str
    """``user/id``."""
    finished: bool = False
    """It is complete, abandoned or archived, or cannot be read."""
    occupied: bool = False
    """Another live conversation works on it."""
    idle: int = 0
    """Milliseconds since its last commit."""
    other_branch: bool = False
    """Its last commit from here was made on another branch than the one that is checked out."""
    new_topic: bool = False
    """The event has a request that is about something else."""


class Facts(Record):
    """What is known when an event of a conversation arrives."""

    own: Standing | None = None
    """The session that the conversation works on."""
    joined: bool = False
    """The conversation was told to work on it, whoever else does."""
    cleared: bool = False
    """The host says that the conversation begins empty: ``/clear``."""
    fresh: bool = False
    """The rule has decided for a new session before, and nothing was asked for since."""
    chosen: Standing | None = None
    """The session that somebody outside of every conversation chose for this worktree, if no conversation has followed
    yet."""
    followable: bool = True
    """The choice was made during this conversation, and no other one is live here that it may have been meant for."""
    offered: Standing | None = None
    """A session of this worktree that a new conversation may continue. Sessions that came with git, from other
    worktrees and clones, are offered only to their user, in a clone where nobody has worked yet: the user has moved.
    Elsewhere somebody may be working on them."""


class Verdict(Record):
    """What to do, and why."""

    act: str
    why: str
    previous: str = ""
    """For a new session: the one that it follows; empty if none."""
    close: bool = False
    """The previous one is abandoned: close it."""


def decide(facts: Facts, limits: Limits) -> Verdict:
    """The rule. The first line that applies decides."""
    own, chosen = facts.own, facts.chosen
    if facts.cleared:
        left = own or facts.offered
        return Verdict(NEW, "the conversation was cleared", left.name if left else "")
    free = chosen is not None and not chosen.finished and not chosen.occupied
    if free and (own is None or facts.followable):
        return Verdict(FOLLOW, "it was chosen here")
    if own is not None:
        return _go_on(own, facts.joined, limits)
    if facts.fresh:
        return Verdict(NEW, "a new session was due")
    return _begin(facts.offered, limits)


def _go_on(own: Standing, joined: bool, limits: Limits) -> Verdict:
    if own.finished:
        return Verdict(NEW, "its session is closed", own.name)
    if own.occupied and not joined:
        return Verdict(NEW, "another conversation works on its session", own.name)
    if own.new_topic and own.idle >= limits.gap:
        return Verdict(NEW, "a new topic after a break", own.name)
    if own.new_topic and own.other_branch:
        return Verdict(NEW, "a new topic on another branch", own.name)
    return Verdict(STAY, "the conversation works on it")


def _begin(offered: Standing | None, limits: Limits) -> Verdict:
    if offered is None or offered.finished:
        return Verdict(NEW, "there is nothing to continue")
    if offered.occupied:
        return Verdict(NEW, "another conversation works on the last session")
    if offered.idle >= limits.abandoned:
        return Verdict(NEW, "the last session was abandoned", offered.name, close=True)
    if offered.other_branch:
        return Verdict(NEW, "the last session was on another branch", offered.name)
    if offered.new_topic and offered.idle >= limits.gap:
        return Verdict(NEW, "a new topic after a break", offered.name)
    return Verdict(TAKE, "the last conversation here worked on it")
