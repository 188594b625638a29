"""Predictions of the next calls, on call streams of programs that were not written for it."""

from __future__ import annotations

import ast
import difflib
import inspect
import io
import json
import pprint
import statistics
import sys
import textwrap
import tokenize
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

from incprof.errors import UsageError
from incprof.systems.periods.dpd_events import Dpd, detect

MOST = 60_000


def call_stream(program: Callable[[], object]) -> list[int]:
    """Numbers of the functions that a program calls, Python's and C's, in order."""
    numbers: dict[object, int] = {}
    calls: list[int] = []

    def note(frame: FrameType, event: str, function: object) -> None:
        if event in ("call", "c_call") and len(calls) < MOST:
            key = frame.f_code if event == "call" else getattr(function, "__qualname__", function)
            calls.append(numbers.setdefault(key, len(numbers)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        program()
    finally:
        sys.setprofile(before)
    return calls


SOURCE = inspect.getsource(difflib)
TREE = ast.parse(SOURCE)
NUMBERS = [(i * 7919) % 104729 / 7 for i in range(2000)]
PROGRAMS: dict[str, Callable[[], object]] = {
    "unparse": lambda: ast.unparse(TREE),
    # Written piece by piece: later versions of Python leave dumps() to C.
    "dumps": lambda: json.dump(
        [{"id": i, "name": f"n{i}", "of": [i, None, {"x": i / 7}]} for i in range(1500)], io.StringIO(), indent=1
    ),
    "tokenize": lambda: list(tokenize.generate_tokens(io.StringIO(SOURCE).readline)),
    "pformat": lambda: pprint.pformat([{"id": i, "of": list(range(i % 7)), "name": f"n{i}"} for i in range(300)]),
    "wrap": lambda: [textwrap.fill(line, 30) for line in SOURCE.splitlines()],
    "variance": lambda: [statistics.pvariance(NUMBERS[i : i + 50]) for i in range(0, 1000, 10)],
}
# Of the paper's table 3, N = 128: the lower one of the two floating-point programs, and of the two others.
FLOATING, OTHERS = (0.9989, 0.9951), (0.8410, 0.5053)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_calls_of_real_programs(name: str) -> None:
    calls = call_stream(PROGRAMS[name])
    trace = detect(calls, 128, memory=16384, ahead=(1, 5))
    assert len(calls) > 5000
    assert trace.hit_rate(1) > OTHERS[0]
    assert trace.hit_rate(5) > OTHERS[1]
    # Where the window alone predicts nearly all, as of one loop, the memory may cost the first few.
    assert trace.hit_rate(1) >= detect(calls, 128, ahead=(1,)).hit_rate(1) - 1e-3


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_larger_window_predicts_no_worse(name: str) -> None:
    calls = call_stream(PROGRAMS[name])[:12_000]
    rates = [detect(calls, window, memory=16384, ahead=(1,)).hit_rate(1) for window in (128, 1024, 4096)]
    assert min(rates) >= np.mean(np.equal(calls[1:], calls[:-1])) - 0.01
    assert rates[1] >= rates[0] - 0.01
    assert rates[2] >= rates[1] - 0.01


def test_an_earlier_shorter_episode_does_not_predict_the_end() -> None:
    """Visits of random lengths: the loop is right until each ends, however many shorter ones the window has."""
    lengths = np.random.default_rng(5).integers(20, 200, 100).tolist()
    x = [event for length in lengths for event in [*[1] * length, 2, 3]]
    for memory in (0, 16384):
        trace = detect(x, 4096, memory=memory, ahead=(1,))
        assert trace.hit_rate(1) > 1 - 4.5 * len(lengths) / len(x)


def test_loops_are_predicted_nearly_always() -> None:
    steps = [1, 2, 3, *[4, 5, 6, 6] * 12, 7]
    trace = detect(steps * 2000, 128, ahead=(1, 5))
    assert trace.hit_rate(1, periodic=True) > FLOATING[0]
    assert trace.hit_rate(5, periodic=True) > FLOATING[1]
    assert trace.whole_rate() == 1


def test_a_memory_beyond_the_window() -> None:
    """Blocks that come back after more samples than the window holds: the window alone cannot predict them."""
    rng = np.random.default_rng(2)
    blocks = rng.integers(0, 2**62, (20, 50))
    x = np.concatenate([blocks[i] for i in rng.integers(0, 20, 400)])
    without, with_memory = (detect(x, 40, memory=memory, ahead=(1, 5)) for memory in (0, 4096))
    assert without.hit_rate(1) == 0
    assert with_memory.hit_rate(1) > 0.9
    assert with_memory.hit_rate(5) > 0.8
    assert without.loops.tolist() == with_memory.loops.tolist()


def test_what_memory_predicts_followed_the_same_samples() -> None:
    """Each prediction is what followed an earlier sample of the same kind; without one there is none."""
    x = np.random.default_rng(4).integers(0, 3, 1500)
    trace = detect(x, 2, memory=2048, ahead=(1,))
    for i in range(1, len(x)):
        before = np.flatnonzero(x[:i] == x[i])
        if trace.backing[0, i]:
            assert trace.predicted[0, i] in x[before + 1]
        else:
            assert len(before) == 0


def test_memory_goes_with_the_detector() -> None:
    rng = np.random.default_rng(3)
    block = rng.integers(0, 1000, 300)
    whole = detect(np.concatenate([block, block]), 20, memory=1024, ahead=(2,))
    detector = Dpd(20, memory=1024)
    detector.feed(block)
    detector.resize(30)
    detector.resize(20)
    assert detector.feed(block, ahead=(2,)).predicted.tolist() == whole.predicted[:, 300:].tolist()


@pytest.mark.parametrize("memory", [-1, 256, 1000, 1 << 25])
def test_bad_memory(memory: int) -> None:
    with pytest.raises(UsageError, match=f"memory {memory}"):
        Dpd(10, memory=memory)
