"""Simulated runs of many ranks against their truth: phases, stragglers, roles, clocks, and what separates phases.

usage: python benchmarks/ranks.py [--ranks 64] [--intervals 600] [--seeds 3] [--imbalance 0.03 0.15 0.3]

docs/ranks-algorithm.md has the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.simulate_ranks import simulate
from benchmarks.simulated.story import Options
from benchmarks.simulated.truth import Truth
from incprof.analysis.options import OPTIONS
from incprof.analysis.phases.difference import differences
from incprof.analysis.ranks.alike import adjusted_rand
from incprof.analysis.ranks.columns import columns_of
from incprof.model import FloatArray, IntArray
from incprof.study import Study
from incprof.study.listener import SILENT
from incprof.study.ranks import Found
from incprof.study.ranks_read import Together, jobs_of, read_rank


def labels_of(found: Found, truth: Truth) -> tuple[IntArray, IntArray]:
    """Found and true phases of all intervals that are of one phase."""
    pairs = []
    for own in found.ranks.labels:
        told, true = own.of_intervals(own.label), truth.labels(own.rank)
        n = min(len(told), len(true))
        pairs.append(np.stack([told[:n], true[:n]])[:, true[:n] >= 0])
    both = np.hstack(pairs)
    return both[0] + 1, both[1]


def named(found: Found) -> dict[int, str]:
    """The function that stands for each phase."""
    return {phase.id: phase.sites[0].function.name for phase in found.result.phases if phase.sites}


def apart(study: Study, truth: Truth) -> tuple[FloatArray, FloatArray]:
    """How far stretches are from their true phase's middle over ranks, surely, and from the nearest other phase's."""
    asked = Together(study.run, study.run.ranks, None, study.libs, None, study.options, SILENT)
    read = [read_rank(job) for job in jobs_of(asked)]
    told = [one.summary for one in read if one.summary is not None]
    columns = columns_of([summary.mix for summary in told])
    counts, total, phase, scatter = [], [], [], []
    for summary in told:
        true, pieces = truth.labels(summary.rank), summary.pieces
        table = columns.counts(summary.mix)
        for stretch in range(len(table)):
            where = np.concatenate([true[a:b] for a, b, s in zip(pieces.first, pieces.end, pieces.stretch, strict=True)
                                    if s == stretch])  # fmt: skip
            values, number = np.unique(where[where >= 0], return_counts=True)
            if len(values) and number.max() >= 0.9 * len(where) and len(where) > 3:
                counts.append(table[stretch])
                total.append(summary.mix.total[stretch])
                phase.append(int(values[number.argmax()]))
                scatter.append(columns.scatter(summary.mix, summary.scatter))
    ticks, whole, of = np.array(counts), np.array(total), np.array(phase)
    kinds = np.unique(of)
    middle = np.array([ticks[of == kind].sum(axis=0) for kind in kinds])
    size = np.array([whole[of == kind].sum() for kind in kinds])
    far = np.zeros((len(ticks), len(kinds)))
    for place in range(len(kinds)):
        shape = np.broadcast_to(middle[place], ticks.shape)
        score, differ = differences(ticks, whole, shape, np.full(len(whole), size[place]), np.max(scatter, axis=0))
        sure = differ * np.maximum(1.0 - OPTIONS.phases.surely / np.maximum(score, 1e-9), 0.0)
        far[:, place] = sure.max(axis=1)
    own = kinds[None, :] == of[:, None]
    return far[own], np.where(own, np.inf, far).min(axis=1)


def main() -> None:
    """Print a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--intervals", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--imbalance", type=float, nargs="+", default=(0.03, 0.15, 0.3))
    args = parser.parse_args()
    print("imbalance  seed  k  ARI     stragglers  false  roles  late  own phase: most  other: least")
    for imbalance in args.imbalance:
        for seed in range(args.seeds):
            with tempfile.TemporaryDirectory() as directory:
                options = Options(ranks=args.ranks, intervals=args.intervals, seed=seed, imbalance=imbalance)
                truth = simulate(Path(directory), options, jobs=2)
                study = Study(Path(directory) / "run")
                found = study.shared
                assert found is not None
                name = named(found)
                slow = {(one.rank, name.get(one.phase, "")) for one in found.ranks.stragglers}
                roles = {one.rank for one in found.ranks.outliers} & truth.outliers.keys()
                late = {rank for rank, _ in found.ranks.late} & {one["rank"] for one in truth.raw["late"]}
                own, other = apart(study, truth)
                print(
                    f"{imbalance:9g}  {seed:4}  {found.result.k}  {adjusted_rand(*labels_of(found, truth)):.4f}"
                    f"  {len(slow & truth.stragglers):5}/{len(truth.stragglers):<4}  {len(slow - truth.stragglers):5}"
                    f"  {len(roles)}/{len(truth.outliers):<3}  {len(late)}/{len(truth.raw['late']):<2}"
                    f"  {own.max():15.3f}  {other.min():12.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
