"""Shares of a phase's sites and steps in one rank. m intervals of the phase, f functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.phase_result import Site, Step
from incprof.analysis.sites import activity
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.ticks import tree_ticks


class SiteShares:
    """Shares of sites and steps in a rank: of the time by call paths, else of the intervals that they cover."""

    def __init__(self, profile: IntervalProfile, *, literal: bool):
        """literal: whether the phases are those of the paper's method, whose sites cover intervals."""
        self._functions = len(profile.functions)
        self._chains = None
        if len(profile.samples.time_s) and not literal:
            self._chains, _ = profile.own_tree.without_recursion()
            self._ticks = tree_ticks(profile, self._chains)
            return
        found = activity(profile, literal=literal)
        self._there = found.active if literal else found.active + (found.calls > 0)

    def of_sites(self, sites: Sequence[Site], members: IntArray, app_pct: float) -> tuple[Site, ...]:
        """Return the sites of a phase with their shares in the rank.

        Args:
            sites: of the phase.
            members: (m,) its intervals in the rank, ascending.
            app_pct: its share of the rank's run, percent.
        """
        if self._chains is not None:
            share = self._inclusive(members)
            parts = [float(share[site.index]) for site in sites]
        else:
            parts = self._covered([site.index for site in sites], members)
        both = zip(sites, parts, strict=True)
        return tuple(replace(site, phase_pct=100.0 * part, app_pct=app_pct * part) for site, part in both)

    def of_steps(self, steps: Sequence[Step], members: IntArray) -> tuple[Step, ...]:
        """Return the steps of a phase with their shares in the rank, without those that it never runs."""
        share = None if self._chains is None else self._inclusive(members)
        return tuple(steps) if share is None else _with_shares(steps, share)

    def _inclusive(self, members: IntArray) -> FloatArray:
        """Return the share of some intervals' time in or below each function, (f,)."""
        assert self._chains is not None
        own = np.asarray(self._ticks[members].sum(axis=0), dtype=np.float64).ravel()
        total, named = self._chains.inclusive(own), np.flatnonzero(self._chains.function >= 0)
        of = np.bincount(self._chains.function[named], weights=total[named], minlength=self._functions)
        return np.minimum(of / max(float(total[0]), 1e-300), 1.0)

    def _covered(self, functions: Sequence[int], members: IntArray) -> list[float]:
        """Return the share of some intervals that each function covers, and none before it does."""
        left = np.ones(len(members), dtype=np.bool_)
        parts = []
        for function in functions:
            here = left & (np.asarray(self._there[members][:, [function]].toarray()).ravel() > 0)
            parts.append(float(here.sum()) / max(len(members), 1))
            left &= ~here
        return parts


def _with_shares(steps: Sequence[Step], share: FloatArray) -> tuple[Step, ...]:
    """Set the shares of steps, and of those below them. share: (f,)."""
    return tuple(
        replace(step, share=float(share[step.index]), steps=_with_shares(step.steps, share))
        for step in steps
        if share[step.index] > 0
    )
