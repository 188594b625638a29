"""Wrappers for an MPI are compiled once and kept in the user's cache; failures are reported."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from incprof.record.mpi_wrappers import Wrappers, variable, wrappers_for_all

# Compiles as an MPI's compiler does, with a library of that name for MPI, and notes that it did.
COMPILER = """#!/bin/sh
if [ "$1" = -show ]; then echo "gcc -I{here}/include -L{here} -l{name}"; exit; fi
echo compiled >> {here}/log
exec gcc -L{here} -I{here}/include "$@" -l{name}
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "wrappers.c").write_text('#include "mpi.h"\nint wrapped(void) { return PMPI; }\n')
    return folder


def mpi(folder: Path, name: str = "mpi", header: str = "enum { PMPI = 1 };\n") -> dict[str, str]:
    """An environment in which there is this MPI alone."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (folder / "include").mkdir(parents=True)
    (folder / "include" / "mpi.h").write_text(header)
    os.system(f"cd {folder} && echo 'int f;' | gcc -x c - -shared -Wl,-soname,lib{name}.so.7 -o lib{name}.so")
    compiler = folder / "mpicc"
    compiler.write_text(COMPILER.format(here=folder, name=name))
    compiler.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "MPICC": str(compiler), "XDG_CACHE_HOME": str(folder.parent / "cache")}


def own(found: list[Wrappers], folder: Path) -> Wrappers:
    """Those that our compiler has made: others may be installed here."""
    (each,) = [each for each in found if each.compiler.startswith(str(folder))]
    return each


def test_compiled_once_and_again_when_something_has_changed(tmp_path: Path, sources: Path) -> None:
    environ = mpi(tmp_path / "one")
    first = own(wrappers_for_all(sources, environ), tmp_path)
    assert (first.soname, first.problem) == ("libmpi.so.7", "")
    assert Path(first.path).is_file()
    assert Path(first.path).is_relative_to(tmp_path / "cache" / "incprof" / "mpi")
    assert own(wrappers_for_all(sources, environ), tmp_path) == first
    log = tmp_path / "one" / "log"
    assert log.read_text() == "compiled\n"
    (tmp_path / "one" / "include" / "mpi.h").write_text("enum { PMPI = 22 };\n")
    other = own(wrappers_for_all(sources, environ), tmp_path)
    assert other.path != first.path
    (sources / "wrappers.c").write_text('#include "mpi.h"\nint wrapped(void) { return PMPI + 1; }\n')
    assert own(wrappers_for_all(sources, environ), tmp_path).path not in (first.path, other.path)
    assert log.read_text() == "compiled\n" * 3
    assert not [path for path in Path(first.path).parent.iterdir() if path.suffix not in (".so", ".lock")]


def test_failures_are_reported(tmp_path: Path, sources: Path) -> None:
    environ = mpi(tmp_path / "broken", header="#error no such MPI\n")
    assert "no such MPI" in own(wrappers_for_all(sources, environ), tmp_path).problem
    environ = mpi(tmp_path / "static", name="usempi")
    assert "no shared MPI library" in own(wrappers_for_all(sources, environ), tmp_path).problem
    environ = mpi(tmp_path / "fine") | {"XDG_CACHE_HOME": "/dev/null"}
    found = own(wrappers_for_all(sources, environ), tmp_path)
    assert (found.path, "set XDG_CACHE_HOME" in found.problem) == ("", True)


def test_a_plain_compiler_is_not_one_of_an_mpi(tmp_path: Path, sources: Path) -> None:
    environ = mpi(tmp_path / "one")
    plain = tmp_path / "one" / "cc"
    plain.write_text("#!/bin/sh\necho gcc -O2\n")
    plain.chmod(0o755)
    found = wrappers_for_all(sources, {**environ, "PATH": f"{tmp_path / 'one'}"})
    assert [each.compiler for each in found] == [environ["MPICC"]]


def test_the_first_of_a_library_is_taken() -> None:
    found = [
        Wrappers("a", "libmpi.so.40", "/c/a.so"),
        Wrappers("b", problem="no"),
        Wrappers("c", "libmpi.so.40", "/c/c.so"),
    ]
    assert (
        variable([*found, Wrappers("d", "libmpich.so.12", "/c/d.so")]) == "libmpi.so.40=/c/a.so:libmpich.so.12=/c/d.so"
    )
