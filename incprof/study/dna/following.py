"""A node that is still being sampled: its state with every row that comes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from incprof.analysis.dna.live import Live, Now
from incprof.analysis.dna.results import Alphabet
from incprof.errors import NoDataError
from incprof.readers.nodes.growing import growing_rows
from incprof.study.following import followed, name_of


def follow(path: str, alphabet: Alphabet, idle_s: float) -> Iterator[Now]:
    """Yield what is known after each row of a file that still grows, or of a pipe.

    Args:
        path: of text with a line of names, as incprof sample writes it; `-` is standard input.
        alphabet: the counters that it was learnt with must be there.
        idle_s: a file ends so long after a line.

    Raises:
        NoDataError: a counter is missing, or nothing has come.
    """
    live, rows = Live(alphabet), 0
    with followed(path, idle_s) as lines:
        for time_s, rates in growing_rows(lines, name_of(path), alphabet.scale.names):
            rows += 1
            yield live.feed(time_s, np.asarray(rates))
    if not rows:
        raise NoDataError(f"{name_of(path)}: no row")
