"""What `record --gpu` sees on a machine with a CUDA device, against the truth that programs measure themselves.

usage: python benchmarks/gpu.py [--write] [--quick] [--scratch DIR]

Builds and runs the programs gpu_* of benchmarks/programs in less than 8 minutes, and prints a table; --write puts it
into docs/lab/gpu.md. Without a device, one line and exit status 1. What is not installed is in the table as such.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Result
from incprof.analysis.phase_result import PhaseResult
from incprof.model import IntervalProfile
from incprof.readers.stream.interval_images import recorded_paths
from incprof.study.study import Study
from incprof.systems.gpu.analyse import gpu_by_phase, kernel_uses
from incprof.systems.gpu.launches import functions_to, kernel_name
from incprof.systems.gpu.read import HOST, RECORDED, GpuActivity, read_gpu

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "benchmarks" / "programs"
PAGE = ROOT / "docs" / "lab" / "gpu.md"
HEADING = "## Measured\n"
LIMIT_S, LONGEST_S = 480, 90
TINY, PROCESSES, TRAIN_S, PAIRS = 500_000, 2, 20, 3
LAUNCH_BAR_NS, WHOLE_BAR, TRUTH_BAR, PATH_BAR, HOUR_BAR_B = 500.0, 1.01, 0.02, 0.99, 50e6
# The function of gpu_phases.cu that launches each kernel.
LAUNCHED_BY = {"smooth": "relax", "multiply": "products", "multiply_beside": "overlap"}
MET = {True: "yes", False: "**no**", None: ""}
OFFLOAD = (
    ("clang", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda"), ("gcc", "-fopenmp", "-foffload=nvptx-none"),
)  # fmt: skip


class Failed(Exception):
    """A program could not be built or run; its message is for the table."""


@dataclass(frozen=True)
class PhaseTruth:
    """What a program did between two times.

    Attributes:
        start_s: seconds on the clock of the machine.
        end_s: likewise.
        amounts: busy_s and waiting_s in seconds, copied in bytes; those that the program does not know are left out.
    """

    start_s: float
    end_s: float
    amounts: Mapping[str, float]


@dataclass(frozen=True)
class Truth:
    """What a program printed.

    Attributes:
        values: `NAME NUMBER` lines.
        kernels: number and nanoseconds by kernel, of lines `kernel NAME NUMBER NS`.
        stderr: what it wrote there, with the recorder's lines.
        phases: by name, of lines `phase NAME START_NS END_NS BUSY_NS WAITED_NS COPIED`, of which 0 is unknown.
    """

    values: Mapping[str, float]
    kernels: Mapping[str, tuple[int, float]]
    stderr: str = ""
    phases: Mapping[str, PhaseTruth] = field(default_factory=dict)


@dataclass
class Bench:
    """The folder and environment of the runs, and the deadline after which nothing is started."""

    scratch: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PYTHONPATH": str(ROOT), **os.environ})
    deadline_s: float = field(default_factory=lambda: time.monotonic() + LIMIT_S)
    _runs: int = 0

    def run(self, *command: str | Path) -> Truth:
        """Run a program to its end.

        Raises: Failed if it fails or takes too long.
        """
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise Failed("not started: out of time")
        words = [str(word) for word in command]
        try:
            done = subprocess.run(
                words, env=self.environment, capture_output=True, text=True, check=False, cwd=self.scratch,
                timeout=min(left_s, LONGEST_S),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{Path(words[0]).name}: took too long") from None
        except OSError as error:
            raise Failed(f"{Path(words[0]).name}: {error.strerror}") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            errors = [line for line in lines if "error:" in line]
            raise Failed(f"failed: {(errors or lines)[-1][:100]}")
        return truth_of(done.stdout, done.stderr)

    def record(self, *command: str | Path) -> tuple[Truth, Path]:
        """Run a program under `record --gpu`; return the run's directory, too."""
        self._runs += 1
        directory = self.scratch / f"run-{self._runs}"
        words = [sys.executable, "-m", "incprof", "record", "--gpu", "-o", directory, "--", *command]
        return self.run(*words), directory


def truth_of(text: str, stderr: str = "") -> Truth:
    """Read what a program printed; other lines are left out."""
    values, kernels, phases = dict[str, float](), dict[str, tuple[int, float]](), dict[str, PhaseTruth]()
    for line in text.splitlines():
        words = line.split()
        with suppress(ValueError):
            if len(words) == 4 and words[0] == "kernel":
                kernels[words[1]] = (int(words[2]), float(words[3]))
            elif len(words) == 7 and words[0] == "phase":
                start_s, end_s, busy_s, waiting_s = (int(word) * 1e-9 for word in words[2:6])
                amounts = {"busy_s": busy_s, "waiting_s": waiting_s, "copied": float(words[6])}
                phases[words[1]] = PhaseTruth(start_s, end_s, {name: one for name, one in amounts.items() if one})
            elif len(words) == 2:
                values[words[0]] = float(words[1])
    return Truth(values, kernels, stderr, phases)


