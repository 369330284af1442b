"""The hash function of the format.

``hashlib`` loads OpenSSL, which takes longer than a whole command; the interpreter's built-in module has the same
function.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter without the private module
    from hashlib import blake2b

__all__ = ["blake2b"]
