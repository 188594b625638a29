"""Power and the counters of a whole machine, from trees that look like /sys, from commands, and from this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from incprof.systems.nodes.read import read_nodes
from tests.integration.hosts import need, need_root
from tests.integration.sampling import FIXTURES, Machine, command, read, sample
from tests.integration.sampling import machine as machine
from tests.integration.sampling import sampled as sampled

RANGE_UJ = 262143328850
DCMI = FIXTURES / "ipmitool-dcmi.txt"


def plant(root: Path, **files: object) -> None:
    """Write files below a directory; `__` in a name stands for a stroke, `_C_` for a colon."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_C_", ":")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def watched(tree: Path, script: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Sample power of a tree while a script runs that changes it in place."""
    given = ("-i", "50ms", "-e", "run-queue", "--sysfs", tree, "-o", "run.csv", "--force", *words)
    return sample("--system", *given, "--", "sh", "-c", script, cwd=cwd)


def rows_later(script: str) -> str:
    """A part of such a script after some more readings, however late they are."""
    count = "$(wc -l <run.csv)"
    return f"seen={count}; until [ {count} -gt $((seen + 3)) ]; do sleep 0.02; done; {script}"


def joules(path: Path, name: str) -> float:
    """The energy of a column, of the rows that have a value."""
    found = read(path)
    lengths = [now - before for before, now in zip([0.0, *found["time_s"]], found["time_s"], strict=False)]
    return sum(w * s for w, s in zip(found[name], lengths, strict=True) if w == w)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A machine with one package, its cores and memory, the whole system, and the package once more by another way."""
    tree = tmp_path / "sys"
    zones = {"_C_0": "package-0", "_C_0_C_0": "core", "_C_0_C_1": "dram", "_C_1": "psys", "-mmio_C_0": "package-0"}
    for zone, name in zones.items():
        files = {"name": name, "energy_uj": "200000000000", "max_energy_range_uj": RANGE_UJ}
        plant(tree, **{f"class__powercap__intel-rapl{zone}__{file}": text for file, text in files.items()})
    plant(tree, **{"class__powercap__intel-rapl__enabled": 1})
    return tree


def zone(tree: Path, name: str) -> Path:
    return tree / "class/powercap" / name / "energy_uj"


def test_energy_counters_are_watts_and_nothing_is_lost_or_counted_twice(packages: Path, tmp_path: Path) -> None:
    script = rows_later(f"printf %s 200001500000 1<>'{zone(packages, 'intel-rapl:0')}'; {rows_later(':')}")
    done = watched(packages, script, "--power", "rapl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run.csv")
    parts = ["rapl-package-0-watts", "rapl-package-0-core-watts", "rapl-package-0-dram-watts", "rapl-psys-watts"]
    assert list(found.columns) == ["time_s", "run-queue", *parts]
    assert joules(tmp_path / "run.csv", parts[0]) == pytest.approx(1.5, rel=1e-3)
    assert joules(tmp_path / "run.csv", parts[2]) == 0
    assert found.has_comment("# column: rapl-package-0-watts: watts")
    assert found.has_comment("# note: rapl-package-0-core-watts: a part of package-0")
    (node,) = read_nodes([tmp_path / "run.csv"])
    assert node.node == os.uname().nodename
    assert (node.power, node.counters) == ("rapl-psys-watts", ("run-queue",))
    assert abs(node.times[-1] - time.time()) < 3600
    assert np.nansum(node.column(parts[0]) * np.diff([0.0, *found["time_s"]])) == pytest.approx(1.5, rel=1e-3)


@pytest.mark.parametrize(
    ("after", "expected"),
    # It goes round at its range; a reset would have been a hundred kilowatts; and what is no number is no reading.
    [("000001000000", (RANGE_UJ - 262143000000 + 1000000) / 1e6), ("000050000000", None), ("x00001000000", 0.0)],
)
def test_an_energy_counter_that_goes_round_or_is_reset(
    packages: Path, tmp_path: Path, after: str, expected: float | None
) -> None:
    energy = zone(packages, "intel-rapl:0")
    energy.write_text("200000000000\n" if expected is None else "262143000000\n")
    more = f"printf %s 000051000000 1<>'{energy}'; {rows_later(':')}" if expected is None else ":"
    script = rows_later(f"printf %s {after} 1<>'{energy}'; {rows_later(more)}")
    done = watched(packages, script, "--power", "rapl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    watts = read(tmp_path / "run.csv")["rapl-package-0-watts"]
    assert any(value != value for value in watts) == (expected is None or after.startswith("x"))
    # After a reset it counts on.
    assert joules(tmp_path / "run.csv", "rapl-package-0-watts") == pytest.approx(
        1.0 if expected is None else expected, rel=1e-3
    )


# 10 J at a time, 220 in all, and each time until the sampler, its parent, has read some numbers more.
COUNTING = """
import os, pathlib, sys, time
def read_bytes():
    return int(pathlib.Path(f"/proc/{os.getppid()}/io").read_text().split()[1])
file = os.open(sys.argv[1], os.O_WRONLY)
for joules in range(10, 230, 10):
    os.pwrite(file, b"%-12d" % (joules % 100 * 1_000_000), 0)
    enough = read_bytes() + 40
    while read_bytes() < enough:
        time.sleep(0.01)
"""


def test_an_energy_counter_that_goes_round_twice_in_a_row(packages: Path, tmp_path: Path) -> None:
    energy = zone(packages, "intel-rapl:0")
    (energy.parent / "max_energy_range_uj").write_text("100000000")
    energy.write_text("0           \n")
    words = ("-i", "60s", "-e", "run-queue", "--power", "rapl", "--sysfs", packages, "-o", "run.csv")
    done = sample("--system", *words, "--", sys.executable, "-c", COUNTING, energy, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert joules(tmp_path / "run.csv", "rapl-package-0-watts") == pytest.approx(220, rel=1e-3)


# Sends from the interface that is listed last, and prints how much.
SENDING = """
import pathlib, socket
last = pathlib.Path("/proc/net/dev").read_text().splitlines()[-1].split(":")[0].strip()
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
    out.bind((last, 0))
    print(sum(out.send(b"\\xff" * 1000) for _ in range(500)))
"""


def test_interfaces_beyond_the_first_page_count(tmp_path: Path) -> None:
    need_root()
    need("unshare", "ip")
    (tmp_path / "links").write_text("".join(f"link add a{i} type veth peer name b{i}\n" for i in range(30)))
    up = "".join(f"link set {end}{i} up\n" for i in range(30) for end in "ab")
    (tmp_path / "up").write_text(up)
    script = 'ip -batch links && ip -batch up && exec "$@"'
    words = command("sample", "--system", "-e", "net-tx-bytes", "-o", "run.csv", "--", sys.executable, "-c", SENDING)
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", script, "sh", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "unshare" in done.stderr or "RTNETLINK" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 500_000
    assert sum(read(tmp_path / "run.csv")["net-tx-bytes"]) >= 500_000


def test_chips_batteries_and_the_counters_of_cray(tmp_path: Path) -> None:
    tree = tmp_path / "sys"
    plant(tree, class__hwmon__hwmon0__name="nvme", class__hwmon__hwmon0__temp1_input=30000)
    for at in (1, 2, 10):
        chip = f"class__hwmon__hwmon{at}__"
        plant(tree, **{chip + "name": "amdgpu", chip + "power1_average": at * 10_500_000, chip + "power1_label": "PPT"})
    plant(tree, class__hwmon__hwmon3__name="power_meter", class__hwmon__hwmon3__power1_average=301_000_000)
    plant(tree, class__hwmon__hwmon4__name="amd_energy", class__hwmon__hwmon4__energy1_input=5)
    plant(tree, class__power_supply__AC__type="Mains", class__power_supply__mouse__type="Battery")
    plant(tree, class__power_supply__mouse__scope="Device", class__power_supply__mouse__status="Discharging")
    battery = "class__power_supply__BAT0__"
    plant(tree, **{battery + "type": "Battery", battery + "status": "Discharging", battery + "current_now": -1500000})
    plant(tree, **{battery + "voltage_now": 12000000})
    plant(tree, cray__pm_counters__power="412 W 1700000000000000 us", cray__pm_counters__accel0_power="90 W 17 us")
    plant(tree, cray__pm_counters__power_cap="0 W", cray__pm_counters__energy="1 J 17 us")
    status = tree / "class/power_supply/BAT0/status"
    script = rows_later(f"printf 'Charging   ' 1<>'{status}'; {rows_later(':')}")
    done = watched(tree, script, "--power", "hwmon,battery,cray", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run.csv")
    first = {name: values[0] for name, values in found.columns.items() if name.endswith("-watts")}
    assert first == {
        "hwmon-amdgpu-ppt-watts": 10.5,
        "hwmon-amdgpu-ppt-2-watts": 21.0,
        "hwmon-power-meter-power1-watts": 301.0,
        "hwmon-amd-energy-energy1-watts": 0.0,
        "hwmon-amdgpu-ppt-3-watts": 105.0,
        "battery-bat0-watts": 18.0,
        "cray-accel0-watts": 90.0,
        "cray-node-watts": 412.0,
    }
    assert found["battery-bat0-watts"][-1] != found["battery-bat0-watts"][-1]
    assert found.has_comment("battery-bat0-watts: the whole machine while it runs on battery")


def test_a_kind_that_is_not_there_is_named_and_costs_the_others_nothing(packages: Path, tmp_path: Path) -> None:
    energy = zone(packages, "intel-rapl:1")
    energy.unlink()
    energy.mkdir()
    done = watched(packages, "sleep 0.1", "--power", "auto", cwd=tmp_path)
    assert done.returncode == 0
    assert "hwmon, battery, cray" in done.stderr
    assert f"not available: rapl-psys-watts: reading {energy}: Is a directory (EISDIR)" in done.stderr
    assert "rapl-package-0-watts" in read(tmp_path / "run.csv").columns


def fake_ipmitool(place: Path, text: str) -> dict[str, str]:
    tool = place / "bin" / "ipmitool"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\n[ "$*" = "dcmi power reading" ] || exit 9\n{text}\n')
    tool.chmod(0o755)
    return {"PATH": f"{tool.parent}:{os.environ['PATH']}"}


def test_ipmi(tmp_path: Path) -> None:
    env = fake_ipmitool(tmp_path, f"cat '{DCMI}'")
    words = ("--system", "-e", "run-queue", "-i", "50ms", "--for", "0.2", "-o", "run.csv")
    done = sample(*words, "--power", "ipmi", cwd=tmp_path, **env)
    assert done.returncode == 0, done.stderr
    assert set(read(tmp_path / "run.csv")["ipmi-watts"]) == {220.0}


def test_an_ipmi_that_answers_no(tmp_path: Path) -> None:
    env = fake_ipmitool(tmp_path, "echo 'Could not open device at /dev/ipmi0' >&2; exit 1")
    words = ("--system", "-e", "run-queue", "-i", "50ms", "--for", "0.1", "-o", "run.csv")
    done = sample(*words, "--power", "ipmi", cwd=tmp_path, **env)
    assert done.returncode == 0
    assert "ipmi-watts: 'exec ipmitool dcmi power reading' prints no watts: Could not open device" in done.stderr
    assert list(read(tmp_path / "run.csv").columns) == ["time_s", "run-queue"]


def test_commands_are_run_again_read_as_they_print_and_ended(tmp_path: Path) -> None:
    once = "pdu=echo x >> log; echo $(( $(wc -l < log) * 100 )) W"
    stream = "rack=echo $$ > pid; echo 1.5 kW; echo nonsense; while sleep 1; do echo 1.5 kW; done & sleep 600"
    words = ("--system", "-e", "run-queue", "-i", "100ms", "-o", "run.csv", "--power", "none")
    # Where it has begun a third time, what it printed the second time has been read.
    third = f"until [ $(wc -l <log) -ge 3 ]; do sleep 0.05; done; {rows_later(':')}"
    words = (*words, "--power-command", once, "--power-command", stream, "--", "sh", "-c", third)
    done = sample(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run.csv")
    assert found["pdu-watts"] == sorted(found["pdu-watts"])
    assert found["pdu-watts"][0] == 100
    assert found["pdu-watts"][-1] >= 200
    assert set(found["rack-watts"]) == {1500}
    wait_for_end(int((tmp_path / "pid").read_text()))


def wait_for_end(process: int) -> None:
    deadline = time.monotonic() + 600
    while lives(process):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lives(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def test_a_sampler_that_is_killed_takes_its_commands_along(tmp_path: Path) -> None:
    sleeps = "a=echo $$; exec sleep 3600"
    words = command("sample", "--system", "-e", "run-queue", "-o", "run.csv", "--power-command", sleeps)
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 600
        while not (tmp_path / "run.csv").exists() or b"\ntime_s" not in (tmp_path / "run.csv").read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGKILL)
    wait_for_end(int(child))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--power", "sun"), "'sun' is not a kind of power"),
        (("--power-command", "pdu"), "expected NAME=COMMAND"),
        (("-p", "1", "--", "true"), "two things to sample"),
    ],
)
def test_bad_arguments_are_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    done = sample(*(() if words[0] == "-p" else ("--system",)), *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_machine_is_sampled_for_as_long_as_a_program_runs(tmp_path: Path) -> None:
    before = time.monotonic()
    done = sample("--system", "-i", "50ms", "-o", "run.csv", "--", "sh", "-c", "sleep 0.2; exit 3", cwd=tmp_path)
    whole_s = time.monotonic() - before
    assert done.returncode == 3
    found = read(tmp_path / "run.csv")
    assert found.has_comment("of: the whole machine during sh -c sleep 0.2; exit 3")
    assert 0.2 <= found["time_s"][-1] < whole_s
    # The paper's order, and then what stands in.
    network = ["net-tx-bytes", "net-tx-packets", "net-rx-bytes", "net-rx-packets"]
    names = [name for name in found.columns if name in network]
    assert names == [name for name in network if name in names]
    assert {"cpu", "system", "context-switches", "page-faults", "interrupts", "memory-bytes"} <= set(found.columns)


def test_what_goes_over_the_loopback_and_to_the_disk(tmp_path: Path) -> None:
    talk = (
        "import os, socket, threading\n"
        "s = socket.create_server(('127.0.0.1', 0))\n"
        "c = socket.create_connection(s.getsockname())\n"
        "p, _ = s.accept()\n"
        "t = threading.Thread(target=c.sendall, args=(bytes(3_000_000),)); t.start()\n"
        "left = 3_000_000\n"
        "while left: left -= len(p.recv(65536))\n"
        "f = open('data', 'wb'); f.write(os.urandom(5_000_000)); f.flush(); os.fsync(f.fileno())\n"
    )
    done = sample("--system", "-i", "50ms", "-o", "run.csv", "--", "python3", "-c", talk, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run.csv")
    assert sum(found["net-lo-bytes"]) >= 3_000_000
    device = os.stat(tmp_path).st_dev
    if "disk-write-bytes" in found.columns and Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").exists():
        assert sum(found["disk-write-bytes"]) >= 5_000_000


def test_without_the_right_to_count_the_kernels_own_sums_are_read(machine: Machine) -> None:
    done = machine.sample(["1 3 errno=13", "1 2 errno=13"], "--system", "-i", "50ms", "--for", "0.3")
    assert done.returncode == 0, done.stderr
    assert sum(machine.recording["context-switches"]) > 0
    assert machine.recording.has_comment("note: context-switches: from /proc/stat")
    assert machine.recording.has_comment("note: page-faults: from /proc/vmstat")
    assert "# column: context-switches: interval" in machine.recording.comments


def test_a_machine_with_counters_has_those_of_the_paper_in_its_order(machine: Machine) -> None:
    counts = [f"0 {config} 0:0:0 {100 + config}:1:1" for config in range(8)]
    done = machine.sample(counts, "--system", "-i", "50ms", "--for", "0.2")
    assert done.returncode == 0, done.stderr
    table = ["cycles", "instructions", "cache-references", "stalled-cycles-frontend", "cache-misses", "bus-cycles"]
    table += ["branches", "branch-misses"]
    assert list(machine.recording.columns)[1:9] == table
    processors = os.sysconf("SC_NPROCESSORS_CONF")
    configs = [0, 1, 2, 7, 3, 6, 4, 5]
    assert [machine.recording[name][0] for name in table] == [(100 + config) * processors for config in configs]
