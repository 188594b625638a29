"""The recorded call path is the true one: fixtures in which every function that takes time has one legal path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from incprof.model import LIBRARY
from tests.integration.collector import Verdict, judge
from tests.integration.conftest import Build, Record
from tests.variants import mostly_slow

RATE = 1000
RIGHT = 0.98

Check = Callable[..., Verdict]


@dataclass(frozen=True)
class Case:
    """A fixture and its legal paths (patterns, outermost first), each of which must be seen."""

    source: str
    legal: tuple[str, ...]
    flags: str = "-O2"
    compiler: str | None = None


@pytest.fixture
def check(build: Build, record: Record, fast_clock: str) -> Check:
    """Record a program and demand that its paths be right."""

    def checked(case: Case, *arguments: str, env: dict[str, str] | None = None) -> Verdict:
        program = build(case.source, flags=case.flags, compiler=case.compiler)
        recording = record([program, *arguments], clock=fast_clock, rate=RATE, env=env)
        verdict = judge(recording, case.legal)
        print(case.source, case.compiler, case.flags, verdict)
        assert verdict.right(RIGHT), verdict
        assert all(verdict.each.values()), verdict
        assert recording.lost_in_full_rings()
        return verdict

    return checked


LIBRARIES = Case(
    "libraries.c",
    tuple(f"main>in_{name}" for name in ("memcpy", "sin", "malloc", "snprintf", "clock")),
)
STACKS = Case(
    "stacks.c",
    (
        "main>own_realigned",
        "main>own_vla",
        *(f"main>{n}>leaf" for n in ("realigned", "with_alloca", "realigned_vla", "large", "variadic", "vectors")),
    ),
)
DEEP = Case("deep.c", ("main>recurse(>recurse){62}>\\.\\.\\.(>recurse){63}>leaf", "main(>ping>pong)*(>ping)?"))
LEAVES = Case(
    "leaves.c",
    (
        "main>by_name(>add)?",
        "main>by_pointer>twice",
        "main>by_pointer>thrice",
        "main>by_pointer",
        "main>sort(>compare)?",
    ),
)
HANDLERS = Case(
    "handlers.c",
    (
        "main>raiser>on_raise>burn_handler",
        "main>alternate>on_raise>burn_handler",
        "main>spin>on_timer>burn_handler",
        "main>spin",
    ),
)
JUMPS = Case("jumps.c", ("main>jumper>burn", "main>entry>tail"))
CLONES = Case(
    "clones.c",
    (
        r"main>caller>by_reference(\.isra\.\d|\.constprop\.\d)*",
        r"main>caller>constant(\.isra\.\d|\.constprop\.\d)*",
        r"main>caller>mostly_not(\.part\.\d|\.cold)*>rare(\.part\.\d|\.cold)*",
    ),
)
VIRTUAL = Case(
    "virtual.cpp",
    (
        "main>draw_all>_ZNK6Circle4drawEv>burn_circle",
        "main>draw_all>_ZNK6Square4drawEv>burn_square",
        r"main>catcher(\.cold)?>burn_handler",
        r"main>catcher(\.cold)?>thrower(\.cold)?>_ZN5GuardD[12]Ev>burn_cleanup",
    ),
)
FORTRAN = Case(
    "nesting.f90",
    ("main>MAIN__>__work_MOD_outer>inner[.0-9]*", "main>MAIN__>__work_MOD_apply>__work_MOD_spin"),
    flags="-O1 -fno-inline",
)


@pytest.mark.parametrize(
    "case",
    mostly_slow(5, [LIBRARIES, STACKS, HANDLERS, CLONES, JUMPS, DEEP, LEAVES, VIRTUAL, FORTRAN]),
    ids=lambda case: case.source.partition(".")[0],
)
def test_known_nesting(check: Check, case: Case) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["-O2 -mfentry", "-O3 -mavx2", "-O0"])
@pytest.mark.parametrize("case", [DEEP, STACKS, HANDLERS], ids=lambda case: case.source.partition(".")[0])
def test_known_nesting_with_other_frames(check: Check, case: Case, flags: str) -> None:
    if "avx2" in flags and not re.search(r"\bavx2\b", Path("/proc/cpuinfo").read_text()):
        pytest.skip("this machine has no AVX2")
    check(Case(case.source, case.legal, flags))


@pytest.mark.parametrize(
    "case", mostly_slow(1, [STACKS, DEEP, HANDLERS]), ids=lambda case: case.source.partition(".")[0]
)
def test_code_without_pg_and_frame_pointers(build: Build, record: Record, fast_clock: str, case: Case) -> None:
    """Only the program's start is from -pg: no calls, but the paths are there."""
    plain = build(case.source, flags="-O2 -c -fomit-frame-pointer", pg=False, output="plain.o")
    recording = record(build(plain, flags=""), clock=fast_clock, rate=RATE)
    verdict = judge(recording, case.legal)
    assert verdict.right(RIGHT), verdict
    assert all(verdict.each.values()), verdict
    assert recording.calls() == {}


