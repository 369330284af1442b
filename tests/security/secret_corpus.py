"""Fake secrets as developers paste them: settings, command lines, files of other programs, tokens of services.

Each line is a name and a template: see ``drawn``.
"""

from __future__ import annotations

import random

from secret_samples import drawn

KINDS = r"""
env-db-pass              DB_PA~SS={p16}
env-db-pass-quoted       export DB_PA~SS="{p16}"
env-smtp-pass            SMTP_PA~SS={p14}
env-redis-pass           REDIS_PA~SS='{p18}'
env-db-pwd               DB_PW~D={p16}
env-admin-pw             ADMIN_P~W={p16}
env-ldap-bind-pw         ldap_bind_p~w: {p16}
env-pgpassword           PGPASS~WORD={p16} psql -h db.internal
env-mysql-pwd            MYSQL_PW~D={p16} mysqldump shop
env-password             DB_PASS~WORD={p16}
env-jwt-secret           JWT_SEC~RET={a40}
env-session-secret       SESSION_SEC~RET={h64}
env-secret-key-base      SECRET_KEY_B~ASE={h128}
env-rails-master-key     RAILS_MASTER_K~EY={h32}
env-encryption-key       ENCRYPTION_K~EY={h64}
env-app-key-laravel      APP_K~EY=base64:{b43}=
env-fernet               FERNET_K~EY={u43}=
env-hmac                 HMAC_K~EY={h64}
env-cookie-secret        COOKIE_SEC~RET={a32}
env-webhook-secret       GITHUB_WEBHOOK_SEC~RET={h40}
env-api-key              WEATHER_API_K~EY={h32}
env-wandb                WANDB_API_K~EY={h40}
env-access-token         FB_ACCESS_TOK~EN={a60}
env-auth-token           SENTRY_AUTH_TOK~EN={h64}
env-docker-password      DOCKER_PASS~WORD={p16}
env-powershell           $env:DB_PA~SS = "{p16}"
env-setx                 setx API_TOK~EN {a32}
env-fish                 set -gx API_TOK~EN {a32}
env-fish-pass            set -x DB_PA~SS {p16}
env-dockerfile           ENV DB_PASS~WORD {p16}
env-dockerfile-arg       ARG NPM_TOK~EN={a36}
env-csh                  setenv DB_PASS~WORD {p16}
code-python              conn = connect(user="app", pass~word="{p16}")
code-python-passwd       MySQLdb.connect(host="db", user="app", pass~wd="{p16}")
code-js                  const api~Key = "{a32}";
code-js-object           {{ user: "app", pa~ss: "{p16}" }}
code-php-define          define('DB_PASS~WORD', '{p16}');
code-php-array           'pass~word' => '{p16}',
code-ruby                pass~word: "{p16}"
code-java                props.setProperty("pass~word", "{p16}");
code-go                  Pass~word: "{p16}",
code-call                client.login("app", pass~word='{p16}')
yaml-password            pass~word: {p16}
yaml-german              pass~wort: {p16}
yaml-ansible             ansible_ssh_pa~ss: {p16}
yaml-become              ansible_become_pass~word: {p16}
yaml-k8s-secret          stringData:\n  pass~word: {p16}
toml-pypirc              [pypi]\nusername = joe\npass~word = {p16}
ini-mycnf                [client]\nuser=root\npass~word={p16}
ini-rclone               [backup]\ntype = sftp\npa~ss = {u24}
ini-s3cfg                secret_k~ey = {b40}
ini-redis-conf           require~pass {p20}
ini-redis-master         master~auth {p20}
properties-spring        spring.datasource.pass~word={p16}
xml-maven                <server><username>ci</username><pass~word>{p16}</pass~word></server>
xml-attribute            <user name="app" pass~word="{p16}"/>
dsn-dotnet               Server=db;User Id=app;Pass~word={p16};
dsn-dotnet-pwd           Server=db;Uid=app;Pw~d={p16};
dsn-jdbc                 jdbc:postgresql://db/shop?user=app&pass~word={a18}
dsn-libpq                host=db user=app pass~word={p16} dbname=shop
dsn-postgres             postgres://app:{a18}@db.internal/shop
dsn-mongo                mongodb+srv://app:{a18}@cluster0.internal/shop
dsn-redis                redis://:{a18}@cache.internal:6379/0
dsn-amqp                 amqps://app:{a18}@mq.internal/vhost
dsn-sqlalchemy           postgresql+asyncpg://app:{a18}@db.internal/shop
dsn-ldap                 ldap://cn=app:{a18}@dir.internal
dsn-ftp                  ftp://joe:{a14}@files.internal/x
url-git                  git clone https://joe:{a24}@git.internal/x.git
url-git-oauth            https://oauth2:{a24}@git.internal/x.git
url-basic                http://admin:{a14}@10.0.0.7:8080/
url-query-token          https://api.internal/v1/x?access_tok~en={a32}
url-query-key            https://api.internal/v1/x?api_k~ey={a32}&q=1
url-otp                  otp~auth://totp/shop:joe?sec~ret={U32}&issuer=shop
cmd-curl-u               cur~l -u joe:{p14} https://api.internal
cmd-curl-u-joined        cur~l -sSfu 'joe:{p14}' https://api.internal
cmd-curl-user            cur~l -X POST --user joe:{a16} https://api.internal
cmd-curl-user-is         cur~l --user=joe:{a16} https://api.internal
cmd-curl-proxy           cur~l --proxy-user joe:{a16} https://api.internal
cmd-curl-header          cur~l -H "X-Api-K~ey: {a32}" https://api.internal
cmd-curl-private         cur~l --header "PRIVATE-TOK~EN: {a24}" https://git.internal
cmd-wget                 wget --user=joe --pass~word={a16} https://files.internal/x
cmd-wget-http            wget --http-pass~word={a16} https://files.internal/x
cmd-httpie               http -a joe:{a16} PUT api.internal/x
cmd-mysql                mys~ql -u root -p{a16} shop
cmd-mysqldump            mysql~dump -h db -uroot -p'{p16}' shop
cmd-mysql-long           mys~ql --user=root --pass~word={a16} shop
cmd-mongosh              mongo~sh -u app -p {a16} mongodb.internal/shop
cmd-redis-cli            redis~-cli -h cache -a {a20} ping
cmd-sshpass              ssh~pass -p '{p14}' ssh root@host
cmd-sshpass-joined       ssh~pass -p{a14} ssh root@host
cmd-docker-login         docker lo~gin -u joe -p {a20} registry.internal
cmd-podman-login         podman lo~gin --username joe --pass~word {a20} registry.internal
cmd-helm-login           helm registry lo~gin -u joe -p {a20} registry.internal
cmd-az-login             az lo~gin --service-principal -u app -p {a34} --tenant x
cmd-aws-configure        aws configure set aws_sec~ret_access_key {b40}
cmd-kubectl-literal      kubectl create secret generic db --from-literal=pass~word={a16}
cmd-vault-put            vault kv put kv/db pass~word={a16}
cmd-openssl-pass         openssl rsa -passin pa~ss:{a16} -in k.pem
cmd-openssl-passout      openssl pkcs12 -passout pa~ss:{a16} -out k.p12
cmd-gpg                  gpg --batch --pass~phrase {a16} -c x
cmd-keytool              keytool -store~pass {a14} -keystore k.jks
cmd-ldapsearch           ldap~search -x -D cn=admin -w {a14} -b dc=x
cmd-smbclient            smb~client -U joe%{a14} //files/x
cmd-lftp                 lf~tp -u joe,{a14} sftp://files.internal
cmd-sqlcmd               sql~cmd -S db -U sa -P {a16} -Q "select 1"
cmd-htpasswd             ht~passwd -b .users joe {a14}
cmd-chpasswd             echo 'root:{a14}' | ch~passwd
cmd-sudo                 echo {a14} | su~do -S apt update
cmd-gh-token             GH_TOK~EN={a40} gh pr list
cmd-token-flag           deploy --tok~en {a32}
cmd-api-key-flag         tool --api-k~ey={a32}
cmd-secret-flag          tool --client-sec~ret {a32}
cmd-password-flag        tool --admin-pass~word {a16}
file-netrc               mach~ine git.internal login joe pass~word {p14}
file-netrc-lines         mach~ine git.internal\n  login joe\n  pass~word {p14}\n
file-netrc-default       default login joe pass~word {p14}
file-pgpass              db.internal:54~32:shop:app:{a16}
file-kubeconfig-key      users:\n- name: joe\n  user:\n    client-key-~data: {b400}==
file-kubeconfig-token    users:\n- name: joe\n  user:\n    tok~en: {a64}
file-kubeconfig-password users:\n- name: joe\n  user:\n    pass~word: {p16}
file-docker-auth         {{"auths": {{"registry.internal": {{"au~th": "{b40}"}}}}}}
file-npmrc-token         //npm.internal/:_authTok~en={a36}
file-npmrc-auth          _au~th={b40}
file-npmrc-password      //npm.internal/:_pass~word={b32}
file-htpasswd-apr1       joe:$ap~r1${a8}${a22}
file-htpasswd-bcrypt     joe:$2~y$10${a53}
file-shadow-sha512       root:$6~$rounds=5000${a16}${a86}:19000:0:99999:7:::
file-shadow-yescrypt     root:$y~$j9T${a22}${a43}:19000::::::
file-argon2              $arg~on2id$v=19$m=65536,t=3,p=4${b22}${b43}
file-django-hash         pbkdf2_sha~256$600000${a22}${b43}=
file-scrypt              $scr~ypt$ln=17,r=8,p=1${b22}${b43}
file-wireguard           [Interface]\nPrivateK~ey = {b43}=
file-wireguard-psk       PresharedK~ey = {b43}=
file-wpa                 network={{\n ssid="home"\n ps~k="{a20}"\n}}
file-jwk                 {{"kty":"EC","crv":"P-256","d":"{u43}","x":"abc"}}
file-jwk-oct             {{"kty":"oct","k":"{u43}"}}
file-putty               PuTTY-User-Key-~File-3: ssh-ed25519\nPrivate-Lines: 1\n{b60}\n
file-terraform           db_pass~word = "{p16}"
file-tfstate             "sensitive_attributes": [], "pass~word": "{p16}"
file-gradle              signing.pass~word={p14}
file-vnc                 vnc_pass~wd={p12}
header-basic             Author~ization: Basic {b40}
header-bearer            Author~ization: Bearer {a40}
header-token             Author~ization: token {h40}
header-apikey            Author~ization: ApiKey {b60}
header-bot               Author~ization: Bot {a60}
header-x-api-key         x-api-k~ey: {a40}
header-x-auth-token      X-Auth-Tok~en: {a40}
header-cookie            Coo~kie: sessionid={l32}; theme=dark
header-set-cookie        Set-Coo~kie: JSESSIONID={h32}; Path=/
header-php-session       Coo~kie: PHPSESSID={l26}
key-ethereum             PRIVATE_K~EY=0x{h64}
key-xprv                 xp~rv9s21ZrQH143K{a98}
token-twitter            AAAAAAAAAAAAAAAAAAA~AA{u80}
token-facebook           EAA~CEdEose0cBA{a60}
token-tailscale          tskey-~auth-{a12}CNTRL-{a32}
token-nvidia             nv~api-{u64}
token-circleci           CCI~PAT_{a22}_{h40}
token-dynatrace          dt0~c01.{U24}.{U64}
token-openshift          sha256~~{u43}
token-easypost           EZ~AK{a54}
token-shippo             shi~ppo_live_{h40}
token-typeform           tf~p_{u59}
token-duffel             duf~fel_live_{u43}
token-flutterwave        FLW~SECK-{h32}-X
token-razorpay           rzp_~live_{a14}:{!a24}
token-prefect            pn~u_{a36}
token-adafruit           ai~o_{a28}
token-posthog            ph~x_{a43}
token-cerebras           cs~k-{l48}
token-e2b                e2~b_{h40}
token-apify              ap~ify_api_{a36}
token-firebase           AAAA{u7}:APA~91b{!u134}
token-gitlab-runner      GR13~48941{u20}
token-launchdarkly       sdk-~{uuid}
token-plaid              access-~production-{uuid}
token-yandex             AQ~VN{u36}
token-sourcehut          tok~en: {u40}
token-neon               nap~i_{l64}
token-render             rn~d_{a32}
token-readme             rd~me_{l70}
token-infracost          ic~o-{a32}
token-octopus            AP~I-{U26}
token-frameio            fi~o-u-{u64}
token-riot               RG~API-{uuid}
"""


def corpus(each: int = 1) -> list[tuple[str, str, str]]:
    """Name, text and secret."""
    rng = random.Random("corpus")
    rows = [line.split(None, 1) for line in KINDS.strip().splitlines()]
    return [(name, *drawn(template, rng)) for name, template in rows for _ in range(each)]
