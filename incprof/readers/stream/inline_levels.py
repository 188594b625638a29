"""A function's samples and calls by line, of the function itself or of one that was inlined into it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.readers.stream.function_code import FunctionCode
from incprof.symbols.addr2line import Chain, Frame


@dataclass(frozen=True)
class Level:
    """Executed code of a function in one file: at depth 0 the recorded function, at depth 1 one inlined into it.

    Attributes:
        function: mangled name of the inlined one; None at depth 0.
        whole: the time of called functions counts too, at the line of the call.
    """

    code: FunctionCode
    file: str
    depth: int = 0
    function: str | None = None
    whole: bool = False

    def frame(self, chain: Chain) -> Frame | None:
        """Return the frame of a chain at this level; None if its code is not this function's, or has no line."""
        if len(chain) <= self.depth:
            return None
        frame = chain[-1 - self.depth]
        mine = frame.file == self.file and frame.line and self.function in (None, frame.function)
        return frame if mine else None

    def seconds(self, phases: Sequence[int]) -> tuple[dict[int, float], dict[int, float]]:
        """Return seconds by line in some phases, and in all others. Inlined code counts at the line that uses it."""
        here: defaultdict[int, float] = defaultdict(float)
        elsewhere: defaultdict[int, float] = defaultdict(float)
        chosen, total = self._within(phases), self._time.sum(axis=1)
        for at, chain in enumerate(self.code.chains):
            if frame := self.frame(chain):
                here[frame.line] += float(chosen[at])
                elsewhere[frame.line] += float(total[at] - chosen[at])
        return here, elsewhere

    def calls(self) -> dict[tuple[int, int, bool], FloatArray]:
        """Return calls in each phase by (line, callee, whether the call is in inlined code), (k,) each."""
        found: dict[tuple[int, int, bool], FloatArray] = {}
        for row, chain in enumerate(self.code.call_chains):
            if frame := self.frame(chain):
                key = frame.line, int(self.code.callee[row]), len(chain) - 1 > self.depth
                found[key] = found.get(key, np.zeros(self.code.calls.shape[1])) + self.code.calls[row]
        return found

    def inner(self, phases: Sequence[int], part: float) -> tuple[Level, Frame] | None:
        """Return the function inlined here with at least this share of the time, and its hottest place; else None."""
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        chosen = self._within(phases)
        mine = [at for at, chain in enumerate(self.code.chains) if self.frame(chain)]
        for at in mine:
            chain = self.code.chains[at]
            if len(chain) > self.depth + 1 and chain[-2 - self.depth].line:
                groups[chain[-2 - self.depth].function, chain[-2 - self.depth].file].append(at)
        total = float(chosen[mine].sum())
        for (function, file), rows in groups.items():
            if chosen[rows].sum() >= part * total > 0:
                hottest = max(rows, key=lambda at: (float(chosen[at]), -at))
                inner = Level(self.code, file, self.depth + 1, function, self.whole)
                return inner, self.code.chains[hottest][-2 - self.depth]
        return None

    @property
    def _time(self) -> FloatArray:
        """Return seconds of each address in each phase, shape (q, k)."""
        return self.code.whole if self.whole else self.code.seconds

    def _within(self, phases: Sequence[int]) -> FloatArray:
        """Return seconds of each address in some phases, shape (q,)."""
        total: FloatArray = self._time[:, list(phases)].sum(axis=1)
        return total
