"""Thresholds of the method, in groups: phases, sites, steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from incprof.errors import UsageError

# Thresholds of the method: numbers with a unit, a default and the evidence for it.
#
# Each group of thresholds (phases, sites and steps) is a frozen dataclass with such fields.


Group = TypeVar("Group")


@dataclass(frozen=True)
class Threshold:
    """A threshold.

    Attributes:
        name: of the field.
        value: in use.
        default: value unless changed.
        low: least meaningful value.
        high: largest meaningful value.
        unit: of all these values.
        evidence: reason for the default.
        without: value that switches the threshold off; None if there is no such value.
    """

    name: str
    value: float
    default: float
    low: float
    high: float
    unit: str
    evidence: str
    without: float | None


def threshold(
    default: float, unit: str, evidence: str, *, low: float = 0.0, high: float = 1.0, without: float | None = None
) -> Any:
    """Declare a field of a group of thresholds; see Threshold."""
    return field(default=default, metadata={"threshold": (low, high, unit, evidence, without)})


def thresholds_of(group: Any) -> list[Threshold]:
    """Return the thresholds of a group in the order in which they are declared."""
    declared: list[Any] = list(fields(group))
    return [Threshold(f.name, getattr(group, f.name), f.default, *f.metadata["threshold"]) for f in declared]


def with_value(group: Group, name: str, text: str) -> Group:
    """Return a group of thresholds with one of them changed.

    Raises:
        ValueError: the text is no valid number for this threshold.
    """
    option = {one.name: one for one in thresholds_of(group)}[name]
    try:
        value = type(option.default)(text)
    except ValueError:
        kind = "a whole number" if isinstance(option.default, int) else "a number"
        raise ValueError(f"expected {kind}") from None
    if not option.low <= value <= option.high:
        raise ValueError(f"expected {option.low:g} to {option.high:g} ({option.unit})")
    return replace(group, **{name: value})  # type: ignore[type-var]


# Thresholds that decide which intervals form a phase. thresholds.md lists all thresholds with their evidence.


PART_OF_RUN = "part of the run"


@dataclass(frozen=True)
class PhaseOptions:
    """Thresholds of finding phases, in the order of docs/understand/phase-detection.md."""

    penalty: float = threshold(
        3.0,
        "times log(samples)",
        "gain in log likelihood that a change point needs, for its place and the shares on both sides",
        high=1000,
    )
    abrupt: float = threshold(
        0.7, "part of the change", "a gradual change has at most half of it at one place", without=0.0
    )
    named: float = threshold(0.08, "share", "people do not call a smaller change of a function's share a change")
    surely: float = threshold(
        2.5,
        "standard errors",
        "the lower bound of a change counts: real programs get 1 to 3 phases fewer",
        high=10,
        without=0.0,
    )
    large: float = threshold(
        0.1, PART_OF_RUN, "a stage is split into its parts if two or more of them have this much, and 70 % of it"
    )
    least: float = threshold(
        0.025, PART_OF_RUN, "a smaller part is named but is not a phase, as people count in real programs", without=0.0
    )
    episode: float = threshold(0.01, PART_OF_RUN, "unless one episode lasts this long, like a set-up", without=0.0)
    resolution: float = threshold(
        0.0, "seconds", "length of the smallest part; 0: 8 samples, and the limits least and episode", high=1e9
    )
    steady: float = threshold(
        4.0, "times what counting explains", "intervals of a steady real program scatter 1 to 3 times", low=1, high=1000
    )
    samples: float = threshold(
        5.0, "samples", "fewer samples show little: intervals of the analysis usually hold twice as many", high=1000
    )


PHASES = PhaseOptions()


# Thresholds of choosing functions and loops for a phase. docs/reference/thresholds.md lists all thresholds.


OF_PHASE, OF_FUNCTION = "part of the phase", "part of the function's time"


@dataclass(frozen=True)
class SiteOptions:
    """Thresholds of choosing sites: with call paths, without them, in the source, and by the rate of their beats."""

    in_run: float = threshold(
        100.0,
        "calls",
        "calls of a body that fit into the run: 40 gets 3 points fewer kinds right in real programs, 200 as many",
        low=1.0,
        high=1e6,
    )
    longest_s: float = threshold(60.0, "seconds", "in a run of days, one beat a minute is enough", high=1e6)
    shortest_s: float = threshold(
        100e-6, "seconds", "a beat is 0.03 % of it; real programs: 20 us has 1 point less precision", without=0.0
    )
    tiny_s: float = threshold(
        1e-6, "seconds", "a beat is 3 % of it: so short only if nothing else distinguishes a phase", without=0.0
    )
    half: float = threshold(
        0.5, "part of the time", "with less, other functions have most of it: 0.4 to 0.6 give the same"
    )
    least: float = threshold(
        0.04,
        OF_PHASE,
        "certainly less is not a site: in real programs, 0.03 has 2 points less precision",
        without=0.0,
    )
    of_run: float = threshold(
        0.01,
        "part of the run",
        "of smaller sites beside a phase's largest, a third are right in real programs",
        without=0.0,
    )
    enough: float = threshold(
        0.97, OF_PHASE, "share that the sites must cover: 0.92 loses steps, 1 point of the generated runs"
    )
    noticed: float = threshold(
        0.3, "part of `least`", "a function with several callers may have less below each of them"
    )
    tells: float = threshold(
        0.25, OF_PHASE, "a smaller difference does not distinguish phases: 0.15 gives the same, 0.35 loses 2 points"
    )
    specific: float = threshold(
        0.8, "part of all phases' shares", "share of the function that belongs to the phase: 0.9 gives the same"
    )
    called: float = threshold(0.5, OF_PHASE, "a function entered in more intervals may represent a phase without ticks")
    coverage: float = threshold(0.95, "part of the intervals", "the paper's Algorithm 1 (section V-B)")
    common: float = threshold(0.5, OF_PHASE, "a function active in less represents it only if none has more")
    unspecific: float = threshold(
        20.0, "sites", "a function that runs in other phases too is the last resort (without call paths)", high=1e6
    )
    beats: float = threshold(1.0, "sites", "ten times the beats weigh as much as 2.3 sites more", high=1e6, without=0.0)
    time: float = threshold(
        0.3, "sites", "of two otherwise equal functions, the one with more time, not the first", high=1e6, without=0.0
    )
    caller: float = threshold(0.5, OF_FUNCTION, "a caller with less shows little about it")
    loop: float = threshold(0.9, OF_FUNCTION, "a few samples lie outside the loop")
    largest_loop: float = threshold(
        0.5, OF_FUNCTION, "a loop that holds less than `loop` is still more specific than the body"
    )
    by_callees: float = threshold(0.1, OF_FUNCTION, "with less to itself, a function is judged by what it calls")
    runs_in: float = threshold(
        0.05, OF_FUNCTION, "a phase with less of it does not count as one that runs the function"
    )
    overhead_pct: float = threshold(
        1.0, "percent of the CPU time", "a site whose beats cost less may stay in production", high=100
    )
    recorded_cost: float = threshold(
        0.1, "part of what skipped beats cost", "once recorded beats cost less, skipping more of them saves nothing"
    )


SITES = SiteOptions()


# Thresholds of finding the steps of a phase and their recurrence. thresholds.md lists all thresholds.


@dataclass(frozen=True)
class StepOptions:
    """Thresholds of finding, counting and ordering steps; docs/understand/sites-and-steps.md."""

    apart: float = threshold(
        0.2, "part of the time above", "a loop with less is set-up or output, unless there is no other", without=0.0
    )
    wrapped: float = threshold(
        0.95, "part of the caller's time", "a function with this much in one callee only passes calls on"
    )
    alone: float = threshold(0.9, "part of a function's time", "with less below one caller, calls are not all its own")
    holds: float = threshold(0.8, "part of the driver's time", "a loop with less gives no period", without=0.0)
    error: float = threshold(0.05, "part of the period", "two standard errors are then within 10 %", without=1.0)
    aside: float = threshold(
        0.1, "part of the calls", "of steps further apart, a mean number of calls in an iteration says nothing"
    )
    least: float = threshold(0.02, "part of the phase", "a function that takes less is not a step", without=0.0)
    shortest_s: float = threshold(
        3e-6, "seconds", "shorter calls are arithmetic: 10 us has 5 points less recall", without=0.0
    )
    agree: float = threshold(
        0.96, "part of the intervals", "counts are exact, but threads run on while they are read, and loops end early"
    )
    fewest: int = threshold(3, "calls", "one or two calls do not show how a function recurs", low=1, high=10**6)
    several: int = threshold(
        4, "calls", "a step may be called up to this often in an iteration that another step marks", low=1, high=64
    )
    busy: float = threshold(0.1, "part of the busiest thread's samples", "a thread with less does not run the driver")
    late: float = threshold(0.6, "ticks", "a sample may be this late although the thread did not wait", high=100)
    furthest: float = threshold(8.0, "iterations", "samples further apart do not show the order", high=1000)
    sure: float = threshold(
        0.99, "probability", "an order is reported only if all others together have no more than 1 %"
    )
    weight: float = threshold(0.5, "part", "of the evidence: samples that follow one another are not independent")
    stray: float = threshold(0.05, "part of the samples", "these may be anything", low=1e-9)
    misread: float = threshold(0.01, "part of the counts", "exact, but for the moment of reading", low=1e-9)


STEPS = StepOptions()


@dataclass(frozen=True)
class Options:
    """Thresholds of each group.

    Attributes:
        phases: of finding phases.
        sites: of choosing sites.
        steps: of finding steps.
    """

    phases: PhaseOptions = PHASES
    sites: SiteOptions = SITES
    steps: StepOptions = STEPS

    def with_settings(self, settings: Iterable[str]) -> Options:
        """Return the options with some thresholds changed: "phases.penalty=4".

        Raises:
            UsageError: there is no threshold of that name, or it cannot have that value.
        """
        out, names = self, [f"{room}.{one.name}" for room, one in self.listed()]
        for setting in settings:
            name, has_value, text = setting.partition("=")
            if not has_value:
                raise UsageError(f"--set {setting}: expected NAME=VALUE, for example phases.penalty=4")
            if name not in names:
                suggestions = get_close_matches(name, names, 1)
                hint = f"did you mean {suggestions[0]}?" if suggestions else "incprof help thresholds lists them"
                raise UsageError(f"--set {setting}: no threshold {name}; {hint}")
            room, _, field = name.partition(".")
            try:
                out = replace(out, **{room: with_value(getattr(out, room), field, text)})
            except ValueError as error:
                raise UsageError(f"--set {setting}: {error}") from None
        return out

    def changed(self) -> dict[str, float]:
        """Return the thresholds that differ from their defaults, by name."""
        return {f"{room}.{one.name}": one.value for room, one in self.listed() if one.value != one.default}

    def listed(self) -> list[tuple[str, Threshold]]:
        """Return each threshold with the name of its group."""
        return [(room.name, one) for room in fields(self) for one in thresholds_of(getattr(self, room.name))]


OPTIONS = Options()
