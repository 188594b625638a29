"""Steps of real programs: what is below a function that a driver calls again and again, by who has the time.

truth/trees.json is made by `python -m truth.trees RUN...` from recordings of the half for tuning; names are left out.
What is drawn from it is perturbed, so that no two runs have the same mix.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache

import numpy as np

from incprof.model import IntervalProfile
from incprof.model.ticks import tree_ticks
from incprof.readers import open_run, read_profile
from truth.places import HERE
from truth.work import Leaf

TREES = HERE / "trees.json"
# Of a tree: nodes with less of it are left to their caller; trees with fewer ticks say too little.
LEAST_SHARE, LEAST_TICKS = 0.01, 200
# Concentration of the draw around what was recorded: shares of .2 scatter by .04.
LIKENESS = 100.0

# parent and own share of each node; node 0 is the step itself.
Tree = tuple[list[int], list[float]]


@cache
def trees() -> tuple[Tree, ...]:
    """Read the trees."""
    return tuple((tree["parent"], tree["share"]) for tree in json.loads(TREES.read_text()))


def real_steps(rng: np.random.Generator, name: str, count: int) -> list[tuple[Leaf, ...]]:
    """Draw what is below so many steps; functions are called `name` and a number, different in each step."""
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


def steps_of(profile: IntervalProfile) -> list[Tree]:
    """Return the trees below the children of the innermost function that holds most of a run."""
    chains = profile.own_tree
    own = np.asarray(tree_ticks(profile, chains).sum(axis=0), dtype=np.float64).ravel()
    inclusive = chains.inclusive(own)
    children: dict[int, list[int]] = {}
    for node in range(1, len(own)):
        children.setdefault(int(chains.parent[node]), []).append(node)
    top = 0
    while any(inclusive[node] >= 0.9 * inclusive[top] for node in children.get(top, [])):
        top = max(children[top], key=lambda node: float(inclusive[node]))
    return [_tree(node, children, own, inclusive) for node in children.get(top, []) if inclusive[node] >= LEAST_TICKS]


def _tree(top: int, children: dict[int, list[int]], own: np.ndarray, inclusive: np.ndarray) -> Tree:
    """Return the tree below a node."""
    parent, share, queue = [0], [float(own[top])], [(top, 0)]
    for node, place in queue:
        for child in children.get(node, []):
            if inclusive[child] >= LEAST_SHARE * inclusive[top]:
                parent.append(place)
                share.append(float(own[child]))
                queue.append((child, len(parent) - 1))
            else:
                share[place] += float(inclusive[child])
    return parent, [round(part / float(inclusive[top]), 4) for part in share]


def main(runs: Sequence[str]) -> int:
    """Write the trees of some recordings."""
    found = [tree for run in runs for tree in steps_of(read_profile(open_run(run), inlined=True))]
    TREES.write_text(json.dumps([{"parent": p, "share": s} for p, s in found]) + "\n")
    print(f"{len(found)} trees of {len(runs)} recordings")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
