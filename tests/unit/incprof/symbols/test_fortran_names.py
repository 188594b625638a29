"""Names of Fortran, as its compilers make them; of gfortran's, against what it makes of a program."""

import re
import subprocess

import pytest

from incprof.model.names import parse, without_marks
from incprof.report.words.display_names import Names
from incprof.symbols.demangle import display_names
from tests.integration.hosts import need

SOURCE = """
module mesh
  interface
    module subroutine refine(x)
      real, intent(inout) :: x
    end subroutine
  end interface
contains
  function area(x)
    real, intent(in) :: x
    real :: area, size
    area = x * 2
    return
  entry size(x)
    size = x * 3
  end function
end module
submodule (mesh) parts
contains
  module subroutine refine(x)
    real, intent(inout) :: x
    call split(x)
  end subroutine
  subroutine split(x)
    real, intent(inout) :: x
    x = x * 1.5
  end subroutine
end submodule
submodule (mesh) halves
contains
  subroutine split(x)
    real, intent(inout) :: x
    x = x - 1
  end subroutine
end submodule
subroutine solve(x)
  real x
  x = x + 1
  return
entry resume(x)
  x = x + 2
end subroutine
program main
  real :: x = 1
  call solve(x)
end program
"""
# As flang 18 and ifx 2024 name them.
OTHERS = {
    "_QMmeshPrefine": "mesh::refine", "_QMmeshSpartsPsplit": "mesh::parts::split", "_QMmeshFrefinePinner":
    "mesh::refine::inner", "_QFPinner": "inner", "_QFhostPinner": "host::inner", "_QPsolve": "solve",
    "_QMmeshPrefine.omp_outlined": "mesh::refine.omp_outlined", "_QQmain": "_QQmain",
    "mesh_mp_refine_": "mesh::refine", "mesh@parts_mp_split_": "mesh::parts::split", "host_IP_inner_": "host::inner",
    "mesh_mp_refine_IP_inner_": "mesh::refine::inner", "mesh_mp_refine_.t12p": "mesh::refine.t12p",
}  # fmt: skip


@pytest.mark.parametrize(("symbol", "name"), OTHERS.items())
def test_names_of_flang_and_ifx(symbol: str, name: str) -> None:
    assert display_names([symbol]) == [name]


@pytest.mark.parametrize("name", ["a", "i", "v", "d", "master", "mp_add", "do_mp_run", "_Qx", "x_", "lib_mp_run"])
def test_names_of_c_stay(name: str) -> None:
    assert display_names([name]) == [name]
    assert parse(name).written == name


def test_separators_of_intel_differ_from_those_of_gfortran() -> None:
    assert display_names(["do_mp_run_"], fortran=True) == ["do_mp_run"]


def test_names_of_gfortran(tmp_path) -> None:
    need("gfortran", "nm")
    (tmp_path / "mesh.f90").write_text(SOURCE)
    subprocess.run(["gfortran", "mesh.f90", "-o", "mesh"], cwd=tmp_path, check=True)
    listed = subprocess.run(["nm", "mesh"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    symbols = re.findall(r"^\w+ [tT] (__mesh\S+|\S+_|MAIN__)$", listed, re.MULTILINE)
    shown = dict(zip(symbols, display_names(symbols, fortran=True), strict=True))
    assert {parse(name).written for name in shown.values()} >= {
        "mesh::refine", "mesh::parts::split", "mesh::halves::split", "mesh::area", "mesh::size", "area", "solve",
        "resume",
    }  # fmt: skip
    assert not any("master" in parse(name).written or "MOD" in name for name in shown.values())
    assert len({without_marks(symbol) for symbol in symbols}) == len(symbols)
    names = Names(shown.values())
    assert len({names(name) for name in shown.values()}) == len(symbols)


def test_clones_of_gfortrans_functions_are_those() -> None:
    assert without_marks("__mesh.parts_MOD_split.isra.0") == "__mesh.parts_MOD_split"
    assert without_marks("master.0.solve_.part.0") == "master.0.solve_"
    assert without_marks("master.isra.0") == "master"
    assert parse("solve.master.0").written == "solve"
