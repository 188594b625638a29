"""The generated cases, each a family and a number; half of each family is held out by the rule of truth/split.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from truth.nodes.machines import KINDS, Machine, Rng, other, reference
from truth.nodes.play import Played, Weather, idle, play, run_of
from truth.nodes.programs import Program, any_program
from truth.split import half_of, seed_of

NUMBER = 8
# The maximum of each counter in any kind of work.
LARGEST = np.max([*KINDS.values()], axis=0)
KNOWN_RUNS = 5
# For energy, the coverage of the interval is measured, which takes many cases.
ENERGY_NUMBER = 600


def _plain(rng: Rng) -> Played:
    return _days(rng, [_program(rng)], Weather())


def _noisy(rng: Rng) -> Played:
    return _days(rng, [_program(rng, scatter=0.12)], Weather(odd=0.01, rates=0.04))


def _short(rng: Rng) -> Played:
    return _days(rng, [_program(rng, seconds=(4, 15))], Weather())


def _long(rng: Rng) -> Played:
    return _days(rng, [_program(rng, seconds=(60, 300))], Weather(warm=0.06))


def _many(rng: Rng) -> Played:
    return _days(rng, [_program(rng, states=int(rng.integers(6, 9)))], Weather())


def _one(rng: Rng) -> Played:
    return _days(rng, [_program(rng, states=1, seconds=(60, 400))], Weather())


def _gaps(rng: Rng) -> Played:
    return _days(rng, [_program(rng)], Weather(missing=0.03, gap_s=25, lag_s=5))


def _drift(rng: Rng) -> Played:
    return _days(rng, [_program(rng)], Weather(warm=0.1, warm_s=600, lag_s=4))


def _in_turn(rng: Rng) -> Played:
    return _days(rng, [_program(rng), _program(rng)], Weather())


def _mixed(rng: Rng) -> Played:
    """Draw two programs at once: a state is a combination of theirs."""
    machine, weather = reference(rng), Weather()
    crowd = []
    for number in range(2):
        program = _program(rng, states=int(rng.integers(1, 4)), seconds=(30, 120))
        crowd.append([*idle(float(rng.uniform(10, 90))), *run_of(program, machine, weather, rng, 8 * number)])
    return play(crowd, machine, weather, rng)


def _similar_states(rng: Rng) -> Played:
    """Draw states that differ from the previous one in two counters only, by a factor of 1.4 or less."""
    program = _program(rng, states=1)
    works = [program.works[0]]
    large = np.flatnonzero(works[0].rates > 0.1 * LARGEST)
    for _ in range(int(rng.integers(1, 4))):
        rates = works[-1].rates.copy()
        rates[rng.choice(large, 2, replace=False)] *= 1.4 ** rng.choice([-1, 1])
        works.append(replace(works[-1], rates=rates))
    steps = [(i, float(rng.uniform(12, 60))) for _ in range(4) for i in range(len(works))]
    return _days(rng, [Program(tuple(works), tuple(steps))], Weather())


def _idle(rng: Rng) -> Played:
    return play([idle(float(rng.uniform(200, 900)))], reference(rng), Weather(), rng)


FAMILIES: dict[str, Callable[[Rng], Played]] = {
    "plain": _plain, "noisy": _noisy, "short": _short, "long": _long, "many": _many, "one": _one, "gaps": _gaps,
    "drift": _drift, "in-turn": _in_turn, "mixed": _mixed, "alike": _similar_states,
    "idle": _idle,
}  # fmt: skip


def _program(rng: Rng, *, states: int = 0, seconds: tuple[float, float] = (12, 80), scatter: float = 0.05) -> Program:
    return any_program(rng, states or int(rng.integers(2, 6)), seconds, scatter=scatter)


def _days(rng: Rng, programs: list[Program], weather: Weather) -> Played:
    """Run programs on a node, two runs of each, with idle time between."""
    machine = reference(rng)
    segments = idle(float(rng.uniform(20, 60)))
    for _ in range(2):
        for number, program in enumerate(programs):
            segments += run_of(program, machine, weather, rng, 8 * number) + idle(float(rng.uniform(20, 60)))
    return play([segments], machine, weather, rng)


def names(split: str | None = None) -> Iterator[tuple[str, int]]:
    """Iterate over family and number of the cases of states, or of those of one half."""
    for family in FAMILIES:
        for number in range(NUMBER):
            if split in (None, half_of(f"node-{family}", number)):
                yield family, number


def node_case(family: str, number: int) -> Played:
    """Draw a case; the same name and number give the same bytes."""
    return FAMILIES[family](np.random.default_rng(seed_of(f"node-{family}", number)))


@dataclass(frozen=True)
class KnownProgram:
    """Known runs of a program, each alone on a node, and a further run, on the same machine or another.

    Attributes:
        runs: the known runs.
        run: the further run.
        begins_s: its start, seconds.
        ends_s: its end, seconds.
    """

    runs: list[Played]
    run: Played
    begins_s: float
    ends_s: float


def known_program(number: int, *, other_machine: bool) -> KnownProgram:
    """Draw a program, its known runs and a further run. other_machine: on another machine."""
    rng = np.random.default_rng(seed_of("node-energy" if other_machine else "node-next", number))
    program = any_program(rng, int(rng.integers(2, 6)), (15, 60), scatter=0.05, rounds=int(rng.integers(6, 12)))
    machine, weather = reference(rng), Weather(odd=0.001)
    runs = [_between_idle(program, machine, weather, rng)[0] for _ in range(KNOWN_RUNS)]
    machine_of_run: Machine = other(rng, machine) if other_machine else machine
    run, begins, ends = _between_idle(program, machine_of_run, weather, rng)
    return KnownProgram(runs, run, begins, ends)


def known_numbers(split: str, *, other_machine: bool) -> list[int]:
    """Return the numbers of the cases of one half."""
    family, count = ("node-energy", ENERGY_NUMBER) if other_machine else ("node-next", 4 * NUMBER)
    return [number for number in range(count) if half_of(family, number) == split]


def _between_idle(program: Program, machine: Machine, weather: Weather, rng: Rng) -> tuple[Played, float, float]:
    """Run a program on a node that is idle before and after; return it, and the start and end of the run."""
    before = float(rng.uniform(10, 30))
    run = run_of(program, machine, weather, rng)
    played = play([[*idle(before), *run, *idle(15.0)]], machine, weather, rng)
    return played, before, before + sum(s.seconds for s in run)
