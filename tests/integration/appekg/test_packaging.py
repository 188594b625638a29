"""Every way in which a C program comes to libappekg: pkg-config, CMake, `incprof env`, static, from a moved prefix."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from appekg._library import Installation
from tests.integration.appekg_use import ROOT, environment, run, totals

pytestmark = pytest.mark.slow

PROGRAM = """
#include <appekg.h>
int main(void)
{
    ekg_name(1, "work");
    for (int i = 0; i < 1000; i++) {
        EKG_SCOPE(1);
        ekg_pulse(2);
    }
    return 0;
}
"""
BEATS = {(1, "work"): (1000, 0), (2, None): (0, 1000)}

# Names that libappekg uses inside, meaning something else.
COLLIDING = """
#include <stdio.h>
#include <appekg.h>
static int calls;
int buffer_text(void) { return calls++; }
int launch_identify(void) { return calls++; }
int log_start(void) { return calls++; }
int log_warn(void) { return calls++; }
int monotonic_ns(void) { return calls++; }
int records_start(void) { return calls++; }
int session_open(void) { return calls++; }
int worker_start(void) { return calls++; }
int main(void)
{
    ekg_name(1, "work");
    for (int i = 0; i < 1000; i++) {
        EKG_SCOPE(1);
        ekg_pulse(2);
    }
    ekg_finalize();
    printf("%d\\n", calls);
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C)
find_package(appekg 0.1 REQUIRED)
foreach(kind appekg appekg_static)
  add_executable(with_${kind} main.c)
  target_link_libraries(with_${kind} PRIVATE appekg::${kind})
endforeach()
"""


@dataclass(frozen=True)
class Built:
    """A build directory, and what it installed after that was moved to a place with a blank in its name."""

    build: Path
    prefix: Path

    @property
    def installation(self) -> Installation:
        return Installation(next(self.prefix.glob("lib*/libappekg.so.1")))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """libappekg, built and installed by CMake alone."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    place = tmp_path_factory.mktemp("cmake")
    run("cmake", "-S", ROOT, "-B", place / "build", "-DCMAKE_INSTALL_LIBDIR=lib")
    run("cmake", "--build", place / "build", "-j2")
    run("cmake", "--install", place / "build", "--prefix", place / "prefix")
    (place / "prefix").rename(place / "moved twice")
    return Built(place / "build", place / "moved twice")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A directory with the program's source."""
    (tmp_path / "main.c").write_text(PROGRAM)
    return tmp_path


def beats(program: Path, **variables: object) -> dict[tuple[int, str | None], tuple[int, int]]:
    """What a program beats."""
    directory = program.parent / f"{program.name}-ekg"
    assert run(program, env=environment(EKG_DIR=directory, **variables)) == ""
    return totals(directory)


def exported(*words: object) -> set[str]:
    """Names of the global symbols that a file defines."""
    return set(re.findall(r"^[0-9a-f]+ [A-Z] (\w+)$", run("nm", "--defined-only", *words), re.MULTILINE))


def test_both_libraries_export_the_same_names_and_no_others(built: Built) -> None:
    directory = built.installation.directory
    names = exported("-D", directory / "libappekg.so")
    # Programs that contain the library are no tools.
    assert names - {"InitializeInjectionNvtx2"} == exported("-g", directory / "libappekg.a")
    text = (ROOT / "appekg/include/appekg.h").read_text()
    text = text[text.index("#else /* not EKG_OFF */") :]
    functions = set(re.findall(r"^(?:void|int) (ekg_\w+)\(.*\);", text, re.MULTILINE))
    variables = set(re.findall(r"^extern .*?(ekg_\w+)(?: __attribute__\(\(.*\)\))?;", text, re.MULTILINE))
    assert len(functions) > 10
    assert names == functions | variables | {"ekg_name_", "InitializeInjectionNvtx2"}


def test_the_shared_library_needs_libc_alone_and_stays_loaded(built: Built) -> None:
    dynamic = run("readelf", "-dW", built.installation.library)
    assert "[libappekg.so.1]" in dynamic
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", dynamic))
    assert "libc" in needed
    assert needed <= {"libc", "libpthread", "libdl"} | {n for n in needed if n.startswith("ld-linux")}
    assert re.search(r"FLAGS_1.*NODELETE", dynamic)
    assert " RWE " not in run("readelf", "-lW", built.installation.library)


