"""``backlog.yaml``: the items of the backlog, most urgent first, then the last closed ones.

The format is a list under ``items``, each with ``id``, ``title``, ``priority``, ``status``, ``epic``, ``tags``. Here an
item also has ``depends_on``, whether it is ``ready``, and, where two clones disagree about a field, ``contested``.
``closed`` counts all items that were ever closed; the log has those that are not listed.
"""

from __future__ import annotations

from holdfast.core.concepts import backlog
from holdfast.typed import Any
from holdfast.views import yaml_text


def render(state: dict[str, Any]) -> str:
    """The text of ``backlog.yaml``, from the project's state."""
    items = state["backlog"]
    ready = {item["id"] for item in backlog.ready(state)}
    listed = [_item(item, item["id"] in ready) for item in sorted(items["open"].values(), key=backlog.rank)]
    listed += [_item(item, None) for item in reversed(items["closed"])]
    return yaml_text.dump({"open": len(items["open"]), "closed": items["done"], "items": listed})


def _item(item: dict[str, Any], ready: bool | None) -> dict[str, Any]:
    shown = {
        "id": item["id"],
        "title": item["title"],
        "priority": item["priority"],
        "status": item.get("outcome") or item["status"],
        "epic": item["epic"],
        "tags": item["tags"],
        "depends_on": item["depends_on"],
        "added_at": item["at"],
        "added_by": item["by"],
    }
    if ready is not None:
        shown["ready"] = ready
    else:
        shown |= {"result": item["result"], "closed_at": item["closed_at"], "closed_by": item["closed_by"]}
    if contests := backlog.contests(item):
        shown["contested"] = {c["name"]: [rival["value"] for rival in c["rivals"]] for c in contests}
    return shown
