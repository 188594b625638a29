"""Which loop the number of iterations that a user gives belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from incprof.model.loops import Loop, LoopRun

# A loop has as many iterations as an argument of the program says, also where the first or last few were not recorded.
MARGIN = 0.02


def counted_loop(loops: Iterable[Loop], iterations: int, run: LoopRun, baseline: LoopRun | None) -> tuple[Loop, bool]:
    """Return the loop that has `iterations` iterations in a whole run, and whether anything but its time says so.

    In this order: the loop that the source describes; the only one that has that many in a run that has ended; the only
    one that has as many as a number among the program's arguments, in this run or in the baseline (`./app 100`, and one
    loop of 100 iterations); the main loop, or where that has gone round more often already, the longest other one.

    Args:
        loops: The rows of the run, at least one.
        iterations: Of the whole run.
        run: That run.
        baseline: An earlier run of the same program, or None.
    """
    rows = list(loops)
    main = LoopRun.longest(rows)
    assert main is not None
    if main.kind == "explicit" or len(rows) == 1:
        return main, True
    exact = [loop for loop in rows if loop.iterations == iterations]
    if run.ended and len(exact) == 1:
        return exact[0], True
    possible = [loop for loop in rows if loop.iterations <= iterations] or rows
    named = {loop.identity for known in (run, baseline) if known and known.ended for loop in _named(known)}
    meant = [loop for loop in possible if loop.identity in named]
    if len(meant) == 1:
        return meant[0], True
    return LoopRun.longest(meant or possible) or main, len(possible) == 1


def _named(run: LoopRun) -> list[Loop]:
    """Return the loops with as many iterations as an argument of the program says."""
    numbers = {int(word) for word in run.arguments[1:] if word.isdecimal() and len(word) < 16}
    return [
        loop
        for loop in run.loops
        if any(abs(loop.iterations - number) <= max(1, MARGIN * number) for number in numbers if number > 1)
    ]
