"""Steps of real programs: the self time in the call tree below a function that a driver calls repeatedly.

truth/trees.json comes from recordings of the half for tuning; names are left out. Trees drawn from it are perturbed: no
two runs have the same composition.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np

from truth.places import HERE
from truth.work import Leaf

TREES = HERE / "trees.json"
# Concentration of the draw around the recorded shares: shares of .2 scatter by .04.
LIKENESS = 100.0

# Parent and self-time share of each node; node 0 is the step itself.
Tree = tuple[list[int], list[float]]


@cache
def trees() -> tuple[Tree, ...]:
    """Read the trees."""
    return tuple((tree["parent"], tree["share"]) for tree in json.loads(TREES.read_text()))


def real_steps(rng: np.random.Generator, name: str, count: int) -> list[tuple[Leaf, ...]]:
    """Draw the call trees below that many steps; functions are called `name` and a number, different in each step."""
    out = []
    for step in range(count):
        parent, share = trees()[int(rng.integers(len(trees())))]
        mix = rng.dirichlet(np.maximum(np.array(share) * LIKENESS, 0.05))
        paths: list[tuple[str, ...]] = [()]
        for node in range(1, len(parent)):
            paths.append((*paths[parent[node]], f"{name}{step}_{node}"))
        calls = np.exp(rng.uniform(0.0, np.log(1e4), len(parent)))
        out.append(tuple(Leaf(p, float(s), float(c)) for p, s, c in zip(paths, mix, calls, strict=True)))
    return out
