"""Failed commands: what their output says, and when two commands are the same.

The output of a test run has its point in one line of a hundred: the assertion, the exception, the compiler's error.
Only that line helps a successor, so it is found by how such lines look in the tools that people use.
"""

from __future__ import annotations

import re

LENGTH = 300
"""Characters of an output that are kept."""
_MOST = 4
"""Lines of an output that are kept."""
_READ = 200_000
_LINE = 400

_RANKS = (
    # The very words of the failure: pytest's E lines, exceptions, compilers, package managers, panics.
    (
        5,
        r"E {2,}\S"
        r"|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Failure|Refused|Denied|Timeout)\b(?: \(\w+\))?:"
        r"|[^\s:]+[:(]\d+(?:[:,]\d+)*\)?: (?:fatal )?error\b"
        r"|(?:\S+ )?(?:fatal|panic|error)(?:\[\w+\])?: \S"
        r"|\S+: \(\d+\) \S"
        r"|npm (?:ERR!|error) \S"
        r"|Error: \S"
        r"|thread '.*' panicked",
    ),
    # What was expected, what came.
    (
        4,
        r"(?:expected|received|actual|got|want)\b.{0,20}[:=]|missing: |An argument named |assert\b|AssertionError",
    ),
    # Which test, where.
    (3, r"FAILED? \S|● \S|✗ \S|✕ \S|--- FAIL|not ok \d|\S+:\d+: \S|.*\[E\]$"),
)
_WORDS = (
    r"(?i)\b(?:error|exception|fail(?:ed|ure|s)?|fatal|cannot|can't|could not|couldn't|refused|denied|not found|"
    r"no such|undefined|unexpected|invalid|unable|missing|timed? ?out|killed)\b"
)
_BOILERPLATE = (
    r"(?i)(?:exit(?:ed with)?[ -]?(?:code|status)\b.{0,12}$|=+ .* =+$|_+ .* _+$|=+$|-+$|short test summary|"
    r"traceback \(most recent|\d+ (?:failed|passed|error)|tests?: +\d|found \d+ errors?|evaluation failed|"
    r"some tests failed|.*process did not complete successfully|npm err! (?:code|errno|a complete log)|make: \*\*\*)"
)


def point(output: str, length: int = LENGTH) -> str:
    """The lines of an output that say what failed, on one line; its last lines if none is telling."""
    lines = [" ".join(line[:_LINE].split()) for line in output[-_READ:].splitlines()]
    raw = [line.strip()[:_LINE] for line in output[-_READ:].splitlines()]
    ranked = [(_rank(raw[index]), index) for index, line in enumerate(lines) if line]
    if not ranked:
        return ""
    best = max(rank for rank, _ in ranked)
    if best == 0:
        telling = [index for _, index in ranked if not re.match(_BOILERPLATE, raw[index])]
        chosen = (telling or [index for _, index in ranked])[-2:]
    else:
        # The first lines of the best rank; of mere words the last ones, where a program sums up.
        ordered = sorted(ranked, key=lambda pair: (-pair[0], pair[1] if pair[0] > 1 else -pair[1]))
        chosen = sorted(index for rank, index in ordered[:_MOST] if rank > 1 or best == 1)
    return _joined(dict.fromkeys(lines[index] for index in chosen), length)


def _joined(lines: dict[str, None], length: int) -> str:
    found = ""
    for line in lines:
        if found and len(found) + 3 + len(line) > length:
            continue
        found = f"{found} | {line}" if found else line
    return found if len(found) <= length else found[: length - 1] + "…"


def _rank(line: str) -> int:
    if re.match(_BOILERPLATE, line):
        return 0
    plain = re.sub(r"^(?:#\d+ )?(?:[\d.]+ )?", "", line)  # docker numbers its lines
    for rank, pattern in _RANKS:
        if re.match(pattern, plain) or (rank == 4 and re.match(pattern, plain, re.IGNORECASE)):
            return rank
    if re.match(r"> ?\S|>>> ", plain):
        return 1
    return 1 if re.search(_WORDS, plain) else 0


_QUIET = frozenset(
    ["-q", "-qq", "-v", "-vv", "-vvv", "-s", "-x", "--quiet", "--verbose", "--no-header", "--lf", "--ff"]
)
_PAGERS = frozenset(["tail", "head", "less", "cat", "tee", "grep", "egrep", "rg", "sed", "awk", "sort", "wc"])


def same(one: str, other: str) -> bool:
    """Whether two commands do the same, however much of it they show."""
    return one == other or plain(one) == plain(other)


def plain(command: str) -> str:
    """A command without the folder that it is run in, settings before it, and how its output is shown."""
    words = " ".join(command.split())
    while (found := re.match(r"(?:cd|pushd) \S+ ?(?:&&|;) ?", words)) or (
        found := re.match(r"(?:env )?[A-Za-z_]\w*=\S* ", words)
    ):
        words = words[found.end() :]
    first, *pipes = re.split(r" \|&? ?(?!\|)", words)
    if all(pipe.split(maxsplit=1)[:1] and pipe.split(maxsplit=1)[0] in _PAGERS for pipe in pipes):
        words = first
    words = re.sub(r" ?(?:[12&]?>>? ?(?:&[12]|\S+))", "", words)
    return " ".join(word for word in words.split() if word not in _QUIET)
