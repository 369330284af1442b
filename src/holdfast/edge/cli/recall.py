"""search, sql, index."""

from __future__ import annotations

import argparse
import os
import sys

from holdfast.edge.cli.command import Command, Output, at_least, group, nothing, open_here, typed_time
from holdfast.edge.cli.progress import progress_bar
from holdfast.edge.render import GUTTER, age, clean, colours, fit, paint, plural, table, when
from holdfast.errors import Usage
from holdfast.index.catch_up import Coverage
from holdfast.index.index import SearchAnswer
from holdfast.index.read_only import Result, run
from holdfast.index.search import HYBRID, KINDS, Found
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.searching import find

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

_SHOWN = 200
"""Rows of a statement that a terminal shows, unless more are asked for."""
_WIDE = 60
"""Characters of a cell on a terminal."""


# -- search -----------------------------------------------------------------------------------------------


def _search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORDS",
        help='all of them, each whole or as the beginning of a word; "in quotes": in this order',
    )
    parser.add_argument(
        "--kind", metavar="KINDS", default="", help=f"one or several, with commas: {', '.join(KINDS)}"
    )
    parser.add_argument("--user", metavar="NAME", help="sessions and preferences of this user")
    parser.add_argument("--by", metavar="ACTOR", help="recorded by this actor")
    parser.add_argument("--since", metavar="WHEN", help="not before: 7d, 2026-01-21, 2026-01-21T14:30")
    parser.add_argument("--until", metavar="WHEN", help="not after")
    parser.add_argument("--status", metavar="STATUS", help="such as open, settled, failed, done, closed")
    parser.add_argument("--path", metavar="FILE", help="what names this file")
    parser.add_argument(
        "--semantic",
        action=argparse.BooleanOptionalAction,
        help="rank by meaning too, or never (default: if nothing has all words and holdfast[semantic] is installed)",
    )
    parser.add_argument(
        "--limit", type=at_least(1), default=20, metavar="N", help="how many, best first (default: 20)"
    )


