"""A program that is only pretended: it calls and works in virtual time, so that every call and its time are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from incprof.model import IntervalProfile
from truth.record import Recorder


class Machine:
    """Runs one thread. calls: times by caller and callee. scatter: of what works take, relative."""

    def __init__(self, scatter: float = 0.02, seed: int = 0) -> None:
        self.now = 0.0
        self.calls: dict[tuple[str | None, str], list[float]] = defaultdict(list)
        self._scatter, self._rng = scatter, np.random.default_rng(seed)
        self._stack: list[str] = []
        self._worked: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)

    def call(self, name: str, body: Callable[[], object] | float) -> None:
        """Call a function, which does something, or works for some seconds."""
        self.calls[self._stack[-1] if self._stack else None, name].append(self.now)
        self._stack.append(name)
        if callable(body):
            body()
        else:
            self.work(body)
        self._stack.pop()

    def work(self, seconds: float) -> None:
        """Be busy in the function that was called last."""
        used = seconds * float(np.exp(self._scatter * self._rng.standard_normal()))
        self._worked[tuple(self._stack)].append((self.now, self.now + used))
        self.now += used

    def profile(self, interval_s: float = 0.25, rate_hz: float = 100.0) -> IntervalProfile:
        """Return what a recording of it would be."""
        edges = np.arange(0.0, self.now + interval_s, interval_s)
        recorder = Recorder(edges)
        ticks = np.arange(self._rng.uniform(0, 1 / rate_hz), self.now, 1 / rate_hz)
        for path, spans in self._worked.items():
            begin, end = np.array(spans).T
            place = np.searchsorted(begin, ticks, side="right") - 1
            recorder.ticks(path, ticks[(place >= 0) & (ticks < end[np.maximum(place, 0)])])
        for (caller, callee), times in self.calls.items():
            recorder.calls(caller, callee, recorder.per_interval(np.array(times)))
        nothing = np.empty(0, dtype=np.int64)
        return recorder.profile(interval_s, rate_hz, nothing, nothing, self._rng)
