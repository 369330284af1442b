"""A refused append leaves the store's conflict detection intact (found by the history checker)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from holdfast.core.codec import Draft, Event
from holdfast.errors import Conflict, Refused
from holdfast.store.protocol import AppendContext, PrebuiltCommit, PreparedCommit
from holdfast.testing.crash.run import opener

PREPARED = PreparedCommit(Draft((Event("x.y", {}),), "kim", "tool"), {})


def _plan(context: AppendContext) -> PreparedCommit:
    return PREPARED


def _refuse(context: AppendContext) -> PreparedCommit:
    raise Refused("a rule said no")


@pytest.mark.parametrize("engine", ["files", "sqlite"])
@pytest.mark.parametrize("prebuilt", [True, False], ids=["prebuilt", "rule"])
def test_a_refused_append_does_not_hide_what_others_wrote(
    tmp_path: Path, engine: str, prebuilt: bool
) -> None:
    """After a refusal, an old cursor with an old version is a conflict, whatever was read meanwhile."""
    one, other = opener(engine)(str(tmp_path)), opener(engine)(str(tmp_path))
    first = one.append("project", _plan)
    time.sleep(0.1)  # the folder's time has settled: only then is the cached listing trusted
    first = one.append("project", _plan)
    second = one.append("project", _plan, cursor=first.cursor)
    other.append("project", _plan)
    if prebuilt:
        prebuilt = PrebuiltCommit(PREPARED, _refuse)
        with pytest.raises(Conflict):
            one.append("project", prebuilt, cursor=first.cursor, expect=99)
    else:
        with pytest.raises(Refused):
            one.append("project", _refuse, cursor=first.cursor)
    with pytest.raises(Conflict):
        one.append("project", _plan, cursor=second.cursor, expect=3)
    assert one.append("project", _plan, cursor=second.cursor).version == 5
    one.close()
    other.close()
