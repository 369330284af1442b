"""Search over all streams."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import timestamps
from holdfast.errors import Usage
from holdfast.index.search import Found, Query
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.model_builders import timestamp
from holdfast.workspace.models import Hit, SearchResult

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

_MOST = 1_000


def search_all(
    workspace: Workspace,
    words: str,
    stream: str | None,
    *,
    kind: str | Iterable[str] = (),
    user: str | None = None,
    by: str | None = None,
    since: str | None = None,
    until: str | None = None,
    status: str | None = None,
    path: str | None = None,
    limit: int = 20,
) -> SearchResult:
    """The best matches in one stream, or in all of them."""
    if not isinstance(words, str):
        raise Usage("The words to search for must be text.")
    if not 1 <= limit <= _MOST:
        raise Usage(f"A search returns between 1 and {_MOST:,} matches, not {limit}.")
    kinds = tuple(kind.split(",")) if isinstance(kind, str) and kind else tuple(kind)
    now = wall_clock()
    query = Query(
        words,
        tuple(name.strip() for name in kinds),
        stream,
        user,
        by,
        timestamps.iso(timestamps.parse(since, now)) if since is not None else None,
        timestamps.iso(timestamps.parse(until, now)) if until is not None else None,
        status,
        path,
        limit,
    )
    (found, total, more, some), coverage = workspace.index.search(query)
    return SearchResult(
        hits=tuple(map(_hit, found)),
        total=total,
        more=more,
        some=some,
        commits=coverage.commits,
        sessions=coverage.sessions,
        archived=coverage.archived,
        behind=coverage.behind,
        unreadable=coverage.unreadable,
    )


def _hit(found: Found) -> Hit:
    fields = found._asdict()
    return Hit(**{**fields, "at": timestamp(found.at)})
