"""Secrets: every known shape is found with its exact position, and ordinary text is ignored."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import ids
from holdfast.core.secrets import finder as secrets
from holdfast.core.secrets.kinds import kinds

sys.path.insert(0, str(Path(__file__).parent))
import itertools

from secret_samples import ALNUM, HEX, LOWER, SAMPLES, some, uuid

KEY = bytes(range(32))
ROOT = Path(__file__).parents[2]
FRAMES = (
    "{}",
    "see {} please",
    "a\n{}\nb",
    "x = {}  # y",
    "({})",
    '"{}"',
    "text {}, more",
    "\\n{}\\n",
    "\x1b[31m{}\x1b[0m",
)
PLACEHOLDER = re.compile(r"\[secret:[a-z0-9-]+:[0-9a-f]{8}\]")


def corpus(each: int = 3) -> list[tuple[str, str, str, int]]:
    """Kind, text, secret and where it starts."""
    rng = random.Random("secrets")
    made = []
    for kind, draws in SAMPLES.items():
        for draw in draws:
            for _ in range(each):
                text, secret = draw(rng)
                frame = rng.choice(FRAMES) if text == secret else "{}"
                start = frame.index("{}") + text.index(secret)
                made.append((kind, frame.replace("{}", text), secret, start))
    return made


def words(rng: random.Random) -> list[str]:
    """Real words: those of this project's own sources."""
    return [word for line in source_lines() for word in re.findall(r"[A-Za-z]{2,}", line)] or [
        some(rng, LOWER, 5)
    ]


def source_lines() -> list[str]:
    files = [
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "pyproject.toml",
    ]
    return [line for file in sorted(files) for line in file.read_text().splitlines() if line.strip()]


def ordinary_lines() -> list[str]:
    """At least 10,000 lines that hold no secret: prose, code, hashes, ids, blobs."""
    rng = random.Random("ordinary")
    vocabulary = words(rng)
    topics = [
        "password",
        "token",
        "secret",
        "api key",
        "credentials",
        "PASSWORD",
        "access_key",
        "private_key",
    ]
    lines = source_lines()
    for _ in range(3000):
        text = " ".join(rng.choices(vocabulary, k=rng.randrange(3, 25)))
        lines.append(
            f"{text} {rng.choice(topics)} {rng.choice(vocabulary)}." if rng.random() < 0.3 else text + "."
        )
    for _ in range(700):
        blob = base64.b64encode(rng.randbytes(rng.randrange(30, 3000))).decode()
        commit = ids.next_id(ids.ZERO, rng.randrange(1 << 40), ids.random_text(rng.getrandbits(64), 8))
        digest = hashlib.sha256(blob.encode()).hexdigest()
        name = f"{rng.choice(vocabulary)}_{rng.choice(topics)}".replace(" ", "_")
        lines += [
            f"commit {some(rng, HEX, 40)}",
            f"{digest}  {rng.choice(vocabulary)}.tar.gz",
            f'{{"id": "{uuid(rng)}", "session": "2026-01-21-{some(rng, HEX, 8)}"}}',
            f'{{"v":1,"id":"{commit}","at":"2026-01-21T10:00:00.000Z","sum":"{some(rng, HEX, 32)}"}}',
            f"data:image/png;base64,{blob}",
            f'"integrity": "sha512-{base64.b64encode(rng.randbytes(64)).decode()}",',
            f"{name}={rng.randrange(10**6)} {name}: {rng.choice(vocabulary)}",
            f'{name} = os.environ["{name.upper()}"]',
            f"def f({name}: str, {name}_id: int = {rng.randrange(99)}) -> None: self.{name} = {name}",
            f"https://host.example/{rng.choice(vocabulary)}/{uuid(rng)}?page={rng.randrange(99)}#L9",
            f"index {some(rng, HEX, 7)}..{some(rng, HEX, 7)} 100644 {rng.choice(vocabulary)}/x.py",
            f"{rng.choice(vocabulary)}=={rng.randrange(9)}.{rng.randrange(99)}.0 --hash=sha256:{digest}",
            f'    {{file = "x-1.0-py3-none-any.whl", hash = "sha256:{digest}"}},',
            f'"node_modules/{rng.choice(vocabulary)}": {{"version": "1.{rng.randrange(99)}.0", "resolved": '
            f'"https://registry.example/x/-/x-1.tgz", "integrity": "sha512-'
            f'{base64.b64encode(rng.randbytes(64)).decode()}"}}',
            f'checksum = "{digest}"',
            f"github.com/x/{rng.choice(vocabulary)} v1.{rng.randrange(99)}.0/go.mod h1:"
            f"{base64.b64encode(rng.randbytes(32)).decode()}",
            f"<img src='data:image/jpeg;base64,/9j/{blob}'>",
            f"D-{rng.randrange(99)} LOOP-{rng.randrange(999):03}.k7 T-{rng.randrange(99)} {commit} {uuid(rng)}",
            f'md5:{some(rng, HEX, 32)} sha1:{some(rng, HEX, 40)} etag: "{some(rng, HEX, 32)}"',
            f"{name}=${{{name.upper()}}} --{rng.choice(['token', 'password'])} <{rng.choice(vocabulary)}>",
        ]
    return lines


