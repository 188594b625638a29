"""What names a change."""

from incprof.study import Study
from tests.unit.streamwriter import Sample, StreamWriter

# void std::for_each_of<int*>(int*, int*): a thread of C++ begins in a function like it.
STARTER = "_ZSt11for_each_ofIPiEvT_S1_"


def test_what_a_library_only_starts_names_the_change(tmp_path):
    writer = StreamWriter(["main", "solve", "pairwise", STARTER])
    for i in range(60):
        path = "main;solve" if i < 30 else f"{STARTER};pairwise"
        writer.interval([Sample(path, weight=25) for _ in range(4)])
    writer.end()
    (border,) = Study(writer.save(tmp_path / "run")).phases(confidence=False).borders
    assert (border.function.name, border.interval) == ("pairwise", 30)
    assert (border.share_before, border.share_after) == (0.0, 1.0)
