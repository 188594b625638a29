"""Compiles libappekg from the checkout, with flags of a test's choice, into programs and shared objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.compiled import Compiled, shared_directory

ROOT = Path(__file__).parents[2]
EKG_FIXTURES = Path(__file__).parent / "appekg_fixtures"
INCLUDE = ROOT / "appekg" / "include"
COMPILER_OF = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
VERSION = '-DINCPROF_VERSION="0.0-test"'


@dataclass(frozen=True)
class EkgBuilder:
    """Compiles once per run of the tests and set of flags.

    Attributes:
        root: Where the results lie.
    """

    root: Path

    def library(self, flags: str = "", *, compiler: str = "gcc") -> Path:
        """Return libappekg.so.1, compiled with these flags besides -O2 -g."""
        words = [*_library_words(compiler), *flags.split(), "-shared", "-Wl,-soname,libappekg.so.1"]
        words += ["-Wl,-z,nodelete", "-Wl,--no-undefined"]
        return self._made("libappekg.so.1", words, _library_sources(), ["-ldl"])

    def program(
        self,
        *sources: str | Path,
        flags: str = "",
        own_flags: str = "",
        compiler: str | None = None,
        shared: bool = False,
        output: str = "program",
    ) -> Path:
        """Return a program of fixture sources and the library.

        Args:
            sources: Names in appekg_fixtures/, or paths.
            flags: For the library and the program, such as -fsanitize=thread or -DEKG_FAKE_CLOCK.
            own_flags: For the program alone, such as -fopenmp.
            compiler: Of the program; by the first source's suffix unless given.
            shared: Whether the program loads the library when it starts, by an rpath; otherwise it contains it.
            output: The program's name, which is in the name of its run directory.
        """
        chosen = compiler or COMPILER_OF[Path(sources[0]).suffix]
        library = self.library(flags) if shared else self._joined(flags)
        words = [chosen, "-O2", "-g", "-pthread", "-Wall", f"-I{INCLUDE}", *flags.split(), *own_flags.split()]
        paths = [EKG_FIXTURES / source for source in sources]
        link = [str(library), "-ldl", "-lm", *([f"-Wl,-rpath,{library.parent}"] if shared else [])]
        return self._made(output, words, paths, link)

    def plain_program(
        self, *sources: str | Path, flags: str = "", compiler: str | None = None, output: str = "program"
    ) -> Path:
        """Return a program that sees the header and is not linked with the library."""
        chosen = compiler or COMPILER_OF[Path(sources[0]).suffix]
        words = [chosen, "-O2", "-g", "-pthread", "-Wall", f"-I{INCLUDE}", *flags.split()]
        return self._made(output, words, [EKG_FIXTURES / source for source in sources], ["-ldl", "-lm"])

    def _joined(self, flags: str) -> Path:
        words = [*_library_words("gcc"), *flags.split(), "-r", "-nostdlib", "-nostartfiles"]
        return self._made("appekg.o", words, _library_sources(), [])

    def _made(self, name: str, words: Sequence[str], sources: Sequence[Path], link: Sequence[str]) -> Path:
        return Compiled(self.root).made(name, [*words, *map(str, sources), *link])


def _library_words(compiler: str) -> list[str]:
    """What appekg/CMakeLists.txt compiles with."""
    words = [compiler, "-std=gnu11", "-O2", "-g", "-fPIC", "-pthread", "-fvisibility=hidden", "-fno-stack-protector"]
    includes = [INCLUDE, ROOT / "appekg" / "src", ROOT / "runtime" / "include"]
    return [*words, "-fno-plt", "-DEKG_BUILD_", VERSION, *(f"-I{path}" for path in includes)]


def _library_sources() -> list[Path]:
    return [*sorted((ROOT / "appekg" / "src").glob("*.c")), *sorted((ROOT / "runtime").glob("*.c"))]


@pytest.fixture(scope="session")
def ekg(tmp_path_factory: pytest.TempPathFactory) -> EkgBuilder:
    """Build programs with heartbeats: `ekg.program("host.c", flags="-fsanitize=thread")`."""
    return EkgBuilder(shared_directory(tmp_path_factory, "appekg"))
