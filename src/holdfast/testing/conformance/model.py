"""Model-based testing: random sequences of calls give the same results on an engine and on the memory engine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from holdfast.errors import Conflict
from holdfast.store.memory import MemoryStore
from holdfast.store.protocol import Store, Tail
from holdfast.testing.hostile import SESSION
from holdfast.testing.plans import saying, texts, wall_clock

STREAMS = st.sampled_from(["project", "users/ann", f"sessions/ann/{SESSION}"])
NOTES = st.sampled_from(["local/note", "project/state.json", "users/ann/STATE.md"])
OPS = st.sampled_from([None, None, None, "op-1", "op-2"])
EXPECTS = st.sampled_from([None, None, "right", "wrong"])


def seen(tail: Tail) -> tuple[list[str], int, bool]:
    """The comparable part of a tail: ids and checksums differ by writer."""
    return texts(tail), tail.version, tail.restarted


def run_against_model(
    fresh: Callable[[], Store], again: Callable[[Store], Store], examples: int = 25, steps: int = 30
) -> None:
    """Raise if the engine ever differs from the memory engine."""

    class Machine(RuleBasedStateMachine):
        cursors = Bundle("cursors")

        @initialize(target=cursors)
        def begin(self) -> Any:
            self.model = MemoryStore(clock=wall_clock, writer="m0de1000")
            self.store = fresh()
            return None, None

        @rule(target=cursors, stream=STREAMS, text=st.text(max_size=20), at=cursors, expect=EXPECTS, op=OPS)
        def append(self, stream: str, text: str, at: Any, expect: str | None, op: str | None) -> Any:
            version = self.model.read(stream).version
            wanted = {None: None, "right": version, "wrong": version + 1}[expect]
            results: list[Any] = []
            cursors: list[Any] = []
            for store, cursor in zip((self.model, self.store), at, strict=True):
                tails: list[Any] = []

                def plan(context: Any, tails: list[Any] = tails) -> Any:
                    tails[:] = [seen(context.tail)]
                    return saying(text, op=op)(context)

                try:
                    done = store.append(stream, plan, cursor=cursor, expect=wanted, op=op)
                    results.append((tails, done.repeated, done.repeated or done.version, done.commit.events))
                    cursors.append(None if done.repeated else done.cursor)
                except Conflict:
                    results.append((tails, "conflict"))
                    cursors.append(None)
            assert results[1] == results[0]
            return tuple(cursors)

        @rule(target=cursors, stream=STREAMS, at=cursors, through_json=st.booleans())
        def read(self, stream: str, at: Any, through_json: bool) -> Any:
            if through_json:
                at = json.loads(json.dumps(at))
            model, real = self.model.read(stream, at[0]), self.store.read(stream, at[1])
            assert seen(real) == seen(model)
            return model.cursor, real.cursor

        @rule(stream=STREAMS)
        def read_backwards(self, stream: str) -> None:
            real = self.store.read(stream, newest_first=True)
            assert seen(real) == seen(self.model.read(stream, newest_first=True))

        @rule(prefix=st.sampled_from(["", "users/", "sessions/ann"]))
        def list_streams(self, prefix: str) -> None:
            assert self.store.streams(prefix) == self.model.streams(prefix)

        @rule(name=NOTES, data=st.none() | st.binary(max_size=20))
        def put(self, name: str, data: bytes | None) -> None:
            self.model.put(name, data)
            self.store.put(name, data)

        @rule(name=NOTES)
        def get(self, name: str) -> None:
            assert self.store.get(name) == self.model.get(name)

        @rule(stream=STREAMS)
        def forget(self, stream: str) -> None:
            self.model.forget(stream)
            self.store.forget(stream)
            # The same text in the same millisecond is the same commit again, and an old cursor fits it: in one of the
            # two stores only, if the other one is a millisecond later.
            time.sleep(0.002)

        @rule(close=st.booleans())
        def reopen(self, close: bool) -> None:
            if self.store.capabilities.survives_exit:
                if close:
                    self.store.close()
                self.store = again(self.store)

        @rule()
        def check(self) -> None:
            assert self.store.check() == []

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
