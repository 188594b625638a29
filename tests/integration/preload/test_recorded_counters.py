"""Counters of a recording: against getrusage in the program, against a simulated kernel, and without permission."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.systems.counters.read import RecordedCounters, recorded_counters
from tests.integration.conftest import Record
from tests.integration.simulated import simulated

# The program is not linked with -pg.
NAMED = {"INCPROF_EXE": "program"}
# Touches megabytes that are given, sleeps that often, uses as much CPU time; prints what the kernel counted meanwhile.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static struct rusage now(void) { struct rusage r; getrusage(RUSAGE_SELF, &r); return r; }
int main(int count, char **words)
{
    struct rusage before = now();
    size_t bytes = (size_t)atoi(words[1]) << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    munmap(memory, bytes);
    for (int i = 0; i < atoi(words[2]); i++)
        usleep(1000);
    double limit = atof(words[3]) * CLOCKS_PER_SEC;
    while ((double)clock() < limit)
        ;
    struct rusage after = now();
    printf("%ld %ld\n", after.ru_minflt - before.ru_minflt, after.ru_nvcsw - before.ru_nvcsw);
    return count - 4;
}
"""


def counters_of(directory: Path) -> RecordedCounters:
    (path,) = directory.glob("rank-*.gmon")
    found = recorded_counters(str(path))
    assert found is not None
    return found


def total(found: RecordedCounters, name: str) -> float:
    return float(np.nansum(found.series.values[:, found.series.names.index(name)]))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("counters")
    (place / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", place / "program.c", "-o", place / "program"], check=True)
    return place / "program"


def test_faults_switches_and_memory_are_those_of_the_program(record: Record, program: Path) -> None:
    recording = record([program, "64", "100", "0.3"], interval=0.05, env=NAMED)
    faults, switches = map(int, recording.outcome.stdout.split())
    found = counters_of(recording.directory)
    # The program's own number includes the interval thread's; before main, and at exit, there are more.
    assert 64 * 256 <= total(found, "minor-faults") <= faults + 2000
    assert switches >= 100 <= total(found, "context-switches")
    assert float(np.nanmax(found.peak_b)) >= 64 << 20
    assert float(found.resident_b[-1]) < 64 << 20
    row_s = found.series.end_s - found.series.start_s
    cpu_s = float(np.nansum(found.series.values[:, found.series.names.index("cpu")] * row_s))
    assert cpu_s >= 0.25


def test_cpu_time_of_threads_is_counted_by_events_that_exist_everywhere(record: Record, program: Path) -> None:
    recording = record([program, "1", "1", "1.5"], env={**NAMED, "INCPROF_COUNTERS": "1"})
    if "not permitted" in recording.outcome.stderr:
        pytest.skip("perf events are not permitted here")
    found = counters_of(recording.directory)
    assert "cpu-migrations" in found.series.names


GROUP = {
    "all": ("9=6000 10=15000 11=303000 12=306000 14=312000 15=318000 open 0", ""),
    "user-only": ("9=6000 11=303000 12=306000 14=312000 15=318000 open 0", ""),
    "virtual": ("9=6000 10=15000 open 0", "this machine offers no hardware counters"),
    "forbidden": ("open 0", "counters are not permitted here"),
    "full": ("open 0", "no more descriptors for counters"),
    "intel": (
        "9=6000 10=15000 11=303000 12=306000 14=312000 15=318000 "
        "16=6843000 17=15291000 18=15291000 19=15291000 20=15291000 "
        "22=4368000 23=6672000 24=15888000 25=52752000 26=5136000 "
        "27=9744000 28=28176000 29=101904000 open 0",
        "",
    ),
    # With the events of level 2, which share the group of level 1.
    "sapphire": (
        "9=6000 10=15000 11=303000 12=306000 14=312000 15=318000 "
        "16=6843000 17=15291000 18=15291000 19=15291000 20=15291000 21=16059000 "
        "22=4368000 23=6672000 24=15888000 25=52752000 26=5136000 "
        "27=9744000 28=28176000 29=101904000 35=16059000 36=19131000 37=16059000 open 0",
        "",
    ),
    # 40: cycles times 8 slots.
    "neoverse": (
        "9=6000 10=15000 11=303000 12=306000 14=312000 15=318000 "
        "40=24432000 41=3189000 42=3186000 43=3177000 44=3180000 open 0",
        "",
    ),
    "zen4": (
        "9=6000 10=15000 11=303000 12=306000 14=312000 15=318000 "
        "30=14532000 31=3582000 32=8889000 33=4251000 34=26523000 38=5181000 39=128061000 open 0",
        "",
    ),
    "zen2": (
        "9=6000 10=15000 11=303000 12=306000 14=312000 15=318000 open 0",
        "",
    ),
}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated("hardware_events", tmp_path_factory.mktemp("events"))


@pytest.fixture(scope="module")
def zones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated("energy_zones", tmp_path_factory.mktemp("zones"))


@pytest.mark.parametrize("machine", GROUP)
def test_a_group_counts_what_the_kernel_permits(machine: str, events: Path) -> None:
    out = subprocess.run([events, machine], check=True, capture_output=True, text=True).stdout
    counts, said = GROUP[machine]
    lines = out.splitlines()
    assert lines[0] == counts
    assert [line[: len(said)] for line in lines[1:]] == ([said] if said else [])


@pytest.mark.parametrize(
    ("machine", "taken"),
    [
        # Of two packages, 3 J each, which wrap around, and their memory; not of psys, nor of cores.
        ("two", "-0 8000000 8000000 8000000 8000000 open 0"),
        ("none", "-0 -0 -0 -0 -0 open 0"),
        ("denied", "-0 -0 -0 -0 -0 open 0"),
        # A part would pass for the whole.
        ("part", "-0 -0 -0 -0 -0 open 0"),
    ],
)
def test_energy_is_that_of_all_packages_and_their_memory(machine: str, taken: str, zones: Path) -> None:
    out = subprocess.run([zones, machine], check=True, capture_output=True, text=True).stdout
    assert out == taken + "\n"