HARMLESS = [
    "password reset flow",
    "password: str",
    "password: str | None = None",
    'api_key=os.environ["X"]',
    "api_key = settings.OPENAI_API_KEY_V2",
    "token_count=5000",
    "max_tokens=1234567890",
    "<your-token>",
    "token: xxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-...",
    "sk-" + "x" * 40,
    "gh" + "p_" + "x" * 36,
    "export TOKEN=${TOKEN}",
    "PASSWORD=$(pass show db)",
    "password = getpass.getpass()",
    'password="correct-horse-battery-staple"',
    "secret: /run/secrets/db_password_2",
    "token: gpt-4o-2024-08-06",
    "secret=projects/1234567/secrets/name/versions/12",
    "https://user:password@host/x",
    "postgres://postgres:postgres@localhost:5432/db",
    "https://${USER}:${PASS}@host/x",
    "https://x:<token>@host/x",
    "AK" + "IAIOSFODNN7EXAMPLE",
    "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "task-list-of-things-that-are-done-today-and-tomorrow",
    "sk-circle-fade-dot-animation-that-is-long",
    "the ya29. prefix, the AIza prefix and hvs. are known",
    "-----BEGIN PRIVATE KEY----- starts a block and -----END PRIVATE KEY----- ends it",
    "Authorization: Bearer <token>",
    "tokenizer: o200k_base_2024",
    "token_id: 550e8400-e29b-41d4-a716-446655440000",
    "password_hash: 5f4dcc3b5aa765d61d8327deb882cf99",
    "def find(secret: Secret, start: int) -> list[Secret]:",
]


def test_every_kind_has_samples() -> None:
    """The samples and the table name the same kinds, and there are enough of both."""
    assert {kind.name for kind in kinds()} == set(SAMPLES)
    assert len(SAMPLES) >= 30
    assert len(corpus()) >= 150


def test_every_sample_is_found_exactly() -> None:
    """Each secret of the corpus is found once, as its kind, from its first to its last character."""
    missed = [
        (kind, text, secrets.find(text))
        for kind, text, secret, start in corpus(20)
        if secrets.find(text) != [secrets.Secret(kind, start, start + len(secret))]
    ]
    assert missed == []


def test_ordinary_lines_give_few_false_positives(record_property: Callable[[str, object], None]) -> None:
    """Fewer than 1 in 100 ordinary lines is reported as a secret."""
    lines = ordinary_lines()
    alarms = [(line[:160], secrets.find(line)) for line in lines if secrets.find(line)]
    record_property("lines", len(lines))
    record_property("alarms", len(alarms))
    print(f"{len(alarms)} of {len(lines)} ordinary lines: {alarms[:20]}")
    assert len(lines) >= 10_000
    assert len(alarms) < len(lines) / 100


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_ignored(text: str) -> None:
    """Placeholders, references, types and prose about secrets are not secrets."""
    assert secrets.find(text) == []


