"""python -m soak.faults_try: try one script for the host by hand.

python -m soak.faults_try --build fentry INCPROF_INTERVAL=0.001 burn:29 exec:0 _exit:3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from soak.faults import bench_of, try_fault
from soak.faults_draw import PLACES, Fault
from soak.faults_hosts import BUILDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Try a fault, and print the faults found. Exit status 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m soak.faults_try", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="ACTION:NUMBER|NAME=VALUE", help="see soak/hosts/")
    parser.add_argument("--build", choices=[build.name for build in BUILDS], default="pg")
    parser.add_argument("--place", choices=PLACES, default="none", help="what is where the run is to be written")
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--programs", type=Path, help="where the hosts are kept (default: built each time)")
    args = parser.parse_args(arguments)
    settings = tuple((name, value) for name, _, value in (word.partition("=") for word in args.words if "=" in word))
    script = tuple(word for word in args.words if "=" not in word)
    with bench_of([args.build], args.programs) as bench:
        fault = Fault(script, bench.builds[0], settings, args.place)
        wrong = [line for _ in range(args.tries) for line in try_fault(bench, fault).wrong]
    print("\n".join([*wrong, f"{len(wrong)} wrong in {args.tries} tries"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
