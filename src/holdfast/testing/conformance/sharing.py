"""Guarantees about sharing a store between threads, processes and restarts, and about any sequence of calls."""

from __future__ import annotations

import signal
from threading import Barrier

import pytest

from holdfast.core.codec import decode
from holdfast.errors import Conflict
from holdfast.store.protocol import Store
from holdfast.testing.conformance.engine import (
    USER,
    Engine,
    append_all,
    everything,
    in_threads,
    start,
)
from holdfast.testing.conformance.model import run_against_model
from holdfast.testing.plans import saying, texts


class TestConcurrency:
    """Concurrent writers."""

    def test_threads(self, store: Store) -> None:
        """Eight threads lose no commit, versions have no gaps, and each thread's commits keep their order."""
        versions: list[int] = []
        barrier = Barrier(8)

        def work(tag: int) -> None:
            barrier.wait()
            cursor = None
            for number in range(25):
                done = store.append(USER, saying(f"{tag}-{number}"), cursor=cursor)
                cursor = done.cursor
                versions.append(done.version)

        in_threads([lambda tag=tag: work(tag) for tag in range(8)])  # type: ignore[misc]
        assert sorted(versions) == list(range(1, 201))
        self.check_whole(store, {str(tag): 25 for tag in range(8)})

    def test_counting_with_expect(self, store: Store) -> None:
        """Read, modify, append with expect, retry on conflict: no update is lost."""

        def work() -> None:
            for _ in range(10):
                while True:
                    tail = store.read(USER)
                    try:
                        store.append(
                            USER, saying(str(len(texts(tail)))), cursor=tail.cursor, expect=tail.version
                        )
                        break
                    except Conflict:
                        pass

        in_threads([work] * 4)
        assert everything(store) == [str(number) for number in range(40)]

    def test_processes(self, engine: Engine) -> None:
        """Where processes share a store, four of them lose no commit; where they do not, none arrives."""
        store = engine.fresh()
        children = [start(store.capabilities.url, USER, 50, f"p{n}") for n in range(4)]
        for child in children:
            output, _ = child.communicate(timeout=60)
            assert (child.returncode, len(output.splitlines())) == (0, 50)
        if not store.capabilities.shared:
            assert everything(store) == []
            return
        self.check_whole(store, {f"p{n}": 50 for n in range(4)})
        assert store.check() == []

    @staticmethod
    def check_whole(store: Store, counts: dict[str, int]) -> None:
        tail = store.read(USER)
        lines = list(tail.lines)
        found = [decode(line) for line in lines]
        assert tail.version == len(lines) == sum(counts.values())
        assert [commit.id for commit in found] == sorted({commit.id for commit in found})
        for tag, count in counts.items():
            mine = [text for text in everything(store) if text.startswith(f"{tag}-")]
            assert mine == [f"{tag}-{number}" for number in range(count)]


class TestCapabilities:
    """Claimed capabilities hold, and denied ones are really missing."""

    def test_capabilities_are_consistent(self, store: Store) -> None:
        """An engine that survives a power cut or is shared also survives an exit, and every engine has a name."""
        claims = store.capabilities
        assert claims.survives_exit or not (claims.survives_power_cut or claims.shared)
        assert claims.name
        assert claims.url

    def test_reopening(self, engine: Engine) -> None:
        """After closing, commits and notes persist if that is claimed, and are gone if it is denied."""
        store = engine.fresh()
        append_all(store, USER, "a", "b")
        store.put("local/note", b"n")
        store.close()
        again = engine.again(store)
        if store.capabilities.survives_exit:
            assert (everything(again), again.get("local/note")) == (["a", "b"], b"n")
            assert again.append(USER, saying("c")).version == 3
        else:
            assert (everything(again), again.get("local/note"), again.streams()) == ([], None, [])

    def test_a_killed_process(self, engine: Engine) -> None:
        """Commits acknowledged before kill -9 are there, in order, and the store needs no repair."""
        store = engine.fresh()
        if not store.capabilities.survives_exit:
            pytest.skip("nothing outlives the process")
        for kill in range(3):
            child = start(store.capabilities.url, USER, 0, f"k{kill}")
            assert child.stdout is not None
            acknowledged = [child.stdout.readline().strip() for _ in range(20 + kill)]
            child.send_signal(signal.SIGKILL)
            acknowledged += child.stdout.read().split()
            child.wait()
            child.stdout.close()
            mine = [text for text in everything(store) if text.startswith(f"k{kill}-")]
            assert mine[: len(acknowledged)] == acknowledged
            assert len(mine) - len(acknowledged) in (0, 1)
            append_all(store, USER, "parent")
        assert [fault for fault in store.check() if not fault.harmless] == []


class TestModel:
    """Any sequence of calls."""

    def test_like_the_model(self, engine: Engine) -> None:
        """Random sequences of calls have the same results as on the memory engine."""
        run_against_model(engine.fresh, engine.again)
