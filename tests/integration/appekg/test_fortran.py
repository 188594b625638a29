"""The Fortran module: every call, ordinary strings as names, macros that vanish, and the cache of compiled modules."""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import appekg
from appekg._fortran_module import CompilerError, module_directory
from tests.integration.appekg.test_header import machine_code, plain
from tests.integration.appekg_use import ROOT, environment, installation, run, totals

COMPILERS = ("gfortran", "flang-new", "flang-new-19", "flang")

EVERY_CALL = """
program every
  use appekg
  use, intrinsic :: iso_c_binding
  implicit none
  character(len=40) :: padded
  character(len=200) :: long
  character(kind=c_char), target :: directory(5)
  type(ekg_options) :: options
  integer :: i, id
  directory = ['r', 'u', 'n', 's', c_null_char]
  options%directory = c_loc(directory)
  options%interval_s = 60
  options%start_off = 1
  call ekg_init(options)
  if (ekg_is_enabled() /= 0) stop 2
  call ekg_begin(1)
  call ekg_end(1)
  call ekg_enable()
  if (ekg_is_enabled() == 0) stop 3
  padded = 'gr\u00f6\u00dfe'
  long = repeat('x', 200)
  call ekg_name(1, padded)
  call ekg_name(2, 'a b ')
  call ekg_name(3, long)
  call ekg_name(4, repeat('x', 118) // '\u00e4\u00f6\u00fc')
  call ekg_name(5, '')
  id = 2147483647
  call ekg_name(id, 'largest')
  call ekg_rate(2, 10)
  do i = 1, 100
    call ekg_begin(1)
    call ekg_begin(2)
    call ekg_pulse(3)
    call ekg_end(2)
    call ekg_end(1)
    call ekg_pulse(id)
  end do
  call ekg_pulse(4)
  call ekg_pulse(5)
  call ekg_disable()
  call ekg_pulse(3)
  call ekg_enable()
  call ekg_finalize()
  call ekg_pulse(3)
end program
"""

