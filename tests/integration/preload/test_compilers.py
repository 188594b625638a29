"""The same program by every compiler and with every option: exact calls, right paths, status and output unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.integration.collector import Outcome, Recording, judge
from tests.integration.conftest import Build, Record

RATE = 1000
CLONE = r"(\.(constprop|isra|part|cold|lto_priv)\.?\d*)*"

COMMON = ("-O0", "-O1", "-O2", "-O3", "-O2 -no-pie", "-O2 -fPIE -pie", "-O2 -flto", "-O2 -fcf-protection=full")
GNU = (*COMMON, "-Os", "-O2 -mfentry", "-O2 -fcf-protection=none", "-O2 -Wl,-z,now", "-O2 -Wl,-z,lazy")
USUAL = (("g++", "-O2"),)
CLANG = (*(flags for flags in COMMON if "lto" not in flags), "-O2 -mfentry", "-O2 -mno-red-zone")


def named(options: Sequence[tuple[str, str]]) -> list[object]:
    """All but one compiler with the usual option is for `make test-slow`."""
    return [
        pytest.param(
            compiler,
            flags,
            id=f"{compiler} {flags}".replace(" ", "_"),
            marks=[pytest.mark.slow] * ((compiler, flags) not in USUAL),
        )
        for compiler, flags in options
    ]


def check(recording: Recording, legal: str, names: tuple[str, str]) -> None:
    """3 calls of the outer function, 3 000 of the inner one; paths that lead to the inner one."""
    assert (recording.outcome.status, recording.outcome.stdout, recording.outcome.stderr) == (5, "done\n", "")
    calls = recording.calls()
    assert (calls[names[0]], calls[names[1]]) == (3, 3000)
    assert recording.arcs()[names] == 3000
    verdict = judge(recording, (legal,))
    print(verdict)
    assert verdict.right(0.98), verdict
    assert verdict.total > 20


@pytest.mark.parametrize(
    ("compiler", "flags"),
    named([(c, f) for c in ("gcc", "g++") for f in GNU] + [(c, f) for c in ("clang", "clang++") for f in CLANG]),
)
def test_c_and_cpp(build: Build, record: Record, fast_clock: str, compiler: str, flags: str) -> None:
    program = build("matrix.cpp" if "++" in compiler else "matrix.c", flags=flags, compiler=compiler)
    recording = record(program, clock=fast_clock, rate=RATE, status=5)
    # C++ names of the two static leaves are mangled.
    leaf = r"(even|odd|_ZL4evend|_ZL3oddd)"
    check(recording, f"main>steps>step(>{leaf}{CLONE})?", ("steps", "step"))
    leaves = {name: n for name, n in recording.calls().items() if "even" in name or "odd" in name}
    assert list(leaves.values()) == [60_000_000, 60_000_000], leaves


WHOLE = "-fno-inline -fno-ipa-cp -fno-ipa-sra"


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(f"{flags} {WHOLE}", marks=[pytest.mark.slow] * (flags != "-O2"))
        for flags in (*COMMON, "-O2 -mfentry")
    ],
)
def test_fortran(build: Build, record: Record, fast_clock: str, flags: str) -> None:
    recording = record(build("matrix.f90", flags=flags), clock=fast_clock, rate=RATE, status=5)
    names = ("__matrix_work_MOD_steps", "__matrix_work_MOD_step")
    check(recording, f"main>MAIN__>{names[0]}(>{names[1]})?", names)


@pytest.mark.parametrize("flags", ["-O2 -static", pytest.param("-O2 -static-pie", marks=pytest.mark.slow)])
def test_static_programs_run_as_ever(build: Build, record: Record, alone: Callable[..., Outcome], flags: str) -> None:
    """The loader, and so the collector, takes no part in them: nothing is recorded, nothing is disturbed."""
    program = build("matrix.c", flags=f"{flags} -DCALLS=4000", pg="pie" not in flags)
    recording = record(program, status=5)
    assert recording.outcome.stdout == alone(program).stdout == "done\n"
    assert recording.outcome.stderr == ""
    assert not recording.directory.exists()


def test_program_without_pg(build: Build, record: Record) -> None:
    """No start-up hook: the library stays inert."""
    recording = record(build("matrix.c", pg=False), status=5)
    assert (recording.outcome.stdout, recording.outcome.stderr) == ("done\n", "")
    assert not recording.directory.exists()
