"""Days of people who work on services and libraries."""

from __future__ import annotations

from ..engine import DECIDES, Day, Stage, ask


def _imports(stage: Stage) -> None:
    """Claude Code. A greeting first, then two unrelated pieces of work; the second one is in the middle of it."""
    agent = stage.agent("claude").starts()
    agent.asked("good morning! coffee is ready, shall we?")
    agent.says("Good morning! Ready when you are. What are we working on today?")
    agent.asked(
        "Customers report that the CSV import drops the first column when the file comes from Excel. "
        "Find out why and fix it. Do not touch the public signature of read_rows, two partners call it."
    )
    agent.runs(
        "pytest tests/test_rows.py -q",
        "F.                                                                       [100%]\n"
        "=================================== FAILURES ===================================\n"
        "______________________________ test_excel_export _______________________________\n\n"
        "    def test_excel_export():\n"
        '        rows = read_rows(fixture("excel.csv"))\n'
        '>       assert rows[0]["id"] == "17"\n'
        "E       KeyError: 'id'\n\n"
        "tests/test_rows.py:31: KeyError\n"
        "=========================== short test summary info ============================\n"
        "FAILED tests/test_rows.py::test_excel_export - KeyError: 'id'\n"
        "1 failed, 1 passed in 0.21s",
        1,
    )
    agent.decides("Decode CSV input as utf-8-sig", "Excel writes a byte order mark before the first header")
    agent.edits("src/importer/rows.py", "tests/test_rows.py")
    agent.runs("pytest tests/test_rows.py -q", "..   [100%]\n2 passed in 0.19s")
    agent.commits("Importer: accept a byte order mark")
    agent.says(
        "Fixed. Excel puts a byte order mark in front of the first header, so the key was '\\ufeffid'.\n\n"
        "I decided to decode CSV input as utf-8-sig, because Excel writes a byte order mark and plain UTF-8 files are "
        "read the same way.\n\nThe signature of read_rows is unchanged, and both tests pass."
    )
    agent.asked(
        "Great. Next: uploads over 50 MB time out at the proxy. Stream them to the object store in parts instead of "
        "buffering. Keep the endpoint's URL, and it must stay usable without the store in tests."
    )
    agent.edits("src/uploads/stream.py", "src/uploads/store.py", "src/uploads/api.py")
    agent.decides(
        "Parts of 8 MB, four in flight", "the store refuses parts under 5 MB and the workers have 64 MB each"
    )
    agent.says(
        "The endpoint now streams. I went with parts of 8 MB and four in flight, because the store refuses parts under "
        "5 MB and our workers have 64 MB each.\n\nFor tests there is an in-memory store behind the same interface.\n\n"
        "Still open: the retry of a failed part, and the abort of an upload that the client gives up."
    )
    agent.asked(
        "Add the retry of a failed part: three attempts, exponential backoff, and log the part number."
    )
    agent.edits("src/uploads/retry.py", "src/uploads/stream.py")
    agent.runs(
        "pytest tests/uploads -q",
        "...F\n"
        "    def test_gives_up_after_three():\n"
        "        store.fail_next(3)\n"
        "        with pytest.raises(UploadFailed):\n"
        ">           send(store, part=2)\n"
        "E           Failed: DID NOT RAISE <class 'uploads.retry.UploadFailed'>\n\n"
        "tests/uploads/test_retry.py:44: Failed\n"
        "1 failed, 3 passed in 0.80s",
        1,
    )


IMPORTS = Day(
    "a greeting, then two bugs",
    _imports,
    (
        ask("request in flight", "retry of a failed part: three attempts"),
        ask("goal", "Stream them to the object store in parts"),
        ask("last words", "abort of an upload that the client gives up"),
        ask("files", "src/uploads/retry.py", "src/uploads/stream.py"),
        ask("failing command", "pytest tests/uploads -q", "DID NOT RAISE"),
        ask("decision about encoding", "utf-8-sig"),
        ask("decision about parts", "8 MB"),
        ask("constraint: signature", "read_rows, two partners call it"),
        ask("constraint: tests", "usable without the store in tests"),
        ask("commit", "Importer: accept a byte order mark"),
    ),
)


