"""Patterns of a series that still grows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.periods.patterns import dtw, find_patterns, regions_of
from incprof.systems.periods.patterns.average import fast_step
from incprof.systems.periods.patterns.forecast import Forecast, forecast
from incprof.systems.periods.patterns.pattern_result import Pattern, PatternOptions, Patterns

# Length at the first search, and the growth of the series until the next one, so that all searches together take a few
# times as long as the last one.
FIRST, GROWTH = 1024, 1.5
# Ten minutes at 5 ms. From this length on, the paper's patterns represent the whole run.
MEMORY = 120_000


class PatternStream:
    """Finds patterns as samples arrive.

    The last `memory` samples are searched again each time the series has grown by half. Between searches, only new
    samples are processed: instances of the known patterns are continued from the last one, and each is added to the
    average of its pattern. Owns a copy of the samples in memory.
    """

    def __init__(self, options: PatternOptions | None = None, *, memory: int = MEMORY):
        self.options = options or PatternOptions()
        self.memory = memory
        self.result = Patterns(0, 0, (), 0.0, 0.0, 0.0, 0.0, 0.0, (), self.options)
        self.samples = 0
        self._kept: FloatArray = np.zeros(0)
        self._next_search = FIRST
        self._seen = 0

    def feed(self, values: FloatArray) -> bool:
        """Take new samples, shape (n,), finite; return whether `result` has changed.

        Raises:
            ValueError: a value is not finite; none of `values` was taken.
        """
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("expected finite values in one dimension")
        self._kept = np.concatenate([self._kept, values])[-self.memory :]
        self.samples += len(values)
        if self.samples >= self._next_search:
            self.search()
            return True
        return self._follow_all()

    def search(self) -> Patterns:
        """Search all samples in memory now. Positions in the result count from the first sample of the stream."""
        found = find_patterns(self._kept, self.options)
        first = self.samples - len(self._kept)
        moved = tuple(_moved(pattern, first) for pattern in found.patterns)
        self.result = replace(found, samples=self.samples, patterns=moved)
        self._next_search = max(int(GROWTH * self.samples), FIRST)
        if self.samples >= self.memory:
            self._next_search = self.samples + self.memory // 2
        self._seen = max((int(pattern.instances[-1, 1]) for pattern in moved), default=self.samples)
        return self.result

    def forecast(self, ahead: int | None = None) -> Forecast | None:
        """Forecast the next samples from the current patterns; ahead: None is the rest of the instance."""
        return forecast(self._kept, self.result.patterns, ahead, self.samples - len(self._kept))

    def _follow_all(self) -> bool:
        """Add the instances completed since, where a pattern continues; return whether there are any."""
        patterns = list(self.result.patterns)
        changed = False
        for number, pattern in enumerate(patterns):
            following = self._following(pattern)
            if len(following):
                patterns[number] = self._joined(pattern, following)
                self._seen = int(following[-1, 1])
                changed = True
        shared = tuple(self._shared(pattern) for pattern in patterns)
        self.result = replace(self.result, samples=self.samples, patterns=shared)
        return changed

    def _following(self, pattern: Pattern) -> IntArray:
        """Return the instances of a pattern that follow its last one, if the stream was processed up to it, (q, 2)."""
        first, start = self.samples - len(self._kept), int(pattern.instances[-1, 1])
        room = (self.samples - start) // pattern.length
        if start != self._seen or start < first or room < 1:
            return np.zeros((0, 2), dtype=np.int64)
        starts = start + pattern.length * np.arange(room)
        pieces = (self._kept[at - first : at - first + pattern.length] for at in starts.tolist())
        packed = dtw.pack([pattern.values, *pieces])
        zeros = np.zeros(room, dtype=np.int64)
        distances = dtw.distances(packed, zeros, np.arange(1, room + 1), squared=True, threads=self.options.threads)
        like = distances <= _usual_distance(pattern)
        count = room if like.all() else int(like.argmin())
        return np.column_stack([starts, starts + pattern.length])[:count]

    def _joined(self, pattern: Pattern, following: IntArray) -> Pattern:
        """Return a pattern with more instances added to its average, regions and WGSS."""
        packed = dtw.slices(self._kept, following - (self.samples - len(self._kept)))
        refined, distances = fast_step(packed, pattern.values, self.options.threads)
        weight = len(following) / (len(pattern.instances) + len(following))
        values = pattern.values + weight * (refined - pattern.values)
        instances = np.concatenate([pattern.instances, following])
        total = pattern.wgss + float(distances.sum())
        return replace(pattern, values=values, instances=instances, regions=regions_of(instances)[0], wgss=total)

    def _shared(self, pattern: Pattern) -> Pattern:
        """Return a pattern with its share of the samples so far."""
        covered = float((pattern.instances[:, 1] - pattern.instances[:, 0]).sum())
        remembered = min(self.samples, self.memory)
        return replace(pattern, share=min(covered / remembered, 1.0))


def _usual_distance(pattern: Pattern) -> float:
    """Return the greatest DTW2 of an instance: a few times the mean over instances."""
    spread = float(((pattern.values - pattern.values.mean()) ** 2).sum())
    return min(4 * pattern.wgss_per_instance + 1e-9 * spread, 0.25 * spread + pattern.wgss_per_instance)


def _moved(pattern: Pattern, by: int) -> Pattern:
    """Return a pattern with all positions shifted by `by` samples."""
    return replace(pattern, instances=pattern.instances + by, regions=pattern.regions + by)
