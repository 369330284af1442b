"""The commit codec: one commit is one line of compact JSON, chained to the line before it.

A line is ``{"v":1,"id":…,"at":…,"by":…,"origin":…,["op":…,]"events":[…],"sum":…}`` and a line feed. Keys come
in this order, so the id has a fixed place at the front and the sum at the end: a reader that only wants to
follow the chain needs no JSON parser. docs/format.md specifies the bytes.

An engine may store a line without its long texts (``core.long_texts``). Such a line has the keys ``blobs``, ``full``
and ``check`` before ``sum``: its sum is that of the full line, and it can be checked without the texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache

from holdfast.core import ids
from holdfast.core.hashing import blake2b
from holdfast.errors import Damaged, Newer, Refused, TooLarge
from holdfast.typed import Any, NoReturn, Record, new_record

FORMAT = 1
ORIGINS = ("human", "agent", "tool", "import")
MAX_LINE = 4 * 1024 * 1024
MAX_DEPTH = 32
GENESIS = "0" * 32
SUM_LENGTH = 32
ALONE = 8
"""Hex digits of the checksum that check the line by itself."""
_TIED = (SUM_LENGTH - ALONE) // 2
"""Bytes of the hash that chains it to the line before."""

_FRONT = f'{{"v":{FORMAT},"id":"'
_HEAD = _FRONT.encode()
_ID_AT = len(_HEAD)
_ID_END = _ID_AT + ids.ID_LENGTH
BY_AT = _ID_END + len('","at":"2026-01-21T14:30:00.123Z"')
"""Where the part of a line begins that is known before the commit has its place."""
_TAIL = b',"sum":"'
TAIL_LENGTH = len(_TAIL) + SUM_LENGTH + len(b'"}')
_MAX_BODY = MAX_LINE - TAIL_LENGTH
_DIGEST_SIZE = 16
_FULL, _CHECK = b',"full":"', b'","check":"'
_CHECK_LENGTH = len(_CHECK) + ALONE + len(b'"')
DETACHED_TAIL = len(_FULL) + 2 * _DIGEST_SIZE + _CHECK_LENGTH
"""Bytes of ``full`` and ``check`` at the end of a body without its long texts."""
_QUOTE = ord('"')


class Event(Record):
    """One fact that happened."""

    type: str
    data: dict[str, Any]
    v: int = 1


class Draft(Record):
    """What a command wants to add: a commit without id, time and sum, which the store gives it."""

    events: tuple[Event, ...]
    by: str
    origin: str
    op: str | None = None


class Commit(Record):
    """What one command added to a stream."""

    id: str
    at: str
    by: str
    origin: str
    op: str | None
    events: tuple[Event, ...]
    sum: str


class Detached(bytes):
    """Content of a line that is stored without its long texts."""

    whole: bytes
    """The content with them."""


_line, _tie = blake2b(digest_size=_DIGEST_SIZE), blake2b(digest_size=_TIED)
"""Hashes of nothing yet: a copy is made in half of the time that a new one takes."""
_text = json.encoder.encode_basestring
_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)


def _encoder() -> Callable[[dict[str, Any], int], Iterable[str]]:
    """The encoder's own inner loop, made once: ``encode`` makes a new one in each call, at half of the cost."""
    make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
    if make is None:
        return lambda data, _: _plain.iterencode(data)
    return make(None, _plain.default, _text, None, ":", ",", False, False, False)  # type: ignore[no-any-return]


_pieces = _encoder()


def json_of(data: dict[str, Any]) -> str:
    """Plain JSON, as it is in a line."""
    return "".join(_pieces(data, 0))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_scan = json.JSONDecoder(parse_constant=_no_number).scan_once  # type: ignore[attr-defined]
"""The decoder's own inner loop, without the look for spaces around, of which a line has none."""


def chain(previous: str, body: bytes) -> str:
    """The checksum of a line: hex digits that check the line alone, then those that chain it to the line before."""
    line, tie = _line.copy(), _tie.copy()
    if body[-1:] == b'"':
        alone = _digest_of(body)
    else:
        line.update(body)
        alone = line.hexdigest()
    tie.update((previous + alone).encode())
    return alone[:ALONE] + tie.hexdigest()