def activities(directory: Path) -> dict[str, GpuActivity]:
    """Return what the devices of each process of a run did, by path.

    Raises: Failed if nothing was recorded.
    """
    found = {str(path): read_gpu(str(path)) for path in sorted(directory.glob("rank-*.gmon"))}
    out = {path: each for path, each in found.items() if each is not None and each.state == RECORDED}
    if not out:
        raise Failed("no GPU activity was recorded")
    return out


def all_kernels(truths: Sequence[Truth], found: Sequence[GpuActivity]) -> Result:
    """Compare the kernels launched with those recorded."""
    launched = round(sum(truth.values["kernels"] for truth in truths))
    recorded = round(sum(float(each.kernels.count.sum()) for each in found))
    what = f"kernels recorded of launched, 4 streams, {len(truths)} processes"
    return Result(what, "all", f"{recorded} of {launched}", recorded == launched)


def launch_cost(alone: Sequence[Truth], recorded: Sequence[Truth]) -> Result:
    """Compare what a launch takes."""
    added = [
        ours.values["launch_ns"] - theirs.values["launch_ns"] for ours, theirs in zip(recorded, alone, strict=True)
    ]
    usual = statistics.median(each.values["launch_ns"] for each in alone)
    median = statistics.median(added)
    text = f"{median:.0f} ns ({min(added):.0f} to {max(added):.0f}); alone {usual:.0f} ns"
    return Result("what recording adds to a launch", f"under {LAUNCH_BAR_NS:.0f} ns", text, median < LAUNCH_BAR_NS)


def whole_run(what: str, alone: Sequence[Truth], recorded: Sequence[Truth]) -> Result:
    """Compare the elapsed time of whole runs."""
    pairs = [ours.values["wall_ns"] / theirs.values["wall_ns"] for ours, theirs in zip(recorded, alone, strict=True)]
    median = statistics.median(pairs)
    text = f"{median:.3f}x ({min(pairs):.3f}-{max(pairs):.3f})"
    return Result(f"whole run, {what}", f"at most {WHOLE_BAR}x", text, median <= WHOLE_BAR)


def against_truth(truth: Truth, found: GpuActivity) -> list[Result]:
    """Compare kernels, waits and copies with events of the program."""
    seconds = dict[str, float]()
    for each in kernel_uses(found, (found.kernels.count > 0).astype(float)):
        name = kernel_name(each.name).split("(")[0]
        seconds[name] = seconds.get(name, 0.0) + each.seconds
    rows = [
        _near(f"time of kernel {name}, against events", seconds.get(name, 0.0), ns * 1e-9, "s")
        for name, (_, ns) in sorted(truth.kernels.items())
    ]
    waited_s = float(found.busy.seconds[found.busy.device == HOST].sum())
    rows.append(_near("time that the host waits, against its clock", waited_s, truth.values["waited_ns"] * 1e-9, "s"))
    rows.append(_near("bytes copied", float(found.copies.bytes.sum()), truth.values["copied"], "B"))
    return rows


def by_phase(
    truths: Mapping[str, PhaseTruth], found: GpuActivity, profile: IntervalProfile, result: PhaseResult
) -> list[Result]:
    """Compare what the answer says of each phase with what the program did in it.

    Where the answer has one phase for several of the program's, their sums are compared.
    """
    begin_s = float(profile.metadata.raw["start_mono_ns"]) * 1e-9
    names = dict[int, list[str]]()
    for name, one in truths.items():
        low, high = np.maximum(profile.start_s, one.start_s - begin_s), np.minimum(profile.end_s, one.end_s - begin_s)
        inside = np.maximum(high - low, 0.0)
        in_phase = [float(inside[result.labels == number].sum()) for number in range(result.k)]
        names.setdefault(int(np.argmax(in_phase)), []).append(name)
    rows = []
    for each in gpu_by_phase(found, profile, result):
        own = [truths[name] for name in names.get(each.id, [])]
        copied = sum(copy.bytes for copy in each.copies)
        reached = {"busy_s": each.busy_s, "waiting_s": each.waiting_s, "copied": copied}
        for key, (what, unit) in AMOUNTS.items():
            if own and all(key in one.amounts for one in own):
                truth = sum(one.amounts[key] for one in own)
                rows.append(_near(f"phase of {' and '.join(names[each.id])}: {what}", reached[key], truth, unit))
    return rows


