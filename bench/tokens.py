"""The error of the token estimator against an exact tokenizer, on real files of this machine.

    python bench/tokens.py [--encoding o200k_base] [--markdown]

Needs the extra ``tokens``. Samples come from installed packages, manual pages and translations, so another
machine has other samples; the made-up kinds (hex ids, base64, emoji) are the same everywhere.
TOKENS_SAMPLES names a folder with more files, searched for Rust, which few machines have installed. Files
are dealt to two halves by a hash of their name: the constants of ``core/tokens.py`` were fitted on the half
``tune``, and the half ``held-out`` is the one that counts.
"""

from __future__ import annotations

import argparse
import base64
import glob
import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys
import sysconfig
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator

from holdfast.core import tokens

CAP = 400_000  # characters of each kind in each half
PIECE = 12_000  # characters of one file
SITE = sysconfig.get_path("purelib")
STDLIB = sysconfig.get_path("stdlib")
FILES = {
    "English prose": ["/usr/share/doc/*/README*", "/usr/share/doc/*/NEWS*", "/usr/share/perl/*/pod/*.pod"],
    "Markdown": ["/usr/share/doc/**/*.md*", f"{SITE}/**/*.md", "/usr/lib/node_modules/**/*.md"],
    "Python": [f"{STDLIB}/*.py", f"{SITE}/**/*.py"],
    "JavaScript": [
        "/usr/share/javascript/**/*.js",
        "/usr/share/doc/**/*.js",
        "/usr/lib/node_modules/**/*.js",
    ],
    "C": ["/usr/include/*.h", "/usr/include/linux/*.h", "/usr/share/doc/*/examples/*.c"],
    "Rust": ["{more}/**/*.rs"],
    "Perl": ["/usr/share/perl/*/*.pm", "/usr/share/perl/*/*/*.pm"],
    "shell": ["/usr/share/bash-completion/completions/*", "/usr/lib/git-core/*.sh", "/etc/init.d/*"],
    "HTML": ["/usr/share/doc/**/*.html"],
    "JSON": ["/usr/share/iso-codes/json/*.json", "/usr/share/*/*.json", "/usr/lib/node_modules/**/*.json"],
    "logs": ["/var/log/*.log", "/var/log/*/*.log", "/usr/share/doc/*/changelog*.gz"],
}
FRESH = {  # never looked at while the constants were chosen: both halves are held out
    "CMake": ["/usr/share/cmake*/Modules/*.cmake"],
    "manual pages": ["/usr/share/man/man1/*.gz", "/usr/share/man/man8/*.gz"],
    "SQL": ["/usr/share/postgresql/*/*.sql", "/usr/share/postgresql/*/*/*.sql"],
    "XML": ["/usr/share/mime/*/*.xml", "/usr/share/glib-2.0/**/*.xml"],
    "properties": ["/usr/lib/jvm/*/conf/**/*.properties", "/etc/java*/**/*.properties"],
    "YAML": ["/usr/share/doc/**/*.yaml", "/usr/share/doc/**/*.yml", f"{SITE}/**/*.yaml"],
}
FRESH_LANGUAGES = (
    "Norwegian=nb Macedonian=mk Kazakh=kk Mongolian=mn Amharic=am Nepali=ne Assamese=as Welsh=cy "
    "Irish=ga Esperanto=eo Uyghur=ug Albanian=sq Tatar=tt Afrikaans=af Malay=ms Azerbaijani=az "
)
LANGUAGES = (
    "Chinese=zh_CN+zh_TW Japanese=ja Korean=ko Russian=ru Ukrainian=uk Arabic=ar Persian=fa Hebrew=he "
    "Hindi=hi Bengali=bn+bn_IN Tamil=ta Thai=th Greek=el German=de French=fr Spanish=es Polish=pl "
    "Turkish=tr Vietnamese=vi Finnish=fi Swedish=sv Dutch=nl Czech=cs Hungarian=hu Romanian=ro "
    "Portuguese=pt+pt_BR Danish=da Croatian=hr Slovak=sk Slovenian=sl Catalan=ca Lithuanian=lt "
    "Latvian=lv Estonian=et Bulgarian=bg Serbian=sr Belarusian=be Telugu=te Kannada=kn Malayalam=ml "
    "Gujarati=gu Punjabi=pa Marathi=mr Georgian=ka Khmer=km Sinhala=si Basque=eu Galician=gl "
    "Icelandic=is Italian=it Armenian=hy Odia=or Burmese=my "
)


def half_of(name: str) -> str:
    return "tune" if zlib.crc32(name.encode()) & 1 else "held-out"


def read(path: str) -> str:
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            raw = file.read(4 * PIECE)
    except OSError:
        return ""
    text = raw.decode("utf-8", "replace")[:PIECE]
    return "" if text.count("\ufffd") > 3 or "\0" in text else text.rstrip("\ufffd")


def from_files(patterns: list[str]) -> Iterator[tuple[str, str]]:
    patterns = [
        pattern.replace("{more}", os.environ.get("TOKENS_SAMPLES", "/usr/src")) for pattern in patterns
    ]
    paths = sorted({path for pattern in patterns for path in glob.glob(pattern, recursive=True)})
    random.Random(1).shuffle(paths)
    for path in paths:
        if "/encodings/tables/" in path:  # lists of all characters of a code page: no text anybody writes
            continue
        if os.path.isfile(path) and len(text := read(path)) > 500:
            yield path, text


def from_translations(locales: list[str]) -> Iterator[tuple[str, str]]:
    """Messages of installed programs, without lists of country and language names."""
    for locale in locales:
        for path in sorted(glob.glob(f"/usr/share/locale/{locale}/LC_MESSAGES/*.mo")):
            if "iso_" not in path and "iso-" not in path:
                yield path, "\n".join(messages(path))[: 3 * PIECE]


