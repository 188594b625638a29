"""The same gmon.out read by us and by stock gprof gives the same flat profile.

gprof has fewer functions: it leaves out most clones (`f.isra.0`), stubs and sizes, and charges what lies there to
the function before. It counts no calls by a function of itself, nor from outside of the program. The comparison does
the same to our side, and nothing else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.readers.gmon_directory import filled_bins, read_gmon
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream.as_gmon import stream_totals, write_gmon

PROGRAMS = [
    pytest.param(("oracle.c", "-O0"), marks=pytest.mark.slow),
    ("oracle.c", "-O2 -fno-optimize-sibling-calls"),
    pytest.param(("oracle.c", "-O2 -no-pie -fno-pie"), marks=pytest.mark.slow),
    pytest.param(("oracle.c", "-O1 -fopenmp"), marks=pytest.mark.slow),
    pytest.param(("oracle.cpp", "-O0"), marks=pytest.mark.slow),
    ("oracle.cpp", "-O2"),
    pytest.param(("oracle.f90", "-O0"), marks=pytest.mark.slow),
    ("oracle.f90", "-O2 -fno-inline"),
]
# gprof prints hundredths of a second.
ROUNDING_S = 0.0051

pytestmark = pytest.mark.skipif(shutil.which("gprof") is None, reason="gprof is not installed")


class Gprof:
    """What stock gprof makes of a file: seconds and calls by the address of a function."""

    def __init__(self, exe: Path, gmon: Path):
        listing = subprocess.run(["nm", str(exe)], capture_output=True, text=True, check=True).stdout
        code = re.findall(r"^([0-9a-f]+) [tTwWiu] (\S+)$", listing, re.MULTILINE)
        by_name = {name: int(address, 16) for address, name in code}
        self.seconds: dict[int, float] = {}
        self.calls: dict[int, int] = {}
        for name, seconds, count in self._flat(exe, gmon, "-q"):
            self.seconds[by_name[name]] = seconds
            self.calls[by_name[name]] = count
        # With -z it also lists functions that were never seen, and so all that it has.
        self.names = {by_name[name]: name for name, _, _ in self._flat(exe, gmon, "-z")}
        self.addresses = sorted(self.names)

    @staticmethod
    def _flat(exe: Path, gmon: Path, option: str) -> Iterator[tuple[str, float, int]]:
        """Name, seconds and calls of each line of the flat profile."""
        command = ["gprof", "-b", "-p", option, "--no-demangle", str(exe), str(gmon)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in text.split("Call graph")[0].splitlines():
            words = re.sub(r"<cycle \d+>", "", line).split()
            if len(words) >= 4 and all(re.fullmatch(r"[\d.]+", word) for word in words[:3]):
                yield words[-1], float(words[2]), int(words[3]) if len(words) > 4 else 0

    def owner(self, address: int) -> int:
        """The address of the function to which gprof would charge this one."""
        return self.addresses[bisect_right(self.addresses, address) - 1]


def fold_ours(gprof: Gprof, exe: Path, gmon: Path) -> tuple[dict[int, float], dict[int, int]]:
    """Return our flat profile by gprof's functions."""
    directory = gmon.parent / "by itself"
    directory.mkdir(exist_ok=True)
    shutil.copy(gmon, directory / "gmon.out")
    profile = read_profile(open_run(directory, exe=str(exe)), exe=str(exe))
    own, called = np.asarray(profile.self_s.sum(axis=0)), np.asarray(profile.calls.sum(axis=0))
    seconds: Counter[int] = Counter()
    calls: Counter[int] = Counter()
    for function, self_s, count in zip(profile.functions, own, called, strict=True):
        owner = gprof.owner(function.address)
        seconds[owner] += self_s
        calls[owner] += int(count)
    records = read_gmon(str(gmon))
    ends = zip(records.from_pc.tolist(), records.self_pc.tolist(), records.count.tolist(), strict=True)
    for source, target, count in ends:
        if source < gprof.addresses[0] or gprof.owner(source) == gprof.owner(target):
            calls[gprof.owner(target)] -= count
    return dict(seconds), dict(calls)


