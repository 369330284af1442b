"""Actions: the menu of what can be done next, computed from the state, and the call that each slash action stands for.

``/close-loop LOOP-007 They never mix`` is the same call as ``Session.close_loop("LOOP-007", "They never mix")``.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import concepts, contested
from holdfast.core.text import one_line
from holdfast.errors import Hint, Refused, Usage, Use
from holdfast.typed import Any, Record


class Action(Record):
    """One entry of the menu."""

    name: str
    takes: str
    """Its arguments, as in a usage line; empty if it takes none."""
    does: str
    core: bool = False

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.takes}".rstrip()


READS = ("status", "resume")
"""Actions that only read: each runs the command of that name."""


class Call(Record):
    """A method of a session (or one of ``READS``) and its arguments."""

    method: str
    arguments: tuple[str, ...] = ()
    named: dict[str, Any] = {}  # noqa: RUF012 - never changed


State = dict[str, Any]


def menu(state: State) -> list[Action]:
    """Everything that can be done now: the core actions first, then those that the state suggests."""
    return [*_core(state), *_plan(state), *_task(state), *_loops(state), *_phase(state), *_decisions(state)]


def _open(state: State, name: str) -> dict[str, Any]:
    found: dict[str, Any] = state.get(name, {}).get("open", {})
    return found


def _names(ids: list[str]) -> str:
    """The first few ids, for a line of the menu."""
    shown = ", ".join(ids[:3])
    return shown if len(ids) <= 3 else f"{shown} … ({len(ids)} in all)"


def _core(state: State) -> list[Action]:
    status = contested.value(state["registers"], "status")
    discussion = state.get("discussion")
    task = contested.value(state["registers"], "task")
    actions = []
    if discussion and status != "paused":
        actions.append(Action("return", "[SUMMARY]", "return to where the discussion started", core=True))
        actions.append(Action("continue", "", "same as /return", core=True))
    elif status in ("paused", "complete", "abandoned"):
        actions.append(Action("continue", "", "resume the session", core=True))
    else:
        actions.append(Action("continue", "", f"continue with {task or 'the work'}", core=True))
    if status not in ("paused", "complete", "abandoned"):
        actions.append(Action("pause", "[NOTE]", "stop for now", core=True))
    actions.append(Action("status", "", "show the status of the session", core=True))
    actions.append(Action("add-loop", "QUESTION", "add an open question", core=True))
    if not discussion and status not in ("paused", "complete", "abandoned"):
        actions.append(Action("discuss", "TOPIC", "discuss something else, then return here", core=True))
    return actions


def _plan(state: State) -> list[Action]:
    plans = list(_open(state, "plans"))
    if not plans:
        return []
    last = plans[-1]
    return [
        Action("approve-plan", "[ID]", f"approve {last} and carry it out"),
        Action("reject-plan", "[ID] REASON", f"reject {last}"),
        Action("edit-plan", "[ID] TEXT", f"replace the text of {last}"),
    ]


def _task(state: State) -> list[Action]:
    tasks = _open(state, "tasks")
    current = contested.value(state["registers"], "task")
    actions = []
    if current in tasks:
        title = one_line(str(tasks[current].get("title", "")), 60)
        actions += [
            Action("complete-task", "[RESULT]", f"complete {current} ({title})"),
            Action("skip-task", "REASON", f"skip {current}"),
        ]
    waiting = [task["id"] for task in concepts.task.ready(state)] if tasks else []
    if waiting:
        actions.append(Action("start-task", "ID", f"start {_names(waiting)}"))
    return actions


def _loops(state: State) -> list[Action]:
    loops = _open(state, "loops")
    if not loops:
        return []
    actions = [Action("close-loop", "ID OUTCOME", f"close {_names(list(loops))}")]
    untouched = [short_id for short_id, loop in loops.items() if loop.get("status") == "open"]
    if untouched:
        actions.append(Action("explore-loop", "ID", f"explore {_names(untouched)}"))
    return actions


def _phase(state: State) -> list[Action]:
    declared: list[str] = state.get("phases", {}).get("declared", [])
    current = contested.value(state["registers"], "phase")
    if current not in declared:
        return []
    actions = []
    if following := concepts.phase.following(state):
        said = f"leave {one_line(current, 40)} and enter {one_line(following, 40)}"
        actions.append(Action("complete-phase", "", said))
    if len(declared) > 1:
        actions.append(Action("skip-to-phase", "PHASE REASON", "jump to another phase"))
    return actions


def _decisions(state: State) -> list[Action]:
    unsettled = list(_open(state, "decisions"))
    return [Action("settle", "ID OUTCOME", f"record the outcome of {_names(unsettled)}")] if unsettled else []


# -- from an action to its call ---------------------------------------------------------------------------


def parse(text: str) -> tuple[str, str]:
    """The name of a slash action, and the rest of its line unchanged."""
    stripped = text.lstrip()
    if not stripped.startswith("/"):
        raise Usage(
            "An action begins with a slash, such as /continue.", hint=Hint(Use("do"), " shows the menu.")
        )
    name, rest = _word(stripped[1:])
    return name.lower(), rest


def call(state: State, text: str) -> Call:
    """The call that a slash action stands for. Unknown actions and those not on the menu are refused."""
    name, rest = parse(text)
    options = menu(state)
    if name not in _CALLS:
        raise Refused(f"There is no action /{name[:40]}. Nothing was written.", hint=_offer(options))
    action = next((option for option in options if option.name == name), None)
    if action is None:
        raise Refused(
            f"/{name} is not possible now. {_why_not(state, name)}Nothing was written.", hint=_offer(options)
        )
    return _CALLS[name](state, rest, action)


def _offer(options: list[Action]) -> str:
    return "Possible now: " + ", ".join(option.usage for option in options) + "."


def _why_not(state: State, name: str) -> str:
    if name == "discuss" and state.get("discussion"):
        return "A discussion is open, and discussions do not nest: /return first. "
    return ""


def _word(text: str) -> tuple[str, str]:
    """The first word and the rest."""
    parts = text.split(maxsplit=1)
    if not parts:
        return "", ""
    return parts[0], parts[1] if len(parts) > 1 else ""


def _needed(rest: str, action: Action) -> str:
    if not rest.strip():
        raise Usage(
            f"/{action.name} takes {action.takes}; nothing was written.", hint=f"Write {action.usage}."
        )
    return rest


def _continue(state: State, rest: str, action: Action) -> Call:
    """After a pause or a discussion, resume the session; otherwise only show the brief."""
    resting = contested.value(state["registers"], "status") in ("paused", "complete", "abandoned")
    return _plain("continue_" if resting or state.get("discussion") else "resume")(state, rest, action)


def _plain(method: str) -> Callable[[State, str, Action], Call]:
    def make(state: State, rest: str, action: Action) -> Call:
        if rest.strip():
            raise Usage(
                f"/{action.name} takes no arguments; nothing was written.", hint=f"Write {action.usage}."
            )
        return Call(method)

    return make


def _text(method: str) -> Callable[[State, str, Action], Call]:
    return lambda state, rest, action: Call(method, (_needed(rest, action),))


def _maybe(method: str, name: str) -> Callable[[State, str, Action], Call]:
    return lambda state, rest, action: Call(method, (), {name: rest} if rest.strip() else {})


def _id(method: str) -> Callable[[State, str, Action], Call]:
    def make(state: State, rest: str, action: Action) -> Call:
        short_id, more = _word(_needed(rest, action))
        if more:
            raise Usage(f"/{action.name} takes one id; nothing was written.", hint=f"Write {action.usage}.")
        return Call(method, (short_id,))

    return make


def _id_and_text(method: str) -> Callable[[State, str, Action], Call]:
    def make(state: State, rest: str, action: Action) -> Call:
        short_id, more = _word(_needed(rest, action))
        _needed(more, action)
        return Call(method, (short_id, more))

    return make


def _skip(state: State, rest: str, action: Action) -> Call:
    """A phase by name (which may contain spaces) or number, then the reason."""
    declared: list[str] = state["phases"]["declared"]
    _needed(rest, action)
    for name in sorted(declared, key=len, reverse=True):
        if rest.lower().startswith(name.lower()) and (more := rest[len(name) :])[:1].isspace():
            return Call("skip_to_phase", (name, _needed(more.lstrip(), action)))
    first, more = _word(rest)
    if first.isdecimal() and 0 < int(first) <= len(declared):
        return Call("skip_to_phase", (declared[int(first) - 1], _needed(more, action)))
    if any(rest.strip().lower() == name.lower() for name in declared):
        _needed("", action)
    raise Refused(
        f"There is no phase {one_line(rest, 60)}. Nothing was written.",
        hint=f"Phases: {', '.join(declared)}.",
    )


def _task_text(method: str, name: str, *, needed: bool) -> Callable[[State, str, Action], Call]:
    """An action on the current task, which it does not name."""

    def make(state: State, rest: str, action: Action) -> Call:
        if needed:
            _needed(rest, action)
        current = contested.value(state["registers"], "task")
        return Call(method, (current,), {name: rest} if rest.strip() else {})

    return make


def _plan_text(method: str, name: str) -> Callable[[State, str, Action], Call]:
    """An action on the plan named first, else on the newest one."""

    def make(state: State, rest: str, action: Action) -> Call:
        plans = _open(state, "plans")
        first, more = _word(rest)
        short_id = next((known for known in plans if known.lower() == first.lower()), None)
        if short_id is None:
            short_id, more = list(plans)[-1], rest
        if not name:
            if more.strip():
                raise Usage(
                    f"/{action.name} takes at most an id; nothing was written.", hint=f"Write {action.usage}."
                )
            return Call(method, (short_id,))
        return Call(method, (short_id, _needed(more, action)))

    return make


_CALLS: dict[str, Callable[[State, str, Action], Call]] = {
    "continue": _continue,
    "pause": _maybe("pause", "notes"),
    "status": _plain("status"),
    "add-loop": _text("add_loop"),
    "discuss": _text("discuss"),
    "return": _maybe("return_", "summary"),
    "approve-plan": _plan_text("approve_plan", ""),
    "reject-plan": _plan_text("reject_plan", "reason"),
    "edit-plan": _plan_text("edit_plan", "text"),
    "complete-task": _task_text("complete_task", "result", needed=False),
    "skip-task": _task_text("skip_task", "reason", needed=True),
    "start-task": _id("start_task"),
    "close-loop": _id_and_text("close_loop"),
    "explore-loop": _id("explore_loop"),
    "complete-phase": _plain("complete_phase"),
    "skip-to-phase": _skip,
    "settle": _id_and_text("settle"),
}


CATALOGUE = {
    action.name: action
    for action in (
        Action("continue", "", "continue the work, or resume a paused session", core=True),
        Action("pause", "[NOTE]", "stop for now", core=True),
        Action("status", "", "show the status of the session", core=True),
        Action("add-loop", "QUESTION", "add an open question", core=True),
        Action("discuss", "TOPIC", "discuss something else, then return here", core=True),
        Action("return", "[SUMMARY]", "return to where the discussion started", core=True),
        Action("approve-plan", "[ID]", "approve the proposed plan and carry it out"),
        Action("reject-plan", "[ID] REASON", "reject the proposed plan"),
        Action("edit-plan", "[ID] TEXT", "replace the text of the proposed plan"),
        Action("complete-task", "[RESULT]", "complete the current task"),
        Action("skip-task", "REASON", "skip the current task"),
        Action("start-task", "ID", "start a task"),
        Action("close-loop", "ID OUTCOME", "close an open question with its answer"),
        Action("explore-loop", "ID", "explore an open question"),
        Action("complete-phase", "", "leave this phase and enter the next"),
        Action("skip-to-phase", "PHASE REASON", "jump to another phase"),
        Action("settle", "ID OUTCOME", "record the outcome of a decision"),
    )
}
"""Every action, whatever the state: the slash commands of agent hosts are generated from it."""
