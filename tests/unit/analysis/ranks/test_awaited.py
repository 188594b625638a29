"""Ranks that the others wait for in MPI, also where these go through other phases meanwhile."""

from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.ranks.all_ranks import times_of, worked_s
from incprof.analysis.ranks.awaited import awaited, beyond_counting
from incprof.analysis.ranks.ranks_result import TIMES, Pieces
from incprof.model.time_use import MPI, WORK
from tests.unit.manyranks import in_phases_of_first, summary_of
from tests.unit.profiles import rows

PROFILE = rows(*["a=90"] * 10)
SUMMARY, LABELS = summary_of(PROFILE), in_phases_of_first([PROFILE]).labels[0]


def found_in(*ranks, late_s=0.0, k=3):
    """Find the awaited ranks of these, each a list of pieces: phase, start, end, work and MPI, all in seconds."""
    summaries, labels = [], []
    for number, pieces in enumerate(ranks):
        label, start, end = (np.array([piece[at] for piece in pieces]) for at in range(3))
        kinds = np.zeros((len(pieces), len(TIMES)))
        kinds[:, WORK], kinds[:, MPI] = ([piece[at] for piece in pieces] for at in (3, 4))
        at = np.arange(len(pieces))
        of_pieces = Pieces(
            at, at + 1, np.zeros(len(at), dtype=np.int64), start - late_s * number, end - late_s * number, kinds
        )
        mix = replace(SUMMARY.mix, own=SUMMARY.mix.own * float(kinds[:, WORK].sum()))
        summaries.append(replace(SUMMARY, rank=number, pieces=of_pieces, mix=mix))
        labels.append(replace(LABELS, rank=number, label=label, start_s=of_pieces.start_s, end_s=of_pieces.end_s))
    work = worked_s(times_of(summaries, labels, k)[0])[:, :-1]
    clocks = [(late_s * number, 1.0) for number in range(len(ranks))]
    return awaited(summaries, labels, work, clocks, 100.0, ())


START = (0, 0.0, 10.0, 9.0, 0.5)
FAST, SLOW = [START, (1, 10.0, 40.0, 10.0, 20.0)], [START, (2, 10.0, 40.0, 29.0, 0.5)]


@pytest.mark.parametrize("peers", [1, 3, 9])
@pytest.mark.parametrize("late_s", [0.0, 3.0])
def test_a_rank_in_a_phase_of_its_own(peers, late_s):
    (one,) = found_in(*[FAST] * peers, SLOW, late_s=late_s)
    assert (one.rank, one.phase, one.seconds) == (peers, 2, 29.0)
    assert (one.usual_s, one.waiting_s) == (pytest.approx(10.0), pytest.approx(20.0))
    assert one.why[0][0] == "a"


def test_a_rank_in_the_same_phase():
    (one,) = found_in(FAST, [START, (1, 10.0, 40.0, 29.0, 0.5)])
    assert (one.rank, one.phase, one.usual_s) == (1, 1, pytest.approx(10.0))


@pytest.mark.parametrize(
    ("theirs", "its"),
    [
        # No rank waits for it.
        ((1, 10.0, 40.0, 10.0, 0.0), (2, 10.0, 40.0, 29.0, 0.5)),
        # The others do hardly anything: a part of the program that one rank does alone.
        ((1, 10.0, 40.0, 1.0, 29.0), (2, 10.0, 40.0, 29.0, 0.5)),
        # 29 and 26.5 s of work.
        ((1, 10.0, 40.0, 26.5, 3.0), (1, 10.0, 40.0, 29.0, 0.5)),
        # Counting samples explains that.
        ((1, 10.0, 40.0, 0.20, 0.2), (1, 10.0, 40.0, 0.30, 0.0)),
    ],
)
def test_no_straggler(theirs, its):
    assert found_in([START, theirs], [START, its]) == []


def test_balanced_ranks_have_none():
    rng = np.random.default_rng(1)
    for _ in range(300):
        work = 20.0 * (1.0 + 0.03 * rng.standard_normal(int(rng.integers(2, 7))))
        assert found_in(*([START, (1, 10.0, 40.0, each, 29.0 - each)] for each in work)) == []


def test_functions_within_the_error_of_counting_are_no_reason():
    seconds = [
        ("a", 2.0, 0.5),
        ("b", 0.004, 0.0),
        ("MPI_Wait", 0.004, 0.002),
        ("c", 0.048, 0.012),
        ("d", 1.0, 2.0),
    ]
    assert beyond_counting(seconds, 250.0) == (("a", 1.5), ("c", pytest.approx(0.036)))
