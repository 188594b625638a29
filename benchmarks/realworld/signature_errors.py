"""How far predictions were off: python3 signature_errors.py NAME SHORT.json FULL.json..."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path


def main(name: str, short: str, *full: str) -> None:
    """Print a line: the median and the worst error, how often the time lay in the range, and the part that was run."""
    runs = [json.loads(Path(path).read_text()) for path in full]
    errors = [abs(run["pet_s"] - run["aet_s"]) / run["aet_s"] for run in runs]
    inside = sum(run["pet_low_s"] <= run["aet_s"] <= run["pet_high_s"] for run in runs)
    took = statistics.median(run["aet_s"] for run in runs)
    ended = json.loads(Path(short).read_text())
    print(
        f"{name}: {len(runs)} runs of {took:.1f} s (median; {min(r['aet_s'] for r in runs):.1f} to "
        f"{max(r['aet_s'] for r in runs):.1f}): off by {100 * statistics.median(errors):.1f} % (median), "
        f"{100 * max(errors):.1f} % (worst); {inside} in the range; "
        f"ended after {ended['set_s']:.2f} s ({100 * ended['set_s'] / took:.1f} %), "
        f"{'follows' if all(run['follows'] for run in [*runs, ended]) else 'does not follow'} the signature"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
