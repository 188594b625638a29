"""What is said about a run's loops, for text and JSON alike."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.omp.speedup import Estimate, Speedup
from incprof.model.loops import Loop, LoopRun


@dataclass(frozen=True, slots=True)
class LoopAnswer:
    """A loop with its name, and what could be said about it."""

    loop: Loop
    name: str
    members: tuple[str, ...]
    speedup: Speedup | None
    estimate: Estimate | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A run: its loops, the one that it is about first. status: the program's exit status, None for an earlier run."""

    run: LoopRun
    directory: str
    status: int | None
    loops: tuple[LoopAnswer, ...]
    notes: tuple[str, ...]


def seconds(value: float) -> str:
    """Three digits and a unit: `1.23 ms`."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s" if value < 999.5 else f"{value:.0f} s"


def speedup_words(found: Speedup) -> str:
    """`1.87x (1.82-1.92) of 1 thread`."""
    against = "1 thread" if found.base_threads == 1 else f"{found.base_threads} threads"
    text = f"{found.relative:.3g}x ({found.low:.3g}-{found.high:.3g}) of {against}"
    if found.base_threads != 1 and found.speedup is not None:
        text += f", {found.speedup:.3g}x of 1 thread by Amdahl's law"
    return text


def estimate_words(found: Estimate) -> str:
    """`about 41.2 s in all (40.8 s - 41.6 s)`."""
    if found.low_s == found.high_s:
        return f"{seconds(found.total_s)} in all"
    return f"about {seconds(found.total_s)} in all ({seconds(found.low_s)} - {seconds(found.high_s)})"


def progress_words(answer: LoopAnswer) -> str:
    """One line about a loop that is running."""
    loop, words = answer.loop, [f"{answer.loop.iterations} iterations"]
    if loop.times.count:
        words.append(f"{seconds(loop.times.mean_s)} each")
    if answer.speedup is not None:
        words.append(speedup_words(answer.speedup))
    if answer.estimate is not None:
        words.append(estimate_words(answer.estimate))
    return f"{answer.name}: " + ", ".join(words)
