"""Hardware counters, on a machine with those of a script: the values, and the requests to the kernel."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.integration.sampling import Machine, until_rows
from tests.integration.sampling import machine as machine
from tests.integration.sampling import sampled as sampled

CYCLES, INSTRUCTIONS, MISSES = "0 0", "0 1", "0 3"
INTERVAL_S = 0.02
REST = ("-i", f"{INTERVAL_S}s", "--", *until_rows(5))
CLOEXEC, ENABLED_AND_RUNNING = 8, 1 | 2


def test_growth_in_each_interval_and_their_ratio(machine: Machine) -> None:
    counts = [
        f"{INSTRUCTIONS} 0:0:0 1000:10:10 4000:20:20 4600:30:30",
        f"{CYCLES} 0:0:0 2000:10:10 4000:20:20 4800:30:30",
    ]
    done = machine.sample(counts, "-e", "instructions,cycles,ipc", *REST)
    assert done.returncode == 0, done.stderr
    found = machine.recording
    assert list(found.columns) == ["time_s", "instructions", "cycles", "ipc"]
    assert found["instructions"][:4] == [1000, 3000, 600, 0]
    assert found["cycles"][:4] == [2000, 2000, 800, 0]
    assert found["ipc"][:4] == [0.5, 1.5, 0.75, 0]
    assert "not available" not in done.stderr


def test_requests_to_the_kernel(machine: Machine) -> None:
    machine.sample([f"{INSTRUCTIONS} 0:0:0", f"{CYCLES} 0:0:0", "4 450 0:0:0"], "-e", "instructions,cycles,r1c2", *REST)
    opened = machine.opened
    assert [(each["type"], each["config"]) for each in opened] == [(0, 1), (0, 0), (4, 0x1C2)]
    for each in opened:
        # Children too, from the program's first instruction on; no group, of which children could not be read.
        assert (each["inherit"], each["disabled"], each["enable_on_exec"], each["group"]) == (1, 1, 1, -1)
        assert (each["cpu"], each["exclude_kernel"], each["sampled"]) == (-1, 0, 0)
        assert (each["flags"], each["read_format"]) == (CLOEXEC, ENABLED_AND_RUNNING)
        assert each["pid"] > 0
        assert each["size"] >= 64


def test_a_counter_that_others_share_is_scaled(machine: Machine) -> None:
    done = machine.sample([f"{CYCLES} 0:0:0 1000:100:50 3000:200:100 3100:300:200"], "-e", "cycles", *REST)
    assert done.returncode == 0, done.stderr
    assert machine.recording["cycles"][:4] == [2000, 4000, 100, 0]
    assert machine.recording.has_comment("cycles: counted 66.7 % of the time")


def test_no_row_where_nothing_was_counted_and_the_next_is_for_longer(machine: Machine) -> None:
    counts = [f"{CYCLES} 0:0:0 100:10:10 100:20:10 100:30:10 400:40:20 500:50:30"]
    machine.sample(counts, "-e", "cycles", *REST)
    found = machine.recording
    assert found["cycles"][:3] == [100, 900, 100]
    first, second, third = found["time_s"][:3]
    assert first < second < third
    # Two readings gave no row, however late they were; the last row may be for what was left.
    rows, late = map(int, re.findall(r"\d+", found.comments[-1]))
    left_out = sum(int(line.split()[3]) for line in found.comments if line.startswith("# left out: "))
    assert int(found["time_s"][-1] / INTERVAL_S + 1e-3) - rows - late - left_out in (1, 2)


def test_counts_go_round_at_64_bits(machine: Machine) -> None:
    counts = [f"{CYCLES} {2**64 - 10}:{2**64 - 5}:{2**64 - 5} 20:5:5 30:15:15"]
    machine.sample(counts, "-e", "cycles", *REST)
    assert machine.recording["cycles"][:3] == [30, 10, 0]


def test_a_counter_that_fails_is_no_number_and_costs_the_others_nothing_for_long(machine: Machine) -> None:
    words = ("-e", "cycles,cache-misses", "-i", "2ms", "--", *until_rows(12))
    done = machine.sample([f"{CYCLES} 0:0:0 50:1:1 x", f"{MISSES} 0:0:0 1:1:1 2:2:2"], *words)
    assert done.returncode == 0, done.stderr
    found = machine.recording
    assert found["cycles"][0] == 50
    assert all(value != value for value in found["cycles"][1:-1])
    assert found["cache-misses"][:2] == [1, 1]
    assert len(found["cycles"]) > 10


def test_without_the_kernels_part_where_that_is_forbidden(machine: Machine) -> None:
    counts = [f"{INSTRUCTIONS} user 0:0:0 70:1:1", "1 3 user 0:0:0"]
    done = machine.sample(counts, "-e", "instructions,context-switches", *REST)
    assert machine.recording["instructions"][0] == 70
    assert machine.recording.has_comment("note: instructions: without the kernel's part")
    # A switch happens in the kernel: in user mode there would be none, which is not true.
    assert "context-switches" not in machine.recording.columns
    assert "not available: context-switches: " in done.stderr
    assert "(EACCES)" in done.stderr
    assert [each["exclude_kernel"] for each in machine.opened] == [0, 1, 0]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (2, "no such hardware counter (ENOENT)"),
        (24, "raise ulimit -n"),
        (38, "no perf_event_open (ENOSYS)"),
        (1, "(EPERM)"),
    ],
)
def test_a_counter_that_cannot_be_opened_is_named_and_left_out(machine: Machine, error: int, words: str) -> None:
    counts = [f"{INSTRUCTIONS} errno={error}", f"{CYCLES} 0:0:0 5:1:1"]
    done = machine.sample(counts, "-e", "ipc,cycles", *REST)
    assert done.returncode == 0
    assert list(machine.recording.columns) == ["time_s", "cycles"]
    (line,) = [line for line in done.stderr.splitlines() if "not available" in line]
    assert "not available: instructions: " in line
    assert words in line
    assert machine.recording.has_comment("not available: ipc: needs instructions")


def test_nothing_to_sample_starts_no_program(machine: Machine) -> None:
    done = machine.sample([], "-e", "instructions,cycles", "--", "touch", "started")
    assert done.returncode == 4
    assert "none of the requested events" in done.stderr
    assert not (machine.place / "run.csv").exists()
    assert not (machine.place / "started").exists()


def test_one_counter_for_each_processor_of_the_machine(machine: Machine) -> None:
    processors = os.sysconf("SC_NPROCESSORS_CONF")
    done = machine.sample([f"{CYCLES} 10:1:1 110:2:2"], "-e", "cycles", "--system", *REST)
    assert done.returncode == 0, done.stderr
    assert machine.recording["cycles"][:2] == [100 * processors, 0]
    assert [(each["pid"], each["cpu"]) for each in machine.opened] == [(-1, cpu) for cpu in range(processors)]
    assert {(each["inherit"], each["disabled"]) for each in machine.opened} == {(0, 0)}


def test_one_counter_for_each_thread_of_a_process(machine: Machine, tmp_path: Path) -> None:
    text = (
        "import threading, time\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print(flush=True)"
    )
    with subprocess.Popen(["python3", "-c", text], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        threads = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
        done = machine.sample([f"{CYCLES} 10:1:1 15:2:2"], "-e", "cycles", "-p", str(process.pid), "--for", "0.1")
        process.kill()
    assert done.returncode == 0, done.stderr
    assert len(threads) == 4
    assert sorted(each["pid"] for each in machine.opened) == threads
    assert {(each["inherit"], each["enable_on_exec"]) for each in machine.opened} == {(1, 0)}
    assert machine.recording["cycles"][0] == 20


def memory_controllers(place: Path) -> Path:
    """A /sys with two controllers of Intel, on one processor of each of two sockets, and one of AMD."""
    devices = place / "sys" / "bus" / "event_source" / "devices"
    for name, type_ in (("uncore_imc_0", 20), ("uncore_imc_1", 21), ("amd_umc_0", 30), ("uncore_imc_free_running", 9)):
        (devices / name / "events").mkdir(parents=True)
        (devices / name / "type").write_text(f"{type_}\n")
        (devices / name / "cpumask").write_text("0\n" if name == "amd_umc_0" else "0,18\n")
        if name[-1].isdigit() and name.startswith("uncore"):
            (devices / name / "events" / "cas_count_read").write_text("event=0x04,umask=0x03\n")
            (devices / name / "events" / "cas_count_write").write_text("event=0x04,umask=0x0c\n")
    return place / "sys"


# Reads of each controller: 10 on Intel's, twice, 7 on AMD's.
MEMORY_READ = ["20 772 0:1:1 10:2:2", "21 772 0:1:1 10:2:2", "30 266 0:1:1 7:2:2"]


def test_memory_controllers_of_all_sockets_add_up(machine: Machine, tmp_path: Path) -> None:
    sysfs = memory_controllers(tmp_path)
    done = machine.sample(MEMORY_READ, "-e", "cas-count-read", "--system", "--sysfs", sysfs, "--power", "none", *REST)
    assert done.returncode == 0, done.stderr
    assert machine.recording["cas-count-read"][0] == 2 * 2 * 10 + 7
    opened = sorted((each["type"], each["config"], each["pid"], each["cpu"]) for each in machine.opened)
    assert opened == [
        (20, 0x304, -1, 0), (20, 0x304, -1, 18), (21, 0x304, -1, 0), (21, 0x304, -1, 18), (30, 0x10A, -1, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "words"), [(["20 772 errno=13"], "(EACCES)"), (None, "no memory controller has counters here")]
)
def test_memory_controllers_that_may_not_be_read_are_one_line(
    counts: list[str] | None, words: str, machine: Machine, tmp_path: Path
) -> None:
    sysfs = memory_controllers(tmp_path) if counts else tmp_path
    both = [*(counts or []), "21 772 errno=13", "30 266 errno=13", "20 3076 errno=13", "21 3076 errno=13",
            "30 522 errno=13", f"{CYCLES} 0:0:0 5:1:1"]  # fmt: skip
    done = machine.sample(both, "-e", "cycles,cas-count-read,cas-count-write", "--sysfs", sysfs, *REST)
    assert done.returncode == 0
    (line,) = [line for line in done.stderr.splitlines() if "not available" in line]
    assert "cas-count-read, cas-count-write: " in line
    assert words in line
