"""python -m fuzz: build the harnesses, and run each for a given time, one after the other."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.harnesses import HARNESSES, ROOT, CannotFuzz, build, named
from fuzz.running import replay, run


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("harness", nargs="*", help="all of them unless named: " + " ".join(h.name for h in HARNESSES))
    parser.add_argument("--seconds", type=int, default=60, help="for each harness (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn; 0, the default: another every time")
    parser.add_argument("--place", type=Path, default=ROOT / "build/fuzz", help="of programs, corpora and findings")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Return 1 if a harness found a fault, 2 for invalid arguments, 4 if fuzzing is not possible here."""
    arguments = _parse(words)
    try:
        chosen = [named(name) for name in arguments.harness] or list(HARNESSES)
        faults = 0
        print(f"{'harness':<10} {'executions':>11} {'seconds':>8} {'edges':>6} {'features':>9}")
        for harness in chosen:
            program = build(harness, arguments.place)
            start = time.monotonic()
            wrong = replay(harness, program, arguments.place)
            ran = run(harness, program, arguments.place, seconds=arguments.seconds, seed=arguments.seed)
            taken = time.monotonic() - start
            print(f"{ran.name:<10} {ran.executions:>11} {taken:>8.0f} {ran.edges:>6} {ran.features:>9}", flush=True)
            for fault in filter(None, (wrong, ran.fault)):
                faults += 1
                print(f"{ran.name}: {ran.input or 'a kept input, or a whole file'}\n{fault}", file=sys.stderr)
    except KeyError as error:
        print(f"fuzz: no harness of the name {error}", file=sys.stderr)
        return 2
    except CannotFuzz as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 4
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
