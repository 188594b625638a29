"""A day of a node on which known programs run in turn, as a Parquet file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truth.nodes.machines import reference
from truth.nodes.play import START, Weather, idle, play, run_of
from truth.nodes.programs import any_program

PROGRAMS = 6
HOUR_S = 3600.0


def day_of(number: int, seconds: float, path: Path) -> Path:
    """Write what node `number` did: 14 counters, two more, and power, a row a second."""
    import pyarrow
    import pyarrow.parquet as parquet

    same = np.random.default_rng(0)
    programs = [any_program(same, int(same.integers(2, 6)), (20, 300), scatter=0.05) for _ in range(PROGRAMS)]
    machine, weather, rng = reference(same), Weather(), np.random.default_rng(number + 1)
    parts, done = [], 0.0
    while done < seconds:
        stretches, length = idle(30.0), 30.0
        while length < min(HOUR_S, seconds - done):
            at = int(rng.integers(PROGRAMS))
            more = run_of(programs[at], machine, weather, rng, 8 * at) + idle(float(rng.uniform(30, 200)))
            stretches += more
            length += sum(each.seconds for each in more)
        parts.append(play([stretches], machine, weather, rng).series)
        done += len(parts[-1].times)
    values = np.concatenate([part.values for part in parts])[: int(seconds)].astype(np.float32)
    names = [*parts[0].names[:-1], "context-switches", "page-faults", "power_watts"]
    more = (values[:, :2] * np.float32(1e-6)) * rng.lognormal(0, 0.1, (len(values), 2)).astype(np.float32)
    table = np.column_stack([values[:, :-1], more, values[:, -1]])
    columns = {"timestamp": START + 1.0 + np.arange(len(table)), **{n: table[:, at] for at, n in enumerate(names)}}
    parquet.write_table(pyarrow.table(columns), path)
    return path
