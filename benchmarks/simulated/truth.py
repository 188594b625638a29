"""The truth about a simulated run: written beside it, and read when results are compared with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.simulated.story import PHASES, WRITES, Story
from incprof.model import IntArray


def write_truth(story: Story, path: Path) -> None:
    """Write the truth as JSON.

    labels: by rank, [phase, number of intervals] in order, -1 for intervals of two phases.
    """
    solvers = np.flatnonzero([not role for role in story.role])
    busy = 1.0 - story.waits[solvers][:, : WRITES - 1]
    truth = {
        "schema": "incprof.simulated/1",
        "options": asdict(story.options),
        "phases": PHASES,
        "stragglers": [{"rank": rank, "phase": phase, "factor": factor} for rank, phase, factor in story.stragglers],
        "outliers": [{"rank": rank, "role": role} for rank, role in enumerate(story.role) if role],
        "late": [
            {"rank": rank, "seconds": float(seconds)} for rank, seconds in enumerate(story.starts_s) if seconds > 1.0
        ],
        "clocks": {
            "starts_s": story.starts_s.tolist(),
            "offset_s": story.offset_s.tolist(),
            "drift_ppm": story.drift_ppm.tolist(),
        },
        "waits": {PHASES[phase]: story.waits[:, phase].round(6).tolist() for phase in range(len(PHASES))},
        "imbalance": (busy.max(axis=0) / busy.mean(axis=0)).round(6).tolist(),
        "labels": [_runs(story.labels(rank)) for rank in range(story.options.ranks)],
    }
    path.write_text(json.dumps(truth) + "\n")


class Truth:
    """The truth of a file. `raw` has everything."""

    def __init__(self, path: Path):
        self.raw: dict[str, Any] = json.loads(path.read_text())

    def labels(self, rank: int) -> IntArray:
        """Return the phase of each interval of a rank, shape (n,); -1 for intervals of two phases."""
        runs = np.array(self.raw["labels"][rank], dtype=np.int64).reshape(-1, 2)
        return np.repeat(runs[:, 0], runs[:, 1])

    @property
    def stragglers(self) -> set[tuple[int, str]]:
        """Ranks and the phases in which they are slow."""
        return {(one["rank"], self.raw["phases"][one["phase"]]) for one in self.raw["stragglers"]}

    @property
    def outliers(self) -> dict[int, str]:
        """Return the roles of the ranks that do not belong to the solver."""
        return {one["rank"]: one["role"] for one in self.raw["outliers"]}


def _runs(labels: IntArray) -> list[list[int]]:
    first = np.flatnonzero(np.diff(labels, prepend=-2))
    return np.stack([labels[first], np.diff(first, append=len(labels))], axis=1).tolist()
