"""The rules: each kind of secret.

Every kind has needles: literal strings, one of which occurs in every instance. A text without a needle costs a
substring search and no regular expression. Patterns run only where a needle was found, so they need no left boundary.
They must stay linear: an unbounded run is possessive, and either nothing after it can fail or it cannot start again
inside itself.
"""

from __future__ import annotations

from functools import cache

from holdfast.core.secrets.kind import ALNUM, UUID, VALUE, Kind, is_key_block, is_password, is_random
from holdfast.core.secrets.logins import logins

_URL64 = ALNUM + "-_"
_BASE64 = ALNUM + "-_+/"
_END = r"(?![A-Za-z0-9])"
_END64 = r"(?![A-Za-z0-9_-])"
_IS = r"""["'`\]]{0,2}[ \t]{0,3}(?::=|=>|==?|:|(?<=["']),(?=[ \t]{0,3}["']))[ \t]{0,3}\\?["'`]?"""
_PEM_HEAD = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_BODY = r"(?:[^-]|-(?!----))*+-{5,6}END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_CUT = r"(?:[A-Za-z0-9+/=\s]|\\[nr]){40,}+"  # the end of the block is missing
_PEM = rf"{_PEM_HEAD}(?:{_PEM_BODY}|{_PEM_CUT})"
_NAME_END = r"(?:[_-]?(?:key|value|base|prod|production|dev|live|staging|test|\d)){0,2}"
_DATABASES = (
    "postgres postgresql postgresql+psycopg postgresql+asyncpg mysql mysql+pymysql mariadb mongodb "
    "mongodb+srv redis rediss valkey amqp amqps mssql sqlserver clickhouse cockroachdb oracle neo4j "
    "neo4j+s bolt nats kafka ldap ldaps "
)

_SOURCE_HOSTS = r"""
github-personal-token     ghp_          ghp_[A-Za-z0-9]{36,}+
github-oauth-token        gho_          gho_[A-Za-z0-9]{36,}+
github-user-token         ghu_          ghu_[A-Za-z0-9]{36,}+
github-app-token          ghs_          ghs_[A-Za-z0-9_]{36,}+(?:\.[A-Za-z0-9_-]{10,}+){0,2}
github-refresh-token      ghr_          ghr_[A-Za-z0-9]{36,}+
github-fine-grained-token github_pat_   github_pat_[A-Za-z0-9_]{60,}+
gitlab-personal-token     glpat-        glpat-[A-Za-z0-9_-]{20,}+(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?
gitlab-token gldt-,glrt-,glptt-,glft-,glsoat-,glcbt-,glimt-,glagent-,gloas- gl[a-z]+-[A-Za-z0-9_-]{20,}+
bitbucket-token           ATBB          ATBB[A-Za-z0-9]{28,}+
atlassian-token           ATATT3,ATCTT3 AT[AC]TT3[A-Za-z0-9_=-]{60,}+
npm-token                 npm_          npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])
pypi-token                pypi-AgE      pypi-AgE[A-Za-z0-9_-]{50,}+
rubygems-key              rubygems_     rubygems_[0-9a-f]{48}(?![0-9a-f])
crates-token              cio           cio[A-Za-z0-9]{32}(?![A-Za-z0-9])
nuget-key                 oy2           oy2[a-z0-9]{43}(?![A-Za-z0-9])
clojars-token             CLOJARS_      CLOJARS_[a-z0-9]{60}
docker-token              dckr_pat_,dckr_oat_ dckr_[po]at_[A-Za-z0-9_-]{24,}+
artifactory-key           AKCp          AKCp[A-Za-z0-9]{60,}+
sonar-token               sqp_,squ_,sqa_ sq[pua]_[0-9a-f]{40}(?![0-9a-f])
buildkite-token           bkua_         bkua_[0-9a-f]{40}(?![0-9a-f])
postman-key               PMAK-         PMAK-[0-9a-f]{24}-[0-9a-f]{34}
gitlab-runner-token       GR1348941     GR1348941[A-Za-z0-9_-]{20}(?![A-Za-z0-9_-])
circleci-token            CCIPAT_,CCIPRJ_ CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}
octopus-key               API-          API-[A-Z0-9]{25,27}(?![A-Za-z0-9])
sourcegraph-token         sgp_          sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}(?![0-9a-f])
"""

