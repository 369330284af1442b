"""Search over all streams."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import timestamps
from holdfast.errors import Usage
from holdfast.index.search import Query
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace import reads
from holdfast.workspace.clock import wall_clock

if TYPE_CHECKING:
    from holdfast.index.index import SearchAnswer
    from holdfast.workspace.models import SearchResult
    from holdfast.workspace.workspace import Workspace

_MOST = 1_000


def find(
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
) -> SearchAnswer:
    """The best matches in one stream, or in all of them, as plain records: their models take longer to load than the
    search takes."""
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
    said = workspace.index.search(query)
    reads.count(workspace, ((hit.stream, hit.id) for hit in said.answer.found if hit.id))
    return said


def result_of(said: SearchAnswer) -> SearchResult:
    """The answer as a read model."""
    from holdfast.workspace.model_builders import timestamp
    from holdfast.workspace.models import Hit, SearchResult

    (found, total, more, some), coverage = said
    return SearchResult(
        hits=tuple(Hit(**{**hit._asdict(), "at": timestamp(hit.at)}) for hit in found),
        total=total,
        more=more,
        some=some,
        commits=coverage.commits,
        sessions=coverage.sessions,
        archived=coverage.archived,
        behind=coverage.behind,
        unreadable=coverage.unreadable,
    )
