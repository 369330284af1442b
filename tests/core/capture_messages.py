"""Whole final messages and prompts in which decisions and constraints are stated in passing, with what is to be kept.

``keep`` holds one line of key words for each decision or constraint that a careful reader would want to have kept;
``also`` the open questions and the work in flight that may be proposed as well. Nothing else is worth a record.
"""

from __future__ import annotations

from typing import NamedTuple


class Said(NamedTuple):
    """One text of an agent (``message``) or of a user (``prompt``)."""

    source: str
    text: str
    keep: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def _agent(text: str, *keep: str, also: tuple[str, ...] = ()) -> Said:
    return Said("message", text.strip(), keep, also)


def _user(text: str, *keep: str, also: tuple[str, ...] = ()) -> Said:
    return Said("prompt", text.strip(), keep, also)


MESSAGES = (
    _agent(
        """
I've added rate limiting to the public API. Here's a summary of the changes:

- `src/middleware/limit.ts`: new token bucket middleware
- `src/server.ts`: registers it before the router
- `test/limit.test.ts`: 6 new tests

I went with a token bucket rather than a sliding window because it needs only two fields per client in Redis.
All 142 tests pass. Let me know if you'd like me to tune the burst size!
""",
        "token bucket",
    ),
    _user(
        """
the login page is broken again on safari, see screenshot
pls fix, but dont touch the session table, ops is migrating it this week
""",
        "session table",
    ),
    _agent(
        """
Done. `pytest -q` is green (88 passed, 2 skipped).

The parser now handles nested quotes. I looked at three options: a hand-written lexer, `shlex`, and `pyparsing`.
`shlex` can't do nested quotes and `pyparsing` would be a new dependency, so the hand-written lexer it is.

Next I can look at the error messages if you want.
""",
        "hand-written lexer",
    ),
    _user(
        """
Good morning! Could you have a look at why the nightly export is so slow? It took 50 minutes yesterday.
I suspect the join on orders, but I may be wrong.
One thing: we must stay on Postgres 13 until the end of the quarter, so no features that need a newer version.
Thanks a lot!
""",
        "postgres 13",
    ),
    _agent(
        """
**Summary**

| file | change |
| --- | --- |
| `billing/invoice.py` | amounts are `Decimal` |
| `billing/tax.py` | same |

**Decision:** monetary amounts are stored as integer cents in the database and only converted at the edges.

**Testing**: ran `make test`, 0 failures. Not run: the e2e suite, as it needs Docker.
""",
        "integer cents",
    ),
    _agent(
        """
I read through the auth module. There are two ways to do this:

1. Keep the JWTs and add a revocation list.
2. Move to opaque tokens stored in the database.

Option 1 is less work, option 2 is cleaner. Which one would you prefer?
""",
        also=("which one",),
    ),
    _user(
        """
option 2 please, opaque tokens
and make them expire after 30 days
""",
        "opaque tokens",
        "expire 30 days",
    ),
    _agent(
        """
All set! The tokens are now opaque, 32 random bytes, and only their SHA-256 is stored.
I ran the migration on a copy of the dev database and it took 3 seconds.

```
$ alembic upgrade head
INFO  [alembic.runtime.migration] Running upgrade 41ab -> 9c02, opaque tokens
```

One caveat: old mobile clients still send the JWT, so the legacy endpoint has to stay until version 4.2 is out.
""",
        "sha-256",
        "legacy endpoint",
    ),
    _user(
        """
no no no. I told you already: never commit directly to main!! always open a PR
revert that and do it again on a branch
""",
        "commit main",
        "PR",
    ),
    _agent(
        """
You're right, sorry about that. I reverted commit 3fa9c1 and pushed the work to `fix/header-parse` instead.

The PR is here: #482. CI is running. From now on I'll work on branches only.
""",
        "branches",
    ),
    _agent(
        """
Fixed the flaky test. The cause was a race between the watcher thread and `tmp_path` cleanup: the watcher could
fire after the directory was gone. I now join the thread in the fixture's teardown.

I considered retrying the test, but that would only hide the race.
Ran it 200 times, no failures.
""",
    ),
    _user(
        """
kannst du bitte die CSV-Ausgabe umbauen? Wir nehmen ab jetzt Semikolon als Trenner, Excel beim Kunden kann kein Komma.
Die Tests laufen bei mir gerade nicht, irgendwas mit locale. Schau mal rein.
""",
        "semikolon",
    ),
    _agent(
        """
Implemented the CSV change:

* the separator is `;`, configurable by `--sep`
* the locale problem was `LC_ALL` being unset in the test container

I decided to write a BOM at the start of the file, since Excel otherwise reads umlauts as Latin-1.
Do you want the same for the TSV export?
""",
        "BOM",
        also=("TSV",),
    ),
    _user(
        """
what does this mean?

    warning: you should never call close() twice on the same handle
    error: must be a positive integer

it comes up on every start since your last change
""",
    ),
    _agent(
        """
That warning comes from libusb, not from our code. The docs say: "Applications must not call `libusb_close` from a
transfer callback." Our callback did exactly that.

I moved the close into the main loop. The second line (`must be a positive integer`) was a missing default for
`--retries`; it's now 3.
""",
    ),
    _user(
        """
ok. for the new service lets use go instead of python, the team in Lisbon only knows go
keep the http api exactly as is tho, there are customers on it
dont worry about the admin ui for now
""",
        "go python",
        "http api",
        "admin ui",
    ),
    _agent(
        """
### What I did
- Scaffolded `cmd/ingestd` with `net/http` and `chi`
- Ported the three handlers, byte-for-byte identical responses (checked against recorded fixtures)

### Notes
- We'll use `sqlc` for the queries; GORM was too slow in my benchmark (4x on the insert path).
- The Python service stays deployed until the Go one has run in staging for a week.

### Next steps
- [ ] write the Dockerfile
- [ ] wire up metrics
""",
        "sqlc",
        "python service stays",
        also=("dockerfile", "metrics"),
    ),
    _user(
        """
can we just use sqlite for this? or would that be dumb
idk, what do you think
""",
        also=("sqlite",),
    ),
    _agent(
        """
SQLite would be fine for a single process. With several workers writing at once you would have to queue the writes, and
if you ever move to more than one host you'd need to migrate.

If I had to choose, I'd lean towards Postgres, but it's your call.
""",
    ),
    _user(
        """
fine, postgres then.
also add a healthcheck endpoint, /healthz or so
""",
        "postgres",
    ),
    _agent(
        """
Added `/healthz`. It returns 200 with `{"ok": true}` and checks the database with `SELECT 1`.

Note that the endpoint must not require authentication, because the load balancer calls it without headers.

Tests: 31 passed.
""",
        "endpoint authentication",
    ),
    _agent(
        """
Build failed, here is the output:

```
error[E0502]: cannot borrow `self.cache` as mutable because it is also borrowed as immutable
  --> src/cache.rs:88:13
note: we decided to use the 2021 edition for this crate
```

I'm going to look at `cache.rs` now and will report back.
""",
        also=("cache.rs",),
    ),
    _agent(
        """
Found it. `get_or_insert` held a reference across the insert. I split it into a lookup and an insert, which
costs a second
hash, about 20 ns by the bench.

We settled on interior mutability via `RefCell` for the cache, since the public API must stay `&self`.
`cargo test` passes; `cargo clippy` has one old warning in `main.rs` that I left alone.
""",
        "refcell",
    ),
    _user(
        """
looks good!! two more things
1. error messages must be in english AND german, legal insists
2. can you bump the version to 1.4.2
""",
        "english german",
    ),
    _user(
        """
I'd like you to review my PR #77. Please be thorough but kind, it's the new hire's first.
Focus on the concurrency parts, ignore the formatting, black does that.
""",
    ),
    _agent(
        """
I reviewed PR #77. Overall it's solid! A few points:

1. `Pool.acquire` can deadlock if `size == 0`. You could raise in the constructor.
2. `_drain` should probably use a monotonic clock.
3. Nit: the name `doit2`.

None of these blocks a merge except the first.
""",
    ),
    _user(
        """
Let's go with the monotonic clock everywhere, wall clock has bitten us twice.
And we agreed in the standup that the minimum python is 3.11 from now on, so drop the tomli shim.
""",
        "monotonic clock",
        "3.11",
    ),
    _agent(
        """
Done:
- replaced 14 uses of `time.time()` by `time.monotonic()`
- removed the tomli shim, `requires-python = ">=3.11"`

Two uses of `time.time()` remain in `audit.py` on purpose: audit records need wall-clock timestamps for the regulator.
""",
        "audit wall-clock",
    ),
    _user(
        """
hey, why is the bundle 4 MB? yesterday it was 900k
did you add moment.js or sth?
""",
    ),
    _agent(
        """
Good catch. It was the icon set: `import * as Icons` pulled in all 3,000 icons. With named imports the bundle
is back to 912 kB.

I did not add moment.js. To keep this from coming back I've set a budget of 1 MB in CI; the build fails above it.
""",
        "budget 1 MB",
    ),
    _user(
        """
Bitte keine neuen Abhängigkeiten mehr ohne Rücksprache. Das ist jetzt das dritte Mal.
Mach den Rest fertig und sag Bescheid.
""",
        "abhängigkeiten",
    ),
    _agent(
        """
Verstanden. Ich habe `left-pad` wieder entfernt und die Funktion selbst geschrieben (4 Zeilen).
Die Tests laufen durch.

Ich habe mich für Vitest statt Jest entschieden, weil das Projekt ohnehin Vite nutzt.
Soll ich die alten Snapshots löschen?
""",
        "vitest",
        also=("snapshots",),
    ),
    _agent(
        """
I tried to reproduce the crash with 10, 100 and 1,000 connections. It only happens at 1,000, when the fd limit is hit.

What I don't know yet is whether production runs with the same limit. Could you check `ulimit -n` on one of the hosts?
""",
        also=("production limit", "ulimit"),
    ),
    _user(
        """
its 1024 on all hosts and we cant change it, its a managed platform
so the pool has to stay below 900
""",
        "1024",
        "pool 900",
    ),
    _agent(
        """
Thanks, that explains it. I capped the pool at 850 and added a queue with a 5 s timeout in front of it.

After that callers get a 503 with `Retry-After: 1`. I chose 503 over 429 because the client isn't at fault.
Load test at 2,000 connections: no crash, p99 5.1 s.
""",
        "850",
        "503",
    ),
    _user(
        """
super, danke!
noch eins: Logs dürfen keine Mailadressen enthalten (DSGVO). bitte prüfen
""",
        "logs mailadressen",
    ),
    _agent(
        """
I checked all 212 log calls. Nine of them printed an address; they now log the user id.

I also added a filter that masks anything that looks like an address, as a safety net. It costs ~2 µs per line.
Should it be on in development, too?
""",
        also=("development",),
    ),
    _user(
        """
Refactor the settings page to hooks. Here's the current component:

```jsx
// we decided to keep this a class because of getSnapshotBeforeUpdate
class Settings extends React.Component {
  // never call setState here
}
```

Use the same prop names so that the storybook keeps working.
""",
        "prop names",
    ),
    _agent(
        """
Refactored `Settings` to a function component. Props are unchanged; all 12 stories render.

`getSnapshotBeforeUpdate` has no hook equivalent, so I used `useLayoutEffect` with a ref, which gives the same
behaviour for
the scroll position.

I also noticed `Profile.jsx` is still a class. I left it alone as you only asked for Settings.
""",
        "uselayouteffect",
    ),
    _user(
        """
ugh the deploy failed again
whats going on, can you look at the logs and tell me, DONT change anything yet
""",
        "change anything",
    ),
    _agent(
        """
I only looked, nothing is changed. The deploy job fails at `helm upgrade`:

    Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress

A previous run was cancelled mid-way and left the release in `pending-upgrade`. You could roll back to revision 41 with
`helm rollback web 41`, or delete the pending secret. The rollback is safer.
""",
    ),
    _user(
        """
ok do the rollback
from now on deploys only run from the release branch, add that as a check to the workflow
""",
        "deploys release branch",
    ),
    _agent(
        """
Rolled back to revision 41, pods are healthy.

`.github/workflows/deploy.yml` now has `if: github.ref == 'refs/heads/release'`. I've also set `concurrency:
deploy` with
`cancel-in-progress: false`, so a deploy is never cancelled half-way.

Please note the `release` branch doesn't exist yet, somebody with admin rights has to create it.
""",
        "deploy cancelled",
        also=("release branch",),
    ),
    _agent(
        """
• Updated `parse_duration` to accept `1h30m`.
• Kept the old `90m` form working.
• Added docs.

Tests: `go test ./...` ok
""",
    ),
    _user(
        """
Quick question before you start: what's the difference between a mutex and a semaphore here?
And would we ever need the latter?
""",
    ),
    _agent(
        """
A mutex lets one goroutine in, a semaphore lets n in. Here only one writer may hold the file at a time, so a
mutex is enough.
You'd need a semaphore if, say, you wanted at most 4 parallel uploads.

Let me know when I should start.
""",
        "one writer file",
    ),
    _user(
        """
start pls. max 4 parallel uploads is actually a good idea, do that
and uploads over 2 GB should be rejected, the proxy cuts them anyway
""",
        "4 parallel uploads",
        "2 GB",
    ),
    _agent(
        """
Implemented, with `golang.org/x/sync/semaphore` (limit 4). Files above 2 GB are refused with 413 before the
first byte is read.

I first tried a worker pool with channels but dropped it: cancellation got complicated.

Remaining: the progress bar still counts refused files. I'll fix that next.
""",
        "semaphore",
        also=("progress bar",),
    ),
    _user(
        """
haha yes let's rewrite it all in COBOL then :D
no seriously, leave it in Java. we are not doing another rewrite this year
""",
        "java",
        "rewrite year",
    ),
    _agent(
        """
Ha, noted, no COBOL. Java it stays.

I upgraded Gradle to 8.5 and fixed the three deprecation warnings. The build takes 41 s now instead of 58 s.
We're standardizing on the Gradle version catalog for dependency versions, so please don't put versions into
`build.gradle` files.
""",
        "version catalog",
        "versions build.gradle",
    ),
    _user(
        """
Hello, I am new to this project. Could you please explain to me how the event bus works, and where I would add
a new event?
I have read the README, but it only says "events must be registered before use".
""",
    ),
    _agent(
        """
Welcome! The event bus is a simple in-process dispatcher:

1. Events are dataclasses in `events/`.
2. Handlers are functions decorated with `@on(EventType)`.
3. `bus.publish(event)` calls the handlers in the order in which they were registered.

To add one, create a dataclass, import it in `events/__init__.py`, and publish it. You don't need to register
anything else.
""",
    ),
    _user(
        """
We had a long discussion with the architects about the event bus. Result: we replace it with NATS, JetStream enabled.
Kafka is off the table because of the licence costs at our provider.
Handlers have to be idempotent since JetStream may deliver twice.
Please write a migration plan, no code yet.
""",
        "NATS",
        "kafka",
        "idempotent",
    ),
    _agent(
        """
## Migration plan

1. Introduce a `Transport` interface with the current bus as its only implementation
2. Add the NATS implementation behind the flag `EVENTS_TRANSPORT`
3. Run both in staging for a week and compare
4. Switch production, remove the old bus

**Assumptions:** a single JetStream cluster with three nodes; messages under 1 MB.

Open question: who owns the NATS cluster, platform or us?
""",
        "EVENTS_TRANSPORT",
        also=("owns", "staging", "assum"),
    ),
    _user(
        """
platform owns it.
Step 3: two weeks not one. otherwise plan approved, go ahead with step 1
""",
        "platform owns",
        "two weeks",
    ),
    _agent(
        """
Step 1 is done: `Transport` is a `Protocol` with `publish` and `subscribe`, and `InProcessTransport` wraps the old bus.

I opted for a Protocol over an abstract base class so that tests can pass plain objects.
No behaviour has changed; 340 tests pass. I'll start with step 2 when you give the go.
""",
        "protocol",
        also=("step 2",),
    ),
    _agent(
        """
The tests fail and I don't think that my change is the cause. On a clean checkout of `main` I get the same 3 failures:

- test_tz_berlin
- test_tz_utc
- test_tz_dst

They started with tzdata 2025b. We could pin tzdata, or fix the assertion. I haven't done either.
""",
    ),
    _user(
        """
pin it, tzdata==2025a for now
btw who wrote that test lol
""",
        "tzdata==2025a",
    ),
    _agent(
        """
Pinned `tzdata==2025a` in `requirements.in` and recompiled. All green.

`git blame` says it was you, in 2022 :)
""",
        "tzdata==2025a",
    ),
    _user(
        """
touché.
Please make sure that all timestamps we return are UTC with a trailing Z, the app team relies on that.
If you're unsure about an endpoint, ask me rather than guess.
""",
        "timestamps UTC",
        "unsure ask",
    ),
    _agent(
        """
All 23 endpoints return UTC with `Z` now. Two returned local time before: `/v1/shifts` and `/v1/holidays`.

I wasn't sure about `/v1/holidays`: a holiday is a date, not an instant. For now it returns a plain date (`2025-12-25`).
Is that OK for the app team?
""",
        "holidays date",
        also=("app team",),
    ),
    _user(
        """
yes plain date is right
Next: the search. i want fuzzy search but without elastic, we have no budget for another server. pg_trgm should do
""",
        "plain date",
        "without elastic",
        "pg_trgm",
    ),
    _agent(
        """
Fuzzy search is in. I'm using `pg_trgm` with a GIN index and a similarity threshold of 0.35.

I tuned the threshold on the 50 sample queries in `docs/search.md`: 0.3 gave too many false hits, 0.4 lost
typos with two
wrong letters. Queries take 12 ms on the staging data (1.2 M rows).

The index has to be created `CONCURRENTLY` in production, otherwise it locks the table for about 40 s.
""",
        "GIN",
        "concurrently",
    ),
    _user(
        """
I don't want you to run anything against production. Ever. I'll do that by hand.
Give me the sql and I'm fine
""",
        "production",
    ),
    _agent(
        """
Understood. Here is the SQL for you to run:

```sql
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX CONCURRENTLY idx_items_name_trgm ON items USING gin (name gin_trgm_ops);
```

`CREATE INDEX CONCURRENTLY` cannot run inside a transaction, so don't paste it into a migration.
""",
        "transaction",
    ),
    _user(
        """
perfect
could you also update the changelog? and then lets call it a day
""",
    ),
    _agent(
        """
Changelog updated. Today's work in short:

- opaque search → fuzzy search with `pg_trgm`
- UTC everywhere

Have a nice evening! Tomorrow I'd start with the pagination bug.
""",
        also=("pagination",),
    ),
    _user(
        """
WHY did you rename the columns?? the BI team reads that table directly. column names in `facts_*` are frozen,
put them back
i also want every schema change announced to me BEFORE you do it
""",
        "column names frozen",
        "schema change",
    ),
    _agent(
        """
I'm sorry, that was my mistake. The names are back as they were (migration 0042 reverses 0041).

I'll treat `facts_*` as a public interface: no renames, no type changes, only new nullable columns.
Nothing else depended on the new names.
""",
        "facts_",
    ),
    _agent(
        """
Implemented retry with exponential backoff in `client.py`.

Key points:
- **Retries only on 502/503/504 and connection errors.** POSTs are never retried, as the server has no idempotency keys.
- Base delay 200 ms, factor 2, max 5 attempts
- Jitter is full jitter (AWS style)

```python
def backoff(n): return random.uniform(0, 0.2 * 2 ** n)
```

12 new tests, all pass.
""",
        "posts retried",
        "502",
    ),
    _user(
        """
Kurze Frage: warum wird POST nicht wiederholt?
Ach so, steht da. Gut, dann bleibt das so. Timeout bitte auf 10 Sekunden begrenzen, mehr macht der Kunde nicht mit.
""",
        "timeout 10 sekunden",
    ),
    _agent(
        """
I've looked into the memory growth. Heap profiles at 1 h and 6 h show that `SessionCache` never evicts.

Possible fixes:
- a TTL of 30 minutes (simple)
- an LRU with 10k entries (bounded, slightly more code)
- weak references (would break `session.resume`)

My recommendation is the LRU. I haven't implemented anything yet, waiting for your decision.
""",
        also=("lru", "decision"),
    ),
    _user(
        """
LRU sounds right, but 50k entries pls, we have big tenants. make it configurable
no globals!
""",
        "LRU 50k",
        "configurable",
        "globals",
    ),
    _agent(
        """
`SessionCache` is now an LRU, 50,000 entries by default, set by `SESSION_CACHE_SIZE`. It's passed into `App`
rather than being a
module-level object.

Instead of pulling in `cachetools` I wrote it on top of `OrderedDict` — it's 25 lines and we avoid a
dependency in the hot path.
After 2 h of load the RSS is flat at 410 MB.
""",
        "ordereddict",
        also=("lru",),
    ),
    _user(
        """
Can you draft a commit message for this? Something like "we will use X because Y" but less boring.
Don't commit, I want to read it first.
""",
    ),
    _agent(
        """
Here's a draft:

> cache: bound the session cache
>
> It grew without limit, because nothing evicted sessions. We use an LRU with 50,000 entries now.

Shall I shorten it?
""",
        also=("lru",),
    ),
    _agent(
        """
Everything's merged and the release is tagged `v2.3.0`. What's in it:

- faster cold start (1.9 s → 0.7 s)
- two bug fixes

Per your instruction I did not touch the vendored `third_party/` directory. We're dropping support for Windows
7 with this release,
as Node 20 no longer runs there. The release notes mention it.
""",
        "third_party",
        "windows 7",
    ),
    _user(
        """
if we had more time i would say lets do kubernetes, but we dont
so docker compose on the one box it is. backups go to the hetzner storage box, nightly, encrypted
""",
        "docker compose",
        "backups",
    ),
    _agent(
        """
Set up:

- `compose.yaml` with app, db, caddy
- `backup.sh`: `pg_dump | age | rclone`, run by a systemd timer at 03:00

I picked `age` over GPG for the encryption: one key file, no keyring. The private key is NOT on the box, you
have to store it safely;
without it the backups are worthless.

I tested a restore into a fresh container; it took 4 minutes.
""",
        "age GPG",
        also=("key",),
    ),
)
