"""``resume --in HOST``: start an agent host with the brief."""

from __future__ import annotations

import os
import sys

from holdfast.edge.cli.command import Output
from holdfast.errors import NotFound, Unavailable
from holdfast.typed import TYPE_CHECKING, NoReturn, Record
from holdfast.workspace.project_files import project_folder_of

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

FIRST = "Continue the work that this brief describes. If it is unclear what comes next, ask.\n\n"
_TRUSTED = ("codex", "gemini")
"""Hosts that run the hooks of a project only where the user trusts it: their own settings count alone."""


class Way(Record):
    """How a host is started."""

    program: str
    name: str
    brief: tuple[str, ...]
    """Its arguments before the brief; empty if the brief is the first prompt itself."""
    install: str


WAYS = {
    "claude": Way(
        "claude", "Claude Code", ("--append-system-prompt",), "npm install -g @anthropic-ai/claude-code"
    ),
    "codex": Way("codex", "Codex", (), "npm install -g @openai/codex"),
    "opencode": Way("opencode", "OpenCode", ("--prompt",), "npm install -g opencode-ai"),
    "gemini": Way("gemini", "Gemini CLI", ("--prompt-interactive",), "npm install -g @google/gemini-cli"),
    "copilot": Way("copilot", "Copilot CLI", ("--interactive",), "npm install -g @github/copilot"),
}
"""Each host, and how it takes a brief where no hook of ours gives it one."""


class Start(Record):
    """A host that is about to be started."""

    program: str
    words: list[str]
    folder: str
    hooked: bool
    """Whether a hook delivers the brief."""


def project_of(workspace: Workspace) -> str:
    """The folder of the project that a workspace belongs to."""
    folder = project_folder_of(workspace.where)
    return folder.root if folder is not None else os.getcwd()


def prepare(session: Session, host: str, budget: int | None, more: list[str]) -> Start:
    """How to start a host on a session. The session becomes the current one, so that the host's hooks find it."""
    import shutil

    from holdfast.workspace.handover import make_brief

    way = WAYS[host]
    found = shutil.which(way.program)
    if found is None:
        raise NotFound(
            f"{way.name} is not installed: there is no {way.program} on PATH.",
            hint=f"{way.install} installs it.",
        )
    workspace = session.workspace
    workspace.switch(f"{session.user}/{session.id}")
    folder = project_of(workspace)
    hooked = _is_hooked(host, folder)
    words = [way.program, *more]
    if not hooked:
        text = make_brief(session, budget).text
        words += [*way.brief, text if host == "claude" else FIRST + text]
    return Start(found, words, folder, hooked)


def _is_hooked(host: str, folder: str) -> bool:
    """Whether a working hook gives the host's conversations the brief."""
    from holdfast.edge.install.health import has_hook
    from holdfast.edge.install.targets import Place

    place = Place(True, folder, os.path.expanduser("~"), os.environ)
    return has_hook(host, place) or (host not in _TRUSTED and has_hook(host, place._replace(user=False)))


def show(start: Start) -> Output:
    """The command line, as a shell takes it."""
    import shlex

    said = "The host's hook delivers the brief.\n" if start.hooked else ""
    text = f"{said}cd {shlex.quote(start.folder)} && {shlex.join(start.words)}"
    return Output(text, {"command": start.words, "folder": start.folder, "hooked": start.hooked})


def replace_process(start: Start) -> NoReturn:
    """Become the host, without a shell in between."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.chdir(start.folder)
        os.execv(start.program, start.words)  # noqa: S606 - no shell: stored text is an argument and nothing else
    except OSError as error:
        raise Unavailable(
            f"{start.program} cannot be started: {error.strerror}.", hint="Start it yourself."
        ) from error
