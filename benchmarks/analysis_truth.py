"""Compare the methods on the ground-truth suite and print the table of docs/phases-algorithm.md.

python benchmarks/analysis_truth.py [SEEDS] [FIRST_SEED]
"""

from __future__ import annotations

import sys

from incprof.analysis.suite import CASES, Outcome, evaluate

METHODS = ("paper", "robust")


def cells(outcomes: list[Outcome]) -> str:
    """Share of runs with the right k, mean ARI, mean share of intervals left unassigned."""
    n = len(outcomes)
    right = sum(o.k == o.true_k for o in outcomes) / n
    ari, left = sum(o.ari for o in outcomes) / n, sum(o.unassigned for o in outcomes) / n
    return f"{right:.2f} | {ari:.3f} | {100 * left:.1f} %"


def main(count: int = 10, first: int = 300) -> None:
    """Print the table, a row for each case and one for all of them."""
    print("| case | paper: k right | ARI | unassigned | robust: k right | ARI | unassigned |")
    print("|---|---|---|---|---|---|---|")
    everything: dict[str, list[Outcome]] = {method: [] for method in METHODS}
    for name in CASES:
        row = []
        for method in METHODS:
            outcomes = [evaluate(name, seed, method) for seed in range(first, first + count)]
            everything[method] += outcomes
            row.append(cells(outcomes))
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    print(f"| **all** | {' | '.join(cells(everything[method]) for method in METHODS)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
