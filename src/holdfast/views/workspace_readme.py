"""The page that explains a workspace folder to its readers."""

from __future__ import annotations

README = """\
# .state: the working memory of this project

Kept by [holdfast]. What agents and people decided, learned and left open here survives crashes, context
compaction, handoffs and merges.

* `events/`: the truth. A folder of segments for the project, each user, and each session
  (`events/sessions/<user>/<YYYY-MM-DD-xxxxxxxx>/`): one commit a line, appended and never changed;
  long texts are in `blobs/`. Do not edit them; views are made from them.
* `sessions/<user>/<YYYY-MM-DD-xxxxxxxx>/`: what a session has besides. `STATE.md`, `DECISIONS.md`, `state.json`: its
  views, regenerated after each command, not in git unless you ask for it; `context/`, `artifacts/`: files that it
  refers to.
* `history/YYYY-MM/`: archived sessions, read-only.
* `local/`: this clone's own (locks, caches, quarantine). Never in git; safe to lose.

What goes when: nothing by itself. `holdfast archive rotate` archives closed sessions after 7 days without a commit
(`--abandoned` closes those that nobody ended first) and removes archived ones only by the limits you name
(`--older-than 90d`, `--keep 100`, `--max-size 50MB`). A session with an unsettled decision is never archived.

Session ids are the date and eight random characters, such as `2026-01-21-a1b2c3d4`. `holdfast status` shows the
current session, `holdfast sessions` all of them, `holdfast doctor` checks this folder.
"""
