"""The end of a command's output, as text that can be kept."""

from __future__ import annotations

import re

KEPT = 2_000
"""Characters of the output that are kept."""
_WINDOW = 1 << 16
"""Bytes that are searched for secrets: more than are kept, since half a secret would not be recognised."""
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[PX^_][^\x1b]*(?:\x1b\\|$)|.|$)"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Tail:
    """The last bytes of a command's output."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        """Take the next part of the output."""
        self._bytes += data
        if len(self._bytes) > 2 * _WINDOW:
            del self._bytes[:-_WINDOW]
            self._cut = True

    def text(self) -> str:
        """The window as clean text: no escapes, and of a line that was written over, what stood there at the end."""
        text = self._bytes.decode("utf-8", "replace")
        if self._cut:  # what is left of the first line may be half a secret
            text = text.partition("\n")[2]
        lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
        shown = [_CONTROLS.sub("", line.rstrip("\r").rpartition("\r")[2]).rstrip() for line in lines]
        return "\n".join(shown).strip("\n")

    @staticmethod
    def end_of(text: str) -> str:
        """The last characters of a text, from the beginning of a line if it has a short one."""
        if len(text) <= KEPT:
            return text
        end = text[-KEPT:]
        _, found, whole = end.partition("\n")
        return f"…\n{whole}" if found and whole.strip() else f"…{end}"
