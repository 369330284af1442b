"""Made-up secrets of every kind, generated at run time: no file contains a text that looks like one."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable

UPPER, LOWER, DIGIT = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM = UPPER + LOWER + DIGIT
URL64 = ALNUM + "-_"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"

Draw = Callable[[random.Random], tuple[str, str]]  # the text and, inside it, the secret


def some(rng: random.Random, letters: str, count: int) -> str:
    return "".join(rng.choices(letters, k=count))


def uuid(rng: random.Random) -> str:
    text = some(rng, HEX, 32)
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def shaped(*parts: str | tuple[str, int]) -> Draw:
    """A token of literal parts and (letters, count) parts, alone in its text."""

    def draw(rng: random.Random) -> tuple[str, str]:
        token = "".join(part if isinstance(part, str) else some(rng, *part) for part in parts)
        return token, token

    return draw


def within(before: str, draw: Draw, after: str = "") -> Draw:
    """The secret of ``draw`` in a text that makes it one."""

    def wrapped(rng: random.Random) -> tuple[str, str]:
        _, secret = draw(rng)
        return before + secret + after, secret

    return wrapped


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def web_token(rng: random.Random) -> tuple[str, str]:
    body = {"sub": some(rng, DIGIT, 10), "name": some(rng, LOWER, rng.randrange(4, 40))}
    token = ".".join([part({"alg": "HS256", "typ": "JWT"}), part(body), some(rng, URL64, 43)])
    return token, token


def discord_bot(rng: random.Random) -> tuple[str, str]:
    account = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode()
    token = f"{account}.{some(rng, URL64, 6)}.{some(rng, URL64, 27)}"
    return token, token


def key_block(rng: random.Random, name: str = "RSA PRIVATE KEY", line_end: str = "\n") -> tuple[str, str]:
    dashes = "-" * 5
    lines = [some(rng, BASE64, 64) for _ in range(rng.randrange(1, 30))]
    block = line_end.join([f"{dashes}BEGIN {name}{dashes}", *lines, f"{dashes}END {name}{dashes}"])
    return block, block


def service_account(rng: random.Random) -> tuple[str, str]:
    _, block = key_block(rng, "PRIVATE KEY", "\\n")
    return f'{{"type": "service_account", "private_key": "{block}\\n"}}', block


_FIELD = re.compile(r"\{(!?)(?:(uuid)|([pahbulUd])(\d+))\}")
_LETTERS = {"a": ALNUM, "h": HEX, "b": BASE64, "u": URL64, "l": LOWER + DIGIT, "U": UPPER + DIGIT, "d": DIGIT}


def password(rng: random.Random, length: int) -> str:
    """As a generator makes one: letters of both cases, digits and, if long enough, a sign."""
    chosen = [rng.choice(UPPER), rng.choice(LOWER), rng.choice(DIGIT), rng.choice(DIGIT)]
    chosen += [
        *rng.choices(ALNUM, k=length - len(chosen) - 1),
        rng.choice("!%^*+?" if length > 12 else ALNUM),
    ]
    middle = chosen[:-1]
    rng.shuffle(middle)
    return "".join([*middle[:-1], chosen[-1], middle[-1]])


def drawn(template: str, rng: random.Random) -> tuple[str, str]:
    """A text made from a template, and the secret in it.

    ``{p16}`` is a password of 16 characters, ``{a20}`` letters and digits, ``{h32}`` hex digits, ``{b43}`` base64,
    ``{u43}`` base64 for URLs, ``{l24}`` and ``{U16}`` small and capital letters with digits, ``{d12}`` digits,
    ``{uuid}`` a UUID. The first field is the secret, or the one that begins with ``!``. ``~`` is nothing: it divides
    names, so that no file contains a text that looks like a secret. ``~~`` is a tilde, ``{{`` a brace.
    """
    template = template.replace("{{", "\0").replace("}}", "\1")
    fields: list[tuple[bool, str]] = []

    def fill(found: re.Match[str]) -> str:
        chosen, word, letters, count = found.groups()
        if word == "uuid":
            value = uuid(rng)
        elif letters == "p":
            value = password(rng, int(count))
        else:
            value = (
                some(rng, _LETTERS[letters], int(count) - 2)
                + rng.choice(DIGIT)
                + some(rng, _LETTERS[letters], 1)
            )
        fields.append((bool(chosen), value))
        return value

    text = _FIELD.sub(fill, template)
    text = text.replace("~~", "\2").replace("~", "").replace("\2", "~")
    text = text.replace("\\n", "\n").replace("\0", "{").replace("\1", "}")
    secret = next((value for chosen, value in fields if chosen), fields[0][1])
    return text, secret


def like(template: str) -> Draw:
    return lambda rng: drawn(template, rng)


SAMPLES: dict[str, list[Draw]] = {
    "github-personal-token": [shaped("gh", "p_", (ALNUM, 36)), shaped("gh", "p_", (ALNUM, 80))],
    "github-oauth-token": [shaped("gh", "o_", (ALNUM, 36))],
    "github-user-token": [shaped("gh", "u_", (ALNUM, 36))],
    "github-app-token": [shaped("gh", "s_", (ALNUM, 36))],
    "github-refresh-token": [shaped("gh", "r_", (ALNUM, 76))],
    "github-fine-grained-token": [shaped("github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59))],
    "gitlab-personal-token": [
        shaped("gl", "pat-", (URL64, 20)),
        shaped("gl", "pat-", (URL64, 27), ".01.", (LOWER + DIGIT, 9)),
    ],
    "gitlab-token": [
        shaped("gl", kind, (URL64, 20)) for kind in ("dt-", "rt-", "ptt-", "soat-", "cbt-", "agent-")
    ],
    "bitbucket-token": [shaped("AT", "BB", (ALNUM, 32))],
    "atlassian-token": [shaped("AT", "ATT3", (URL64, 180), "=", (HEX.upper(), 8))],
    "npm-token": [shaped("np", "m_", (ALNUM, 36))],
    "pypi-token": [shaped("py", "pi-AgEIcHlwaS5vcmc", (URL64, 120))],
    "rubygems-key": [shaped("ruby", "gems_", (HEX, 48))],
    "crates-token": [shaped("ci", "o", (ALNUM, 32))],
    "nuget-key": [shaped("oy", "2", (LOWER + DIGIT, 43))],
    "clojars-token": [shaped("CLO", "JARS_", (LOWER + DIGIT, 60))],
    "docker-token": [shaped("dckr", "_pat_", (URL64, 27)), shaped("dckr", "_oat_", (URL64, 32))],
    "artifactory-key": [shaped("AK", "Cp", (ALNUM, 69))],
    "sonar-token": [shaped("sq", kind, (HEX, 40)) for kind in ("p_", "u_", "a_")],
    "buildkite-token": [shaped("bk", "ua_", (HEX, 40))],
    "postman-key": [shaped("PM", "AK-", (HEX, 24), "-", (HEX, 34))],
    "sourcegraph-token": [shaped("sg", "p_", (HEX, 16), "_", (HEX, 40)), shaped("sg", "p_", (HEX, 40))],
    "aws-access-key-id": [
        shaped("AK", "IA", (UPPER + "234567", 16)),
        shaped("AS", "IA", (UPPER + "234567", 16)),
    ],
    "google-api-key": [shaped("AI", "za", (URL64, 35))],
    "google-client-secret": [shaped("GOC", "SPX-", (URL64, 28))],
    "google-access-token": [shaped("ya", "29.", (URL64, 160))],
    "google-refresh-token": [shaped("1/", "/0", (URL64, 60))],
    "azure-storage-key": [
        within("AccountName=a;Account" + "Key=", shaped((BASE64, 86), "=="), ";EndpointSuffix=x")
    ],
    "azure-shared-access-key": [
        within("SharedAccessKeyName=r;SharedAccess" + "Key=", shaped((BASE64, 43), "="))
    ],
    "azure-sas-signature": [
        within("https://a.blob.core.windows.net/c?sv=2024&si" + "g=", shaped((ALNUM, 43), "%3D"))
    ],
    "digitalocean-token": [shaped(kind, "_v1_", (HEX, 64)) for kind in ("dop", "doo", "dor")],
    "heroku-key": [
        shaped("HR", "KU-AA", (URL64, 58)),
        within("HEROKU_API_" + 'KEY="', lambda rng: ("", uuid(rng)), '"'),
    ],
    "alibaba-key-id": [shaped("LT", "AI", (ALNUM, 20))],
    "tencent-key-id": [shaped("AK", "ID", (ALNUM, 32))],
    "databricks-token": [shaped("da", "pi", (HEX, 32)), shaped("da", "pi", (HEX, 32), "-2")],
    "vault-token": [shaped("hv", "s.", (URL64, 24)), shaped("hv", "b.", (URL64, 138))],
    "doppler-token": [shaped("dp", ".pt.", (ALNUM, 43)), shaped("dp", ".st.dev_main.", (ALNUM, 43))],
    "pulumi-token": [shaped("pu", "l-", (HEX, 40))],
    "flyio-token": [shaped("fo", "1_", (URL64, 43)), shaped("fm", "2_", (BASE64, 200), "==")],
    "netlify-token": [shaped("nf", "p_", (ALNUM, 36))],
    "supabase-key": [shaped("sb", "p_", (HEX, 40)), shaped("sb", "_secret_", (URL64, 31))],
    "planetscale-token": [shaped("psc", "ale_tkn_", (URL64, 43))],
    "cloudflare-origin-key": [shaped("v1", ".0-", (HEX, 24), "-", (HEX, 146))],
    "onepassword-token": [shaped("op", "s_eyJ", (BASE64, 400))],
    "age-key": [shaped("AGE-", "SECRET-KEY-1", (UPPER + DIGIT, 58))],
    "anthropic-key": [
        shaped("sk", "-ant-api03-", (URL64, 93), "AA"),
        shaped("sk", "-ant-oat01-", (URL64, 90)),
    ],
    "openrouter-key": [shaped("sk", "-or-v1-", (HEX, 64))],
    "openai-key": [
        shaped("sk", "-proj-", (URL64, 120)),
        shaped("sk", "-svcacct-", (URL64, 74)),
        shaped("sk", "-", (ALNUM, 20), "T3Blbk", "FJ", (ALNUM, 20)),
        shaped("sk", "-", (HEX, 32)),
    ],
    "huggingface-token": [shaped("h", "f_", (ALNUM, 34))],
    "replicate-token": [shaped("r", "8_", (ALNUM, 37))],
    "groq-key": [shaped("gs", "k_", (ALNUM, 52))],
    "perplexity-key": [shaped("pp", "lx-", (ALNUM, 48))],
    "xai-key": [shaped("xa", "i-", (ALNUM, 80))],
    "langsmith-key": [shaped("ls", "v2_pt_", (HEX, 32), "_", (HEX, 10))],
    "pinecone-key": [shaped("pc", "sk_", (ALNUM, 6), "_", (ALNUM, 60))],
    "tavily-key": [shaped("tv", "ly-dev-", (ALNUM, 32)), shaped("tv", "ly-", (ALNUM, 32))],
    "slack-token": [
        shaped("xo", "xb-", (DIGIT, 12), "-", (DIGIT, 12), "-", (ALNUM, 24)),
        shaped("xo", "xp-", (DIGIT, 12), "-", (DIGIT, 12), "-", (DIGIT, 12), "-", (HEX, 32)),
        shaped("xo", "xe.xo", "xp-1-", (ALNUM, 140)),
    ],
    "slack-app-token": [shaped("xa", "pp-1-", (UPPER + DIGIT, 11), "-", (DIGIT, 13), "-", (HEX, 64))],
    "slack-webhook": [
        within(
            "https://hooks.sl" + "ack.com/services/",
            shaped("T", (UPPER + DIGIT, 9), "/B", (UPPER + DIGIT, 10), "/", (ALNUM, 24)),
        )
    ],
    "discord-webhook": [
        within("https://discord.com/api/web" + "hooks/", shaped((DIGIT, 18), "/", (URL64, 68)))
    ],
    "stripe-key": [
        shaped(kind, "_", (ALNUM, 24)) for kind in ("sk_li" + "ve", "rk_li" + "ve", "sk_te" + "st")
    ],
    "stripe-webhook-secret": [shaped("wh", "sec_", (ALNUM, 32))],
    "square-token": [shaped("sq", "0atp-", (URL64, 22)), shaped("sq", "0csp-", (URL64, 43))],
    "shopify-token": [shaped("sh", kind, (HEX, 32)) for kind in ("pat_", "pca_", "ppa_", "pss_")],
    "sendgrid-key": [shaped("S", "G.", (URL64, 22), ".", (URL64, 43))],
    "brevo-key": [shaped("xkey", "sib-", (HEX, 64), "-", (ALNUM, 16))],
    "resend-key": [shaped("r", "e_", (ALNUM, 8), "_", (ALNUM, 24))],
    "twilio-key": [shaped("S", "K", (HEX, 32))],
    "linear-key": [shaped("li", "n_api_", (ALNUM, 40))],
    "notion-token": [shaped("nt", "n_", (ALNUM, 46)), shaped("sec", "ret_", (ALNUM, 43))],
    "sentry-token": [
        shaped("sn", "trys_eyJ", (BASE64, 150), "_", (BASE64, 43)),
        shaped("sn", "tryu_", (HEX, 64)),
    ],
    "grafana-token": [shaped("gl", "sa_", (ALNUM, 32), "_", (HEX, 8)), shaped("gl", "c_", (ALNUM, 80))],
    "newrelic-key": [shaped("NR", "AK-", (UPPER + DIGIT, 27))],
    "airtable-token": [shaped("pa", "t", (ALNUM, 14), ".", (HEX, 64))],
    "hubspot-token": [within("", lambda rng: ("", "pa" + "t-na1-" + uuid(rng)))],
    "figma-token": [shaped("fi", "gd_", (URL64, 40))],
    "dropbox-token": [shaped("s", "l.", (URL64, 140)), shaped("s", "l.u.", (URL64, 140))],
    "contentful-token": [shaped("CF", "PAT-", (URL64, 43))],
    "mapbox-token": [shaped("s", "k.eyJ", (URL64, 60), ".", (URL64, 22))],
    "braintree-token": [shaped("access", "_token$production$", (LOWER + DIGIT, 16), "$", (HEX, 32))],
    "discord-bot-token": [discord_bot],
    "telegram-bot-token": [shaped("7", (DIGIT, count), ":A", "A", (URL64, 33)) for count in (7, 8, 9)],
    "mailchimp-key": [shaped((HEX, 32), "-us", "21")],
    "mailgun-key": [shaped("ke", "y-", (HEX, 32))],
    "azure-client-secret": [shaped((ALNUM, 3), "8Q", "~", (ALNUM + "_.-", 33), (ALNUM, 1))],
    "azure-devops-token": [shaped((ALNUM, 76), "AZ", "DO", (ALNUM, 4))],
    "terraform-token": [shaped((ALNUM, 14), ".atlas", "v1.", (URL64, 67))],
    "json-web-token": [web_token, within("Authorization: Bear" + "er ", web_token)],
    "gcp-service-account-key": [service_account],
    "private-key": [
        key_block,
        lambda rng: key_block(rng, "OPENSSH PRIVATE KEY"),
        lambda rng: key_block(rng, "EC PRIVATE KEY", "\r\n"),
        lambda rng: key_block(rng, "PGP PRIVATE KEY BLOCK"),
        lambda rng: key_block(rng, "PRIVATE KEY", "\\n"),
    ],
    "aws-secret-access-key": [
        within("AWS_SECRET_ACCESS_" + "KEY=", shaped((BASE64, 40))),
        within('"Secret' + 'AccessKey": "', shaped((BASE64, 40)), '"'),
        within("aws_secret_access_" + "key = ", shaped((BASE64, 40)), "\n"),
    ],
    "datadog-key": [
        within("DD_API_" + "KEY=", shaped((HEX, 32))),
        within("datadog_app_" + 'key: "', shaped((HEX, 40)), '"'),
    ],
    "basic-auth-header": [within("Authorization: Bas" + "ic ", shaped("dXNlcj", (ALNUM, 30), "9=="))],
    "bearer-token": [within("curl -H 'Authorization: Bear" + "er ", shaped((ALNUM, 40)), "'")],
    "database-url-password": [
        within(f"{scheme}://app:", shaped((ALNUM, 16)), "@db.internal:5432/main")
        for scheme in ("postgres", "postgresql+asyncpg", "mysql", "mongodb+srv", "rediss", "amqp")
    ],
    "url-password": [
        within("git clone https://ci:", shaped((ALNUM, 20)), "@git.internal/x.git"),
        within("http://a:", shaped((LOWER, 5), (DIGIT, 3)), "@10.0.0.1/"),
    ],
    "secret-flag": [
        within("deploy --pass" + "word ", shaped((ALNUM, 20)), " --yes"),
        within("push --tok" + "en=", shaped((ALNUM, 32))),
    ],
    "login-flag": [
        like("cur~l -u joe:{p14} https://api.internal"),
        like("cur~l -sSfu 'joe:{p14}' https://api.internal"),
        like("http -a joe:{a16} PUT api.internal/x"),
    ],
    "program-password": [
        like("mys~qldump -u root -p{a16} shop"),
        like("ssh~pass -p '{p14}' ssh root@host"),
        like("redis~-cli -h cache -a {a20} ping"),
        like("docker lo~gin -u joe -p {a20} registry.internal"),
        like("smb~client -U joe%{a14} //files/x"),
    ],
    "piped-password": [
        like("echo 'root:{a14}' | ch~passwd"),
        like("echo {a14} | su~do -S apt update"),
    ],
    "spaced-secret": [
        like("setx API_TOK~EN {a32}"),
        like("ENV DB_PASS~WORD {p16}"),
        like("require~pass {p20}"),
    ],
    "netrc-password": [
        like("mach~ine git.internal login joe pass~word {p14}"),
        like("mach~ine git.internal\\n  login joe\\n  pass~word {p14}\\n"),
    ],
    "pgpass-password": [like("db.internal:54~32:shop:app:{a16}")],
    "kubeconfig-key": [like("    client-key-~data: {b400}")],
    "registry-login": [like('{{"au~th": "{b40}"}}'), like("_au~th={b40}")],
    "password-hash": [
        shaped("$2", "b$12$", (ALNUM + "./", 53)),
        shaped("$argon", "2id$v=19$m=65536,t=3,p=4$", (BASE64, 22), "$", (BASE64, 43)),
        shaped("$6", "$", (ALNUM, 16), "$", (ALNUM + "./", 86)),
    ],
    "otp-secret": [like("otp~auth://totp/shop:joe?sec~ret={U32}&issuer=shop")],
    "element-secret": [like("<pass~word>{p16}</pass~word>")],
    "json-web-key": [like('{{"kty":"oct","k":"{u43}"}}')],
    "putty-key": [like("Private-Lines: 1\\n{b60}")],
    "authorization-header": [like("Author~ization: Bot {a60}"), like("author~ization: token {h40}")],
    "session-cookie": [like("Coo~kie: theme=dark; sessionid={l32}; x=1")],
    "gitlab-runner-token": [shaped("GR13", "48941", (URL64, 20))],
    "circleci-token": [shaped("CCI", "PAT_", (ALNUM, 22), "_", (HEX, 40))],
    "octopus-key": [shaped("AP", "I-", (UPPER + DIGIT, 26))],
    "tailscale-key": [shaped("tskey", "-auth-", (ALNUM, 12), "-", (ALNUM, 32))],
    "openshift-token": [shaped("sha256", "~", (URL64, 43))],
    "dynatrace-token": [shaped("dt0", "c01.", (UPPER + DIGIT, 24), ".", (UPPER + DIGIT, 64))],
    "yandex-key": [shaped("AQ", "VN", (URL64, 36))],
    "neon-key": [shaped("nap", "i_", (LOWER + DIGIT, 64))],
    "render-key": [shaped("rn", "d_", (ALNUM, 32))],
    "prefect-key": [shaped("pn", "u_", (ALNUM, 36))],
    "infracost-key": [shaped("ic", "o-", (ALNUM, 32))],
    "nvidia-key": [shaped("nv", "api-", (URL64, 64))],
    "cerebras-key": [shaped("cs", "k-", (LOWER + DIGIT, 48))],
    "e2b-key": [shaped("e2", "b_", (HEX, 40))],
    "apify-token": [shaped("ap", "ify_api_", (ALNUM, 36))],
    "twitter-bearer-token": [shaped("A" * 21, (ALNUM, 80))],
    "facebook-token": [shaped("EA", "A", (ALNUM, 80))],
    "firebase-key": [shaped("APA", "91b", (URL64, 134))],
    "easypost-key": [shaped("EZ", "AK", (ALNUM, 54))],
    "shippo-token": [shaped("shi", "ppo_live_", (HEX, 40))],
    "typeform-token": [shaped("tf", "p_", (URL64, 59))],
    "duffel-token": [shaped("duf", "fel_live_", (URL64, 43))],
    "flutterwave-key": [shaped("FLW", "SECK-", (HEX, 32), "-X")],
    "razorpay-key": [shaped("rzp", "_live_", (ALNUM, 14), ":", (ALNUM, 24))],
    "adafruit-key": [shaped("ai", "o_", (ALNUM, 28))],
    "posthog-key": [shaped("ph", "x_", (ALNUM, 43))],
    "launchdarkly-key": [
        shaped("sd", "k-", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12))
    ],
    "plaid-token": [
        shaped(
            "acc", "ess-production-", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12)
        )
    ],
    "riot-key": [shaped("RG", "API-", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12))],
    "readme-key": [shaped("rd", "me_", (LOWER + DIGIT, 70))],
    "frameio-token": [shaped("fi", "o-u-", (URL64, 64))],
    "extended-private-key": [shaped("xp", "rv9s21", (ALNUM, 104))],
    "named-secret": [
        within("DB_PASS" + "WORD=", shaped((ALNUM, 24))),
        like("DB_PA~SS={p16}"),
        like("define('DB_PASS~WORD', '{p16}');"),
        like("mail_p~w: {p16}"),
        within("client_sec" + 'ret: "', shaped((ALNUM, 32)), '"'),
        within('{"api' + 'Key": "', shaped((HEX, 32)), '"}'),
        within("?access_tok" + "en=", shaped((ALNUM, 40)), "&scope=all"),
        within("SECRET_KEY_" + 'BASE => "', shaped((HEX, 64)), '"'),
        within(
            "pwd='", shaped((LOWER, 2), (DIGIT, 2), (UPPER, 2), (DIGIT, 1), (LOWER, 1), "!%", (DIGIT, 2)), "'"
        ),
    ],
}
