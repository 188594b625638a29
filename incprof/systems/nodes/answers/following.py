"""A node that is still being sampled: its state after every new row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from incprof.errors import NoDataError
from incprof.study.following import followed, name_of
from incprof.systems.nodes.analyse.live import Live, Now
from incprof.systems.nodes.analyse.node_states import Alphabet
from incprof.systems.nodes.growing import growing_rows


def follow(path: str, alphabet: Alphabet, idle_s: float) -> Iterator[Now]:
    """Yield the state after each row of a growing file, or of a pipe.

    Args:
        path: Path of a text file with a line of names, as written by incprof sample; `-` is standard input.
        alphabet: Alphabet; the file must have its counters.
        idle_s: Seconds without a new line after which a file counts as ended.

    Raises:
        NoDataError: a counter is missing, or no row arrived.
    """
    live, rows = Live(alphabet), 0
    with followed(path, idle_s) as lines:
        for time_s, rates in growing_rows(lines, name_of(path), alphabet.scale.names):
            rows += 1
            yield live.feed(time_s, np.asarray(rates))
    if not rows:
        raise NoDataError(f"{name_of(path)}: no row")