def _digest_of(body: bytes) -> str:
    """The hash of a line's body. Of one that is stored without its long texts: the hash that it names, if it is as it
    was written, else nothing that any sum begins with."""
    line = _line.copy()
    full, checked = body[-DETACHED_TAIL:-_CHECK_LENGTH], body[:-_CHECK_LENGTH]
    if body[-1:] != b'"' or not full.startswith(_FULL):
        line.update(body)
        return line.hexdigest()
    line.update(checked)
    if body[-_CHECK_LENGTH:] != _check_text(line.hexdigest()):
        return "-" * 2 * _DIGEST_SIZE
    return full[len(_FULL) :].decode("ascii", "replace")


def _check_text(digest: str) -> bytes:
    return _CHECK + digest[:ALONE].encode() + b'"'


def is_detached(line: bytes) -> bool:
    """Whether a well-formed line is stored without its long texts."""
    start = len(line) - TAIL_LENGTH - DETACHED_TAIL
    return line[-TAIL_LENGTH - 1] == _QUOTE and line.startswith(_FULL, max(0, start))


def digest_matches(line: bytes, body: bytes) -> bool:
    """Whether a body is the one that a line, stored without its long texts, names."""
    return _digest_of(line[:-TAIL_LENGTH]) == _digest_of(body)


def content_of(draft: Draft) -> bytes:
    """The part of a line that is known before the commit has its place in the stream."""
    events, by, origin, op = draft
    try:
        if len(events) == 1 and op is None:  # as nearly every one
            ((kind, data, v),) = events
            content = f"{_opening(by, origin, kind, v)}{''.join(_pieces(data, 0))}}}]".encode()
        else:
            said = _signed(by, origin) if op is None else f'{_signed(by, origin)},"op":{_text(op)}'
            told = ",".join([f"{_titled(kind, v)}{''.join(_pieces(data, 0))}}}" for kind, data, v in events])
            content = f'{said},"events":[{told}]'.encode()
    except UnicodeEncodeError:
        raise Refused(
            "The text holds half of a surrogate pair, which is not valid Unicode; nothing was written."
        ) from None
    except RecursionError:
        raise _too_deep() from None
    except (ValueError, TypeError) as error:
        raise Refused(f"The data is not plain JSON ({error}); nothing was written.") from None
    if content.count(b"{") + content.count(b"[") > MAX_DEPTH and any(is_deep(data) for _, data, _ in events):
        raise _too_deep()
    return content


def _signed(by: str, origin: str) -> str:
    return f',"by":{_text(by)},"origin":{_text(origin)}'


def _titled(kind: str, v: int) -> str:
    return f'{{"type":{_text(kind)},"v":{v},"data":'


@lru_cache(maxsize=256)  # who writes, and what kind of commit, rarely changes
def _opening(by: str, origin: str, kind: str, v: int) -> str:
    return f'{_signed(by, origin)},"events":[{_titled(kind, v)}'


def may_be_deep(text: bytes) -> bool:
    """Whether JSON has so many brackets that it can be too deep: nearly none has to be measured."""
    return text.count(b"{") + text.count(b"[") > MAX_DEPTH


