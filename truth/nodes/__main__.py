"""python -m truth.nodes: how often states, predictions and energy are right on the generated nodes, as tables."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from truth.nodes.cases import FAMILIES, known_numbers, names  # noqa: E402
from truth.nodes.scores import METHODS, energy_score, next_score, states_score  # noqa: E402
from truth.split import SPLITS  # noqa: E402

PARTS = ("states", "next", "energy")
Item = TypeVar("Item")
Result = TypeVar("Result")


def states(split: str) -> Iterable[str]:
    """Return the lines of the table of states."""
    yield "| family | " + " | ".join(f"{m}: ARI | F1 | k right" for m in METHODS) + " |"
    yield "|---|" + "---|---|---|" * len(METHODS)
    cases = list(names(split))
    scores = {method: _each(states_score, [(*case, method) for case in cases]) for method in METHODS}
    for family in (*FAMILIES, None):
        cells = []
        for method in METHODS:
            own = [s for case, s in zip(cases, scores[method], strict=True) if family in (None, case[0])]
            right = sum(s.states_found == s.true for s in own)
            cells.append(
                f"{np.mean([s.ari for s in own]):.2f} | {np.mean([s.f1 for s in own]):.2f} | {right} of {len(own)}"
            )
        yield f"| {family or 'all'} | " + " | ".join(cells) + " |"


def following(split: str) -> Iterable[str]:
    """Return the lines about predicted states."""
    scores = np.array(_each(next_score, [(number,) for number in known_numbers(split, other_machine=False)]))
    questions, right, timely = scores.sum(axis=0)
    yield f"{len(scores)} programs, {questions} changes: next state right {100 * right / questions:.1f} %, "
    yield f"and its time within 10 % of the state's length {100 * timely / questions:.1f} %"


def energy(split: str) -> Iterable[str]:
    """Return the lines about energy."""
    estimates = _each(energy_score, [(number,) for number in known_numbers(split, other_machine=True)])
    own_errors = np.array([abs(e.energy_j / true - 1) for true, e in estimates])
    paper = np.array([abs(e.paper_j / true - 1) for true, e in estimates])
    inside = np.mean([e.low_j <= true <= e.high_j for true, e in estimates])
    half = np.median([(e.high_j - e.low_j) / 2 / e.energy_j for _, e in estimates])
    for name, errors in (("ours", own_errors), ("the paper's", paper)):
        most = 100 * np.quantile(errors, 0.9)
        middle = 100 * np.median(errors)
        yield f"{len(estimates)} runs, {name}: median error {middle:.2f} %, nine of ten below {most:.1f} %; "
    yield f"our 90 % interval holds {100 * inside:.1f} %, its half width is {100 * half:.1f} % (median)"


def _each(function: Callable[..., Result], items: Sequence[tuple[object, ...]]) -> list[Result]:
    with ProcessPoolExecutor() as pool:
        return list(pool.map(function, *zip(*items, strict=True), chunksize=1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the requested tables."""
    parser = argparse.ArgumentParser(prog="python -m truth.nodes", description=__doc__)
    parser.add_argument("--split", choices=SPLITS, default="held", help="which half (held)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    args = parser.parse_args(arguments)
    for part in args.parts:
        print(f"\n{part}, half {args.split!r}:\n")
        print("\n".join({"states": states, "next": following, "energy": energy}[part](args.split)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
