"""What happens around the observation of calls: profilers, and other threads."""

from __future__ import annotations

import cProfile
import queue
import sys
import threading
import warnings
from typing import Any

import lamella as lm


def test_a_profiler_keeps_its_place():
    compiled = lm.compile(lambda x: x * 2)
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        for _ in range(4):
            assert compiled(lm.ones([2])).tolist() == [2, 2]
        assert sys.getprofile() is profiler
    finally:
        profiler.disable()
    assert lm.compile.explain(compiled).graphs == []


def test_a_profile_function_comes_back():
    events: list[str] = []

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        events.append(event)

    compiled = lm.compile(lambda x: x * 2)
    sys.setprofile(profile)
    try:
        for _ in range(4):
            compiled(lm.ones([2]))
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert events and len(lm.compile.explain(compiled).graphs) == 1


def test_a_call_that_waits_for_another_thread():
    """And the other thread calls a compiled function: it must not wait for the end of the first call's observation."""
    asked: queue.Queue[Any] = queue.Queue()
    answered: queue.Queue[Any] = queue.Queue()
    inner = lm.compile(lambda x: x + 1)

    def work() -> None:
        while (x := asked.get()) is not None:
            answered.put(inner(x))

    def function(x: lm.Tensor) -> lm.Tensor:
        asked.put(x)
        return answered.get(timeout=30) * 2

    thread = threading.Thread(target=work)
    thread.start()
    compiled = lm.compile(function)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            assert [compiled(lm.ones([1])).item() for _ in range(5)] == [4.0] * 5
    finally:
        asked.put(None)
        thread.join()
