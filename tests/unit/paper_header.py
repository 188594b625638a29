"""Files with the counters of Table 1 of the DNA paper, named as it prints them."""

from pathlib import Path

import numpy as np

from incprof.systems.nodes.analyse.paper import TABLE1

# Table 1, row by row from left to right.
AS_PRINTED = (
    "PERF COUNT HW CPU CYCLES", "PERF COUNT HW INSTRUCTIONS", "PERF COUNT HW CACHE REFERENCES",
    "PERF COUNT HW STALLED CYCLES FRONTEND", "PERF COUNT HW CACHE MISSES", "PERF COUNT HW BUS CYCLES",
    "PERF COUNT HW BRANCH INSTRUCTIONS", "PERF COUNT HW BRANCH MISSES", "netSENTbyte", "netSENTpkt", "netRECVbyte",
    "netRECVpkt", "Write I/O", "Read I/O",
)  # fmt: skip
# What a node of 16 cores counts in a second of work, and idle.
BUSY = np.array((4e10, 7e10, 4e8, 6e9, 1e7, 1.6e9, 6e9, 3e7, 3e5, 2e3, 3e5, 2e3, 4e6, 3e5))
IDLE = BUSY * 2e-3


def paper_rows(letters, rng, *, idle=12):
    """Rates (rows, 14) and watts (rows,): idle, then (counters in order of their rank, rows) each, then idle."""
    rates = [IDLE * rng.uniform(0.8, 1.2, (idle, 14))]
    watts = [np.full(idle, 90.0)]
    for order, rows in letters:
        power = rng.normal(size=rows)
        part = rng.normal(size=(rows, 14))
        for rank, at in enumerate(order):
            part[:, at] = power + (0.05 + 0.15 * rank) * part[:, at]
        rates.append(BUSY * (1 + 0.05 * part))
        watts.append(200 + 10 * power)
    rates.append(IDLE * rng.uniform(0.8, 1.2, (idle, 14)))
    watts.append(np.full(idle, 90.0))
    return np.concatenate(rates), np.concatenate(watts)


def write_paper_file(path: Path, rates, watts, names=AS_PRINTED, *, start=0.0, node=None):
    """Write rows as CSV under a header such as the paper's: one a second, counted in the row, power in watts."""
    assert len(names) == len(TABLE1)
    head = ["Time (seconds)", *(["node"] if node else []), *names, "Power (W)"]
    lines = [",".join(f'"{name}"' for name in head)]
    for at, (row, watt) in enumerate(zip(rates.tolist(), watts.tolist(), strict=True), 1):
        lines.append(
            ",".join([f"{start + at:.0f}", *([node] if node else []), *(f"{x:.6g}" for x in row), f"{watt:.4f}"])
        )
    path.write_text("\n".join(lines) + "\n")
    return str(path)
