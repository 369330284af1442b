"""The files that ``init`` creates in a workspace folder. Existing files are never touched."""

from __future__ import annotations

import os
import stat

from holdfast.errors import Forbidden
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.git.integration import IGNORED_VIEWS, LOCAL_PAGES
from holdfast.store.oserror import translate_oserror
from holdfast.views.workspace_readme import README

CONFIG = """\
# holdfast workspace. Every setting has a default; only what differs is written here.
format = 1
# secrets = "refuse"  # or "redact", "allow": what becomes of tokens and passwords in what is written
# [sessions]                    # when a conversation of an agent gets a session of its own
# new_session_after = "8h"      # a new topic after this break starts a new session
# abandoned_after = "7d"        # a session that nobody ended counts as abandoned
# away = "30m"                  # a conversation whose process cannot be asked counts as away
# [tokens]
# window = 200000               # the size of the model's context, where the host does not tell it
"""

GITATTRIBUTES = """\
# Segments are bytes that only their writer appends to: no line-ending conversion, no textual merge.
*.jsonl -text merge=binary
# Long texts, named by their hash.
events/**/blobs/* -text merge=binary
# Long messages are kept with their hash.
message-*.txt -text
# Views that are tracked merge by union, without stopping; the next command regenerates what that left.
STATE.md text eol=lf merge=union linguist-generated
state.json text eol=lf merge=union linguist-generated
"""

GITIGNORE = f"""\
/local/
.*.tmp-*
{LOCAL_PAGES}{IGNORED_VIEWS}"""

PAGE_ATTRIBUTES = """\
# Pages that holdfast writes merge by union, without stopping; the next command regenerates what that left.
latest.md text eol=lf merge=union linguist-generated
"""
"""For ``handoff/.gitattributes``."""

FILES = {
    ".gitignore": GITIGNORE,
    "README.md": README,
    "config.toml": CONFIG,
    ".gitattributes": GITATTRIBUTES,
}
"""Files for git come first."""


def create(root: str, fs: FileSystem = posix) -> list[str]:
    """Create a workspace folder, durably; returns the names of the files that did not exist."""
    try:
        return _create(root, fs)
    except OSError as error:
        raise translate_oserror(error, root) from error


def _create(root: str, fs: FileSystem) -> list[str]:
    try:
        mode = fs.stat(root).st_mode
    except FileNotFoundError:
        durable.make_folders(fs, root)
        mode = stat.S_IFDIR
    if not stat.S_ISDIR(mode):
        raise Forbidden(f"{root} is not a folder.", hint="Move it aside; nothing in it was changed.")
    created = []
    tag = f"init-{os.getpid()}-{os.urandom(4).hex()}"  # other processes may create the same workspace
    for name, text in FILES.items():
        path = os.path.join(root, name)
        try:
            fs.stat(path)
        except FileNotFoundError:
            durable.replace(fs, path, text.encode(), tag=tag, durable=True)
            created.append(name)
    durable.fsync_dirs(fs, root, os.path.dirname(root))
    return created