def messages(path: str) -> Iterator[str]:
    with open(path, "rb") as file:
        raw = file.read()
    order = "<" if raw[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, table = struct.unpack_from(f"{order}3I", raw, 8)
    for index in range(1, count):
        length, at = struct.unpack_from(f"{order}2I", raw, table + 8 * index)
        text = raw[at : at + length].split(b"\0")[0].decode("utf-8", "replace")
        if any(ord(letter) > 127 for letter in text):
            yield text


def made_up() -> dict[str, Iterable[tuple[str, str]]]:
    rng = random.Random(2)
    emoji = [
        chr(code) for code in [*range(0x1F600, 0x1F650), *range(0x1F680, 0x1F6C0), 0x2705, 0x274C, 0x26A0]
    ]
    paths = sorted(glob.glob(f"{STDLIB}/**/*", recursive=True))[:20000]

    def each(make: Callable[[], str]) -> list[tuple[str, str]]:
        return [(f"{n}", "\n".join(make() for _ in range(40))) for n in range(60)]

    return {
        "hex ids": each(lambda: rng.randbytes(rng.choice([8, 16, 20, 32])).hex()),
        "uuids": each(lambda: str(uuid.UUID(bytes=rng.randbytes(16)))),
        "base64": each(lambda: base64.b64encode(rng.randbytes(57)).decode()),
        "numbers": each(
            lambda: f"{rng.random() * 1e6:.3f}, {rng.randrange(10**9)}, 2026-0{rng.randrange(1, 9)}-11"
        ),
        "paths": each(lambda: rng.choice(paths)),
        "emoji": each(lambda: f"{rng.choice(emoji)} done {rng.choice(emoji)}{rng.choice(emoji)} next"),
        "commit lines": each(lambda: commit_line(rng)),
    }


def commit_line(rng: random.Random) -> str:
    data = {"id": f"D-{rng.randrange(99)}", "text": "Use the files engine"}
    event = {"type": "decision.made", "v": 1, "data": data}
    head = {
        "v": 1,
        "id": f"{rng.getrandbits(64):016x}-k7m2p9qa",
        "at": "2026-01-21T10:00:00.000Z",
        "by": "ana",
    }
    return json.dumps({**head, "events": [event], "sum": rng.randbytes(16).hex()}, separators=(",", ":"))


def diffs() -> Iterator[tuple[str, str]]:
    """Differences between the standard libraries of two Pythons, else of this project's history."""
    others = sorted(
        glob.glob(
            os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(STDLIB))), "*", "lib", "python3.*")
        )
    ) or [STDLIB]
    for name in sorted(os.listdir(STDLIB))[:150]:
        if name.endswith(".py"):
            pair = [os.path.join(others[0], name), os.path.join(others[-1], name)]
            run = subprocess.run(
                ["git", "diff", "--no-index", *pair], capture_output=True, text=True, check=False
            )
            if len(run.stdout) > 500:
                yield name, run.stdout[:PIECE]


def samples() -> Iterator[tuple[str, str, str]]:
    """Kind, half and text."""
    kinds: dict[str, Iterable[tuple[str, str]]] = {kind: from_files(where) for kind, where in FILES.items()}
    kinds |= {"git diff": diffs(), **made_up()}
    for language, locales in (pair.split("=") for pair in LANGUAGES.split()):
        kinds[language] = from_translations(locales.split("+"))
    fresh: dict[str, Iterable[tuple[str, str]]] = {kind: from_files(where) for kind, where in FRESH.items()}
    for language, locale in (pair.split("=") for pair in FRESH_LANGUAGES.split()):
        fresh[language] = from_translations([locale])
    for kind, pieces in [*kinds.items(), *fresh.items()]:
        room = {"tune": 0 if kind in fresh else CAP, "held-out": CAP}
        for name, text in pieces:
            half = (
                "held-out"
                if kind in fresh
                else half_of(re.sub(r"\d+(\.\d+)*", "", name) if len(name) > 8 else name)
            )
            if room[half] > 0:
                room[half] -= len(text)
                yield kind, half, text
            elif max(room.values()) <= 0:
                break


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    exact = tokens.exact(options.encoding)
    sums: dict[tuple[str, str], list[int]] = {}
    size, seconds = 0, 0.0
    for kind, half, text in samples():
        row = sums.setdefault((kind, half), [0, 0, 0, 0])
        start = time.perf_counter()
        guess = tokens.estimate(text)
        seconds += time.perf_counter() - start
        size += len(text.encode())
        for at, value in enumerate((len(text), exact(text), guess, len(text) // 4)):
            row[at] += value
    columns = ["{:14}", *["{:>9}"] * 5]
    line = f"| {' | '.join(columns)} |" if options.markdown else " ".join(columns)
    print(line.format("kind", "chars", "tokens", "tune", "held-out", "chars/4"))
    if options.markdown:
        print("|---|---:|---:|---:|---:|---:|")
    for kind in dict.fromkeys(kind for kind, _ in sums):
        errors = {half: sums.get((kind, half), [0, 0, 0, 0]) for half in ("tune", "held-out")}
        count, real, _, quarter = errors["held-out"]
        if real:
            tuned, held = (
                f"{100 * row[2] / row[1] - 100:+.1f} %" if row[1] else "-" for row in errors.values()
            )
            print(line.format(kind, count, real, tuned, held, f"{100 * quarter / real - 100:+.0f} %"))
    print(f"\n{options.encoding}, {size / 1e6:.1f} MB, estimator {size / 1e6 / seconds:.1f} MB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