_CLOUDS = r"""
aws-access-key-id         AKIA,ASIA,ABIA,ACCA (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
google-api-key            AIza          AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])
google-client-secret      GOCSPX-       GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])
google-access-token       ya29.         ya29\.[A-Za-z0-9_-]{20,}+
google-refresh-token      1//0          1//0[A-Za-z0-9_-]{40,}+
azure-storage-key         AccountKey=   AccountKey=([A-Za-z0-9+/]{86}==)
azure-shared-access-key   SharedAccessKey= SharedAccessKey=([A-Za-z0-9+/]{43}=)
azure-sas-signature       sig=          sig=([A-Za-z0-9%/+]{43,100}(?:%3D|%3d|=))
digitalocean-token        dop_v1_,doo_v1_,dor_v1_ do[opr]_v1_[0-9a-f]{64}
heroku-key                HRKU-         HRKU-[A-Za-z0-9_-]{36,}+
alibaba-key-id            LTAI          LTAI[A-Za-z0-9]{17,21}(?![A-Za-z0-9])
tencent-key-id            AKID          AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])
databricks-token          dapi          dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])
vault-token               hvs.,hvb.,hvr. hv[sbr]\.[A-Za-z0-9_-]{24,}+
doppler-token dp. dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b
pulumi-token              pul-          pul-[0-9a-f]{40}(?![0-9a-f])
flyio-token               fo1_,fm1_,fm2_,fm1a_,fm1r_ f(?:o1|m[12][ar]?)_[A-Za-z0-9+/_-]{43,}+={0,2}
netlify-token             nfp_          nfp_[A-Za-z0-9]{36,}+
supabase-key              sbp_,sb_secret_ (?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{30,}+)
planetscale-token         pscale_       pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}+
cloudflare-origin-key     v1.0-         v1\.0-[0-9a-f]{24}-[0-9a-f]{146}
onepassword-token         ops_eyJ       ops_eyJ[A-Za-z0-9+/_-]{200,}+={0,2}
tailscale-key             tskey-        tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,24}(?:-[A-Za-z0-9]{20,}+)?
openshift-token           sha256~       sha256~[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])
dynatrace-token           dt0c01.,dt0s01. dt0[cs]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}
yandex-key                AQVN          AQVN[A-Za-z0-9_-]{34,40}(?![A-Za-z0-9_-])
neon-key                  napi_         napi_[a-z0-9]{60,}+
render-key                rnd_          rnd_[A-Za-z0-9]{28,}+
prefect-key               pnu_,pnb_     pn[ub]_[A-Za-z0-9]{36}(?![A-Za-z0-9])
infracost-key             ico-          ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])
age-key                   AGE-SECRET-KEY-1 AGE-SECRET-KEY-1[A-Z0-9]{58}
"""

_MODELS = r"""
anthropic-key             sk-ant-       sk-ant-[A-Za-z0-9_-]{24,}+
openrouter-key            sk-or-v1-     sk-or-v1-[0-9a-f]{64}
openai-key sk- sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}+|[A-Za-z0-9_-]{32,}+)
huggingface-token         hf_           hf_[A-Za-z0-9]{30,}+
replicate-token           r8_           r8_[A-Za-z0-9]{37,}+
groq-key                  gsk_          gsk_[A-Za-z0-9]{48,}+
perplexity-key            pplx-         pplx-[A-Za-z0-9]{40,}+
xai-key                   xai-          xai-[A-Za-z0-9]{70,}+
langsmith-key             lsv2_         lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}
pinecone-key              pcsk_         pcsk_[A-Za-z0-9_]{50,}+
nvidia-key                nvapi-        nvapi-[A-Za-z0-9_-]{60,}+
cerebras-key              csk-          csk-[a-z0-9]{48}(?![A-Za-z0-9])
e2b-key                   e2b_          e2b_[0-9a-f]{40}(?![0-9a-f])
apify-token               apify_api_    apify_api_[A-Za-z0-9]{36,}+
tavily-key                tvly-         tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}(?![A-Za-z0-9])
"""

