"""A quick pre-check: can a text contain a secret at all? It runs on everything that is written.

No false negatives: it never says no where ``finder.find`` would find something. It says no to nearly all ordinary
text, for which the rules are not even loaded. Three things make a secret possible: a long word that contains the prefix
of a known token, a name such as ``password`` shortly before a colon, an equals sign or a comma after a quotation mark,
or a program that takes passwords.
"""

from __future__ import annotations

from collections.abc import Iterable

LONG = 16
"""No token of a known shape is shorter. Shorter secrets are recognised by the name before them or in a URL."""

_NAMES = (
    *(
        "pass",
        "pw",
        "secret",
        "token",
        "credential",
        "key",
        "heroku",
        "datadog",
        "dd_",
        "dd-",
        "psk",
        "cookie",
    ),
    *("_auth", '"auth"', "authoriz"),
)
_CONTEXTS: dict[str, tuple[str, ...]] = {
    ">": (*("password>", "Password>", "passphrase>", "secret>", "Secret>", "token>", "Token>", "apiKey>"),),
    "-": (
        *("http -a", "https -a", "http --auth", "https --auth", "mariadb-dump ", "redis-cli ", "valkey-cli "),
        *("sudo -S", "set -x ", "set -gx ", "set -Ux ", "Private-Lines: "),
    ),
    "q": ("mysql ", "mysqldump ", "mysqladmin ", "sqlcmd ", "requirepass "),
    "_": ("secret_access_key ",),
    "x": ("setx ",),
    "j": ("jarsigner ",),
    "login ": ("default login ", "docker login ", "podman login ", "registry login ", "az login "),
    "pass": ("sshpass ", "htpasswd ", "chpasswd"),
    "machine": ("machine ", "machine\t"),
    "mongo": ("mongosh ", "mongo "),
    "ldap": ("ldapsearch ", "ldapmodify "),
    "client ": ("smbclient ", "rpcclient "),
    "curl ": ("curl ",),
    "wget ": ("wget ",),
    "mariadb ": ("mariadb ",),
    "keytool ": ("keytool ",),
    "lftp ": ("lftp ",),
    "setenv ": ("setenv ",),
    "ENV ": ("ENV ",),
    "masterauth ": ("masterauth ",),
    ":": (":5432:", ":5433:", ":6432:"),
    '"': ('"d"', '"k"'),
}
"""What stands before or after a secret that has no name, by a part that is found quickly and is in few texts."""
_REACH = 60  # characters between a name and the sign before its value; more than any pattern allows
_NEEDLES = tuple(
    (mark, tuple(needles.split()))
    for mark, needles in {
        "": "AAAAAAAAAAAAAAAAAAAAA ABIA ACCA AIza AKCp AKIA AKID APA91b AQVN ASIA ATATT3 ATBB ATCTT3 AZDO EAA "
        "EZAK EZTK FLWSECK GR1348941 LTAI MT Mj Mz ND NT Nj Nz OD OT Q~ SK cio dapi eyJ oy2 pat xox xprv",
        "_": "CCIPAT_ CCIPRJ_ CLOJARS_ access_token$ aio_ apify_api_ bkua_ dckr_oat_ dckr_pat_ doo_v1_ dop_v1_ "
        "dor_v1_ duffel_ e2b_ figd_ fm1_ fm1a_ fm1r_ fm2_ fo1_ gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glc_ "
        "glsa_ gsk_ hf_ lin_api_ lin_oauth_ lsv2_ napi_ nfp_ npm_ ntn_ ops_eyJ pcsk_ phx_ pnb_ pnu_ pscale_ "
        "r8_ rdme_ re_ rk_live_ rk_test_ rnd_ rubygems_ rzp_live_ rzp_test_ sb_secret_ sbp_ secret_ sgp_ "
        "shippo_ shpat_ shpca_ shppa_ shpss_ sk_live_ sk_test_ sntrys_ sntryu_ sqa_ sqp_ squ_ tfp_ whsec_",
        "-": "-us AGE-SECRET-KEY-1 API- CFPAT- GOCSPX- HRKU- NRAK- PMAK- RGAPI- access- csk- fio-u- glagent- "
        "glcbt- gldt- glft- glimt- gloas- glpat- glptt- glrt- glsoat- ico- key- nvapi- pat-eu pat-na pplx- "
        "pul- pypi-AgE sdk- sk- sq0atp- sq0csp- tskey- tvly- v1.0- xai- xapp- xkeysib-",
        "$": "$1$ $2a$ $2b$ $2y$ $5$ $6$ $apr1$ $argon2 $scrypt$ $y$ pbkdf2_sha1$ pbkdf2_sha256$",
        "~": "sha256~",
        ".": ".atlasv1. SG. dp. dt0c01. dt0s01. hooks.slack.com/ hvb. hvr. hvs. sk.eyJ sl. ya29.",
        "=": "AccountKey= SharedAccessKey= sig=",
        "/": "1//0 webhooks/",
        ":": ":AA",
    }.items()
)
_LARGE = 50_000  # characters; from here on, loading the rules costs little compared with writing the text
_KEY_BLOCK = "-----BEGIN"
_RUN = b"x" * LONG
_SHAPE = bytes.maketrans(bytes(range(256)), b"x" * 9 + b" " * 5 + b"x" * 18 + b" " + b"x" * 223)
"""Maps white space to spaces and all else to one character: a long word becomes a run of that character."""
_JSON_SHAPE = _SHAPE[: ord('"')] + b" " + _SHAPE[ord('"') + 1 :]
"""The same for JSON, where a quotation mark ends a word too."""
MARKS, MARKS_OF_OP, MARKS_OF_EVENT, MARKS_OF_NAME = b":::", b":", b"{:::{", b":"
"""The colons and braces that the JSON of a commit has by itself: for its fields, an operation id, an event, and each
name in its data. A commit with more of them, or with an equals sign or a backslash, may name a secret."""
_IN_JSON = tuple((part, contexts) for part, contexts in _CONTEXTS.items() if part not in ':"')
"""Those that the marks do not show."""
_UNMARKED = bytes(byte for byte in range(256) if byte not in b":{=\\")
_CALM = bytes(byte for byte in range(128) if not chr(byte).isupper() and not chr(byte).isdigit())


