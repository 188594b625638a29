"""What time is spent on: work, MPI, the run-time of OpenMP, input and output, waiting."""

from __future__ import annotations

import numpy as np
import pytest

from incprof.analysis.answer.describe import mostly
from incprof.analysis.phase_result import FunctionShare, Phase
from incprof.model import Function
from incprof.model.time_use import SPENT, called_for
from incprof.report.words.display_names import phase_names
from incprof.report.words.site_evidence import legend, no_site, spent_words


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
    assert spent_words(waiting) == ["92 % in MPI"]
    assert spent_words(phase("main", mostly="waiting", spent={"work": 0.01})) == ["waiting, next to no CPU time"]
    assert phase_names([waiting]) == ["MPI_Barrier"]


def test_a_phase_without_a_site_has_a_reason() -> None:
    assert no_site(phase("f", off_cpu=True, mostly="waiting")).startswith("the program waits")
    assert "threads of libraries" in no_site(phase("[no application frame]"))
    assert "threads of libraries" in no_site(phase("[threads of libgomp.so.1]"))
    assert no_site(phase("f")).endswith("most of it is in f")
    assert "no samples" in no_site(Phase(0, 4, 100.0, 4.0, (), ()))
