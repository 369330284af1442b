"""Secrets as developers paste them, and the prose, code and logs around them: those are refused, these are not."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.secrets import finder as secrets
from holdfast.core.secrets.signs import may_hold
from holdfast.errors import SecretFound

sys.path.insert(0, str(Path(__file__).parent))
from secret_corpus import KINDS, corpus
from secret_samples import drawn

KEY = bytes(range(32))
CALM = """
DB_PASS=${DB_PASS} and SMTP_PASS=$(pass show smtp) come from the vault
DB_PASS=changeme in the compose file
DB_PASS is read by settings.py, DB_PASS= is empty in CI
set DB_PASS to the value from the team vault
pass: fold the commits, pass 2: write the views
passes=12 passed: test_login_2024_works bypass=true compass=north
the second pass: collect2024Results, then write
first_pass=compile_all second_pass=link_everything
tests pass: 1,204 of 1,204 in 61.2s
pw = playwright.sync_api.sync_playwright()
await pw.chromium.launch(headless=True)
boarding_pass_id=12345 hall_pass: granted
curl -sSf https://api.internal/v1/health
curl -u "$USER:$PASS" https://api.internal
curl -u ${USER}:${PASS} https://api.internal
curl -u user:password https://api.internal
curl -u <user>:<token> https://api.internal
curl -X POST -H "Content-Type: application/json" -d '{"a": 1}' http://localhost:8080/x
curl --user-agent "holdfast/0.1 (linux; x86_64)" https://api.internal
curl -fsSL https://deb.internal/setup_20.x | bash -
wget -qO- https://example.internal/install-v2.4.1.sh
mysql -u root -p shop_2024_backup
mysql -u root -p < schema.sql
mysqldump --single-transaction shop > backup-2024-11-05.sql
docker login -u joe --password-stdin registry.internal
docker run -p 8080:80 -p 5432:5432 postgres:16-alpine
docker run --rm -e POSTGRES_PASSWORD=postgres -p 5432:5432 postgres:16
podman login registry.internal
sshpass -p "$SSH_PASS" ssh root@host
redis-cli -h cache -p 6379 ping
mongo -u app -p --authenticationDatabase admin
ssh -p 2222 joe@host; scp -P 2222 x joe@host:/tmp
a machine login password reset is needed after ninety days
the machine learning job needs a login with a password policy
machine git.internal login joe password <token>
machine git.internal login joe password ${TOKEN}
default login page, password field and token box
psql host.internal:5432:shop:app:*
listening on 0.0.0.0:5432:tcp in container db
client-key-data: REDACTED
certificate-authority-data: DATA+OMITTED
"auth": "required-for-all-requests"
"auth": {"type": "oauth2", "scopes": ["read"]}
_auth=${NPM_AUTH}
//registry.internal/:_authToken=${NPM_TOKEN}
$2b$12$ is the prefix of bcrypt, $6$ that of SHA-512, $argon2id$ that of Argon2
echo $1$2 $5 $6 | awk '{print $1}'
<password>changeit</password>
<token>your-token-here</token>
<secret>from the vault</secret>
Usage: deploy --token <token> --password <password>
--password-stdin --token-file ./token.txt --secret-name db-credentials
requirepass foobared
requirepass yourpasswordhere
ENV PATH=/usr/local/bin:$PATH NODE_VERSION=20.11.1
ENV PYTHONUNBUFFERED 1
ENV KEY_FILE /run/secrets/api_key_v2
set -x; set -euo pipefail
setenv EDITOR vim
setx PATH "%PATH%;C:\\Tools\\bin2024"
Authorization: token <your token>
Authorization: Bearer $TOKEN
the Authorization: Basic header is checked before the Cookie: header
Cookie: theme=dark; lang=en
Cookie: session=...
Set-Cookie: sid=deleted; Max-Age=0
"d": "2024-11-05T10:00:00.000Z", "k": "v"
{"d": 1, "k": [1, 2, 3]}
password = getpass.getpass("Password: ")
parser.add_argument("--password", help="of the database", default=None)
assert login("joe", "password") == "token", "secret"
os.environ.setdefault("API_KEY", "test-key-for-unit-tests")
config["password"], config["token"], config["secret"]
names = ["password", "token", "secret", "api_key", "credentials"]
password: str = field(default="", repr=False)
token: Token = lexer.next_token(skip_whitespace=True)
tokens_used=184223 max_tokens: 200000 token_budget=0.75
if token.type == "IDENT" and token.value == "return": pass
key=lambda item: (item.priority, item.created_at)
sort_key=created_at_desc primary_key=user_id foreign_key: order_items.order_id
cache_key=f"user:{user_id}:v2" idempotency_key: order-2024-11-05-0001
public_key: ssh-ed25519 the rest is in the repository
access-control-allow-origin: https://app.internal
access-production-logs-2024 and sdk-generator-v2 are packages
API-REFERENCE-FOR-VERSION-TWO and API-gateway-eu-west-1
nvapi, csk, rnd and pnu are prefixes of keys
rnd_seed=20241105 aio_pika==9.4.1 e2b_template=python-3-11
GET /api/v1/users/550e8400-e29b-41d4-a716-446655440000/tokens 200 12ms
2026-11-05T10:00:00Z INFO auth: user=joe method=password result=ok ip=10.0.0.7
2026-11-05T10:00:01Z WARN token expired for session 2026-01-21-a1b2c3d4
Nov 05 10:00:02 host sshd[1234]: Accepted publickey for joe from 10.0.0.7 port 51234 ssh2: ED25519 SHA256:abc
Nov 05 10:00:03 host sudo: joe : TTY=pts/0 ; PWD=/home/joe/work ; USER=root ; COMMAND=/usr/bin/apt update
npm warn deprecated har-validator@5.1.5: this library is no longer supported
error[E0308]: mismatched types: expected `Token`, found `String` --> src/lexer.rs:120:17
FAILED tests/test_auth.py::test_password_is_hashed - AssertionError: assert 'a' == 'b'
kubectl get secret db -o jsonpath='{.data.password}' | base64 -d
kubectl create secret generic db --from-literal=password="$DB_PASSWORD"
vault kv get -field=password kv/db
aws secretsmanager get-secret-value --secret-id prod/db/password-v2
aws configure set aws_secret_access_key "$AWS_SECRET_ACCESS_KEY"
openssl rsa -passin env:KEY_PASS -in k.pem
gpg --batch --passphrase-file ./pass.txt -d x.gpg
echo "$SUDO_PASS" | sudo -S apt update
echo "done" | sudo tee /etc/motd
Decided to keep the password hash in users.password_hash and to rotate JWT_SECRET every quarter.
The token endpoint returns access_token and refresh_token; store neither.
Use `secrets: inherit` in the workflow, so that the deploy job gets NPM_TOKEN.
Rotated the API key; the old one stops working at 2026-11-05 18:00.
"""
LINES = [line for line in CALM.splitlines() if line]


@pytest.fixture
def session() -> Iterator[holdfast.Session]:
    with holdfast.open("memory:", user="alice", by="me") as workspace:
        yield workspace.start("Ship it")


def test_the_corpora_are_large() -> None:
    """There are many kinds of secrets, each under its own name, and many ordinary lines."""
    names = [name for name, _, _ in corpus()]
    assert len(names) == len(set(names)) == len(KINDS.strip().splitlines()) >= 150
    assert len(LINES) >= 100


@pytest.mark.parametrize(("name", "text", "secret"), corpus(), ids=[name for name, _, _ in corpus()])
def test_every_kind_is_refused(session: holdfast.Session, name: str, text: str, secret: str) -> None:
    """A note and an event of a program with this secret in it are refused, and nothing is stored."""
    before = session.version
    for write in (
        lambda: session.note(text),
        lambda: session.note(f"This is how it runs here: {text}"),
        lambda: session.record("x.ran", {"output": text}),
    ):
        with pytest.raises(SecretFound) as refused:
            write()
        assert secret not in str(refused.value)
    assert session.version == before


def test_every_secret_is_covered_whole() -> None:
    """Nothing of a secret is left where it is redacted, whichever characters it has. Of random characters, at most 1 in
    200 happens to look like a word."""
    drawn_ones, missed = corpus(10), []
    for name, text, secret in drawn_ones:
        start = text.index(secret)
        found = secrets.find(text)
        if not any(hit.start <= start and start + len(secret) <= hit.end for hit in found):
            missed.append((name, text))
        else:
            assert may_hold(text)
            assert secret not in secrets.redact(text, KEY)
    assert len(missed) <= len(drawn_ones) / 200, missed


@pytest.mark.parametrize("line", LINES)
def test_ordinary_lines_are_stored(session: holdfast.Session, line: str) -> None:
    """Prose, code, commands and logs about secrets are no secrets."""
    session.note(line)


def test_a_template_draws_what_it_says() -> None:
    """Control: the generator fills every field, and the secret is in the text."""
    text, secret = drawn("a{{b}} ~c~~ {p14} {!h8}\\n", random.Random(1))
    assert text.startswith("a{b} c~ ")
    assert text.endswith(f" {secret}\n")
    assert len(secret) == 8