def test_pkg_config(built: Built, program: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    places = {"moved": built.installation.pkgconfig, "build": built.build / "appekg/pkgconfig"}
    for name, place in places.items():
        found = environment(PKG_CONFIG_PATH=place)
        assert run("pkg-config", "--modversion", "appekg", env=found).strip().startswith("0.")
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "appekg", env=found))
        run("gcc", "main.c", *flags, "-o", name, cwd=program)
        assert beats(program / name, LD_LIBRARY_PATH=place.parent) == BEATS
        directory = run("pkg-config", "--variable=fortrandir", "appekg", env=found).strip()
        assert (Path(shlex.split(directory)[0]) / "appekg.f90").is_file()


def test_pkg_config_static(built: Built, program: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    found = environment(PKG_CONFIG_PATH=built.installation.pkgconfig)
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "--static", "appekg", env=found))
    run("gcc", "main.c", "-static", *flags, "-o", "static", cwd=program)
    assert beats(program / "static") == BEATS


@pytest.mark.parametrize("variable", ["CMAKE_PREFIX_PATH", "appekg_DIR", "env", "build"])
def test_find_package(built: Built, program: Path, variable: str) -> None:
    (program / "CMakeLists.txt").write_text(PROJECT)
    config = Path("cmake/appekg")
    place = {
        "CMAKE_PREFIX_PATH": built.prefix,
        "appekg_DIR": built.prefix / "lib" / config,
        "env": built.installation.cmake,  # what `incprof env --cmake` prints
        "build": built.build / "appekg" / config,
    }[variable]
    name = "appekg_DIR" if variable == "appekg_DIR" else "CMAKE_PREFIX_PATH"
    run("cmake", "-S", program, "-B", program / "out", f"-D{name}={place}")
    run("cmake", "--build", program / "out")
    for kind in ("with_appekg", "with_appekg_static"):
        assert beats(program / "out" / kind) == BEATS
    assert "libappekg" in run("ldd", program / "out/with_appekg")
    assert "libappekg" not in run("ldd", program / "out/with_appekg_static")


@pytest.mark.parametrize("what", ["--cflags --libs", "--cflags --libs --static"])
def test_env_flags_survive_a_shell(built: Built, program: Path, what: str) -> None:
    prefix = program / "it's here, $HOME"
    shutil.copytree(built.prefix, prefix)
    found = environment(APPEKG_LIB=prefix / "lib/libappekg.so")
    flags = run(sys.executable, "-m", "incprof", "env", *what.split(), cwd=ROOT, env=found)
    run("sh", "-c", f"gcc main.c {flags.strip()} -o program", cwd=program)
    assert beats(program / "program") == BEATS


def test_names_of_the_program_do_not_meet_those_of_the_library(built: Built, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(COLLIDING)
    found = built.installation
    inside = set(re.findall(r" t (\w+)$", run("nm", found.archive), re.MULTILINE))
    assert set(re.findall(r"^int (\w+)\(void\) \{ return", COLLIDING, re.MULTILINE)) - inside == {"monotonic_ns"}
    run("gcc", "main.c", f"-I{found.include}", found.archive, "-o", "program", cwd=tmp_path)
    assert run(tmp_path / "program", env=environment(EKG_DIR=tmp_path / "ekg")) == "0\n"
    assert totals(tmp_path / "ekg") == BEATS


def test_the_archive_can_be_part_of_a_shared_object(built: Built, program: Path) -> None:
    found = built.installation
    (program / "part.c").write_text(PROGRAM.replace("main", "part"))
    (program / "host.c").write_text("int part(void);\nint main(void) { return part(); }\n")
    run("gcc", "-fPIC", "-shared", "part.c", f"-I{found.include}", found.archive, "-o", "libpart.so", cwd=program)
    run("gcc", "host.c", program / "libpart.so", "-o", "host", cwd=program)
    assert beats(program / "host") == BEATS


def test_a_library_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "libappekg.so"
    for flag in ("--cflags", "--libs", "--fflags", "--pkgconfig", "--cmake"):
        said = run(
            sys.executable, "-m", "incprof", "env", flag, cwd=ROOT, env=environment(APPEKG_LIB=missing), status=1
        )
        assert (
            said == f"incprof: APPEKG_LIB={missing}: no such file; unset it, or set it to the path of libappekg.so.1\n"
        )


def test_env_starts_without_numpy_and_cffi(built: Built) -> None:
    code = (
        "import sys; from incprof.cli.main import main; main(['env', '--cflags', '--libs']); "
        "print(sorted({'numpy', 'cffi', '_cffi_backend', 'pandas'} & set(sys.modules)))"
    )
    said = run(sys.executable, "-c", code, cwd=ROOT, env=environment(APPEKG_LIB=built.installation.library))
    assert said.splitlines()[-1] == "[]"
