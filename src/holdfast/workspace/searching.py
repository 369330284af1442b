"""Search over all streams."""

from __future__ import annotations

import os
from collections.abc import Iterable

from holdfast.core import timestamps
from holdfast.errors import Usage
from holdfast.index.search import Found, Query
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace import reads
from holdfast.workspace.clock import wall_clock

if TYPE_CHECKING:
    from holdfast.index.index import SearchAnswer
    from holdfast.workspace.models import SearchResult
    from holdfast.workspace.workspace import Workspace

VARIABLE = "HOLDFAST_SEARCH"
_MODES = {"auto": None, "words": False, "hybrid": True}
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
    semantic: bool | None = None,
) -> SearchAnswer:
    """The best matches in one stream, or in all of them, as plain records: their models take longer to load than the
    search takes."""
    for given in (words, user, by, status, path):
        if given is not None and not _is_text(given):
            raise Usage("What to search for must be text without unpaired surrogates.")
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
    said = workspace.index.search(query, _semantic() if semantic is None else semantic)
    reads.count(workspace, ((hit.stream, hit.id) for hit in said.answer.found if hit.id))
    if not any(hit.anchors for hit in said.answer.found):
        return said
    from holdfast.workspace.anchors import standing

    found = tuple(
        hit._replace(places=tuple(str(standing(workspace, hit.stream, anchor)) for anchor in hit.anchors))
        for hit in said.answer.found
    )
    return said._replace(answer=said.answer._replace(found=found))


def _is_text(value: object) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _semantic() -> bool | None:
    """Whether to rank by meaning, as the environment says; None, the default, does so if no text has all words."""
    said = os.environ.get(VARIABLE) or "auto"
    if said not in _MODES:
        raise Usage(f"{VARIABLE} is {said[:40]!r}; it knows {', '.join(_MODES)}.")
    return _MODES[said]


def result_of(said: SearchAnswer) -> SearchResult:
    """The answer as a read model."""
    from holdfast.workspace.model_builders import timestamp
    from holdfast.workspace.models import Hit, SearchResult

    (found, total, more, some, ranking, without), coverage = said
    return SearchResult(
        hits=tuple(Hit(**{**_fields(hit), "at": timestamp(hit.at)}) for hit in found),
        total=total,
        more=more,
        some=some,
        ranking=ranking,
        without=without,
        commits=coverage.commits,
        sessions=coverage.sessions,
        archived=coverage.archived,
        behind=coverage.behind,
        unreadable=coverage.unreadable,
    )


def _fields(hit: Found) -> dict[str, Any]:
    return {name: value for name, value in hit._asdict().items() if name != "anchors"}
