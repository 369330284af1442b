"""Hostile names and texts that have broken other programs."""

from __future__ import annotations

from collections.abc import Iterator

SESSION = "2026-01-21-a1b2c3d4"

TEXTS = [
    "",
    " ",
    "plain",
    "$2 \\1 \\g<0> %s {0} {{}}",
    "a|b|c",
    "---\n...\n---",
    "<<<<<<< ours\n=======\n>>>>>>> theirs",
    "`code` ```fence``` ~~~",
    "line\nfeed, carriage\rreturn, both\r\n, \x0b \x0c \x85 \u2028 \u2029",
    "tab\t and nul \x00 in the middle",
    "\x00",
    "".join(map(chr, range(32))) + "\x7f",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 \U0010ffff",
    "bidi \u202eabc\u202c \u2066x\u2069 zero\u200bwidth \ufeffmark",
    "e\u0301 and é, ﬁ, İ, ß, \u212a",
    '"quotes" and \\ backslashes \\\\ and \\u0000',
    '{"v":1,"id":"x","sum":"y"}',
    '","sum":"00000000000000000000000000000000"}',
    "'; DROP TABLE commits; --",
    "../../../etc/passwd",
    "x" * (1 << 20),
    "\u20ac" * 1000,
]

_PARTS = [
    *("", ".", "..", "...", ".hidden", "x.", "-x", "_x", "~", "~root", "$HOME", "${HOME}", "`id`", "$(id)"),
    *(
        "a/b",
        "a\\b",
        "..\\x",
        "a b",
        " a",
        "a ",
        "a\0",
        "\0",
        "a\0b",
        "a\n",
        "\n",
        "a\r",
        "a\t",
        "a\x7f",
        "a\x1b",
    ),
    *(
        "A",
        "Ann",
        "STATE",
        "é",
        "ａｎｎ",
        "аnn",
        "ann\u0301",
        "ann\u200b",
        "\u202eann",
        "\u212a",
        "ſ",
        "ı",
        "१२",
        "😀",
    ),
    *(
        "%2e%2e",
        "..%2f",
        "a%00",
        "a:b",
        "c:",
        "a*",
        "a?",
        'a"',
        "a'",
        "a<b",
        "a>b",
        "a|b",
        "a;b",
        "a&b",
        "a=b",
        "a,b",
    ),
    *(
        "con",
        "prn",
        "aux",
        "nul",
        "com0",
        "com1",
        "lpt9",
        "con.txt",
        "nul.x.y",
        "x" * 65,
        "x" * 5000,
        "\ud800",
    ),
    *(
        "a//b",
        "a/./b",
        "a/../b",
        "a+b",
        "a@b",
        "a#b",
        "a!",
        "'; DROP TABLE streams; --",
        "\ufeffa",
        "a\u2044b",
    ),
]

_SESSIONS = [
    *(
        "2026-01-21",
        "2026-1-21-a1b2c3d4",
        "2026-01-21-a1b2c3d",
        "2026-01-21-a1b2c3d45",
        "2026-01-21-A1B2C3D4",
    ),
    *("٢٠٢٦-01-21-a1b2c3d4", "２０２６-01-21-a1b2c3d4", "2026-01-21-a1b2c3d4\n", "../2026-01-21-a1b2c3d4"),
]


def stream_names() -> Iterator[str]:
    """Invalid stream names."""
    yield from (
        "",
        "/",
        "//",
        "project/",
        "/project",
        "Project",
        "project\0",
        "projects",
        "other",
        "./project",
    )
    yield from (
        "/etc/passwd",
        "../project",
        "users",
        "users/",
        "sessions",
        "sessions/ann",
        "local",
        "local/x",
    )
    yield from (
        "project/x",
        "users/ann/x",
        f"sessions/ann/{SESSION}/x",
        f"session/ann/{SESSION}",
        "users\\ann",
    )
    for part in _PARTS:
        yield f"users/{part}"
        yield f"sessions/{part}/{SESSION}"
        yield f"sessions/ann/{part}"
    for session in _SESSIONS:
        yield f"sessions/ann/{session}"


def note_names() -> Iterator[str]:
    """Invalid note names."""
    yield from ("", "/", "x", "local", "local/", "/local/x", "local//x", "local/../x", "local/./x", "project")
    yield from (
        "users/ann",
        "sessions/ann/x",
        "other/x",
        "../x",
        "project/events",
        "project/EVENTS",
        "LOCAL/x",
    )
    yield from (
        "local/a/b/c/d/e/f/g/h/i/j",
        "project/events/x.jsonl",
        "local/x/",
        "local\\x",
        "project/context",
    )
    for part in _PARTS:
        if part not in ("A", "Ann", "STATE"):
            yield f"project/{part}"
        if part not in ("a+b", "a/b", "x" * 65) and not part.startswith(
            ("con", "prn", "aux", "nul", "com", "lpt")
        ):
            yield f"local/{part}"
