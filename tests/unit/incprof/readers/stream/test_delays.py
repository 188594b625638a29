"""Delays are placed where they were, although the kernel counts them when they end."""

from __future__ import annotations

import numpy as np
import pytest

from incprof.readers.stream.delays import delays_of_intervals

MS = 1_000_000


def counters(*rows: tuple[int, int, int, int, int]) -> np.ndarray:
    """Rows of begin, end, CPU time, threads' time, delay in milliseconds."""
    table = np.zeros((len(rows), 18))
    table[:, [0, 1, 2, 3, 17]] = np.array(rows).reshape(-1, 5) * MS
    return table


def test_a_delay_longer_than_what_an_interval_leaves_was_in_the_one_before() -> None:
    found = delays_of_intervals(counters((0, 500, 200, 500, 0), (500, 1000, 270, 500, 530)))
    assert (found / MS).tolist() == [300, 230]


def test_the_cpu_time_of_other_threads_leaves_room_for_a_delay() -> None:
    found = delays_of_intervals(counters((0, 500, 900, 1000, 100), (500, 1000, 900, 1000, 530)))
    assert (found / MS).tolist() == [130, 500]


def test_a_delay_is_not_in_an_interval_before_a_gap() -> None:
    found = delays_of_intervals(counters((0, 400, 0, 400, 0), (500, 1000, 0, 500, 700)))
    assert (found / MS).tolist() == [0, 500]


@pytest.mark.parametrize("row", [(), (0, 0, 0, 0, 0), (5, 2, 1, 1, 9), (0, 2**55, 0, 0, 2**55)])
def test_damaged_counters_do_no_harm(row: tuple[int, ...]) -> None:
    found = delays_of_intervals(counters(*([row] if row else [])))  # type: ignore[arg-type]
    assert found.min(initial=0) >= 0
