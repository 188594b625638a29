"""Accuracy of `incprof predict`: MPI programs, their signature, and the whole run compared with the prediction.

    sh benchmarks/realworld/run.sh predictions [--only NAME]... [--seconds S]... [--runs N] [--write]

Each program's amount of work is chosen so that its run takes about that many seconds here. It is traced once for its
signature. Then, `--runs` times, `predict` runs its beginning, and `predict --full` runs all of it. The scratch folder
stores the measurements, and a call continues an interrupted one; `--again` repeats all measurements.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.realworld.mpi_programs import PROGRAMS, ROOT, NotAvailable, Prepared, Program, environment
from benchmarks.realworld.prediction_table import PAGE, bars_missed, table, write_page

FLAGS = {"openmpi": ("--oversubscribe", "--allow-run-as-root"), "mpich": ()}
# A trial run of this length determines the time of an amount of work; longer ones are extrapolated.
TRIAL_S, TRIALS, NEAR = 10.0, 6, 1.3


class Failed(Exception):
    """A run failed or did not end; one line."""


@dataclass(frozen=True)
class Bench:
    """Where and how programs are measured.

    Attributes:
        scratch: Folder of programs and results.
        incprof: The command.
        mpi: `openmpi` or `mpich`.
        ranks: Of each run.
    """

    scratch: Path
    incprof: str
    mpi: str
    ranks: int

    def run(self, prepared: Prepared, words: Sequence[str | Path], log: Path, limit_s: float) -> float:
        """Run a command on all ranks; return the seconds from its start to its end.

        Its output goes to log.out and log.err.

        Raises: Failed where it does not exit with status 0 in time.
        """
        launch = [f"mpirun.{self.mpi}", *FLAGS[self.mpi], "-n", str(self.ranks), *map(str, words)]
        with log.with_suffix(".out").open("w") as out, log.with_suffix(".err").open("w") as err:
            begun = time.monotonic()
            process = subprocess.Popen(
                launch, cwd=prepared.directory, env=environment(prepared.libraries), stdin=subprocess.DEVNULL,
                stdout=out, stderr=err, start_new_session=True,
            )  # fmt: skip
            try:
                status = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                raise Failed(f"not ended after {limit_s:.0f} s: {' '.join(launch)}") from None
            finally:
                _end(process)
            wall_s = time.monotonic() - begun
        if status != 0:
            lines = log.with_suffix(".err").read_text(errors="replace").splitlines()
            last = next((line for line in reversed(lines) if "incprof" in line), (lines or [""])[-1])
            raise Failed(f"status {status}: {last}")
        return wall_s


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a launcher that is still running, which ends all ranks."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def amount_for(seconds: float, program: Program, wall_s: Callable[[int], float]) -> int:
    """Return the amount of work with which a run takes about that many seconds.

    Args:
        seconds: The requested duration.
        program: The first amount, and how time grows with the amount.
        wall_s: Runs it with an amount; returns seconds.
    """
    goal, amount = min(seconds, TRIAL_S), program.start
    for _ in range(TRIALS):
        took = wall_s(amount)
        if goal / NEAR <= took <= goal * NEAR:
            break
        # Small amounts are dominated by the start: never more than eight times as much work at once.
        factor = min(max(goal / took, 1 / 8), 8.0)
        after = scaled(amount, factor, program)
        if after == amount:
            break
        amount = after
    else:
        took = wall_s(amount)
    return scaled(amount, seconds / took, program)


def scaled(amount: int, factor: float, program: Program) -> int:
    """Return the amount of work that takes that many times as long."""
    return max(round(float(amount * factor ** (1 / program.power))), 1)


def measured(bench: Bench, program: Program, seconds: float, runs: int, *, again: bool) -> None:
    """Measure a program at one length, except for what was measured before."""
    case = bench.scratch / "predictions" / f"{program.name}-{bench.mpi}-{bench.ranks}-ranks-{seconds:g}-s"
    if again:
        shutil.rmtree(case, ignore_errors=True)
    case.mkdir(parents=True, exist_ok=True)
    prepared = program.prepare(bench.scratch, bench.mpi)
    limit_s = 120 + 10 * seconds

    def settle() -> dict[str, Any]:
        def wall_s(amount: int) -> float:
            return bench.run(prepared, prepared.command(amount), case / "trial", limit_s)

        amount = amount_for(seconds, program, wall_s)
        return {
            "name": program.name, "about": program.about.format(amount=f"{amount:,}".replace(",", " ")),
            "mpi": bench.mpi, "ranks": bench.ranks, "seconds": seconds, "amount": amount,
            "revision": revision(), "processors": len(os.sched_getaffinity(0)),
        }  # fmt: skip

    settings = kept(case / "case.json", settle)
    command = prepared.command(settings["amount"])

    def base() -> dict[str, Any]:
        for old in (*case.glob("trace*"), case / "app.signature"):
            shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
        words: list[str | Path] = [bench.incprof, "trace", "-o", case / "trace", "--", *command]
        wall_s = bench.run(prepared, words, case / "base", limit_s)
        words = [bench.incprof, "signature", case / "trace", "-o", case / "app.signature", "--json"]
        answer = subprocess.run(words, capture_output=True, text=True)
        if not (case / "app.signature").exists():
            raise Failed(f"signature: {(answer.stderr.splitlines() or ['?'])[-1]}")
        shutil.rmtree(case / "trace")
        return {"wall_s": wall_s, "signature": json.loads(answer.stdout)}

    def predicted(name: str, *options: str) -> dict[str, Any]:
        for old in case.glob("begun*"):
            shutil.rmtree(old)
        settings = ["-o", str(case / "begun"), *options, "--json"]
        words = [bench.incprof, "predict", str(case / "app.signature"), *settings, "--", *command]
        wall_s = bench.run(prepared, words, case / name, limit_s)
        for old in case.glob("begun*"):
            shutil.rmtree(old)
        return {"wall_s": wall_s, "predict": last_json((case / name).with_suffix(".out"))}

    kept(case / "base.json", base)
    for number in range(1, runs + 1):
        kept(case / f"short-{number}.json", lambda: predicted("short"))
        kept(case / f"full-{number}.json", lambda: predicted("full", "--full"))


def kept(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the earlier measurement, else measure and store it."""
    if not path.exists():
        load = os.getloadavg()[0]
        print(f"{path.parent.name}: {path.stem}", file=sys.stderr, flush=True)
        whole = {"load": load, **measure()}
        part = path.with_suffix(".part")
        part.write_text(json.dumps(whole))
        part.replace(path)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def last_json(path: Path) -> dict[str, Any]:
    """Return the answer of predict, which follows the program's own output."""
    for line in reversed(path.read_text(errors="replace").splitlines()):
        if '"incprof.predict/1"' in line:
            found: dict[str, Any] = json.loads(line)
            return found
    raise Failed("predict has printed no answer")


