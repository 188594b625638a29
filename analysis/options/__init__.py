"""Thresholds of the method, in groups: phases, sites, steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from incprof.analysis.options.phase_thresholds import PHASES, PhaseOptions
from incprof.analysis.options.site_thresholds import SITES, SiteOptions
from incprof.analysis.options.step_thresholds import STEPS, StepOptions
from incprof.analysis.options.thresholds import Threshold, thresholds_of, with_value
from incprof.errors import UsageError


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
        """Return the options with some thresholds changed: "phases.beyond=4".

        Raises:
            UsageError: there is no threshold of that name, or it cannot have that value.
        """
        out, names = self, [f"{room}.{one.name}" for room, one in self.listed()]
        for setting in settings:
            name, given, text = setting.partition("=")
            if not given:
                raise UsageError(f"--set {setting}: expected NAME=VALUE, for example phases.beyond=4")
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]}?" if near else "incprof help thresholds has them all"
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
