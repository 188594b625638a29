"""Occurrences separated by the modes of their work: drawn streams of known phases with noise as in measured times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.event_phases import SignatureOptions
from incprof.systems.mpi.analyse.mpi_events import Work
from incprof.systems.mpi.analyse.pas2p import modes, paper_phases


def drawn(seed: int, levels: IntArray, noise: float, ratio: float) -> FloatArray:
    """Work before three calls, (n, 3): the first has that of its phase, ratio to the power of its level.

    Each varies by `noise`, one in fifty takes up to four times as long (a cold cache), and the clock adds 2 us.
    """
    dice = np.random.default_rng(seed)
    work = np.tile([400e-6, 15e-6, 3e-6], (len(levels), 1))
    work[:, 0] *= ratio**levels
    work *= np.exp(dice.normal(0, noise, work.shape))
    work *= np.where(dice.random(work.shape) < 0.02, dice.uniform(1.5, 4, work.shape), 1.0)
    return work + dice.exponential(2e-6, work.shape)


def agreeing(found: IntArray, levels: IntArray) -> float:
    """The part of the occurrences in the phase that most of their level are in, where there is one phase a level."""
    if len(np.unique(found)) != len(np.unique(levels)):
        return 0.0
    return float(sum(np.bincount(found[levels == one]).max() for one in np.unique(levels)) / len(levels))


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("length", [20, 300, 5000])
@pytest.mark.parametrize("seed", range(3))
def test_noise_makes_no_phases(noise: float, length: int, seed: int) -> None:
    levels = np.zeros(length, dtype=np.int64)
    assert modes(drawn(seed, levels, noise, 1.0), 0.85).max() == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("noise", "ratio", "block"),
    [(0.02, 1.3, 1), (0.05, 1.5, 1), (0.1, 2, 1), (0.2, 4, 1), (0.1, 1.5, 500), (0.2, 2, 500), (0.3, 2, 500)],
)
def test_phases_are_found_in_noise(seed: int, noise: float, ratio: float, block: int) -> None:
    """In turns, or each for some time: then they are distinguished in noise in which single ones cannot be."""
    levels = np.arange(3000) // block % 2
    assert agreeing(modes(drawn(seed, levels, noise, ratio), 0.85), levels) > 0.93


def test_three_levels_of_a_multigrid_cycle() -> None:
    levels = np.tile([0, 1, 2, 1], 250)
    assert agreeing(modes(drawn(1, levels, 0.1, 2.0), 0.85), levels) > 0.95


def test_work_that_is_the_same_in_all_is_no_other_phase() -> None:
    """A short call whose time has two modes of its own: a few microseconds of a millisecond tell nothing apart."""
    dice = np.random.default_rng(0)
    short = np.where(dice.random(1000) < 0.5, 5e-6, 50e-6)
    work = np.stack([1e-3 * np.exp(dice.normal(0, 0.02, 1000)), short], axis=1)
    assert modes(work, 0.85).max() == 0
    work[:, 0] /= 50
    assert modes(work, 0.85).max() == 1


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from([0.0, 1e-300, 1e-9, 1.0, 1.2, 1e9, 1e300]), min_size=2, max_size=2), max_size=80),
    st.sampled_from([0.0, 0.5, 0.85, 1.0]),
)
def test_any_amounts_have_groups_numbered_by_first_appearance(rows: list[list[float]], similar: float) -> None:
    work = np.array(rows).reshape(-1, 2)
    found = modes(work, similar)
    assert len(found) == len(work)
    _, first = np.unique(found, return_index=True)
    assert (np.diff(first) > 0).all()
    assert (modes(work, similar) == found).all()


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_a_given_ratio_is_taken_literally(noise: float) -> None:
    """And shatters: this is what the paper's rule makes of a time."""
    work = drawn(0, np.zeros(2000, dtype=np.int64), noise, 1.0).ravel()
    kinds = np.tile([0, 1, 2], 2000)
    robust, literal = (
        paper_phases(kinds, Work(work), work, float(work.sum()), SignatureOptions(similar=similar))
        for similar in (None, 0.85)
    )
    assert [phase.weight for phase in robust.phases] == [2000]
    assert robust.coverage == pytest.approx(1)
    assert len(literal.phases) > 5
    assert literal.coverage < 0.97
    counted = paper_phases(kinds, Work(1e8 * work, "instructions"), work, float(work.sum()), SignatureOptions())
    assert len(counted.phases) == len(literal.phases)