def is_deep(value: object) -> bool:
    """Whether lists and objects are nested deeper than the limit."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        nested = [item for item in level if isinstance(item, (dict, list, tuple))]
        if not nested:
            return False
        level = [inner for item in nested for inner in (item.values() if isinstance(item, dict) else item)]
    return True


def _too_deep() -> TooLarge:
    return TooLarge(
        f"The data is nested deeper than {MAX_DEPTH} levels; nothing was written.",
        hint="Save it as a file, and record the file's name.",
    )


def encode(
    draft: Draft, commit_id: str, at: str, previous: str, content: bytes | None = None
) -> tuple[bytes, Commit]:
    """The line of a new commit, line feed included, and the commit itself."""
    body, end, line_sum = finish_line(
        content_of(draft) if content is None else content, commit_id, at, previous
    )
    return body + end, commit_of(draft, commit_id, at, line_sum)


def finish_line(content: bytes, commit_id: str, at: str, previous: str) -> tuple[bytes, bytes, str]:
    """The line of a new commit up to its sum, the rest of it with the line feed, and the sum."""
    front = f'{_FRONT}{commit_id}","at":"{at}"'.encode()
    body = front + content
    if type(content) is Detached:
        body = _sealed_without_texts(front, body, content.whole)
    elif len(body) > _MAX_BODY:
        raise _too_long(body)
    line_sum = chain(previous, body)
    return body, f',"sum":"{line_sum}"}}\n'.encode(), line_sum


def _sealed_without_texts(front: bytes, body: bytes, whole: bytes) -> bytes:
    full = front + whole
    if len(full) > _MAX_BODY:
        raise _too_long(full)
    body += _FULL + _digest_of(full).encode()
    return body + _check_text(blake2b(body, digest_size=_DIGEST_SIZE).hexdigest())


def _too_long(body: bytes) -> TooLarge:
    return TooLarge(f"The commit has {len(body):,} bytes; the limit is {MAX_LINE:,}.")


def commit_of(draft: Draft, commit_id: str, at: str, line_sum: str) -> Commit:
    """The commit that a draft became."""
    events, by, origin, op = draft
    return new_record(Commit, (commit_id, at, by, origin, op, events, line_sum))


def rechained(line: bytes, previous: str) -> tuple[bytes, str]:
    """A well-formed line (without line feed) tied to another one before it, with its line feed, and its new sum."""
    body = line[:-TAIL_LENGTH]
    tied = chain(previous, body)
    return body + _TAIL + tied.encode() + b'"}\n', tied


def id_of(line: bytes) -> str:
    """The id of a well-formed line, by its place."""
    return line[_ID_AT:_ID_END].decode("ascii", "replace")


def sum_of(line: bytes) -> str:
    """The sum of a well-formed line (without line feed), by its place."""
    return line[-2 - SUM_LENGTH : -2].decode("ascii", "replace")


def verify_chained(line: bytes, previous: str) -> str | None:
    """The sum of a line (without line feed) that is whole and follows the one with the sum ``previous``; None if
    something is wrong with it, which ``fault_of`` names. Nearly every line that is read is such a one."""
    if not line.startswith(_HEAD) or not ids.is_encoded_id(line[_ID_AT:_ID_END]):
        return None
    right = chain(previous, line[:-TAIL_LENGTH])
    return right if line.endswith(f',"sum":"{right}"}}'.encode()) else None


def looks_right(line: bytes) -> bool:
    """Whether a line (without line feed) has the frame of a commit of this format. Its sum is not checked."""
    return (
        line.startswith(_HEAD)
        and line.endswith(b'"}')
        and line[-TAIL_LENGTH : -TAIL_LENGTH + len(_TAIL)] == _TAIL
        and line[-2 - SUM_LENGTH : -2].isalnum()  # a flipped bit in the sum must not break the line's text
        and ids.is_encoded_id(line[_ID_AT:_ID_END])
    )


def fault_of(line: bytes, previous: str | None) -> str | None:
    """What is wrong with a line (without line feed), or None. ``previous`` None: the line before is unreadable."""
    if not looks_right(line):
        return _unknown_fault(line)
    body = line[:-TAIL_LENGTH]
    found = sum_of(line)
    if previous is None:
        return None if _digest_of(body)[:ALONE] == found[:ALONE] else "the checksum does not match"
    right = chain(previous, body)
    if right == found:
        return None
    if right[:ALONE] == found[:ALONE]:
        return "the line does not follow the one before it"
    return "the checksum does not match"


def _unknown_fault(line: bytes) -> str:
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        return "a conflict marker of a merge"
    if not line.strip(b"\0"):
        return "zero bytes"
    if len(line) > MAX_LINE:
        return f"longer than {MAX_LINE:,} bytes"
    if (newer := newer_format(line)) and _is_json(line):
        if fault_of(b'{"v":%d,' % FORMAT + line.partition(b",")[2], None) is None:
            return "the format number is damaged"  # with the right one, the line is a commit of this format
        raise Newer(f"A commit has format {newer}; this release of holdfast reads up to format {FORMAT}.")
    return "not a commit"


def _is_json(line: bytes) -> bool:
    """Whether a line is whole JSON: what a later release wrote is, what a power cut left of a line is not."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def newer_format(line: bytes) -> int | None:
    """The format number of a line that a later release wrote, else None."""
    if not line.startswith(b'{"v":'):
        return None
    digits = line[5:15].split(b",")[0]
    if digits.isdigit() and int(digits) > FORMAT:
        return int(digits)
    return None


def decode(line: bytes) -> Commit:
    """The commit in a line (without line feed) whose sum has been checked."""
    try:
        text = line.decode()
        record, end = _scan(text, 0)
        if end != len(text):
            raise ValueError("something follows its end")
        events = tuple([new_record(Event, (e["type"], e["data"], e["v"])) for e in record["events"]])
        by, origin, op = record["by"], record["origin"], record.get("op")
        return new_record(Commit, (record["id"], record["at"], by, origin, op, events, record["sum"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, StopIteration) as error:
        raise Damaged(f"A commit cannot be decoded: {error}.") from None
