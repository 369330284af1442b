"""Kinds that are known by the program or the file that they are written for: passwords after flags, files of logins."""

from __future__ import annotations

from holdfast.core.secrets.kind import ALNUM, VALUE, Kind, is_dense, is_password, is_random

_ARGUMENTS = r"(?:[^\n|;&]{0,200}? )??"
"""Of a program, before the flag that matters."""
_WORD = r"""([^\s"'$<{-][^\s"']{5,255})"""
_SETTINGS = r"[A-Za-z0-9_]{0,40}?(?:PASS(?:WORD|WD|PHRASE)?|PWD|PW|SECRET|TOKEN|KEY)[A-Z0-9_]{0,12}"


def _is_strong(value: str) -> bool:
    """A password that is known only by a flag: no path, no word, no code."""
    return is_password(value) and is_random(value)


def _is_typed(value: str) -> bool:
    """A password among words that prose has too: more than letters."""
    return is_password(value) and not value.isalpha()


def _is_login(value: str) -> bool:
    """The base64 of ``user:password``, or a token that looks random."""
    from binascii import a2b_base64

    try:
        user, colon, password = a2b_base64(value + "=" * (-len(value) % 4)).decode("ascii").partition(":")
    except ValueError:
        return len(value) >= 32 and is_dense(value)
    if not colon or not user.isprintable() or not password.isprintable():
        return len(value) >= 32 and is_dense(value)
    return bool(password) and is_password(password)


def logins() -> list[Kind]:
    """All of them."""
    return [*_commands(), *_files(), *_headers()]


def _commands() -> list[Kind]:
    before = ALNUM + "-_/"
    return [
        Kind(
            "login-flag",
            ("curl ", "wget ", "http -a", "https -a", "http --auth", "https --auth"),
            rf"(?:curl|wget|https?) {_ARGUMENTS}(?:-[a-zA-Z]{{0,6}}[uU] ?|--(?:proxy-)?user[= ]|--auth[= ]|-a )"
            r"[\"']?[^\s:\"'$]{1,64}:([^\s\"'$<{][^\s\"']{3,255})",
            is_password,
            left=before,
        ),
        Kind(
            "program-password",
            ("mysql ", "mysqldump ", "mysqladmin ", "mariadb ", "mariadb-dump "),
            rf"(?:mysql(?:dump|admin)?|mariadb(?:-dump)?) {_ARGUMENTS}-p[\"']?{_WORD}",
            _is_strong,
            left=before,
        ),
        Kind(
            "program-password",
            (
                "sshpass ",
                "mongosh ",
                "mongo ",
                "docker login ",
                "podman login ",
                "registry login ",
                "az login ",
            ),
            rf"(?:sshpass|mongosh|mongo|(?:docker|podman|registry|az) login) {_ARGUMENTS}-p ?[\"']?{_WORD}",
            _is_strong,
            left=before,
        ),
        Kind(
            "program-password",
            ("redis-cli ", "valkey-cli ", "sqlcmd ", "ldapsearch ", "ldapmodify ", "keytool ", "jarsigner "),
            rf"(?:(?:redis|valkey)-cli {_ARGUMENTS}-a|sqlcmd {_ARGUMENTS}-P|ldap[a-z]{{3,8}} {_ARGUMENTS}-w|"
            rf"(?:keytool|jarsigner) {_ARGUMENTS}-[a-z]{{3,8}}pass) ?[\"']?{_WORD}",
            _is_strong,
            left=before,
        ),
        Kind(
            "program-password",
            ("smbclient ", "rpcclient ", "lftp ", "htpasswd "),
            rf"(?:(?:smb|rpc)client {_ARGUMENTS}-U ?[\"']?[^\s%\"']{{1,64}}%|"
            rf"lftp {_ARGUMENTS}-u ?[\"']?[^\s,\"']{{1,64}},|"
            rf"htpasswd -[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}} \S{{1,255}} \S{{1,64}} [\"']?){_WORD}",
            _is_strong,
            left=before,
        ),
        Kind(
            "piped-password",
            ("| chpasswd", "|chpasswd", "| sudo -S", "|sudo -S", "| sudo chpasswd"),
            r"[ \"':]([^\s\"'|:$]{6,64})[\"']? {0,2}\| {0,2}(?:sudo -S|(?:sudo )?chpasswd)",
            _is_strong,
            left="",
            before=tuple(range(7, 70)),
        ),
        Kind(
            "spaced-secret",
            ("setx ", "set -x ", "set -gx ", "set -Ux ", "setenv ", "ENV "),
            rf"(?:setx|set -[gU]?x|setenv|ENV) {{1,3}}{_SETTINGS} {{1,3}}[\"']?{VALUE}",
            is_random,
        ),
        Kind(
            "spaced-secret",
            ("requirepass ", "masterauth ", "secret_access_key "),
            rf"(?:requirepass|masterauth|secret_access_key) {{1,3}}[\"']?{VALUE}",
            is_random,
            left="",
        ),
    ]


