"""Soak: programs that press libappekg hard, drawn at random, for as long as you like.

    python -m benchmarks.soak_heartbeats [--minutes 10] [--seed N]

Each run is one of the stress tests' programs, with random numbers of threads, intervals, clocks, ways to order stores,
and sanitizers. What the program counted itself and what was recorded must be the same. Exit status 1 and the command at
the first run that is otherwise.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import Pressed, exact, plausible, press

FLAGS = {"plain": "", "thread": "-fsanitize=thread -Wno-tsan", "memory": "-fsanitize=address,undefined"}
INTERVALS = ("0.001", "0.002", "0.005", "0.02", "0.2")


@dataclass(frozen=True)
class Trial:
    """A program of the stress tests, its arguments, and what must hold afterwards."""

    fixture: str
    build: str
    arguments: tuple[str, ...]
    clock: str
    interval: str
    check: Callable[[Pressed], None]

    def __str__(self) -> str:
        words = (f"EKG_CLOCK={self.clock}", f"EKG_INTERVAL={self.interval}", self.fixture, *self.arguments)
        return f"{' '.join(words)} ({self.build})"


def undamaged(pressed: Pressed) -> None:
    """Assert that the program ended well and left whole files."""
    assert pressed.outcome.status == 0, pressed.outcome
    beats = pressed.read()
    assert not beats.damaged, beats.warnings
    plausible(beats)


def no_failures(pressed: Pressed) -> None:
    """Assert that all forked children ended well."""
    assert pressed.outcome.stdout == "failures 0\n", pressed.outcome


def draw(dice: random.Random) -> Trial:
    """Draw a trial. ThreadSanitizer knows no threads in forked children, and cannot be refused system calls."""
    build = dice.choice(tuple(FLAGS))
    clock, interval = dice.choice(("auto", "auto", "monotonic")), dice.choice(INTERVALS)
    span, workers = str(dice.randint(200, 3000)), str(int(2 ** dice.uniform(0, 6)))
    kind = dice.choice(("tally", "tally", "tally", "storm", "storm", "forks"))
    if kind == "tally":
        barrier = "always" if build == "thread" else dice.choice(("always", "always", "never", "early"))
        return Trial("robust_tally.c", build, (span, workers, barrier), clock, interval, exact)
    if kind == "storm":
        forks = ("fork",) if build != "thread" and dice.random() < 0.3 else ()
        return Trial("robust_storm.c", build, (span, workers, *forks), clock, interval, undamaged)
    arguments = (dice.choice(("starting", "handler", "bare")), "30")
    return Trial("robust_forks.c", "plain", arguments, clock, interval, no_failures)


def carry_out(trial: Trial, builder: EkgBuilder) -> None:
    """Run it; AssertionError says what was wrong."""
    program = builder.program(trial.fixture, flags=FLAGS[trial.build])
    options = {f"{name}_OPTIONS": "detect_leaks=0:halt_on_error=1" for name in ("ASAN", "TSAN", "UBSAN")}
    with tempfile.TemporaryDirectory() as place:
        command = [program, *trial.arguments]
        trial.check(press(command, Path(place), env=options, clock=trial.clock, interval=trial.interval))


def main() -> int:
    """Draw and run trials until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    dice, done = random.Random(options.seed), collections.Counter[str]()
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as root:
        builder = EkgBuilder(Path(root))
        while time.monotonic() < end:
            trial = draw(dice)
            try:
                carry_out(trial, builder)
            except Exception as error:
                print(f"FAILED after {done.total()} runs: {trial}: {error}")
                return 1
            done[f"{trial.fixture} {trial.build}"] += 1
    print(f"{done.total()} runs, no failure: " + ", ".join(f"{name} {n}" for name, n in sorted(done.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