_SERVICES = r"""
slack-token               xox           xox(?:[abposr]-|e\.xox[bp]-|e-)[A-Za-z0-9-]{20,}+
slack-app-token           xapp-         xapp-\d-[A-Z0-9]{6,20}-\d{6,20}-[0-9a-f]{32,}+
slack-webhook             hooks.slack.com/ hooks\.slack\.com/[a-z]{5,12}/([A-Za-z0-9/]{40,}+)
discord-webhook           webhooks/     webhooks/(\d{17,20}/[A-Za-z0-9_-]{60,}+)
stripe-key                sk_live_,sk_test_,rk_live_,rk_test_ [sr]k_(?:live|test)_[A-Za-z0-9]{16,}+
stripe-webhook-secret     whsec_        whsec_[A-Za-z0-9+/]{32,}+={0,2}
square-token              sq0atp-,sq0csp- sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}+
shopify-token             shpat_,shpca_,shppa_,shpss_ shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}(?![0-9a-fA-F])
sendgrid-key              SG.           SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}(?![A-Za-z0-9_-])
brevo-key                 xkeysib-      xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}
resend-key                re_           re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9])
twilio-key                SK            SK[0-9a-f]{32}(?![A-Za-z0-9])
linear-key                lin_api_,lin_oauth_ lin_(?:api|oauth)_[A-Za-z0-9]{40,}+
notion-token              ntn_,secret_  (?:ntn_[A-Za-z0-9]{40,}+|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9]))
sentry-token              sntrys_,sntryu_ (?:sntrys_eyJ[A-Za-z0-9+/=_-]{60,}+|sntryu_[0-9a-f]{64})
grafana-token             glc_,glsa_    (?:glc_[A-Za-z0-9+/]{32,}+={0,2}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})
newrelic-key              NRAK-         NRAK-[A-Z0-9]{27}(?![A-Za-z0-9])
airtable-token            pat           pat[A-Za-z0-9]{14}\.[0-9a-f]{64}
hubspot-token             pat-na,pat-eu pat-(?:na|eu)\d-[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}
figma-token               figd_         figd_[A-Za-z0-9_-]{36,}+
dropbox-token             sl.           sl\.(?:u\.)?[A-Za-z0-9_-]{120,}+
contentful-token          CFPAT-        CFPAT-[A-Za-z0-9_-]{40,}+
mapbox-token              sk.eyJ        sk\.eyJ[A-Za-z0-9_-]{40,}+\.[A-Za-z0-9_-]{20,}+
twitter-bearer-token      AAAAAAAAAAAAAAAAAAAAA AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%_-]{70,}+(?![+/=])
facebook-token            EAA           EAA[A-Za-z0-9]{60,}+(?![+/=_-])
firebase-key              APA91b        APA91b[A-Za-z0-9_-]{120,}+
easypost-key              EZAK,EZTK     EZ[AT]K[A-Za-z0-9]{54}(?![A-Za-z0-9])
shippo-token              shippo_       shippo_(?:live|test)_[0-9a-f]{40}
typeform-token            tfp_          tfp_[A-Za-z0-9_.=-]{59,}+
duffel-token              duffel_       duffel_(?:live|test)_[A-Za-z0-9_=-]{43}
flutterwave-key           FLWSECK       FLWSECK(?:_TEST)?-[0-9a-zA-Z]{32}-X
razorpay-key              rzp_live_,rzp_test_ rzp_(?:live|test)_[A-Za-z0-9]{14}(?::[A-Za-z0-9]{20,}+)?
adafruit-key              aio_          aio_[A-Za-z0-9]{28}(?![A-Za-z0-9])
posthog-key               phx_          phx_[A-Za-z0-9]{40,}+
launchdarkly-key          sdk-          sdk-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}
plaid-token               access-       access-(?:production|sandbox)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}
riot-key                  RGAPI-        RGAPI-[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}
readme-key                rdme_         rdme_[a-z0-9]{70}
frameio-token             fio-u-        fio-u-[A-Za-z0-9_=-]{60,}+
extended-private-key      xprv          xprv[A-Za-z0-9]{100,112}(?![A-Za-z0-9])
braintree-token           access_token$ access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}
"""


def _listed(table: str) -> list[Kind]:
    """One line per kind: name, needles joined by commas, pattern."""
    rows = (line.split(None, 2) for line in table.strip().splitlines())
    return [Kind(name, tuple(needles.split(",")), pattern) for name, needles, pattern in rows]


