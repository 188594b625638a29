"""Functions named by hashes: under their caller's name, and short where there is no caller."""

import numpy as np

from incprof.readers.run import open_run, read_profile
from incprof.report.words.display_names import Names, short
from tests.unit.streamwriter import LIBRARY, PROFILER, Sample, StreamWriter

ONE, OTHER = "libcudart_static_" + "3f7a" * 10, "libcudart_static_" + "9c0d" * 10


def test_time_is_that_of_the_exported_caller(tmp_path):
    writer = StreamWriter(["main", "step", "cudaDeviceSynchronize", ONE, OTHER])
    path = f"main;step;cudaDeviceSynchronize;{ONE}"
    samples = [Sample(path, weight=10), Sample(f"{path};{OTHER}", weight=20), Sample(f"{path};{OTHER}", LIBRARY, 5)]
    writer.interval([*samples, Sample("main", weight=3), Sample(path, PROFILER, weight=1), Sample(OTHER, weight=7)])
    writer.end()
    for libs in ("named", "caller"):
        profile = read_profile(open_run(writer.save(tmp_path / libs)), libs=libs)
        own = dict(zip((f.name for f in profile.functions), np.ravel(profile.self_s.sum(axis=0)).tolist(), strict=True))
        assert {name: round(s, 6) for name, s in own.items() if s} == {
            "main": 0.03, "cudaDeviceSynchronize": 0.35, OTHER: 0.07,
        }  # fmt: skip


def test_hashes_lose_their_middle_unless_it_distinguishes_them():
    assert short(ONE) == "libcudart_static_3f7a…3f7a"
    assert short("deadbeef_step") == "deadbeef_step"
    assert short("a" * 50) == "a" * 50
    alike = [ONE, ONE[:-8] + "00003f7a"]
    assert len({Names(alike)(name) for name in alike}) == 2
