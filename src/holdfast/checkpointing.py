"""``holdfast.checkpoint``: one line that any script can call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from holdfast.typed import Any


def checkpoint(
    message: str,
    tools: Iterable[str] = (),
    *,
    where: str | os.PathLike[str] | None = None,
    session: str | None = None,
    by: str | None = None,
    last_completed: str | None = None,
    pending: Iterable[str] = (),
    can_resume: bool = True,
    instruction: str | None = None,
    op: str | None = None,
    **unknown: object,
) -> bool:
    """Save how far a script has come; returns whether it was saved, and never raises.

    The workspace is the one at ``where`` (else HOLDFAST_URL), else the one found from the current folder upwards,
    else from the script's own folder upwards. Without a workspace nothing is made and the answer is False. The
    session is the one named, else the current one; if there is none, one is started and becomes the current one,
    so that what the script says is not lost. The other arguments are those of ``Session.checkpoint``; with an unknown
    one nothing is saved. Why something was not saved is logged, at level INFO, by the logger ``holdfast``.
    """
    try:
        if unknown:
            raise TypeError(f"a checkpoint has no {', '.join(unknown)}")
        fields = {
            "last_completed": last_completed,
            "pending": [pending] if isinstance(pending, str) else list(pending),
            "can_resume": can_resume,
            "instruction": instruction,
            "op": op,
        }
        _save(message, tools, where, session, by, fields)
    except Exception as problem:
        _log(problem)
        return False
    return True


def _save(
    message: str,
    tools: Iterable[str],
    where: str | os.PathLike[str] | None,
    session: str | None,
    by: str | None,
    fields: dict[str, Any],
) -> None:
    from holdfast.errors import NoSession, NoWorkspace
    from holdfast.workspace.secrets_filter import passed_value
    from holdfast.workspace.workspace import open_workspace

    try:
        workspace = open_workspace(where, by=by, origin="tool")
    except (NoWorkspace, FileNotFoundError):  # the second: the current folder is gone
        if where is not None or not sys.argv[:1] or not sys.argv[0]:
            raise
        script = os.path.dirname(os.path.realpath(sys.argv[0]))
        workspace = open_workspace(script, by=by, origin="tool")
    with workspace:
        tools = list(tools)
        # Before a session is started for it: what is refused changes nothing.
        passed_value(workspace, {"message": message, "tools": tools, **fields}, "checkpoint.saved")
        try:
            target = workspace.session(session)
        except NoSession:
            target = workspace.start(f"Checkpoints of {os.path.basename(sys.argv[0]) or 'a script'}")
        target.checkpoint(message, tools=tools, **fields)


def _log(problem: Exception) -> None:
    import logging

    try:
        logging.getLogger("holdfast").info("No checkpoint was saved: %s", problem)
    except Exception:
        return  # a script's own logging must not break the script through us