AMOUNTS = {"busy_s": ("device busy", "s"), "waiting_s": ("host waits", "s"), "copied": ("bytes copied", "B")}


def _near(what: str, reached: float, truth: float, unit: str) -> Result:
    error = abs(reached / truth - 1) if truth > 0 else float(reached > 0)
    return Result(what, f"within {TRUTH_BAR:.0%}", f"{reached:.5g} of {truth:.5g} {unit}", error <= TRUTH_BAR)


def launching_paths(path: str, directory: Path, launched_by: Mapping[str, str]) -> Result:
    """Return the share of the kernels' time whose launching path ends in the right function."""
    found = read_gpu(path)
    if found is None:
        raise Failed("no GPU activity was recorded")
    paths = recorded_paths(path, str(directory))
    right_s = total_s = 0.0
    for each in kernel_uses(found, (found.kernels.count > 0).astype(float)):
        expected = launched_by.get(kernel_name(each.name).split("(")[0])
        if expected is not None:
            total_s += each.seconds
            names = [name.split("(")[0] for name in functions_to(each.node, paths)]
            right_s += each.seconds if expected in names else 0.0
    share = right_s / total_s if total_s > 0 else 0.0
    what = "kernel time with the path of its launch"
    return Result(what, f"{PATH_BAR:.0%}", f"{share:.1%}", share >= PATH_BAR)


def bytes_an_hour(what: str, directory: Path, wall_s: float) -> Result:
    """Return the size of a recording of an hour; what is written once, as symbols are, counts once."""
    streams = sum(path.stat().st_size for path in directory.glob("rank-*.gmon"))
    once = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) - streams
    hour = once + streams * 3600 / wall_s
    return Result(f"bytes of a recording, an hour of {what}", "under 50 MB", f"{hour / 1e6:.1f} MB", hour < HOUR_BAR_B)


def steps_back(what: str, truth: Truth) -> Result:
    """Return whether a program ran as without us beside another profiler, with one line at most."""
    lines = [line for line in truth.stderr.splitlines() if "GPU" in line and "incprof" in line]
    return Result(f"beside {what}", "the program runs; one line", f"runs; {len(lines)} lines", len(lines) <= 1)


# The measurements of a machine with a device.


def build(bench: Bench, source: str, *command: str) -> Path:
    """Build a program. Raises: Failed."""
    program = bench.scratch / Path(source).stem
    if shutil.which(command[0]) is None:
        raise Failed(f"{command[0]} is not installed")
    bench.run(*command, PROGRAMS / source, "-o", program)
    return program


def _pairs(bench: Bench, *command: str | Path) -> tuple[list[Truth], list[Truth], Path]:
    """Run a program alone and recorded in turn."""
    alone, recorded, directory = list[Truth](), list[Truth](), bench.scratch
    for turn in range(PAIRS):
        for is_recorded in (False, True) if turn % 2 == 0 else (True, False):
            if is_recorded:
                truth, directory = bench.record(*command)
                recorded.append(truth)
            else:
                alone.append(bench.run(*command))
    return alone, recorded, directory


