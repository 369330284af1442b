"""``python -m holdfast``: the command line."""

from __future__ import annotations

from holdfast.edge.cli import script

if __name__ == "__main__":
    script()
