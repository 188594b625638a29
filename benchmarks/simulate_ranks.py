"""Write the recording of a run of many ranks whose truth is known.

usage: python benchmarks/simulate_ranks.py OUT [--ranks 1024] [--intervals 3600] [--seed 0] ...

OUT/run is the run directory, OUT/truth.json the truth about it, OUT/program holds the program that the ranks seem to
run. The same options give the same bytes in the same place, however many processes write them.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.simulated.program import Program, build, snapshot
from benchmarks.simulated.story import Options, Story, draw_story
from benchmarks.simulated.stream import Places, places, rank_stream
from benchmarks.simulated.truth import Truth, write_truth


def simulate(out: Path, options: Options, *, jobs: int = 1) -> Truth:
    """Write a run, its program and its truth below `out`, and return the truth.

    Raises: FileExistsError if a run exists there; FileNotFoundError without gcc and objcopy.
    """
    out = out.resolve()
    run = out / "run"
    run.mkdir(parents=True)
    program = build(out / "program")
    snapshot(program, run / "symbols")
    (run / "launch").write_text("simulated\n")
    story = draw_story(options)
    write_truth(story, out / "truth.json")
    work = partial(_write, run, story, program, places(program))
    ranks = [rank for rank in range(options.ranks) if rank not in options.missing]
    if jobs == 1:
        list(map(work, ranks))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            list(pool.map(work, ranks, chunksize=4))
    return Truth(out / "truth.json")


def _write(run: Path, story: Story, program: Program, at: Places, rank: int) -> None:
    """Write the file of a rank, or its truncated form."""
    options = story.options
    if rank in options.foreign:
        data = b"#!/bin/sh\necho this is no recording\n"
    else:
        data = rank_stream(story, program, at, rank)
    if rank in options.truncated:
        data = data[: len(data) * 3 // 5]
    (run / f"rank-{rank:05d}.gmon").write_bytes(data)


def main() -> None:
    """Write a run by the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    for field in dataclasses.fields(Options):
        flag = "--" + field.name.replace("_", "-")
        if isinstance(field.default, tuple):
            parser.add_argument(flag, type=int, nargs="+", default=(), metavar="RANK")
        else:
            kind = type(field.default) if field.default is not None else int
            parser.add_argument(flag, type=kind, default=field.default, metavar="N")
    args = parser.parse_args()
    given = {field.name: getattr(args, field.name) for field in dataclasses.fields(Options)}
    options = Options(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
    begun = time.perf_counter()
    truth = simulate(args.out, options, jobs=args.jobs)
    size = sum(path.stat().st_size for path in (args.out / "run").glob("*.gmon"))
    print(f"{args.out}/run: {options.ranks} ranks x {options.intervals} intervals, {size / 1e6:.0f} MB")
    print(f"stragglers {sorted(truth.stragglers)}, other roles {truth.outliers}")
    print(f"written in {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
