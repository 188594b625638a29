"""The hierarchy of a run, a line per part."""

from __future__ import annotations

from collections.abc import Iterator

from incprof.analysis.phases.clustering import Stage
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import count, duration, percent

NAME_ROOM = 40
# Below this depth, names of steps are more informative.
DEEPEST = 6


def all_stages(stage: Stage) -> Iterator[Stage]:
    """Iterate over a part and all parts nested in it."""
    yield stage
    for below in stage.stages:
        yield from all_stages(below)


def stage_lines(stage: Stage, names: Names, depth: int = 0) -> Iterator[str]:
    """Iterate over a part and its children: name, share of the run, times, episodes, and its phase."""
    name = names(stage.function, NAME_ROOM) if stage.function is not None else "(several)"
    times = f", {count(stage.episodes, 'time')}" if stage.episodes > 1 else ""
    phase = "" if stage.phase is None else f": phase {stage.phase}"
    yield (
        f"{'  ' * depth}{name} {percent(round(stage.app_pct / 100, 6))}, from {duration(stage.start_s)} to "
        f"{duration(stage.end_s)}{times}{phase}"
    )
    if depth < DEEPEST:
        for below in stage.stages:
            yield from stage_lines(below, names, depth + 1)
