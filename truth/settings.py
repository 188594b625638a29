"""python -m truth.settings: whether the sites of a real program stay the same, however it is recorded and compiled.

Each program with a recipe is recorded once more as it was, at another rate, compiled with other levels of optimisation,
and beside busy processes; longer intervals are those of the second recording, put together. What is missing is recorded
here, which takes hours.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from incprof.model import IntervalProfile  # noqa: E402
from incprof.model.pooling import pooled  # noqa: E402
from incprof.names import parse  # noqa: E402
from truth.answers import Answer, of_tool  # noqa: E402
from truth.realworld import RealRun, all_real, has_recipe, recording_of  # noqa: E402
from truth.recordings import NotRecorded  # noqa: E402
from truth.split import SPLITS  # noqa: E402

AGAIN = "again"
# What is recorded, and by which options of record.sh.
RECORDED = {
    AGAIN: ("the same once more", ()),
    "r1000": ("1000 samples a second", ("-r", "1000")),
    "O1": ("compiled with -O1", ("-O", "1")),
    "O3": ("compiled with -O3", ("-O", "3")),
    "busy8": ("beside 8 busy processes", ("-l", "8")),
}
LONGER = (2, 5)


def same_sites(one: set[str], other: set[str]) -> float:
    """Return how alike two sets of sites are: twice what both have, over what each has."""
    return 2.0 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def compared(runs: list[RealRun]) -> list[str]:
    """Return a table: how much stays the same, setting by setting."""
    alike: dict[str, list[tuple[float, bool]]] = {}
    for run in runs:
        base = _answer(recording_of(run))
        for tag, (name, options) in RECORDED.items():
            _say(f"{run.name}: {name}")
            try:
                profile = recording_of(replace(run, name=f"{run.name}@{tag}"), run.name, options)
            except NotRecorded as error:
                _say(f"{run.name}: {error}", always=True)
                continue
            alike.setdefault(name, []).append(_alike(base, _answer(profile)))
            for times in LONGER if tag == AGAIN else ():
                longer = f"intervals of {profile.metadata.interval_s * times:g} s"
                answer = _answer(pooled(profile, times))
                alike.setdefault(longer, []).append(_alike(base, answer))
    lines = [
        "| recorded or compiled | programs | same sites, F1 | all the same | same number of phases |",
        "|---|---|---|---|---|",
    ]
    for name, found in alike.items():
        f1, k = np.array([one for one, _ in found]), np.mean([same for _, same in found])
        lines.append(f"| {name} | {len(found)} | {f1.mean():.2f} | {100 * np.mean(f1 == 1):.0f} % | {100 * k:.0f} % |")
    return lines


def _answer(profile: IntervalProfile) -> tuple[set[str], int]:
    """Return the functions of the sites, as the source has them, and the number of phases."""
    answer: Answer = of_tool(profile, "robust")
    return {parse(profile.functions[index].name).written for index, _ in answer.sites}, answer.k


def _alike(one: tuple[set[str], int], other: tuple[set[str], int]) -> tuple[float, bool]:
    return same_sites(one[0], other[0]), one[1] == other[1]


def _say(text: str, *, always: bool = False) -> None:
    if always or sys.stderr.isatty():
        print(text, file=sys.stderr)


def main() -> int:
    """Compare, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m truth.settings", description=__doc__)
    parser.add_argument("--split", choices=SPLITS, help="one half; both by default")
    args = parser.parse_args()
    print("\n".join(compared([run for run in all_real(args.split) if has_recipe(run.name)])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
