"""Which appends went a short way."""

from __future__ import annotations

from typing import Any

import pytest


def watch(patch: pytest.MonkeyPatch, kind: type, name: str) -> list[bool]:
    """For each append that tries this short way, as long as the patch lasts, whether it could be gone."""
    gone: list[bool] = []
    tried = getattr(kind, name)

    def watched(self: Any, *given: Any) -> Any:
        appended = tried(self, *given)
        gone.append(appended is not None)
        return appended

    patch.setattr(kind, name, watched)
    return gone