def test_identifiers_of_this_project_are_ignored() -> None:
    """Hashes, UUIDs and our own ids are never reported, bare or after ordinary names."""
    rng = random.Random("ids")
    for _ in range(2000):
        commit = ids.next_id(ids.ZERO, rng.randrange(1 << 40), ids.random_text(rng.getrandbits(64), 8))
        for text in (commit, uuid(rng), some(rng, HEX, 32), some(rng, HEX, 40), some(rng, HEX, 64)):
            assert secrets.find(text) == []
            assert secrets.find(f"id={text} sum: {text} sha256:{text} refs/{text}") == []


def test_placeholder_is_keyed_and_stable() -> None:
    """The same secret and key give the same placeholder; another key or another secret gives another one."""
    rng = random.Random(5)
    _, one = SAMPLES["npm-token"][0](rng)
    _, two = SAMPLES["npm-token"][0](rng)
    text = secrets.redact(f"{one} {two} {one}", KEY)
    first, second, third = text.split(" ")
    assert first == third != second
    assert PLACEHOLDER.fullmatch(first)
    assert secrets.redact(one, KEY[::-1]) != first
    assert secrets.redact(one, KEY * 4) != first


def test_short_key_is_refused() -> None:
    """A key that could be guessed would let a placeholder confirm a guess of the secret."""
    with pytest.raises(ValueError, match="16 are needed"):
        secrets.redact("text", b"short")


def test_overlaps_become_the_longest() -> None:
    """A service account's key is one finding, though a general kind matches inside it."""
    text, block = SAMPLES["gcp-service-account-key"][0](random.Random(1))
    assert [
        secrets.Secret("gcp-service-account-key", text.index(block), text.index(block) + len(block))
    ] == secrets.find(text)


def test_cut_key_block_is_found() -> None:
    """A private key whose end is missing is still a private key."""
    _, block = SAMPLES["private-key"][0](random.Random(2))
    cut = block[: block.rindex("\n")]
    assert [("private-key", 0, len(cut))] == [tuple(found) for found in secrets.find(cut)]


def test_characters_that_grow_in_lower_case_do_not_shift_spans() -> None:
    """A capital dotted I before a secret does not shift its position."""
    text = "İİİ DB_PASS" + "WORD=" + some(random.Random(3), ALNUM, 24)
    assert [(secret.start, secret.end) for secret in secrets.find(text)] == [(16, len(text))]


def test_json_is_walked_with_keys_and_names() -> None:
    """Secrets are found in strings, in keys, and by the name of the key; paths hold none of them."""
    rng = random.Random(4)
    _, token = SAMPLES["npm-token"][0](rng)
    random_value = some(rng, ALNUM, 20)
    value = {
        "a": [1, None, {"b": f"x {token}"}],
        token: {"c": token},
        "pass" + "word": random_value,
        "n": random_value,
    }
    found = secrets.find_in(value)
    assert [(path, tuple(secret)) for path, secret in found if path != ()] == [
        (("a", 2, "b"), ("npm-token", 2, 42)),
        (("[secret:npm-token]", "c"), ("npm-token", 0, 40)),
        (("password",), ("named-secret", 0, 20)),
    ]
    assert [tuple(secret) for path, secret in found if path == ()] == [("npm-token", 0, 40)]
    assert token not in repr(found)


def test_json_is_redacted_in_a_copy() -> None:
    """Everything but the secrets stays unchanged, and so does the given value."""
    _, token = SAMPLES["npm-token"][0](random.Random(6))
    password = some(random.Random(7), ALNUM, 20)
    value = {
        "a": [1, 2.5, True, None, f"x {token} y"],
        token: 1,
        "password": password,
        "keep": "text",
        "e": {},
        "l": [],
    }
    before = json.dumps(value)
    clean = secrets.redact_in(value, KEY)
    assert before == json.dumps(value)
    assert token not in json.dumps(clean)
    assert password not in json.dumps(clean)
    assert secrets.find_in(clean) == []
    assert clean["a"][:4] == [1, 2.5, True, None]
    assert (clean["keep"], clean["e"], clean["l"]) == ("text", {}, [])
    assert list(value)[2:] == list(clean)[2:]
    assert clean == secrets.redact_in(clean, KEY)