def may_hold(text: str) -> bool:
    """Whether ``text`` may contain a secret."""
    if len(text) > _LARGE:
        return True
    if _has_context(text, _CONTEXTS.items()):
        return True
    if ":" in text or "=" in text or "--" in text or "'," in text or '",' in text:
        if "://" in text and "@" in text:
            return True
        if _is_named(text.lower() if text.isascii() else text.replace("\u0130", "I").lower()):
            return True
    data = text.encode("utf-8", "surrogatepass")
    shape = data.translate(_SHAPE)
    at = shape.find(_RUN)
    return at >= 0 and _begins_token(text, _long_words(data, shape, at))


def may_be_in(content: bytes, marks: bytes) -> bool | None:
    """The same for the JSON of a whole commit; None if that is not enough to decide.

    ``marks`` are those of the JSON itself. If there are others, a text may name a secret, or an object may have fields
    whose names the caller did not check.
    """
    if len(content) > _LARGE or content.translate(None, _UNMARKED) != marks:
        return None
    text = content.decode()  # searched in half of the time
    if "--" in text or "'," in text or _has_context(text, _IN_JSON):
        return None
    shape = content.translate(_JSON_SHAPE)
    at = shape.find(_RUN)
    while at >= 0:
        end = shape.find(b" ", at)
        word = content[at:end]  # for the last word, without the closing bracket
        if word.translate(None, _CALM) or not word.islower():
            return _begins_token(text, _long_words(content, shape, at))
        at = shape.find(_RUN, end)
    return False


def _has_context(text: str, contexts: Iterable[tuple[str, tuple[str, ...]]]) -> bool:
    for part, whole in contexts:
        if part in text:
            for context in whole:
                if context in text:
                    return True
    return False


def is_name(text: str) -> bool:
    """Whether a field of this name may have a secret as its value."""
    lowered = text.lower()
    return any(name in lowered for name in _NAMES)


def _is_named(lowered: str) -> bool:
    flagged = "--" in lowered
    for name in _NAMES:
        at = lowered.find(name)
        while at >= 0:
            near = lowered[at : at + _REACH]
            if flagged or ":" in near or "=" in near or "'," in near or '",' in near:
                return True
            at = lowered.find(name, at + 1)
    return False


def _long_words(data: bytes, shape: bytes, at: int) -> str:
    """The long words with more than lower-case letters and punctuation (which is all that a path has)."""
    words = []
    while at >= 0:
        end = shape.find(b" ", at)
        word = data[at : end if end >= 0 else None]
        if word.translate(None, _CALM) or not word.islower():
            words.append(word)
        at = shape.find(_RUN, end) if end >= 0 else -1
    return b" ".join(words).decode("utf-8", "surrogatepass") if words else ""


def _begins_token(text: str, words: str) -> bool:
    if _KEY_BLOCK in text:
        return True
    if not words:
        return False
    for mark, needles in _NEEDLES:
        if mark in words:
            for needle in needles:
                if needle in words:
                    return True
    lowered = text.lower()
    return "bearer " in lowered or "basic " in lowered