def _without_prefix() -> list[Kind]:
    """Kinds that the table cannot say: no prefix, or a check of their own."""
    return [
        Kind(
            "discord-bot-token",
            ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
            rf"[MNO][A-Za-z0-9_-]{{23,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,38}}{_END64}",
            left=_BASE64,
        ),
        Kind("telegram-bot-token", (":AA",), rf"\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END64}", before=(10, 9, 8)),
        Kind("mailchimp-key", ("-us",), rf"[0-9a-f]{{32}}-us\d{{1,2}}{_END}", before=(32,)),
        Kind("mailgun-key", ("key-",), rf"key-[0-9a-f]{{32}}{_END}", left=_URL64),
        Kind(
            "azure-client-secret",
            ("Q~",),
            rf"[A-Za-z0-9_~.]{{3}}\dQ~[A-Za-z0-9_~.-]{{31,34}}{_END64}",
            before=(4,),
        ),
        Kind("azure-devops-token", ("AZDO",), rf"[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}{_END}", before=(76,)),
        Kind(
            "terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}+", before=(14,)
        ),
        Kind(
            "json-web-token",
            ("eyJ",),
            r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{16,}+",
            left=_URL64,
        ),
        Kind(
            "gcp-service-account-key",
            ('"private_key"',),
            rf'"private_key"\s{{0,4}}:\s{{0,4}}"({_PEM})',
            is_key_block,
        ),
        Kind("private-key", ("-----BEGIN ",), _PEM, is_key_block, left=""),
    ]


def _in_context() -> list[Kind]:
    """Kinds that are known by what stands before the value."""
    return [
        Kind(
            "aws-secret-access-key",
            ("secret_access_key", "secretaccesskey", "secret-access-key", "aws_secret_key", "aws_secret"),
            rf"(?:aws_?)?secret[_-]?(?:access[_-]?)?(?:key)?{_IS}([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])",
            left="",
            fold=True,
        ),
        Kind(
            "datadog-key",
            ("datadog", "dd_api", "dd_app", "dd-api", "dd-app"),
            rf"(?:datadog|dd)[_-]?(?:api|app(?:lication)?)[_-]?key{_IS}([0-9a-f]{{32}}(?:[0-9a-f]{{8}})?){_END}",
            fold=True,
            left="",
        ),
        Kind("heroku-key", ("heroku",), rf"heroku[a-z_-]{{0,20}}{_IS}({UUID}){_END}", fold=True, left=""),
        Kind(
            "basic-auth-header",
            ("basic ",),
            rf"basic +([A-Za-z0-9+/_-]{{16,512}}+={{0,2}}){_END}",
            is_random,
            fold=True,
        ),
        Kind(
            "bearer-token", ("bearer ",), r"bearer +([A-Za-z0-9._~+/-]{20,4096}+={0,2})", is_random, fold=True
        ),
        Kind(
            "database-url-password",
            tuple(f"{scheme}://" for scheme in _DATABASES.split()),
            r"[a-z0-9+]+://[^\s/?#:@\"'<>]{0,128}:([^\s/?#@\"'<>]{1,256})@(?=[A-Za-z0-9\[_.-])",
            is_password,
            fold=True,
        ),
        Kind(
            "url-password",
            ("://",),
            r"://[^\s/?#:@\"'<>]{0,128}:([^\s/?#@\"'<>]{1,256})@(?=[A-Za-z0-9\[_.-])",
            is_password,
            left="",
        ),
        Kind(
            "secret-flag",
            (
                "--password",
                "--passwd",
                "--token",
                "--api-key",
                "--apikey",
                "--secret",
                "--access-token",
                "--auth-token",
                *("--client-secret", "--secret-key", "--passphrase", "--admin-password", "--root-password"),
                *("--db-password", "--http-password", "--proxy-password", "--user-password"),
            ),
            rf"--[a-z-]{{5,24}}+(?:=| +)[\"']?{VALUE}",
            is_random,
            left="",
            fold=True,
        ),
        Kind(
            "named-secret",
            (
                *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential"),
                *(
                    "api_key",
                    "api-key",
                    "apikey",
                    "access_key",
                    "access-key",
                    "accesskey",
                    "private_key",
                    "privatekey",
                ),
                *("auth_key", "authkey", "signing_key", "encryption_key", "account_key", "master_key"),
                *("hmac_key", "fernet_key", "app_key", "presharedkey", "preshared_key", "psk"),
                *("pass", "passwort", "_pw", "-pw"),
            ),
            rf"s?{_NAME_END}{_IS}{VALUE}",
            is_random,
            left="",
            fold=True,
            after=True,
        ),
    ]


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds; of two with the same span the first names it, so the special come before the general."""
    listed = [kind for table in (_SOURCE_HOSTS, _CLOUDS, _MODELS, _SERVICES) for kind in _listed(table)]
    return (*listed, *_without_prefix(), *logins(), *_in_context())
