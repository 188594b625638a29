"""Phases of a signature within those of the profile, where the ranks of a run are not alike."""

from types import SimpleNamespace

import numpy as np

from incprof.study import Study
from incprof.systems.mpi.analyse.signature import PARTS
from incprof.systems.mpi.run_signature import profile_phases
from tests.unit.manyranks import STORY, write_rank


def process(rank, start_ns, seconds, phases):
    """Return the requested part of a signature: its phases in order, of equal length."""
    return SimpleNamespace(
        rank=rank,
        start_mono_ns=start_ns,
        phases_found=SimpleNamespace(aet_s=seconds, phases=[SimpleNamespace(id=i) for i in range(phases)]),
        parts=np.arange(PARTS) * phases // PARTS,
    )


def test_each_rank_in_its_own_intervals(tmp_path):
    # The shorter rank is not the one that phases are found in, nor the longer one all of it.
    write_rank(tmp_path, 0, [*STORY, ("master", 40)], start_mono_ns=5)
    write_rank(tmp_path, 1, [("assemble", 18), ("output", 12)], start_mono_ns=5)
    for rank, seconds in ((0, 100.0), (1, 30.0)):
        labels = Study(str(tmp_path), rank=rank).phases(confidence=False).labels
        found = profile_phases(str(tmp_path), process(rank, 5, seconds, 5))
        pieces = np.split(labels, 5)
        assert [each and each[0] for each in found] == [np.bincount(piece[piece >= 0]).argmax() for piece in pieces]
        assert all(each[1] > 0.7 for each in found)
