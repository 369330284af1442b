"""A process that appends: ``python -m holdfast.testing.appender URL STREAM COUNT TAG``.

It prints one line per acknowledged commit, so that the parent can count them even after killing it. COUNT 0 appends
until killed.
"""

from __future__ import annotations

import sys
from itertools import count

from holdfast.store.url import open_store
from holdfast.testing.plans import saying, wall_clock


def main(url: str, stream: str, how_many: str, tag: str) -> None:
    store = open_store(url, clock=wall_clock)
    cursor = None
    for number in range(int(how_many)) if int(how_many) else count():
        text = f"{tag}-{number}"
        cursor = store.append(stream, saying(text), cursor=cursor).cursor
        print(text, flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