@pytest.mark.parametrize(
    "frames", [pytest.param("-fno-omit-frame-pointer", marks=pytest.mark.slow), "-fomit-frame-pointer"]
)
def test_assembly_without_rules(build: Build, record: Record, fast_clock: str, frames: str) -> None:
    """Kernels that save registers, or (seem to) align their stack, old return addresses on it: callers are found."""
    plain = build("kernels.c", flags=f"-O2 -c {frames}", pg=False, output="plain.o")
    recording = record(build(plain, "kernels.S", flags=""), clock=fast_clock, rate=RATE)
    legal = [f"main>{caller}_{kernel}>{kernel}" for caller in ("fixed", "dynamic", "keeping")
             for kernel in ("bare", "pushing", "aligned")]  # fmt: skip
    legal.append("main>paged>by_address>keeping_pushing>pushing")
    verdict = judge(recording, [*legal, r"main>\w+(>stain)*(>\.\.\.)?(>stain)*", "main>.*>use"])
    assert verdict.right(RIGHT), verdict
    assert all(verdict.each[path] for path in legal), verdict


def test_library_time_has_the_name_of_the_library(build: Build, record: Record, fast_clock: str) -> None:
    """sin is in libm, clock_gettime in the vDSO, the rest in libc."""
    recording = record(build("libraries.c"), clock=fast_clock, rate=RATE)
    samples, modules = recording.profile.samples, recording.profile.metadata.modules
    assert (samples.kind == LIBRARY).mean() > 0.5
    seen = {os.path.basename(m.path) for m in modules if m.id in set(samples.library[samples.kind == LIBRARY])}
    assert {name.partition(".so")[0] for name in seen} >= {"libm", "libc", "[vdso]"}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_openmp_regions(check: Check, compiler: str) -> None:
    """The region belongs to its caller in every thread, also in those whose stacks begin with it."""
    # GCC's; clang's up to 16; clang's since.
    outlined = r"(region\._omp_fn\.0|\.omp_outlined\.(_debug__)?(>\.omp_outlined\.)?|region\.omp_outlined(_debug__)?)"
    check(
        Case("openmp.c", (f"main>region>{outlined}>burn",), "-O2 -fopenmp", compiler),
        env={"OMP_WAIT_POLICY": "passive"},
    )


@pytest.mark.parametrize(
    ("compiler", "names"),
    [
        ("gcc", ("coarse._omp_fn.0", "fine._omp_fn.0")),
        # Up to clang 16, and later.
        pytest.param("clang", (".omp_outlined..2", ".omp_outlined."), marks=pytest.mark.slow),
        pytest.param("clang", ("coarse.omp_outlined", "fine.omp_outlined"), marks=pytest.mark.slow),
    ],
)
def test_teams_in_a_team(build: Build, record: Record, fast_clock: str, compiler: str, names: tuple[str, str]) -> None:
    """Threads of inner teams, too, are below the regions that started them, and those below theirs."""
    program = build("openmp_nested.c", flags="-O2 -fopenmp", compiler=compiler)
    if names[0].encode() + b"\0" not in program.read_bytes():
        pytest.skip("regions have other names with this clang")
    recording = record(program, clock=fast_clock, rate=RATE, env={"OMP_WAIT_POLICY": "passive"})
    coarse, fine = map(re.escape, names)
    outer = f"main>coarse>{coarse}"
    within = f"{outer}>fine>{fine}"
    # Run-time's own: waiting at the regions' ends, starting threads.
    verdict = judge(
        recording, (f"{within}>inner_work", f"{outer}>outer_work", f"({outer}(>fine(>{fine})?)?|main>coarse|)")
    )
    assert verdict.right(RIGHT), verdict
    assert verdict.each[f"{within}>inner_work"] > verdict.each[f"{outer}>outer_work"] > 0, verdict
    calls = recording.calls()
    assert (calls["outer_work"], calls["fine"], calls["inner_work"]) == (32, 32, 256)
    assert (calls[names[0]], calls[names[1]]) == (32, 64)


@pytest.mark.parametrize("linked", mostly_slow(1, [True, False]), ids=["linked", "dlopened"])
def test_shared_library_with_pg(build: Build, record: Record, fast_clock: str, *, linked: bool) -> None:
    """Frames in the program and in the library, in one path; calls of both are counted."""
    library = build("plugin.c", flags="-O2 -shared -fPIC", output="libplugin.so")
    flags = f"-O2 -DLINKED -Wl,--no-as-needed {library} -Wl,-rpath,{library.parent}" if linked else "-O2"
    recording = record([build("plugin_user.c", flags=flags), library], clock=fast_clock, rate=RATE)
    verdict = judge(recording, ("main>plugin_work>plugin_leaf", "main>plugin_work>back", "main>through_plt"))
    assert verdict.right(RIGHT), verdict
    assert all(verdict.each.values()), verdict
    calls = recording.calls()
    assert (calls["plugin_work"], calls["plugin_leaf"], calls["back"]) == (3, 15, 3)
    assert recording.arcs()["plugin_work", "plugin_leaf"] == 15