def _files() -> list[Kind]:
    return [
        Kind(
            "netrc-password",
            ("machine ", "machine\t", "default login "),
            r"(?:machine\s{1,4}\S{1,255}|default)\s{1,8}login\s{1,4}\S{1,255}\s{1,8}password\s{1,4}(\S{4,255})",
            _is_typed,
        ),
        Kind(
            "pgpass-password",
            (":5432:", ":5433:", ":6432:"),
            r":(?:5432|5433|6432):[^:\s]{1,64}:[^:\s]{1,64}:([^:\s]{6,255})",
            is_password,
            left="",
        ),
        Kind(
            "kubeconfig-key",
            ("client-key-data", "client_key_data"),
            r"client[-_]key[-_]data[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?([A-Za-z0-9+/]{40,}+={0,2})",
            left="",
        ),
        Kind(
            "registry-login",
            ('"auth"', "_auth"),
            r"(?:\"auth\"|_auth)[ \t]{0,3}[:=][ \t]{0,3}\"?([A-Za-z0-9+/_.-]{12,4096}+={0,2})",
            _is_login,
            left="",
        ),
        Kind(
            "password-hash",
            (
                *("$2a$", "$2b$", "$2y$", "$argon2", "$1$", "$apr1$", "$5$", "$6$", "$y$", "$scrypt$"),
                *("pbkdf2_sha256$", "pbkdf2_sha1$"),
            ),
            r"(?:\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|"
            r"\$argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,9},t=\d{1,4},p=\d{1,4}\$[A-Za-z0-9+/]{11,64}\$[A-Za-z0-9+/]{16,128}|"
            r"\$(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|"
            r"\$[56]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}|"
            r"\$y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{4,86}\$[./A-Za-z0-9]{43}|"
            r"\$scrypt\$ln=\d{1,3},r=\d{1,3},p=\d{1,3}\$[A-Za-z0-9+/]{11,64}\$[A-Za-z0-9+/]{16,128}|"
            r"pbkdf2_sha(?:256|1)\$\d{1,9}\$[A-Za-z0-9]{1,64}\$[A-Za-z0-9+/]{20,64}={0,2})",
            is_dense,
            left="",
        ),
        Kind(
            "otp-secret",
            ("otpauth://",),
            r"otpauth://[^\s?\"'<>]{1,256}\?(?:[^\s\"'<>&]{1,128}&){0,8}?secret=([A-Za-z0-9]{16,256})",
        ),
        Kind(
            "element-secret",
            ("password>", "Password>", "passphrase>", "secret>", "Secret>", "token>", "Token>", "apiKey>"),
            rf"\s{{0,4}}{VALUE}\s{{0,4}}</",
            is_random,
            left="",
            after=True,
        ),
        Kind(
            "json-web-key",
            ('"d"', '"k"'),
            r"\"[dk]\"\s{0,2}:\s{0,2}\"([A-Za-z0-9_-]{40,1024})\"",
            is_random,
            left="",
        ),
        Kind(
            "putty-key",
            ("Private-Lines: ",),
            r"Private-Lines: \d{1,3}(?:\s|\\[nr]){1,4}((?:[A-Za-z0-9+/=]{20,80}+\s?)++)",
            is_random,
        ),
    ]


def _headers() -> list[Kind]:
    return [
        Kind(
            "authorization-header",
            ("authorization",),
            r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:token|apikey|api-key|bot|key|digest)[ =]{1,3}"
            r"([A-Za-z0-9._~+/-]{16,4096}+={0,2})",
            is_random,
            fold=True,
        ),
        Kind(
            "session-cookie",
            ("cookie:",),
            r"[ \t]{0,3}(?:[^=;\s]{1,64}=[^;\s]{0,128}; ){0,8}?[a-z0-9_.-]{0,32}?(?:sess|sid|auth)[a-z0-9_.-]{0,16}="
            r"([^;\s\"']{16,512})",
            is_dense,
            left="",
            fold=True,
            after=True,
        ),
    ]