def _ledger(stage: Stage) -> None:
    """Claude Code, every hook a process. The host is killed while it copies a table; a prompt is on its way."""
    agent = stage.agent("claude").starts()
    agent.asked(
        "We need to split the ledger table into entries and accounts. Plan it, then do it on the staging database. "
        "Never run anything against production from here."
    )
    agent.plans(
        ("Write the migration", "in_progress"),
        ("Copy on staging", "pending"),
        ("Compare row counts", "pending"),
        ("Drop the old column", "pending"),
    )
    agent.edits("db/migrations/0042_split_ledger.sql", "db/copy_ledger.py")
    agent.decides(
        "Keep amounts as integer cents in entries", "floats lost a cent in the March reconciliation"
    )
    agent.says(
        "The migration is written. Amounts stay integer cents in the new entries table: floats lost a cent "
        "in the March "
        "reconciliation, so I decided to keep integer cents everywhere.\n\nNext I copy the rows on staging in batches "
        "of 10,000."
    )
    agent.asked("Good, run the copy on staging.")
    agent.plans(
        ("Write the migration", "completed"),
        ("Copy on staging", "in_progress"),
        ("Compare row counts", "pending"),
        ("Drop the old column", "pending"),
    )
    agent.decides(
        "Copy the ledger on staging in batches of 10,000",
        "one transaction would lock the table for an hour",
        action="python db/copy_ledger.py --database staging",
    )
    agent.runs(
        "python db/copy_ledger.py --database staging --dry-run",
        "connecting to staging\nbatch 1: 10000 rows\nbatch 2: 10000 rows\n"
        "Traceback (most recent call last):\n"
        '  File "db/copy_ledger.py", line 61, in copy\n    account = accounts[row.account]\n'
        "KeyError: 'ACC-20911 (closed)'\n",
        1,
    )
    agent.dies("what is taking so long? is the copy through?")


LEDGER = Day(
    "a migration, killed half-way",
    _ledger,
    (
        ask("request", "run the copy on staging"),
        ask("goal", "split the ledger table into entries and accounts"),
        ask("last words", "copy the rows on staging in batches"),
        ask("files", "db/copy_ledger.py", "db/migrations/0042_split_ledger.sql"),
        ask("failing command", "copy_ledger.py --database staging --dry-run", "ACC-20911 (closed)"),
        ask("decision", "integer cents"),
        ask("constraint", "Never run anything against production"),
        ask("what is left", "Compare row counts", "Drop the old column"),
        ask("unsettled action", "python db/copy_ledger.py --database staging", only=DECIDES),
    ),
    processes=True,
)


def _flaky(stage: Stage) -> None:
    """Codex. A flaky test, several wrong ideas, a compaction whose summary only the transcript has."""
    agent = stage.agent("codex").starts()
    agent.asked(
        "test_scheduler_fires_once fails about one time in twenty on CI. Find the cause. Don't just retry it, and "
        "don't add sleeps."
    )
    agent.runs("pytest tests/scheduler -q -x --count 50", "50 passed in 31.20s")
    agent.edits("src/scheduler/timer.py")
    agent.says(
        "It does not fail here in 50 runs. I suspect the timer reads the wall clock twice, and a second boundary in "
        "between makes it fire twice."
    )
    agent.asked("Can you prove that?")
    agent.edits("tests/scheduler/test_boundary.py")
    agent.runs(
        "pytest tests/scheduler/test_boundary.py -q",
        "F\n>       assert fired == [12]\nE       assert [12, 12] == [12]\n\n"
        "tests/scheduler/test_boundary.py:27: AssertionError\n1 failed in 0.05s",
        1,
    )
    agent.says(
        "Proven: with a clock that steps over a second between the two reads, the job fires at 12 twice.\n\n"
        "Decision: the timer takes one reading per tick and passes it down, because two readings can disagree. "
        "I rejected a lock, which would hide it and not fix it."
    )
    agent.decides("One clock reading per tick, passed down", "two readings can disagree")
    agent.asked("Do it. And use the monotonic clock for the waiting itself.")
    agent.plans(
        ("One reading per tick", "in_progress"),
        ("Wait on the monotonic clock", "pending"),
        ("Remove the old retry decorator", "pending"),
    )
    agent.edits("src/scheduler/timer.py", "src/scheduler/loop.py")
    agent.runs("pytest tests/scheduler/test_boundary.py -q", "1 passed in 0.04s")
    agent.compacts(
        "We look for the cause of a flaky scheduler test.\nDECISION: one clock reading per tick, passed down\n"
        "BECAUSE: two readings can disagree at a second boundary\n"
        "CONSTRAINT: no retries and no sleeps in the test\n"
        "OPEN: remove the old retry decorator\nIN FLIGHT: waiting on the monotonic clock"
    )
    agent.plans(
        ("One reading per tick", "completed"),
        ("Wait on the monotonic clock", "in_progress"),
        ("Remove the old retry decorator", "pending"),
    )
    agent.edits("src/scheduler/wait.py")
    agent.runs(
        "mypy src/scheduler",
        'src/scheduler/wait.py:18: error: Argument 1 to "wait" has incompatible type "datetime"; expected '
        '"float"  [arg-type]\nFound 1 error in 1 file (checked 6 source files)',
        1,
    )
    agent.says(
        "The boundary test passes. mypy still complains about wait.py: the deadline must become a float of monotonic "
        "seconds there. After that the retry decorator can go."
    )


