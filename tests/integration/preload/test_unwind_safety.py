"""No stack, no code and no unwind table can make the sampling fault: exit status and output are as without it."""

from __future__ import annotations

import platform
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.integration.collector import FIXTURES, Outcome, Recording, judge
from tests.integration.conftest import Build, Record
from tests.variants import mostly_slow

# With the perf clock; some 10 000 samples a second.
RATE = 10_000
AT_ANY_COST = {"INCPROF_OVERHEAD": "100"}
SECONDS = "0.2"
# For what one sample of twelve must have met: on a busy machine, where each takes longer, there are some 200.
LONGER = "1"
FEWEST = 500
START_AND_END = {
    "_start", "_init", "__gmon_start__", "frame_dummy", "register_tm_clones",
    "__do_global_dtors_aux", "deregister_tm_clones", "_fini",
}  # fmt: skip

Survive = Callable[..., Recording]


@pytest.fixture
def survive(record: Record, fast_clock: str) -> Survive:
    """Run a program that prints `done` and exits with 7 when all is well, and demand samples."""

    def survived(*command: str | Path) -> Recording:
        recording = record(command, clock=fast_clock, rate=RATE, status=None, env=AT_ANY_COST)
        outcome = recording.outcome
        assert (outcome.status, outcome.stdout, outcome.stderr) == (7, "done\n", "")
        counters = recording.profile.counters
        print(command, "samples", counters.samples.sum(), "broken", counters.broken.sum())
        # A tick that comes while the one before it is being handled counts with the next: beside other busy programs,
        # where handling takes longer, there are nine such for one that has a sample of its own.
        ticks = counters.samples.sum() + counters.skipped.sum()
        assert ticks > (FEWEST if fast_clock == "perf" else 50)
        assert counters.samples.sum() > 50
        assert recording.lost_in_full_rings()
        return recording

    return survived


def test_guard_pages_around_small_stacks(build: Build, survive: Survive) -> None:
    recording = survive(build("guarded.c", flags="-O2 -pthread"), SECONDS)
    verdict = judge(recording, ("run(>climb)*",))
    assert verdict.right(0.98), verdict


@pytest.mark.skipif(platform.machine() != "x86_64", reason="such leaves are searched on x86-64")
def test_a_long_search_for_a_caller_is_paid_for(build: Build, record: Record, fast_clock: str) -> None:
    """On the thread's CPU clock, the budget's share of its time and what the handler has saved up."""
    program = build("old_returns.c", flags="-O1")
    env = {"INCPROF_OVERHEAD": "5"}
    recording = record([program, "0.5"], clock=fast_clock, rate=RATE, interval=0.02, env=env)
    assert recording.outcome.stdout == "done\n"
    assert recording.profile.counters.handler_s.sum() > 0
    assert recording.handler_excess_s(0.05) < 0.002


@pytest.mark.slow
def test_coroutines_on_small_stacks(build: Build, survive: Survive) -> None:
    """Their outermost function is body(); main() is not below it.

    While swapcontext has one foot in each stack, no table describes it: such a sample has no path. On its last
    instructions towards a coroutine that starts, of which there are a hundred, the first address of body() is where a
    return address would be, and the byte before that belongs to brim_full().
    """
    recording = survive(build("coroutines.c"), LONGER)
    verdict = judge(recording, ("body(>nested)+(>yield)?", "body>brim_full", "body", "main"))
    assert {path for path, _ in verdict.wrong} <= {"", "brim_full"}, verdict
    assert verdict.right(0.9), verdict
    assert verdict.each["body(>nested)+(>yield)?"] > 0 < verdict.each["body>brim_full"]


@pytest.mark.parametrize("size", [2048, 8192, 20_000, 65_536])
def test_handlers_on_signal_stacks(build: Build, survive: Survive, size: int) -> None:
    survive(build("altstack.c", flags="-O2 -pthread"), SECONDS, str(size))


def test_no_tables_and_false_ones(build: Build, survive: Survive) -> None:
    """Also a stack pointer that is none. What cannot be unwound is not charged to functions that had no part in it."""
    recording = survive(build("strange_main.c", "strange.S"), LONGER)
    strange = re.findall(r"^FUNCTION (\w+)", (FIXTURES / "strange.S").read_text(), re.MULTILINE)
    seen: dict[str, int] = dict.fromkeys(strange, 0)
    for path, ticks in recording.paths().items():
        # Before and after main() come the start and the end of a program with -pg, which a machine that is slow, or has
        # to read a page of theirs, may take a sample of.
        assert set(path) <= {"?", "main", "call", *START_AND_END, *strange}, path
        seen[path[-1] if path else ""] = seen.get(path[-1] if path else "", 0) + ticks
    assert all(seen[name] for name in strange), seen


@pytest.mark.parametrize("sections", [(".eh_frame",), (".eh_frame_hdr",), (".eh_frame", ".eh_frame_hdr")])
def test_removed_tables(build: Build, survive: Survive, tmp_path: Path, sections: tuple[str, ...]) -> None:
    bare = tmp_path / "bare"
    words = [word for section in sections for word in ("--remove-section", section)]
    subprocess.run(["objcopy", *words, build("guarded.c", flags="-O2 -pthread"), bare], check=True)
    survive(bare, SECONDS)


@pytest.mark.parametrize("seed", mostly_slow(3, range(12)))
def test_corrupted_tables(build: Build, survive: Survive, tmp_path: Path, seed: int) -> None:
    """Random bytes in .eh_frame (even seeds) and in .eh_frame_hdr as well (odd ones): from a few to most of them."""
    damaged = tmp_path / "damaged"
    shutil.copy(build("strange_main.c", "strange.S", flags="-O2 -no-pie"), damaged)
    chance = random.Random(seed)
    with damaged.open("r+b") as file:
        elf = ELFFile(file)
        names = (".eh_frame", ".eh_frame_hdr")[: 1 + seed % 2]
        spans = [(s["sh_offset"], s["sh_size"]) for name in names if (s := elf.get_section_by_name(name))]
        assert len(spans) == len(names)
        for offset, size in spans:
            share = chance.choice([0.01, 0.05, 0.3, 0.9])
            for at in range(offset, offset + size):
                if chance.random() < share:
                    file.seek(at)
                    file.write(bytes([chance.randrange(256)]))
    survive(damaged, "0.15")


def test_code_made_at_run_time(build: Build, survive: Survive) -> None:
    survive(build("jit.c"), SECONDS)


def test_libraries_that_come_and_go(build: Build, survive: Survive) -> None:
    library = build("plugin.c", flags="-O2 -shared -fPIC", output="libplugin.so")
    survive(build("reload.c", flags="-O2 -pthread"), library, SECONDS)


@pytest.mark.slow
def test_exceptions_all_the_time(build: Build, record: Record, fast_clock: str, alone: Callable[..., Outcome]) -> None:
    program: list[str | Path] = [build("throwing.cpp"), "100000"]
    recording = record(program, clock=fast_clock, rate=RATE, env=AT_ANY_COST)
    assert recording.outcome.stdout == alone(program).stdout
    verdict = judge(recording, (r"main(>catch_once(\.cold)?(>deeper(\.cold)?(>_ZN5GuardD[12]Ev)?)*)?",))
    assert verdict.right(0.98), verdict
    # Unwinding runs destructors from the throwing frame outwards: the paths must reach main even then.
    assert recording.profile.counters.broken.sum() <= 0.02 * verdict.total
