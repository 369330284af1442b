"""Preferences of one user, for every session."""

from __future__ import annotations

from holdfast.core import contested
from holdfast.core.codec import Commit, Event
from holdfast.core.ids import checked_name
from holdfast.core.text import checked_text, one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {"preference.set": 1, "preference.dropped": 1}
STEPS: dict[Any, Any] = {}
MOST = 200
VALUE_CAP = 1000
_MARK = "pref:"


def blank() -> dict[str, Any]:
    return {}


def _set(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], _MARK + data["key"], data["value"], data["saw"], commit)


def _dropped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    name = _MARK + data["key"]
    if name in state["registers"]:
        contested.put(state["registers"], name, None, data["saw"], commit)
        if not state["registers"][name]["rivals"]:
            del state["registers"][name]


FOLDS = {"preference.set": _set, "preference.dropped": _dropped}
HEADLINES = {
    "preference.set": lambda data: f"Prefers {data['key']}: {one_line(data['value'])}",
    "preference.dropped": lambda data: f"Dropped the preference {data['key']}",
}


def all_of(state: dict[str, Any]) -> dict[str, str]:
    """Every preference, by key."""
    found = {
        name: register["value"] for name, register in state["registers"].items() if name.startswith(_MARK)
    }
    return {name[len(_MARK) :]: value for name, value in sorted(found.items()) if value is not None}


def prefer(state: dict[str, Any], key: str, value: str) -> list[Event]:
    """Set a preference."""
    name = _MARK + _checked_key(key)
    count = sum(register.startswith(_MARK) for register in state["registers"])
    if name not in state["registers"] and count >= MOST:
        raise Refused(
            f"{MOST} preferences are set; nothing was written.", hint="Drop some that no longer matter."
        )
    data = {"key": key, "value": checked_text(value, "preference", cap=VALUE_CAP)}
    return [Event("preference.set", {**data, "saw": contested.seen(state["registers"], name)})]


def drop(state: dict[str, Any], key: str) -> list[Event]:
    """Drop a preference."""
    name = _MARK + _checked_key(key)
    if name not in state["registers"]:
        raise NotFound(f"There is no preference {key}.", hint=Hint(Use("prefer"), " lists the preferences."))
    return [Event("preference.dropped", {"key": key, "saw": contested.seen(state["registers"], name)})]


def _checked_key(key: object) -> str:
    return checked_name(checked_text(key, "key"), "key")
