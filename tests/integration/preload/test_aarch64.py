"""aarch64, cross-compiled and run by qemu-user: calls, call paths, phases, heartbeats.

What qemu-user has not: perf events, and reading of another stack than the thread's own (process_vm_readv): paths end
there. A call path of some hundred frames takes longer than one sample may.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run
from incprof.symbols.elf import ElfFile
from incprof.symbols.jumps import jumps_of
from incprof.symbols.modules import MachineCode
from tests.integration.collector import judge
from tests.integration.cross import TRIPLET, Cross
from tests.integration.cross import cross as cross
from tests.integration.preload.test_paths import LEAVES, STACKS, VIRTUAL, Case

# The libraries are compiled for it first.
pytestmark = pytest.mark.slow
# On a signal stack the path ends at the handler.
HANDLERS = Case(
    "handlers.c",
    ("main>raiser>on_raise>burn_handler", "\\?>burn_handler", "main>spin>on_timer>burn_handler", "main>spin"),
)


def test_callers_are_distinguished(cross: Cross) -> None:
    recording = cross.record(cross.build("arcs.c", output="arcs"))
    arcs = recording.arcs()
    assert {caller: n for (caller, callee), n in arcs.items() if callee == "target"} == {"a": 3, "b": 5, "main": 2}
    assert (arcs["main", "even"], arcs["even", "odd"], arcs["odd", "even"]) == (1, 50, 50)
    assert (arcs["main", "down"], arcs["down", "down"], recording.calls()["down"]) == (1, 999, 1000)
    assert recording.profile.metadata.raw["arch"] == "aarch64"


def test_threads_lose_no_call(cross: Cross) -> None:
    arcs = cross.record(cross.build("threads.c", flags="-O2 -pthread", output="threads"), "3").arcs()
    assert (arcs["run", "work"], arcs["work", "leaf"], arcs["last_words", "leaf"]) == (3_000_000, 6_000_000, 3)


def test_calls_from_a_signal_handler(cross: Cross) -> None:
    """Handlers that come between the load and the store of a counter."""
    recording = cross.record(cross.build("handler_calls.c", output="handler_calls"))
    handled, arcs = recording.outcome.values()["handled"], recording.arcs()
    assert handled > 0
    assert (arcs["main", "leaf"], arcs["main", "shared"]) == (30_000_000, 30_000)
    assert arcs["from_handler", "shared"] == arcs["on_signal", "from_handler"] == handled


def test_the_hook_keeps_arguments(cross: Cross) -> None:
    program = cross.build("arguments.c", output="arguments")
    alone = cross.run(program).stdout
    assert cross.record(program).outcome.stdout == alone == "9.75 27.25\n670\n6 14 24 36\n43\n"


SIGNED = "-O2 -mbranch-protection=standard"


@pytest.mark.parametrize(
    ("case", "flags"),
    [
        pytest.param(STACKS, SIGNED, id="stacks-signed"),
        pytest.param(HANDLERS, "-O2", id="handlers"),
        pytest.param(HANDLERS, SIGNED, id="handlers-signed", marks=pytest.mark.slow),
        pytest.param(VIRTUAL, SIGNED, id="virtual-signed", marks=pytest.mark.slow),
        pytest.param(LEAVES, "-O2", id="leaves", marks=pytest.mark.slow),
    ],
)
def test_paths(cross: Cross, case: Case, flags: str) -> None:
    """Also where return addresses are signed. A few ticks are in the start, and where an exception is raised."""
    verdict = judge(cross.record(cross.build(case.source, flags=flags)), case.legal)
    assert verdict.right(0.9), verdict
    assert all(verdict.each.values()), verdict


def test_code_without_tables_is_walked_by_frame_pointers(cross: Cross) -> None:
    """It skips a caller before its frame exists: the rest of the path is right."""
    flags = "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables"
    recording = cross.record(cross.build(LEAVES.source, flags=flags))
    verdict = judge(recording, (*LEAVES.legal, "main>(add|twice|thrice|compare)"))
    assert verdict.right(0.95), verdict


def test_phases_are_found_on_the_host(cross: Cross, capsys: pytest.CaptureFixture[str]) -> None:
    recording = cross.record(cross.build("turns.c"), "4")
    assert {name: recording.calls()[name] for name in ("work", "rest")} == recording.outcome.values()
    assert main(["phases", str(recording.directory), "--json", "--set", "phases.samples=0"]) == 0
    self_s = recording.profile.self_s.sum(axis=0)
    sampled = {f.mangled for f, s in zip(recording.profile.functions, np.ravel(self_s), strict=True) if s}
    assert {"work", "rest"} <= sampled
    phases = json.loads(capsys.readouterr().out)["phases"]
    # A busy machine leaves few samples to qemu, and some intervals none: the number of phases depends on it.
    longest = max(phases, key=lambda phase: phase["seconds"])
    assert longest["functions"][0]["name"] in ("work", "rest")
    assert {site["function"] for site in longest["sites"]} <= {"work", "rest"}


def test_its_machine_code_is_not_read_as_that_of_another_processor(
    cross: Cross, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is derived from jumps and calls: no tail calls, loops or callers of the hook."""
    program = cross.build("jumps.c", output="jumps")
    recording = cross.record(program)
    code, elf = MachineCode(ElfFile(str(program))), ElfFile(str(program))
    section = next(section for section in elf.sections if section.name == ".text")
    addresses = np.arange(section.address, section.address + section.size, dtype=np.uint64)
    assert not code.call_targets(addresses).any()
    assert not any(code.imported(address) for address in addresses.tolist())
    assert code.jumps([(section.address, section.size)]) == {}
    module = recording.profile.metadata.modules[0].path
    assert jumps_of(open_run(recording.directory), recording.profile, Path(module).name, [section.address]) == [[]]
    assert "main>tail" in {">".join(path) for path in recording.paths()}
    assert main(["check", str(program)]) == 1  # this machine's library cannot be loaded into it
    assert "aarch64" in capsys.readouterr().out


def test_processors_may_check_branches_and_returns(cross: Cross) -> None:
    """The linker drops the marks where one object lacks them."""
    objects = sorted(cross.collector.parent.glob("CMakeFiles/incprof.dir/**/*.o"))
    assert len(objects) > 40
    for path in objects:
        words = [f"{TRIPLET}-readelf", "--notes", str(path)]
        notes = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert "AArch64 feature: BTI, PAC" in notes, path
