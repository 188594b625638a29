"""Compiles libappekg from the checkout, with flags of a test's choice, into programs and shared objects."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.compiled import Compiled, shared_directory

ROOT = Path(__file__).parents[2]
EKG_FIXTURES = Path(__file__).parent / "appekg_fixtures"
INCLUDE = ROOT / "appekg" / "include"
COMPILER_OF = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
INCLUDES = (INCLUDE, ROOT / "appekg" / "src", ROOT / "runtime" / "include")
# What appekg/CMakeLists.txt compiles with.
LIBRARY_WORDS = (
    *"gcc -std=gnu11 -O2 -g -fPIC -pthread -fvisibility=hidden -fno-stack-protector -fno-plt -DEKG_BUILD_".split(),
    '-DINCPROF_VERSION="0.0-test"',
    *(f"-I{path}" for path in INCLUDES),
)


@dataclass(frozen=True)
class EkgBuilder:
    """Compiles once per run of the tests and set of flags.

    Attributes:
        root: Where the results lie.
    """

    root: Path

    def library(self, flags: str = "") -> Path:
        """Return libappekg.so.1, compiled with these flags besides -O2 -g."""
        words = ["gcc", "-O2", "-g", "-pthread", *flags.split(), "-shared", "-Wl,-soname,libappekg.so.1"]
        return self._made(
            "libappekg.so.1", [*words, "-Wl,-z,nodelete", "-Wl,--no-undefined"], self._objects(flags), ["-ldl"]
        )

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
        words = ["gcc", *flags.split(), "-r", "-nostdlib", "-nostartfiles"]
        return self._made("appekg.o", words, self._objects(flags), [])

    def _objects(self, flags: str) -> list[Path]:
        """Compile each source of the library once for all flags that do not differ in a macro that it depends on."""
        made = []
        for source in _library_sources():
            macros = [word for word in flags.split() if word.startswith("-D")]
            unused = {word for word in macros if not _depends_on(source, word[2:].partition("=")[0])}
            words = [word for word in flags.split() if word not in unused]
            made.append(self._made(f"{source.stem}.o", [*LIBRARY_WORDS, *words, "-c"], [source], []))
        return made

    def _made(self, name: str, words: Sequence[str], sources: Sequence[Path], link: Sequence[str]) -> Path:
        return Compiled(self.root).made(name, [*words, *map(str, sources), *link])


def _library_sources() -> list[Path]:
    return [*sorted((ROOT / "appekg" / "src").glob("*.c")), *sorted((ROOT / "runtime").glob("*.c"))]


@functools.cache
def _depends_on(path: Path, macro: str) -> bool:
    """Whether a macro is in a source, or in a header that it includes."""
    text = path.read_text()
    places = (folder / name for name in re.findall(r'^#include "(.+)"', text, re.MULTILINE) for folder in INCLUDES)
    return macro in text or any(_depends_on(place, macro) for place in places if place.exists())


@pytest.fixture(scope="session")
def ekg(tmp_path_factory: pytest.TempPathFactory) -> EkgBuilder:
    """Build programs with heartbeats: `ekg.program("host.c", flags="-fsanitize=thread")`."""
    return EkgBuilder(shared_directory(tmp_path_factory, "appekg"))