MACROS = """
module work
  EKG_USE
  implicit none
contains
  subroutine step(values, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: values(n)
    integer :: i
    EKG_BEGIN(1)
    do i = 2, n
      EKG_PULSE(2)
      values(i) = values(i) * values(i - 1)
    end do
    EKG_END(1)
  end subroutine
end module

program main
  EKG_USE
  use work
  implicit none
  real(8) :: values(10)
  integer :: i
  EKG_INIT()
  EKG_NAME(1, 'step, or so')
  EKG_RATE(2, 3)
  EKG_ENABLE()
  values = 1
  do i = 1, 10
    call step(values, 10)
  end do
  if (values(10) /= 1) stop 1
  EKG_FINALIZE()
end program
"""


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """The Fortran compilers that are there."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


def flags(what: str, compiler: str, cache: Path) -> list[str]:
    """What `incprof env` prints, as words."""
    found = environment(XDG_CACHE_HOME=cache, FC=compiler)
    return run(sys.executable, "-m", "incprof", "env", *what.split(), cwd=ROOT, env=found).split()


def test_every_call(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "every.f90").write_text(EVERY_CALL)
    words = flags("--fflags --libs", compiler, tmp_path / "cache")
    run(compiler, "-O2", "every.f90", *words, "-o", "every", cwd=tmp_path)
    run(tmp_path / "every", cwd=tmp_path)
    assert totals(tmp_path / "runs") == {
        (1, "größe"): (100, 0),
        (2, "a b"): (10, 0),
        (3, "x" * 119): (0, 100),
        (4, "x" * 118): (0, 1),
        (5, None): (0, 1),
        (2**31 - 1, "largest"): (0, 100),
    }
    assert appekg.read(tmp_path / "runs").processes[0].interval_s == 60


def test_init_needs_no_options(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "bare.f90").write_text("use appekg\ncall ekg_init()\ncall ekg_pulse(0)\nend\n")
    run(compiler, "bare.f90", *flags("--fflags --libs --static", compiler, tmp_path), "-o", "bare", cwd=tmp_path)
    run(tmp_path / "bare", cwd=tmp_path, env=environment(EKG_DIR=tmp_path / "runs"))
    assert totals(tmp_path / "runs") == {(0, None): (0, 1)}


def test_compilers_do_not_warn_about_the_module(compiler: str, tmp_path: Path) -> None:
    # flang's -pedantic doubts optional arguments of C functions, which Fortran 2018 has.
    strict = ["-std=f2018", "-Wall", "-Wextra", "-pedantic", "-Werror"] if compiler == "gfortran" else []
    assert run(compiler, *strict, "-c", installation().fortran / "appekg.f90", cwd=tmp_path) == ""


def test_default_integers_of_eight_bytes_are_refused_not_misread(tmp_path: Path) -> None:
    """Such programs write the kind, as in ekg_begin(1_4)."""
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    words = flags("--fflags", "gfortran", tmp_path)
    (tmp_path / "plain.f90").write_text("use appekg\ncall ekg_begin(1)\nend\n")
    (tmp_path / "kind.f90").write_text("use appekg\ncall ekg_begin(1_4)\nend\n")
    assert "Type mismatch" in run("gfortran", "-fdefault-integer-8", "-c", "plain.f90", *words, cwd=tmp_path, status=1)
    run("gfortran", "-fdefault-integer-8", "-c", "kind.f90", *words, cwd=tmp_path)


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_macros_vanish(compiler: str, optimisation: str, tmp_path: Path) -> None:
    words = flags("--fflags", compiler, tmp_path / "cache")
    source = '#include "appekg_fortran.h"\n' + MACROS
    without = machine_code(compiler, [optimisation], "main.F90", plain(source), tmp_path / "code")
    off = machine_code(compiler, [optimisation, "-DEKG_OFF", words[-1]], "main.F90", source, tmp_path / "code")
    assert off == without
    libraries = flags("--libs", compiler, tmp_path / "cache")
    run(compiler, optimisation, *words, "main.F90", *libraries, "-o", "on", cwd=tmp_path / "code")
    run(tmp_path / "code/on", env=environment(EKG_DIR=tmp_path / "runs"))
    assert totals(tmp_path / "runs") == {(1, "step, or so"): (10, 0), (2, None): (0, 30)}


@pytest.mark.slow
def test_many_builds_at_once_share_one_module(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    words = [sys.executable, "-m", "incprof", "env", "--fflags"]
    with ThreadPoolExecutor(6) as pool:
        said = set(pool.map(lambda _: run(*words, cwd=ROOT, env=environment(XDG_CACHE_HOME=tmp_path)), range(6)))
    assert len(said) == 1
    modules = Path(said.pop().split()[0].removeprefix("-I"))
    assert [path.name for path in modules.iterdir()] == ["appekg.mod"]
    assert list(modules.parent.iterdir()) == [modules]
    # The second time nothing is compiled.
    before = (modules / "appekg.mod").stat().st_mtime_ns
    assert module_directory(installation(), "gfortran", {"XDG_CACHE_HOME": str(tmp_path)}) == modules
    assert (modules / "appekg.mod").stat().st_mtime_ns == before


def script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_another_version_of_a_compiler_has_a_module_of_its_own(tmp_path: Path) -> None:
    found = {"XDG_CACHE_HOME": str(tmp_path)}
    text = "case $1 in --version) echo version {};; *) echo > appekg.mod;; esac\n"
    compiler = script(tmp_path / "fc", text.format(1))
    first = module_directory(installation(), compiler, found)
    assert module_directory(installation(), f"{compiler} -O1", found) != first
    script(tmp_path / "fc", text.format(2))
    second = module_directory(installation(), compiler, found)
    assert second != first
    assert module_directory(installation(), None, {**found, "FC": compiler}) == second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 3\n", "fails: status 3"),
        ('case $1 in --version) ;; *) echo "x.f90:1: Error: no"; exit 1;; esac\n', "fails: x.f90:1: Error: no"),
        ("exit 0\n", "wrote no appekg.mod"),
    ],
)
def test_a_compiler_that_cannot_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    compiler = script(tmp_path / "fc", text)
    with pytest.raises(CompilerError) as caught:
        module_directory(installation(), compiler, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    kept = tmp_path / "cache/incprof/fortran"
    assert not kept.exists() or list(kept.iterdir()) == []


@pytest.mark.parametrize("name", ["no-such-compiler", "", '"'])
def test_a_compiler_that_is_not_there(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "incprof", "env", "--fflags", "--fc", name or " "]
    said = run(*words, cwd=ROOT, env=environment(XDG_CACHE_HOME=tmp_path), status=1)
    assert said.startswith("incprof: Fortran compiler ")
    assert said.count("\n") == 1


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    compiler = script(tmp_path / "fc", "exit 0\n")
    with pytest.raises(CompilerError, match="set XDG_CACHE_HOME"):
        module_directory(installation(), compiler, {"XDG_CACHE_HOME": str(tmp_path / "file")})
