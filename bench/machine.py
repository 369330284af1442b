"""Facts about the machine that explain the figures; nothing that identifies it or its folders."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
from importlib import metadata
from typing import Any

PACKAGES = (
    "holdfast",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "openai-agents",
    "eventsourcing",
)


def facts(folder: str) -> dict[str, Any]:
    kind, options = file_system(folder)
    return {
        "cpus": os.cpu_count(),
        "cpu": _cpu_model(),
        "system": platform.system(),
        "kernel": platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "file_system": kind,
        "mount_options": options,
        "load_at_start": round(os.getloadavg()[0], 2),
        "packages": {name: version_of(name) for name in PACKAGES},
    }


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def file_system(folder: str) -> tuple[str, str]:
    """Type and options of the mount that holds a folder."""
    best = ("", "unknown", "")
    try:
        with open("/proc/mounts", encoding="utf-8") as mounts:
            for line in mounts:
                _, point, kind, options = line.split()[:4]
                inside = folder == point or folder.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best[0]):
                    best = (point, kind, options)
    except OSError:
        pass
    plain = [option for option in best[2].split(",") if "/" not in option]
    return best[1], ",".join(plain)


def work_folder(wanted: str | None) -> str:
    """A new folder to measure in: on a real disk if there is one, since a sync to memory is free."""
    if wanted:
        os.makedirs(wanted, exist_ok=True)
        return tempfile.mkdtemp(prefix="bench-", dir=os.path.realpath(wanted))
    parent = os.path.realpath(tempfile.gettempdir())
    if file_system(parent)[0] in ("tmpfs", "ramfs") and os.access("/var/tmp", os.W_OK):
        parent = "/var/tmp"
    return tempfile.mkdtemp(prefix="bench-", dir=parent)


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
