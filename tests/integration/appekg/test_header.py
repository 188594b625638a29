"""appekg.h: what compilers say of it, and that nothing is left of it with EKG_OFF."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from appekg._declarations import DECLARATIONS
from tests.integration.appekg_use import ROOT, run
from tests.variants import mostly_slow

INCLUDE = ROOT / "appekg" / "include"
STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -Werror".split()

# Each call has a line of its own: without these lines the program is not instrumented.
SOURCE = """
#include <appekg.h>
int work(int *values, int n, double *times);
int other(int *values);
int work(int *values, int n, double *times)
{
    EKG_SCOPE(7);
    ekg_init(NULL);
    ekg_name(1, "one");
    ekg_rate(1, 10);
    ekg_cost(&times[0], &times[1]);
    for (int i = 0; i < n; i++) {
        EKG_SCOPE(1);
        EKG_SCOPE((uint32_t)other(values));
        ekg_begin(3);
        if (values[i] > 0) {
            ekg_pulse(4);
            values[i] = other(values) + i;
        }
        if (values[i] < -5)
            return i;
        ekg_end(3);
    }
    ekg_enable();
    ekg_disable();
    if (n == 7)
        goto out;
    values[0] = n;
out:
    ekg_finalize();
    return other(values);
}
"""


def plain(source: str) -> str:
    """The source without its heartbeats; the lines keep their numbers, which code may hold."""
    return re.sub(r"(?im)^.*ekg.*$", "", source)


def machine_code(compiler: str, flags: list[str], name: str, source: str, place: Path) -> str:
    """Instructions and relocations of a source. The same place each time, so that nothing but the text differs."""
    place.mkdir(exist_ok=True)
    (place / name).write_text(source)
    run(compiler, *flags, "-c", name, "-o", "object.o", cwd=place)
    return run("objdump", "-dr", "--no-show-raw-insn", "object.o", cwd=place)


def need(compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")


@pytest.mark.parametrize("off", [[], ["-DEKG_OFF"]], ids=["on", "off"])
@pytest.mark.parametrize(
    ("compiler", "standard"),
    mostly_slow(
        8,
        [
            *((compiler, standard) for standard in ("c99", "gnu17") for compiler in ("gcc", "clang")),
            *((compiler, standard) for standard in ("c++11", "gnu++20") for compiler in ("g++", "clang++")),
            *((compiler, standard) for standard in ("gnu99", "c11") for compiler in ("gcc", "clang")),
            *((compiler, standard) for standard in ("c++17",) for compiler in ("g++", "clang++")),
        ],
    ),
)
def test_compilers_do_not_warn(compiler: str, standard: str, off: list[str], tmp_path: Path) -> None:
    need(compiler)
    name = "use.cpp" if "++" in compiler else "use.c"
    (tmp_path / name).write_text(SOURCE)
    said = run(compiler, f"-std={standard}", "-O1", *STRICT, *off, "-I", INCLUDE, "-c", name, cwd=tmp_path)
    assert said == ""


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_off_is_the_same_machine_code_as_without(compiler: str, optimisation: str, tmp_path: Path) -> None:
    need(compiler)
    name, flags = "use.cpp" if "++" in compiler else "use.c", [optimisation, f"-I{INCLUDE}"]
    without = machine_code(compiler, flags, name, plain(SOURCE), tmp_path / "code")
    off = machine_code(compiler, [*flags, "-DEKG_OFF"], name, SOURCE, tmp_path / "code")
    on = machine_code(compiler, flags, name, SOURCE, tmp_path / "code")
    assert off == without
    assert on != without


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_off_scope_object_costs_nothing_when_optimised(compiler: str, tmp_path: Path) -> None:
    need(compiler)
    source = """
#include <appekg.h>
int other(int n);
int work(int n)
{
    const appekg::Scope scope(3);
    return other(n) + 1;
}
"""
    without = machine_code(compiler, ["-O2"], "use.cpp", plain(source), tmp_path / "code")
    off = machine_code(compiler, ["-O2", "-DEKG_OFF", f"-I{INCLUDE}"], "use.cpp", source, tmp_path / "code")
    assert off == without


def test_what_python_declares_is_what_the_header_declares(tmp_path: Path) -> None:
    structure, functions = DECLARATIONS.split("};", 1)
    fields = re.findall(r"(\w+)(?:\[\d+\])?;", structure)
    assert len(fields) == 6
    mine = structure.replace("ekg_options", "mine") + "};"
    checks = [
        f"_Static_assert(offsetof(struct mine, {field}) == offsetof(struct ekg_options, {field}) && "
        f"__builtin_types_compatible_p(__typeof__(((struct mine *)0)->{field}), "
        f'__typeof__(((struct ekg_options *)0)->{field})), "{field}");'
        for field in fields
    ]
    checks.append('_Static_assert(sizeof(struct mine) == sizeof(struct ekg_options), "size");')
    # A second declaration that differs is an error.
    text = "\n".join(["#include <appekg.h>", mine, *checks, functions])
    (tmp_path / "use.c").write_text(text)
    run("gcc", "-std=c11", "-DEKG_BUILD_", *STRICT, "-I", INCLUDE, "-c", "use.c", cwd=tmp_path)


@pytest.mark.parametrize("off", [[], ["-DEKG_OFF"]], ids=["on", "off"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c90_has_no_inline(compiler: str, off: list[str], tmp_path: Path) -> None:
    need(compiler)
    (tmp_path / "use.c").write_text(
        "#include <appekg.h>\nint work(int n);\nint work(int n)\n{\n    ekg_begin(1);\n    {\n        EKG_SCOPE(2);\n"
        "        ekg_pulse(3);\n    }\n    ekg_end(1);\n    return n;\n}\n"
    )
    flags = ["-std=c90", "-O1", *STRICT, "-Wdeclaration-after-statement", *off]
    assert run(compiler, *flags, "-I", INCLUDE, "-c", "use.c", cwd=tmp_path) == ""
