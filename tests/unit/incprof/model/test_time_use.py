"""What time is spent on: work, MPI, the run-time of OpenMP, input and output, waiting."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from incprof.analysis.answer import refuse
from incprof.analysis.answer.describe import mostly
from incprof.analysis.phase_result import FunctionShare, Phase
from incprof.cli.main import main
from incprof.errors import NoDataError
from incprof.model import Function
from incprof.model.time_use import SPENT, called_for, kind_of_time, missed_seconds
from incprof.readers.run import open_run, read_profile
from incprof.report.words.display_names import phase_names
from incprof.report.words.site_evidence import kind_shares, legend, no_site
from tests.unit.streamwriter import LIBRARY, UNKNOWN, Sample, StreamWriter
from tests.unit.synthetic import make_profile

DEVICE = (
    "cudaDeviceSynchronize", "cudaStreamSynchronize_ptsz", "cuCtxSynchronize", "cuMemcpyDtoH_v2", "cudaMemcpy2D",
    "hipMemcpy", "hipEventSynchronize", "hsa_signal_wait_scacquire", "zeCommandQueueSynchronize",
    "zeEventHostSynchronize", "clFinish",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MPI_Barrier", "mpi"),
        ("PMPI_Allreduce", "mpi"),
        ("mpi_allreduce_", "mpi"),
        ("MPI_File_write_all", "io"),
        ("GOMP_barrier", "openmp"),
        ("__kmpc_barrier", "openmp"),
        ("write", "io"),
        ("pwrite64", "io"),
        ("__fprintf_chk", "io"),
        ("H5Dwrite", "io"),
        ("_gfortran_st_write_done", "io"),
        ("_ZNSo5writeEPKcl", "io"),
        ("pthread_cond_wait", "waiting"),
        ("clock_nanosleep", "waiting"),
        ("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "waiting"),
        *((name, "device") for name in DEVICE),
        *(
            (name, "work")
            for name in ("cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", "cudaLaunchKernel", "clEnqueueNDRangeKernel")
        ),
        ("cblas_dgemm", "work"),
        ("memcpy", "work"),
        ("_ZNK5Eigen4sizeEv", "work"),
        ("readme", "work"),
        ("mpiece", "work"),
        ("sqrt", "work"),
    ],
)
def test_what_a_function_is_called_for(name: str, kind: str) -> None:
    assert SPENT[called_for(name)] == kind


def test_most_of_an_interval() -> None:
    seconds = np.array([[0.6, 0.4, 0, 0, 0], [0.4, 0.6, 0, 0, 0], [0.01, 0, 0, 0, 0], [0.1, 0.1, 0.1, 0.4, 0]])
    found = mostly(seconds, np.ones(4))
    assert [SPENT[kind] for kind in found.tolist()] == ["work", "mpi", "waiting", "io"]
    assert legend(found) == "m: in MPI, i: input and output, w: waiting"
    assert legend(np.zeros(3, dtype=np.int64)) is None
    assert legend(None) is None


def phase(name: str, **given: object) -> Phase:
    function = Function("", name, name, 0, imported=name.startswith("MPI"))
    return Phase(0, 4, 100.0, 4.0, (FunctionShare(function, 4.0, 1.0, 0),), (), **given)  # type: ignore[arg-type]


def test_words() -> None:
    waiting = phase("MPI_Barrier", mostly="mpi", spent={"work": 0.1, "mpi": 3.7, "io": 0.2, "off_cpu": 9.0})
    assert kind_shares(waiting) == ["92 % in MPI"]
    assert kind_shares(phase("main", mostly="waiting", spent={"work": 0.01})) == ["waiting, next to no CPU time"]
    assert phase_names([waiting]) == ["MPI_Barrier"]


def test_a_phase_without_a_site_has_a_reason() -> None:
    assert no_site(phase("f", off_cpu=True, mostly="waiting")).startswith("the program waits")
    assert "threads of libraries" in no_site(phase("[no application frame]"))
    assert "threads of libraries" in no_site(phase("[threads of libgomp.so.1]"))
    assert no_site(phase("f")).endswith("most of it is in f")
    assert "no samples" in no_site(Phase(0, 4, 100.0, 4.0, (), ()))


def test_time_below_a_function_of_the_device_is_waiting_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run-time is linked statically: its functions, and those inside of it, are the executable's."""
    writer = StreamWriter(["main", "relax", "cudaDeviceSynchronize", "libcudart_static_ff46", "assemble"])
    for at in range(20):
        path = "main;relax;cudaDeviceSynchronize;libcudart_static_ff46" if at < 10 else "main;assemble"
        writer.interval([Sample(path, weight=97 + at % 3), Sample("main;relax", weight=2)])
    writer.end()
    writer.save(tmp_path / "run")
    assert main(["phases", str(tmp_path / "run"), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["phases"]
    assert (first["mostly"], second["mostly"]) == ("device", "work")
    assert first["spent"]["device"] == pytest.approx(9.8, abs=0.1)
    assert first["sites"][0]["function"] == "relax"
    assert first["functions"][0]["name"] == "cudaDeviceSynchronize"
    assert main(["phases", str(tmp_path / "run"), "--details"]) == 0
    out = capsys.readouterr().out
    assert "waiting for the device" in out, out


def test_only_threads_of_a_team_wait_for_its_next_region(tmp_path: Path) -> None:
    """The thread that starts the regions is in a library before main, in MPI_Init, or where no stack can be read."""
    writer = StreamWriter(["main", "solve", "solve._omp_fn.0"])
    for _ in range(3):
        writer.interval([
            Sample("", LIBRARY, weight=20), Sample("", UNKNOWN, weight=10), Sample("main;solve;solve._omp_fn.0"),
            Sample("main;solve", weight=9), Sample("solve._omp_fn.0", thread=1, weight=9),
            Sample("", LIBRARY, thread=1, weight=30), Sample("", UNKNOWN, thread=1),
        ])  # fmt: skip
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    kind = kind_of_time(profile)
    ticks = [
        {SPENT[one]: int(profile.samples.weight[of & (kind == one)].sum()) for one in set(kind[of].tolist())}
        for of in (profile.samples.thread == thread for thread in (0, 1))
    ]
    assert ticks == [{"work": 120}, {"work": 27, "openmp": 93}]


@pytest.mark.parametrize(
    ("sampled_s", "used_s", "missed_s"), [(0, 0.24, 0.24), (0.05, 0.24, 0.19), (0.2, 0.24, None), (0, 0.1, None)]
)
def test_cpu_time_between_the_kernels_ticks(sampled_s: float, used_s: float, missed_s: float | None) -> None:
    profile = make_profile(np.array([[sampled_s]]))
    profile = replace(profile, counters=replace(profile.counters, cpu_s=np.array([used_s])))
    assert missed_seconds(profile) == (None if missed_s is None else pytest.approx(missed_s))


def test_no_samples_of_a_program_with_cpu_time_has_a_remedy() -> None:
    profile = make_profile(np.zeros((1, 1)))
    profile = replace(profile, counters=replace(profile.counters, cpu_s=np.array([0.24])))
    with pytest.raises(NoDataError, match=r"0\.24 s of CPU time .* INCPROF_CLOCK=perf"):
        refuse(profile)