def revision() -> str:
    """Return the measured commit; `+` where files differ from it."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() or "not known"


def main() -> int:
    """Measure the cases selected by the arguments; print the table."""
    parser = argparse.ArgumentParser(prog="run.sh predictions", description=(__doc__ or "").split("\n", 1)[0])
    names = [program.name for program in PROGRAMS]
    parser.add_argument("--only", action="append", metavar="NAME", choices=names, help=f"of {', '.join(names)}")
    parser.add_argument("--seconds", action="append", type=float, metavar="S", help="length of a run (30); several")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="predictions, and whole runs (3)")
    parser.add_argument("--ranks", type=int, default=4, metavar="N", help="of each run (4)")
    parser.add_argument("--mpi", choices=FLAGS, default="openmpi", help="Debian's programs have Open MPI only")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--write", action="store_true", help=f"write all that was measured to docs/{PAGE.name}")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("build", nargs="?", choices=["build"], help="build and fetch the programs only")
    args = parser.parse_args()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    scratch = Path(os.environ.get("INCPROF_SCRATCH") or Path(cache) / "incprof-realworld").resolve()
    incprof = os.environ.get("INCPROF") or shutil.which("incprof") or str(ROOT / ".venv/bin/incprof")
    bench = Bench(scratch, incprof, args.mpi, args.ranks)
    failures = 0
    for program in [] if args.show else PROGRAMS:
        if (args.only and program.name not in args.only) or args.mpi not in program.mpis:
            continue
        try:
            if args.build:
                program.prepare(scratch, args.mpi)
                continue
            for seconds in args.seconds or [30.0]:
                measured(bench, program, seconds, args.runs, again=args.again)
        except NotAvailable as reason:
            print(f"{program.name}: left out: {reason}", file=sys.stderr)
        except Failed as reason:
            print(f"{program.name}: failed: {reason}", file=sys.stderr)
            failures += 1
    results = scratch / "predictions"
    print(table(results))
    for line in bars_missed(results):
        print(line)
    if args.write:
        write_page(results)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