def _search(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        _show_progress(workspace, arguments)
        session = workspace.session(arguments.session) if arguments.session else None
        result = find(
            workspace,
            " ".join(arguments.words),
            session.stream if session is not None else None,
            kind=arguments.kind,
            user=arguments.user,
            by=arguments.by,
            since=typed_time(arguments.since) if arguments.since else None,
            until=typed_time(arguments.until) if arguments.until else None,
            status=arguments.status,
            path=arguments.path,
            limit=arguments.limit,
            semantic=arguments.semantic,
        )
    now = wall_clock()
    parts = [_hit_text(hit, now) for hit in result.answer.found]
    return Output("\n".join([*parts, *_footer(result)]), _result_data(result))


def _hit_text(hit: Found, now: int) -> str:
    where = hit.session or hit.stream
    name = " ".join(filter(None, [hit.kind, hit.id and clean(hit.id, 60), hit.status and f"({hit.status})"]))
    head = f"{paint(name, 'cyan')}  {where}  {when(hit.at)} ({age(hit.at, now)})  by {clean(hit.by, 40)}"
    places = [f"{GUTTER}at {clean(place, 200)}" for place in hit.places]
    return "\n".join([fit(head), f"{GUTTER}{_marked(hit)}", *places])


def _marked(hit: Found) -> str:
    """The snippet with every match marked: in bold, or in brackets where no colours show."""
    done, place = "", 0
    for start, end in hit.marks:
        match = clean(hit.snippet[start:end])
        done += clean(hit.snippet[place:start])
        done += paint(match, "bold") if colours() else f"[{match}]"
        place = end
    return done + clean(hit.snippet[place:])


def _footer(result: SearchAnswer) -> list[str]:
    """How many matches there are, where was looked, and what could not be looked at."""
    (found, total, more, some, ranking, without), held = result
    looked = f"{plural(held.commits, 'commit')} of {plural(held.sessions, 'session')}"
    lines = [""] if found else []
    if not found:
        how = ", by words or by meaning," if ranking == HYBRID else ""
        lines.append(f"Nothing found{how} in {looked} (archive included).")
    else:
        if ranking == HYBRID:
            missed = "Nothing has all of these words. " if some else ""
            lines.append(f"{missed}Ranked by words and meaning.")
        elif some:
            lines.append("Nothing has all of these words; this has some of them.")
        shown = f"{len(found):,} of " if len(found) < total else ""
        count = f"more than {total:,} matches" if more else plural(total, "match", "matches")
        lines.append(f"{(shown + count).capitalize()} in {looked} (archive included).")
        if any(hit.id and hit.session for hit in found):
            lines.append("`holdfast show ID --session SESSION` shows one in full.")
    if without:
        lines.append(f"Ranked by words only: {plural(without, 'text')}, which another process is preparing.")
    return lines + _limits(held.behind, held.unreadable)


def _limits(behind: int, unreadable: tuple[tuple[str, str], ...]) -> list[str]:
    lines = []
    if behind:
        lines.append(
            f"Not looked at yet: changes in {plural(behind, 'stream')}, which another process is indexing now."
        )
    for stream, why in unreadable[:5]:
        lines.append(f"Could not be read: {clean(stream, 80)}: {clean(why, 200)}")
    if len(unreadable) > 5:
        lines.append(f"… and {plural(len(unreadable) - 5, 'more stream')}.")
    return lines


def _result_data(result: SearchAnswer) -> dict[str, Any]:
    (found, total, more, some, ranking, without), held = result
    unreadable = [{"stream": stream, "why": why} for stream, why in held.unreadable]
    counts = {
        "total": total,
        "more": more,
        "some": some,
        "ranking": ranking,
        "without": without,
        **held._asdict(),
    }
    return {"hits": [hit._asdict() for hit in found], **counts, "unreadable": unreadable}


# -- sql --------------------------------------------------------------------------------------------------


def _sql_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("statement", metavar="SELECT", help="one SELECT; - reads it from standard input")
    parser.add_argument("--csv", action="store_true", help="print CSV with a header line")
    parser.add_argument(
        "--limit", type=at_least(0), metavar="N", help=f"rows (default: {_SHOWN} on a terminal, else all)"
    )


def _sql(arguments: argparse.Namespace) -> Output:
    if arguments.csv and arguments.json:
        raise Usage("--csv and --json exclude each other.")
    statement = sys.stdin.read() if arguments.statement == "-" else arguments.statement
    on_terminal = sys.stdout.isatty() and not arguments.json and not arguments.csv
    limit = arguments.limit if arguments.limit is not None else _SHOWN if on_terminal else 0
    with open_here(arguments) as workspace:
        _show_progress(workspace, arguments)
        result, coverage = workspace.index.read(lambda db, held: (run(db, statement, limit), held))
    warn = _limits(coverage.behind, coverage.unreadable)
    if warn and not arguments.json:
        sys.stderr.write("".join(f"holdfast: {line}\n" for line in warn))
    if arguments.csv:
        return Output(_csv(result), {})
    data = {"columns": list(result.columns), "rows": _dicts(result), "more": result.more}
    return Output(_rows_text(result), {**data, "behind": coverage.behind})


def _rows_text(result: Result) -> str:
    if not result.rows:
        return "No rows."
    rows = [tuple(clean(_cell(value), _WIDE) if value != "" else "" for value in row) for row in result.rows]
    shown = table(rows, tuple(clean(name, _WIDE) for name in result.columns), keep=0)
    return f"{shown}\n… more rows; --limit 0 shows all." if result.more else shown


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(result: Result) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows([_cell(value) for value in row] for row in result.rows)
    text = out.getvalue()
    return clean(text) if sys.stdout.isatty() else text


def _dicts(result: Result) -> list[dict[str, Any]]:
    """The rows by the names of their columns; of columns with the same name, the later ones get a number."""
    names: list[str] = []
    for name in result.columns:
        count = sum(known == name or known.startswith(f"{name}:") for known in names)
        names.append(f"{name}:{count + 1}" if count else name)
    return [dict(zip(names, map(_json_value, row), strict=True)) for row in result.rows]


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


# -- index ------------------------------------------------------------------------------------------------


def _status(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        return _covered(workspace, workspace.index.status())


def _rebuild(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        _show_progress(workspace, arguments, after=0.0)
        return _covered(workspace, workspace.index.rebuild(), "Rebuilt the index.\n")


def _covered(workspace: Workspace, held: Coverage, done: str = "") -> Output:
    path = workspace.index.path
    files = [path, f"{path}-wal"] if path else []
    size = sum(os.path.getsize(file) for file in files if os.path.exists(file))
    lines = [
        f"{done}{plural(held.commits, 'commit')} of {plural(held.sessions, 'session')} ({held.archived:,} archived)",
        f"  {clean(path) or 'in memory'}, {size:,} bytes",
    ]
    if held.behind and not done:
        lines.append(f"  {plural(held.behind, 'stream')} changed since: the next search reads them.")
    else:
        lines += [f"  {line}" for line in _limits(held.behind, ())]
    lines += [f"  {line}" for line in _limits(0, held.unreadable)]
    unreadable = [{"stream": stream, "why": why} for stream, why in held.unreadable]
    data = {**held._asdict(), "unreadable": unreadable, "path": path, "bytes": size}
    return Output("\n".join(lines), data)


def _show_progress(workspace: Workspace, arguments: argparse.Namespace, after: float = 0.5) -> None:
    """Have the index show on a terminal how far it is, if that takes long."""
    if show := progress_bar(arguments, after):
        workspace.index.progress = lambda done, total: show("Indexing", done, total)
    if read := progress_bar(arguments, after, "text"):
        workspace.index.embedding_progress = lambda done, total: read("Reading", done, total)


def _delete(arguments: argparse.Namespace) -> Output:
    with open_here(arguments) as workspace:
        path = workspace.index.path
        workspace.index.delete()
        return Output("Deleted the index; the next search builds it again.", {"path": path})


COMMANDS = {
    "search": Command(
        "Search everything that was ever recorded, in all sessions.",
        _search_arguments,
        _search,
        (
            "holdfast search connection pool",
            'holdfast search --kind decision,fact "read replica" --since 30d',
            "holdfast search --semantic how are credentials hashed",
            "holdfast search --path src/db.py --json",
            "holdfast search --kind error --status remedied timeout",
        ),
        details="Looks into live and archived sessions, the project and its users; best matches first.",
    ),
    "sql": Command(
        "Ask the index with SQL, read-only.",
        _sql_arguments,
        _sql,
        (
            'holdfast sql "select id, text, outcome from decisions order by at"',
            'holdfast sql "select type, count(*) from events group by 1" --csv',
            "holdfast sql \"select name from sqlite_master where type = 'table'\"",
        ),
        details="Its tables and columns are described in docs/reference/index.md.",
    ),
    "index": group(
        "The index that searches use: a cache, made from the log.",
        {
            "status": Command(
                "Show what the index holds, and how far behind it is.",
                nothing,
                _status,
                ("holdfast index status",),
            ),
            "rebuild": Command(
                "Delete the index and build it from the log.", nothing, _rebuild, ("holdfast index rebuild",)
            ),
            "delete": Command(
                "Delete the index; the next search builds it again.",
                nothing,
                _delete,
                ("holdfast index delete",),
            ),
        },
    ),
}
