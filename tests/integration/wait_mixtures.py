"""Mixtures of waits drawn from seeds, and how much of them a recording attributes to the right cause."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from incprof.systems.waiting.analyse import waits_by_thread
from incprof.systems.waiting.causes import kinds_of
from incprof.systems.waiting.read import read_waits
from tests.integration.collector import Recording

# Cause and kind of each wait of wait_mixture.cpp; "": any kind.
REASONS: dict[str, tuple[str, str]] = {
    "sleep": ("sleep", ""), "usleep": ("sleep", ""), "polled": ("sleep", ""), "selected": ("sleep", ""),
    "timer": ("sleep", "timer"), "child": ("child", ""), "join": ("join", ""), "openmp": ("openmp", ""),
    "fsync": ("io", "file"), "uncached": ("io", "file"), "mapped": ("fault", ""), "mutex": ("lock", "mutex"),
    "stdmutex": ("lock", "mutex"), "condition": ("lock", "condition"), "stdcondition": ("lock", "condition"),
    "barrier": ("lock", "barrier"), "semaphore": ("lock", "semaphore"), "sysv": ("lock", "semaphore"),
    "readers": ("lock", "read-write lock"), "flock": ("lock", "file lock"), "future": ("lock", "future"),
    "eventfd": ("lock", "event"), "pipe": ("network", "pipe"), "socket": ("network", "socket"),
    "poll": ("network", "pipe"), "select": ("network", "select"), "epoll": ("network", "epoll"), "fault": ("fault", ""),
}  # fmt: skip
# Until the other thread is ready, and until pages are dropped before they are read again.
WAITED = {**REASONS, "begin": ("lock", "semaphore"), "drop": ("io", "file")}
UNKNOWN = "unknown"

Seconds = Mapping[tuple[int, str], float]


@dataclass(frozen=True)
class Score:
    """How waiting was attributed.

    Attributes:
        truth: seconds by thread and cause, as the threads measured them.
        found: the same, as recorded.
    """

    truth: Seconds
    found: Seconds

    @property
    def truth_s(self) -> float:
        return sum(self.truth.values())

    @property
    def attributed(self) -> float:
        """The share of recorded waiting that has a cause."""
        total = sum(self.found.values())
        return 1.0 - sum(value for (_, cause), value in self.found.items() if cause == UNKNOWN) / total

    @property
    def right(self) -> float:
        """The share of the attributed waiting whose cause is right, thread by thread."""
        return self._overlap(self.truth, self.found)

    @property
    def right_of_all(self) -> float:
        """The same of all threads together, as phases report it."""
        return self._overlap(*map(by_cause, (self.truth, self.found)))

    @staticmethod
    def _overlap(truth: Seconds, found: Seconds) -> float:
        known = {key: value for key, value in found.items() if key[1] != UNKNOWN}
        total = sum(known.values())
        return sum(min(value, truth.get(key, 0.0)) for key, value in known.items()) / total


def by_cause(seconds: Seconds) -> dict[tuple[int, str], float]:
    """Sum over threads."""
    out: dict[tuple[int, str], float] = defaultdict(float)
    for (_, cause), value in seconds.items():
        out[0, cause] += value
    return out


def pooled(scores: Iterable[Score]) -> Score:
    """Return several runs as one, with threads of their own."""
    truth: dict[tuple[int, str], float] = {}
    found: dict[tuple[int, str], float] = {}
    for number, score in enumerate(scores):
        truth |= {(1000 * number + thread, cause): value for (thread, cause), value in score.truth.items()}
        found |= {(1000 * number + thread, cause): value for (thread, cause), value in score.found.items()}
    return Score(truth, found)


def drawn(seed: int, *, threads: int, longest_ms: float = 60.0, kinds: Sequence[str] = tuple(REASONS)) -> list[str]:
    """Draw a list of waits for each thread: arguments of wait_mixture.cpp.

    Lengths are drawn evenly on a logarithmic scale from 0.5 ms on.
    """
    rng = random.Random(seed)
    lists = []
    for _ in range(threads):
        chosen = rng.sample(list(kinds), rng.randint(1, 5))
        waits = [(kind, 0.5 * (longest_ms / 0.5) ** rng.random()) for kind in chosen]
        if rng.random() < 0.7:
            waits.insert(rng.randrange(len(waits) + 1), ("burn", 0.3 * 20 ** rng.random()))
        lists.append(",".join(f"{kind}:{ms:.2f}" for kind, ms in waits))
    return lists


def truth_of(values: Mapping[str, int]) -> dict[tuple[int, str], float]:
    """Return what the program printed, by thread and cause."""
    out: dict[tuple[int, str], float] = defaultdict(float)
    for name, value in values.items():
        thread, _, kind = name.partition(".")
        if kind in WAITED:
            out[int(thread), WAITED[kind][0]] += value * 1e-6
    return out


def found_in(recording: Recording, threads: Iterable[int]) -> dict[tuple[int, str], float]:
    """Return what was recorded of some threads."""
    waits = read_waits(str(recording.directory / "rank-00000.gmon"), str(recording.directory))
    assert waits is not None
    kinds = kinds_of(waits)
    table = waits_by_thread(waits, kinds, waits.end_s - waits.begin_s)
    causes = [*(reason.cause for reason in kinds.reason), UNKNOWN]
    rows = dict(zip(table.threads.tolist(), table.seconds.tolist(), strict=True))
    out: dict[tuple[int, str], float] = defaultdict(float)
    for thread in threads:
        for cause, value in zip(causes, rows.get(thread, []), strict=False):
            out[thread, cause] += value
    return out


def score(recording: Recording) -> Score:
    """Return how much of a recorded wait_mixture.cpp is right."""
    truth = truth_of(recording.outcome.values())
    return Score(truth, found_in(recording, {thread for thread, _ in truth}))
