"""A worker of the kill test: records when two workers have one item at once, and each completion."""

from __future__ import annotations

import fcntl
import os
import sys
import time

folder, item = sys.argv[1:]
lock = os.open(f"{folder}/lock-{item}", os.O_RDWR | os.O_CREAT)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    with open(f"{folder}/overlaps", "a") as file:
        file.write(f"{item}\n")
    sys.exit(3)
time.sleep(0.01)
if item == "item 13":
    sys.exit("unlucky")
with open(f"{folder}/completions", "a") as file:
    file.write(f"{item}\n")