def tiny_rows(bench: Bench, program: Path, launches: int = TINY) -> list[Result]:
    """Measure many launches: of several processes at once, and the cost of each."""
    script = f"for i in $(seq {PROCESSES}); do '{program}' {launches} > out-$i & done; wait"
    _, directory = bench.record("sh", "-c", script)
    truths = [truth_of((bench.scratch / f"out-{at + 1}").read_text()) for at in range(PROCESSES)]
    rows = [all_kernels(truths, list(activities(directory).values()))]
    alone, recorded, _ = _pairs(bench, program, str(launches // 2))
    return [*rows, launch_cost(alone, recorded)]


def phases_rows(bench: Bench, program: Path, scale: int) -> list[Result]:
    """Measure a program of known phases."""
    alone, recorded, directory = _pairs(bench, program, str(scale))
    ((path, found),) = activities(directory).items()
    study = Study(directory)
    rows = [*against_truth(recorded[-1], found), *by_phase(recorded[-1].phases, found, study.profile, study.phases())]
    return [*rows, launching_paths(path, directory, LAUNCHED_BY), whole_run("gpu_phases.cu", alone, recorded)]


def train_rows(bench: Bench, seconds: int) -> list[Result]:
    """Measure training with PyTorch, and beside its profiler."""
    if importlib.util.find_spec("torch") is None:
        raise Failed("PyTorch is not installed")
    command = [sys.executable, PROGRAMS / "gpu_train.py", str(seconds)]
    alone, recorded, directory = _pairs(bench, *command)
    rows = [whole_run("training", alone, recorded)]
    rows.append(bytes_an_hour("training", directory, recorded[-1].values["wall_ns"] * 1e-9))
    return [*rows, steps_back("Kineto", bench.record(*command[:2], "2", "kineto")[0])]


def nsys_rows(bench: Bench, program: Path) -> list[Result]:
    """Run beside Nsight Systems."""
    if shutil.which("nsys") is None:
        raise Failed("nsys is not installed")
    profiled = ["nsys", "profile", "-t", "cuda", "-o", bench.scratch / "report", program, "8000"]
    return [steps_back("nsys", bench.record(*profiled)[0])]


def other_rows(bench: Bench, what: str, *command: str | Path) -> list[Result]:
    """Record a program of which only the number of kernels is known: by the launches that were counted."""
    _, directory = bench.record(*command)
    found = list(activities(directory).values())
    launched, missing = sum(each.totals.launches for each in found), [each.missing for each in found]
    text = f"{launched - sum(each or 0 for each in missing)} of {launched}"
    return [Result(f"kernels recorded of launched, {what}", "all", text, not any(missing))]


def target_rows(bench: Bench) -> list[Result]:
    """Record a program with OpenMP's target regions."""
    reasons = list[str]()
    for compiler, *flags in OFFLOAD:
        try:
            program = build(bench, "gpu_target.c", compiler, "-O2", "-g", *flags)
            return other_rows(bench, "OpenMP's target regions", program)
        except Failed as error:
            reasons.append(f"{compiler}: {error}")
    raise Failed("; ".join(reasons))


def cupy_rows(bench: Bench) -> list[Result]:
    """Record a solver in CuPy."""
    if importlib.util.find_spec("cupy") is None:
        raise Failed("CuPy is not installed")
    return other_rows(bench, "a CuPy solver", sys.executable, PROGRAMS / "gpu_cupy.py")


def attempt(what: str, rows: Callable[[], list[Result]]) -> list[Result]:
    """Return the rows of a measurement, or one with the reason why there are none."""
    try:
        return rows()
    except Failed as error:
        return [Result(what, "-", f"not measured: {error}", None)]
    except KeyError as error:
        return [Result(what, "-", f"not measured: the program did not print {error}", None)]


def measure(bench: Bench, *, quick: bool) -> list[Result]:
    """Measure everything. quick: with a tenth of the work."""
    part = 10 if quick else 1
    flags = ("nvcc", "-O2", "-g", "-lineinfo")
    return [
        *attempt("many launches", lambda: tiny_rows(bench, build(bench, "gpu_tiny.cu", *flags), TINY // part)),
        *attempt("known phases", lambda: phases_rows(bench, build(bench, "gpu_phases.cu", *flags), 10 // part)),
        *attempt("beside nsys", lambda: nsys_rows(bench, bench.scratch / "gpu_tiny")),
        *attempt("training with PyTorch", lambda: train_rows(bench, TRAIN_S // part)),
        *attempt("OpenMP's target regions", lambda: target_rows(bench)),
        *attempt("a CuPy solver", lambda: cupy_rows(bench)),
    ]


def card_name() -> str | None:
    """Return the name and driver of the first device; None if there is none."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return ", driver ".join(part.strip() for part in lines[0].split(",")) if done.returncode == 0 and lines else None


def table(card: str, results: Sequence[Result], day: str) -> str:
    """Return the table, with the name of the card."""
    rows = [f"| {one.what} | {one.bar} | {one.reached} | {MET[one.met]} |" for one in results]
    return "\n".join([f"On {card}, {day}.", "", "| what | bar | reached | met |", "|---|---|---|---|", *rows, ""])


def write_page(text: str, page: Path) -> None:
    """Replace what stands below the heading of the page."""
    before, heading, _ = page.read_text(encoding="utf-8").partition(HEADING)
    if not heading:
        raise SystemExit(f"{page}: has no heading {HEADING.strip()}")
    page.write_text(f"{before}{HEADING}\n{text}", encoding="utf-8")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/lab/gpu.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to see whether it runs")
    parser.add_argument("--scratch", metavar="DIR", help="keep programs and recordings here")
    args = parser.parse_args(words)
    card = card_name()
    if card is None:
        print("benchmarks/gpu.py: no CUDA device here (nvidia-smi lists none)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(args.scratch or temporary).resolve()
        scratch.mkdir(parents=True, exist_ok=True)
        results = measure(Bench(scratch), quick=args.quick)
    text = table(card, results, time.strftime("%-d %B %Y"))
    print(text)
    if args.write:
        write_page(text, PAGE)
    return 1 if any(one.met is False for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
