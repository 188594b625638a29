"""What samples of waiting threads cost, and how much of the waiting in drawn mixtures has the right cause.

usage: python benchmarks/waits.py [--seconds S] [--seeds FIRST LAST] [--only cost|causes] [--from RECORDER ...]

The cost is given twice: by the recorder's own account, and as the difference between the CPU time of the recorder's
thread with and without these samples. Causes are compared with the clocks of the threads themselves, thread by thread
and over the threads of each run. Each mixture is recorded by each of the recorders: `preload`, and from outside,
`external` and `process` (`record --external` and `record -p`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.bed import Bed
from incprof.systems.waiting.read import read_waits
from tests.integration.collector import FIXTURES, Outcome, Recording
from tests.integration.wait_mixtures import Score, drawn, pooled, score

RECORDERS = ("preload", "external", "process")
THREADS = (4, 64, 1000)
PYTHON = """
import json, os, sys, time
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    rows = json.loads(json.dumps([{"a": i, "b": [i] * 5} for i in range(20000)]))
    with open("rows.json", "w") as file:
        json.dump({row["a"] % 7: len(row["b"]) for row in rows}, file)
        file.flush()
        os.fsync(file.fileno())
    time.sleep(0.005)
others = [task for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]
print(sum(int(open(f"/proc/self/task/{task}/schedstat").read().split()[0]) for task in others) * 1e-9)
"""


def recorder_s(bed: Bed, command: list[str], waits_hz: int | None) -> float:
    """Return the CPU seconds of the recorder's thread."""
    settings = {} if waits_hz is None else {"waits": waits_hz}
    environment = bed.environment(follow=0, exe=os.path.realpath(command[0]), **settings)
    done = subprocess.run(command, cwd=bed.scratch, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def cost(bed: Bed, name: str, command: list[str], seconds: float) -> None:
    """Print the cost of sampling one program."""
    without_s, with_s = recorder_s(bed, command, 0), recorder_s(bed, command, None)
    waits = read_waits(str(bed.scratch / "run" / "rank-00000.gmon"), str(bed.scratch / "run"))
    assert waits is not None
    own, measured = waits.own_s / seconds, (with_s - without_s) / seconds
    sampled = f"{waits.taken} samples, {waits.left_out} left out"
    print(f"{name}: {100 * own:.2f} % of a processor by its own account, {100 * measured:.2f} % measured; {sampled}")


def mixture(bed: Bed, program: Path, arguments: list[str], recorder: str) -> Score:
    """Record a mixture, and return how much of its waiting has the right cause."""
    command = [str(program), *arguments]
    plain = os.environ | {"OMP_WAIT_POLICY": "passive"}
    preloaded = bed.environment(follow=0, exe=program, interval=0.25) | {"OMP_WAIT_POLICY": "passive"}
    outside = [sys.executable, "-m", "incprof", "record", "--follow", "0", "-i", "0.25", "-o", "run"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "cwd": bed.scratch}
    if recorder == "process":
        host = subprocess.Popen(command, env=plain | {"MIXTURE_WAITS": "1"}, text=True, **pipes)
        with host, subprocess.Popen([*outside, "-p", str(host.pid)], **pipes) as attached:
            while attached.poll() is None and not list(bed.scratch.glob("run/*.gmon")):
                time.sleep(0.01)
            out, _ = host.communicate("\n")
    elif recorder == "external":
        out = subprocess.run([*outside, "--external", "--", *command], env=plain, text=True, check=True, **pipes).stdout
    else:
        out = subprocess.run(command, env=preloaded, text=True, check=True, **pipes).stdout
    return score(Recording(Outcome(0, out, "", cpu_s=0.0), bed.scratch / "run"))


def causes(bed: Bed, seeds: range, seconds: float, recorders: list[str]) -> None:
    """Print how much of the waiting in drawn mixtures has the right cause."""
    program = bed.scratch / "mixture"
    flags = ["-O1", "-g", "-fopenmp", "-pthread", "-std=c++17"]
    subprocess.run(["g++", *flags, FIXTURES / "wait_mixture.cpp", "-o", program], check=True)
    scores: dict[str, list[Score]] = {recorder: [] for recorder in recorders}
    for seed in seeds:
        for recorder, scored in scores.items():
            scored.append(mixture(bed, program, [str(seconds), str(seed), *drawn(seed, threads=4)], recorder))
            right, of_all = scored[-1].right, scored[-1].right_of_all
            print(f"seed {seed}, {recorder}: right {100 * right:.1f} %, over threads {100 * of_all:.1f} %", flush=True)
    for recorder, scored in scores.items():
        whole = pooled(scored)
        over_threads = sum(each.right_of_all for each in scored) / len(scored)
        print(f"{recorder}, {len(scored)} mixtures: {100 * whole.attributed:.1f} % of the waiting has a cause")
        print(
            f"right: {100 * whole.right:.1f} % thread by thread, {100 * over_threads:.1f} % over the threads of a run, "
            f"{100 * whole.right_of_all:.1f} % over all runs"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seeds", type=int, nargs=2, default=(401, 412))
    parser.add_argument("--only", choices=("cost", "causes"))
    parser.add_argument("--from", dest="recorders", nargs="+", choices=RECORDERS, default=["preload"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bed = Bed(Path(scratch), 1)
        if args.only != "causes":
            program = str(bed.compile("threads_waiting.c", pg=False))
            for count in THREADS:
                cost(bed, f"{count} threads", [program, str(count), str(args.seconds)], args.seconds)
            python = os.path.realpath(sys.executable)
            cost(bed, "Python", [python, "-c", PYTHON, str(args.seconds)], args.seconds)
        if args.only != "cost":
            causes(bed, range(args.seeds[0], args.seeds[1] + 1), args.seconds, args.recorders)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