def disputed(gprof: Gprof, gmon: Path) -> dict[int, float]:
    """Seconds in bins at the edge of each function, where gprof moves time between neighbours.

    It cuts addresses down to 2 bytes: those of functions, and the edges of glibc's bins whose width is no whole number.
    """
    slack: Counter[int] = Counter()
    bins = filled_bins(read_gmon(str(gmon)).histograms, 100)
    for low, high, ticks, tick_s in zip(bins.low, bins.high, bins.ticks, bins.tick_s, strict=True):
        touched = {gprof.owner(int(low) - 2), gprof.owner(int(high) + 2)}
        is_cut = not (high - low).is_integer() or any(address % 2 for address in touched)
        if is_cut and len(touched) > 1:
            slack.update(dict.fromkeys(touched, ticks * tick_s))
    return slack


def compare(exe: Path, gmon: Path) -> None:
    theirs = Gprof(exe, gmon)
    seconds, calls = fold_ours(theirs, exe, gmon)
    slack = disputed(theirs, gmon)
    assert sum(theirs.seconds.values()) > 0.1, "the program was too short to say anything"
    for address in set(seconds) | set(theirs.seconds):
        name, margin = theirs.names[address], ROUNDING_S + slack.get(address, 0)
        assert seconds.get(address, 0) == pytest.approx(theirs.seconds.get(address, 0), abs=margin), name
        assert calls.get(address, 0) == theirs.calls.get(address, 0), name


@pytest.fixture(params=PROGRAMS, ids=lambda p: "".join(p))
def program(request, build):
    source, flags = request.param
    return build(source, flags=flags)


def test_file_written_by_glibc(program, tmp_path):
    subprocess.run([str(program)], cwd=tmp_path, check=True, capture_output=True)
    compare(program, tmp_path / "gmon.out")


def test_time_in_parallel_regions_is_their_functions(build, record, tmp_path):
    """Where gprof alone would say `frame_dummy`, or whatever lies before the regions."""
    exe = build("mesh.c", flags="-O2 -fopenmp")
    recording = record(exe)
    target = tmp_path / "gmon.out"
    assert main(["export", str(recording.directory), "--format", "gprof", "-o", str(target)]) == 0
    theirs = Gprof(exe, target)
    by_name = {name: (theirs.seconds.get(at, 0), theirs.calls.get(at, 0)) for at, name in theirs.names.items()}
    own = np.asarray(recording.profile.self_s.sum(axis=0))
    ours: Counter[str] = Counter()
    for function, self_s in zip(recording.profile.functions, own, strict=True):
        ours[function.mangled.partition(".")[0]] += self_s
    assert by_name["relax"] == (pytest.approx(ours["relax"], abs=ROUNDING_S), 40)
    assert by_name["advance"] == (pytest.approx(ours["advance"], abs=ROUNDING_S), 40)
    assert ours["relax"] > 0.03
    assert by_name["mesh_free"] == (0, 1)
    assert by_name["weight"][1] == recording.calls()["weight"]
    graph = subprocess.run(
        ["gprof", "-b", "-q", str(exe), str(target)], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"\d+/\d+ +relax \[\d+\]\n\[\d+\].* weight \[", graph)


@pytest.mark.slow
def test_time_in_regions_of_what_was_inlined_is_the_callers(build, record, tmp_path):
    """No symbol is left of `relax`: gprof alone would say `mesh_free`, or whatever lies before its region."""
    exe = build("mesh.c", flags="-O2 -fopenmp -DRELAX=static -DSTEPS=200")
    recording = record(exe, env={"OMP_WAIT_POLICY": "passive"})
    target = tmp_path / "gmon.out"
    assert main(["export", str(recording.directory), "--format", "gprof", "-o", str(target)]) == 0
    theirs = Gprof(exe, target)
    assert "relax" not in theirs.names.values()
    seconds = {name: theirs.seconds.get(at, 0) for at, name in theirs.names.items()}
    own = np.asarray(recording.profile.self_s.sum(axis=0))
    ours: Counter[str] = Counter()
    for function, self_s in zip(recording.profile.functions, own, strict=True):
        ours[function.mangled.partition(".")[0]] += self_s
    assert seconds["weight"] <= ours["weight"] + 0.02 + ROUNDING_S
    assert seconds["main"] >= ours["relax"] + ours["main"] - 0.02 - ROUNDING_S
    assert ours["relax"] > 0.1


def test_exported_recording(program, record, tmp_path):
    directory = record(program).directory
    with (tmp_path / "exported").open("wb") as file:
        write_gmon(stream_totals(open_run(directory).processes[0]), file)
    compare(program, tmp_path / "exported")
