"""Which standing orders apply in this clone.

Orders travel with the log: whoever can push a commit can send one. An order that a person of this clone gave applies at
once; one that an agent gave, or that arrived from others, applies when a person of this clone has accepted it. Until
then it is shown as data. Which ones were accepted is noted in ``local/``, under the seal of this place, so that no
repository can bring it along.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.store.protocol import git_backed
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

_NOTE = "local/accepted/orders"
MOST = 1000
"""The most orders that are remembered; the oldest are forgotten first."""


def is_needed(workspace: Workspace) -> bool:
    """Whether orders can arrive from others: a database has only writers that were let in."""
    return git_backed(workspace.store) is not None


def accepted(workspace: Workspace) -> list[str]:
    """The commits whose orders were given or accepted here."""
    note = workspace.store.get(_NOTE)
    try:
        found: Any = json.loads(note or b"[]")
    except ValueError:
        return []
    return [commit for commit in found if isinstance(commit, str)] if isinstance(found, list) else []


def accept(workspace: Workspace, commits: Iterable[str]) -> None:
    """Remember that the orders of these commits apply here."""
    known = dict.fromkeys([*accepted(workspace), *commits])
    workspace.store.put(_NOTE, json.dumps(list(known)[-MOST:]).encode())


def with_accepted(workspace: Workspace, state: dict[str, Any]) -> dict[str, Any]:
    """The state of the project, with the orders from others that nobody here has accepted apart (``offered``)."""
    if not state:
        return state
    ours, offered = sorted_orders(workspace, state)
    return {**state, "orders": {**state["orders"], "open": ours}, "offered": {"open": offered}}


def sorted_orders(workspace: Workspace, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The active orders by id: those that apply here, and those from others that nobody has accepted."""
    orders: dict[str, Any] = state["orders"]["open"]
    if not orders:
        return orders, {}
    known, from_others = set(accepted(workspace)), is_needed(workspace)
    ours = {
        short_id: order
        for short_id, order in orders.items()
        if order["commit"] in known or (order["origin"] in ("human", "import") and not from_others)
    }
    return ours, {short_id: order for short_id, order in orders.items() if short_id not in ours}