FLAKY = Day(
    "a flaky test in Codex",
    _flaky,
    (
        ask("request", "use the monotonic clock for the waiting"),
        ask("goal", "test_scheduler_fires_once"),
        ask("last words", "deadline must become a float"),
        ask("files", "src/scheduler/wait.py", "src/scheduler/timer.py", "tests/scheduler/test_boundary.py"),
        ask("failing command", "mypy src/scheduler", 'incompatible type "datetime"'),
        ask("decision", "one reading per tick"),
        ask("constraint", "don't add sleeps"),
        ask("what is left", "Remove the old retry decorator"),
    ),
    next_host="codex",
)


def _pipeline(stage: Stage) -> None:
    """Claude Code with subagents and a compaction in the form that it was asked for."""
    agent = stage.agent("claude").starts()
    agent.asked("hi, quick question: what does `make nightly` do?")
    agent.says("It runs the nightly pipeline: extract, load, then the checks in checks/.")
    agent.asked(
        "The nightly pipeline took 5 hours yesterday. It has to be done before 06:00, so get it under 3. "
        "You may change the order of steps but not the output tables: finance reads them."
    )
    agent.delegates(
        "Explore",
        "Find which steps of the nightly pipeline take the longest, from logs/nightly-*.log",
        "Step dedupe_events takes 2 h 40 min of the 5 h: it sorts 900 million rows because of a DISTINCT ON over "
        "(user_id, event_id). Step load_prices takes 55 min, one request per currency.",
    )
    agent.says(
        "dedupe_events is the one: 2 h 40 min of the 5 h. My plan is to deduplicate per day partition, and to fetch "
        "prices in one request."
    )
    agent.asked("ok go. partition first.")
    agent.edits("pipeline/dedupe.sql", "pipeline/partitions.py")
    agent.decides(
        "Deduplicate per day partition",
        "duplicates never cross midnight: the collector resends within minutes",
    )
    agent.runs("make check-dedupe", "compared 31 partitions: equal\n")
    agent.commits("Pipeline: deduplicate per day partition")
    agent.says(
        "Done: 31 partitions compared, equal to the old output. I chose to deduplicate per day partition, since "
        "duplicates never cross midnight: the collector resends within minutes."
    )
    agent.compacts(
        "Summary of the conversation so far:\n1. The user wants the nightly pipeline under 3 hours.\n"
        "2. A subagent found dedupe_events and load_prices.\n\n"
        "DECISION: deduplicate per day partition\nBECAUSE: duplicates never cross midnight\n"
        "DECISION: fetch prices of all currencies in one request\nBECAUSE: 170 requests take 55 minutes\n"
        "CONSTRAINT: the output tables must not change, finance reads them\n"
        "OPEN: a nightly run on the copy before it goes live\n"
        "IN FLIGHT: load_prices in one request\n"
    )
    agent.decides("Fetch prices of all currencies in one request", "170 requests take 55 minutes")
    agent.asked("now load_prices. the provider allows 200 currencies per request, check that limit in code")
    agent.edits("pipeline/prices.py", "tests/test_prices.py")
    agent.runs(
        "pytest tests/test_prices.py",
        "collected 4 items\n\ntests/test_prices.py ..F.\n\n"
        "    def test_too_many():\n        with pytest.raises(TooManyCurrencies):\n"
        ">           request(currencies(201))\n"
        "E           AttributeError: module 'pipeline.prices' has no attribute 'LIMIT'\n\n"
        "tests/test_prices.py:52: AttributeError\n========= 1 failed, 3 passed in 0.40s =========",
        1,
    )


PIPELINE = Day(
    "a slow pipeline with subagents",
    _pipeline,
    (
        ask("request", "check that limit in code"),
        ask("goal", "nightly pipeline", "under 3"),
        ask("last words", "duplicates never cross midnight"),
        ask("files", "pipeline/prices.py", "tests/test_prices.py", "pipeline/dedupe.sql"),
        ask("failing command", "pytest tests/test_prices.py", "has no attribute 'LIMIT'"),
        ask("decision: partition", "eduplicate per day partition"),
        ask("decision: one request", "all currencies in one request"),
        ask("constraint", "finance reads them"),
        ask("what is left", "a nightly run on the copy before it goes live"),
        ask("the subagent's result", "2 h 40 min"),
        ask("commit", "Pipeline: deduplicate per day partition"),
    ),
    held_out=True,
)

DAYS = (IMPORTS, LEDGER, FLAKY, PIPELINE)