def test_deep_json_does_not_overflow() -> None:
    """A value nested deeper than Python's stack is walked."""
    _, token = SAMPLES["npm-token"][0](random.Random(8))
    value: object = token
    for _ in range(5000):
        value = [value]
    assert len(secrets.find_in(value)) == 1
    clean = secrets.redact_in(value, KEY)
    for _ in range(5000):
        clean = clean[0]
    assert PLACEHOLDER.fullmatch(clean)


JOINTS = (
    *(
        "token=",
        "secret: ",
        "://a:",
        "@h",
        "sk" + "-",
        "[secret:",
        "[secret:npm-token:0123abcd]",
        "\\n",
        " ",
        "\n",
    ),
    *("'", "=", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ", "."),
)
PIECES = st.one_of(
    st.text(max_size=20),
    st.builds(
        lambda draws, n, seed: draws[n % len(draws)](random.Random(seed))[0],
        st.sampled_from(list(SAMPLES.values())),
        st.integers(0, 9),
        st.integers(0, 10**6),
    ),
    st.sampled_from(JOINTS),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_redaction_is_idempotent_and_leaves_no_secret(text: str) -> None:
    """Redacting removes every found secret, changes nothing else, and does nothing the second time."""
    clean = secrets.redact(text, KEY)
    found = secrets.find(text)
    assert secrets.find(clean) == []
    assert clean == secrets.redact(clean, KEY)
    assert all(left.end <= right.start for left, right in itertools.pairwise(found))
    kept = PLACEHOLDER.split(clean)
    at = 0
    for piece in kept:
        at = text.index(piece, at) + len(piece)
    assert text.startswith(kept[0])
    assert text.endswith(kept[-1])
    assert bool(found) == (text != clean)


HOSTILE = [
    *(
        "a",
        "sk-",
        "ask-",
        "eyJ",
        "-eyJ",
        "eyJaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "token=",
        "token ",
        "://",
    ),
    *(
        "://a:",
        "://a:b@",
        "MT",
        " MT",
        "AK" + "IA",
        "1234567890:A" + "A",
        'secret="',
        "[secret:aa:12345678]",
        ".",
        "--token-",
    ),
    *(
        "bearer ",
        "\\ngh" + "p_",
        "Q~",
        "-us",
        "heroku_",
        "sl.",
        "gh" + "s_",
        "gl" + "pat-",
        "agl" + "pat-",
        "xox",
        "key-",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----AAAA",
        "----",
        "-----END",
        "token=" + "a1b2c3d4e5 ",
        "%3Dgh" + "p_",
        "basic A",
        "pat",
        "1//0",
    ),
    *(
        '"private_key":"',
        '"private_key":"-----BEGIN PRIVATE KEY-----',
        "A" * 76 + "AZDO",
        "aws_secret_access_key=",
        "İ",
    ),
    *(
        "curl ",
        "curl -u a:",
        "mysql -p",
        "machine a login ",
        ":5432:a:",
        "client-key-data: A",
        '"auth": "A',
        "pass=",
    ),
    *("$2b$12$", "requirepass ", "cookie: a=b; ", "token>a", "ENV A", '"d":"', "| sudo -S", "password', '"),
    *("Private-Lines: 1 ", "authorization: token ", "htpasswd -b a b ", "A" * 21, "EAA"),
]


class Steps:
    """Counts executed lines of the scanner: work that does not depend on the machine's speed."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: object, event: str, arg: object) -> Steps:
        self.count += 1
        return self


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_steps(piece: str) -> None:
    """Four times the text takes at most about four times the steps."""
    counts = []
    for size in (4_000, 16_000):
        text = piece * (size // len(piece))
        secrets.find(text)
        steps, before = Steps(), sys.gettrace()
        sys.settrace(steps)
        try:
            secrets.find(text)
        finally:
            sys.settrace(before)
        counts.append(steps.count)
    assert counts[1] <= 4.6 * counts[0] + 400


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """Backtracking would need the square, 16 times the time for 4 times the text; here it is at most 9."""

    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        best = 1e9
        for _ in range(3):
            start = thread_time()
            secrets.find(text)
            best = min(best, thread_time() - start)
        return best

    small = cost(50_000)
    assert cost(200_000) <= 9 * small + 0.02
