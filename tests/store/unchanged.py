"""Which appends found that nothing had changed since their cursor."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.store.files.stream import UNCHANGED, Stream


def watch(patch: pytest.MonkeyPatch) -> list[bool]:
    """For each append while the patch is active, whether nothing had changed."""
    found: list[bool] = []
    asked = Stream._changes_since

    def watched(self: Stream, cursor: Any) -> int:
        answer = asked(self, cursor)
        found.append(answer == UNCHANGED)
        return answer

    patch.setattr(Stream, "_changes_since", watched)
    return found
