"""What samples of waiting threads cost, and how much of the waiting in drawn mixtures has the right cause.

usage: python benchmarks/waits.py [--seconds S] [--seeds FIRST LAST] [--only cost|causes]

The cost is given twice: by the recorder's own account, and as the difference between the CPU time of the recorder's
thread with and without these samples. Causes are compared with the clocks of the threads themselves, thread by thread
and over the threads of each run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.bed import Bed
from incprof.systems.waiting.read import read_waits
from tests.integration.collector import FIXTURES, Outcome, Recording
from tests.integration.wait_mixtures import drawn, pooled, score

BUDGET = 0.003
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


def causes(bed: Bed, seeds: range, seconds: float) -> None:
    """Print how much of the waiting in drawn mixtures has the right cause."""
    program = bed.scratch / "mixture"
    flags = ["-O1", "-g", "-fopenmp", "-pthread", "-std=c++17"]
    subprocess.run(["g++", *flags, FIXTURES / "wait_mixture.cpp", "-o", program], check=True)
    scores = []
    for seed in seeds:
        environment = bed.environment(follow=0, exe=program, interval=0.25) | {"OMP_WAIT_POLICY": "passive"}
        command = [program, str(seconds), str(seed), *drawn(seed, threads=4)]
        done = subprocess.run(command, cwd=bed.scratch, env=environment, capture_output=True, text=True, check=True)
        outcome = Outcome(done.returncode, done.stdout, done.stderr, cpu_s=0.0)
        scores.append(score(Recording(outcome, bed.scratch / "run")))
        print(f"seed {seed}: right {100 * scores[-1].right:.1f} %, over threads {100 * scores[-1].right_of_all:.1f} %")
    whole = pooled(scores)
    over_threads = sum(each.right_of_all for each in scores) / len(scores)
    print(f"{len(scores)} mixtures: {100 * whole.attributed:.1f} % of the waiting has a cause")
    print(
        f"right: {100 * whole.right:.1f} % thread by thread, {100 * over_threads:.1f} % over the threads of a run, "
        f"{100 * whole.right_of_all:.1f} % over all runs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seeds", type=int, nargs=2, default=(401, 412))
    parser.add_argument("--only", choices=("cost", "causes"))
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
            causes(bed, range(args.seeds[0], args.seeds[1] + 1), args.seconds)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
