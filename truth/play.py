"""Play a story: the ticks of the recorder's clock fall on call paths, and calls are counted.

The run is laid out in time, piece by piece, and every tick samples the running piece. So change points inside
intervals, steps faster than the clock and sampling noise arise as in a real recording.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from truth.record import Recorder
from truth.story import Scenario, phase_shares
from truth.work import Piece, Work

BACKGROUND = "background"
BACKGROUND_HZ = 300.0
# The most calls of a function per second of the piece in which it is called.
FASTEST_HZ = 5e6
# Correlation of wandering shares from one interval to the next.
STAYS = 0.93
# Limit of the scatter of the steps' durations: a step does not vanish.
WIDEST = 0.5


@dataclass(frozen=True)
class _Layout:
    """The layout of one episode of a phase.

    Attributes:
        begin: (m,) starts of the pieces, seconds, ascending.
        piece: (m,) index of each piece.
    """

    begin: FloatArray
    piece: IntArray


def play(scenario: Scenario, edges: FloatArray, rng: np.random.Generator) -> Recorder:
    """Play a story and record ticks and calls per interval; `edges` (n + 1,) are the ends of the intervals."""
    out = Recorder(edges)
    ticks = (np.arange(int(edges[-1] * scenario.rate_hz)) + rng.random()) / scenario.rate_hz
    ticks = ticks[ticks < edges[-1]]
    chance = phase_shares(scenario, ticks)
    phase = (rng.random(len(ticks))[:, None] > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
    episode = np.minimum(np.searchsorted(scenario.ends, ticks, side="right"), len(scenario.episodes) - 1)
    piece = _pieces(scenario, ticks, phase, episode, out, rng)
    load = np.array([work.load for work in scenario.works])
    on_cpu = rng.random(len(ticks)) < load[phase]
    kind = rng.random(len(ticks))
    stray = on_cpu & (kind < scenario.stray)
    back = on_cpu & ~stray & (kind < scenario.stray + scenario.background)
    out.ticks(("main",), ticks[stray])
    for p, work in enumerate(scenario.works):
        in_phase = phase == p
        out.ticks((*work.stack, BACKGROUND), ticks[back & in_phase])
        for j, part in enumerate(work.pieces):
            _leaves(scenario, work, part, ticks[on_cpu & ~stray & ~back & in_phase & (piece == j)], out, rng)
    if scenario.background:
        out.calls(scenario.works[0].stack[0], BACKGROUND, rng.poisson(BACKGROUND_HZ * np.diff(edges)))
    _entries(scenario, out)
    return out


def _pieces(
    scenario: Scenario, ticks: FloatArray, phase: IntArray, episode: IntArray, out: Recorder, rng: np.random.Generator
) -> IntArray:
    """Lay out every episode, count its calls, and return the piece of its phase at each tick, shape (ticks,)."""
    pieces = np.zeros(len(ticks), dtype=np.int64)
    for s, part in enumerate(scenario.episodes):
        work = scenario.works[part.phase]
        end = float(scenario.ends[s])
        layout = _lay_out(scenario, work, end - part.seconds, end, rng)
        inside = episode == s
        own = inside & (phase == part.phase)
        place = np.maximum(np.searchsorted(layout.begin, ticks[own], side="right") - 1, 0)
        pieces[own] = layout.piece[place]
        stays = phase_shares(scenario, layout.begin)[:, part.phase]
        kept = rng.random(len(layout.begin)) < stays
        for j, piece in enumerate(work.pieces):
            executions = out.per_interval(layout.begin[kept & (layout.piece == j)])
            _calls(work, piece, executions, out, rng)
        early = inside & (phase != part.phase)
        if early.any():
            pieces[early] = _early(scenario, scenario.works[int(phase[early][0])], ticks[early], out, rng)
    return pieces


def _early(scenario: Scenario, work: Work, ticks: FloatArray, out: Recorder, rng: np.random.Generator) -> IntArray:
    """Play the part of a phase that overlaps the fading one before it: pieces at random. Shape (ticks,)."""
    for piece in work.pieces:
        expected = out.per_interval(ticks) / (scenario.rate_hz * work.period * piece.every)
        _calls(work, piece, rng.poisson(expected), out, rng)
    chance = np.array([piece.mean_seconds for piece in work.pieces]) / work.period
    return rng.choice(len(chance), size=len(ticks), p=chance).astype(np.int64)


def _lay_out(scenario: Scenario, work: Work, begin: float, end: float, rng: np.random.Generator) -> _Layout:
    """Draw the starts of the pieces of one episode."""
    seconds = np.array([piece.seconds for piece in work.pieces])
    rounds = int(np.ceil((end - begin) / work.period * 1.2)) + 8
    position = np.linspace(0.0, 1.0, rounds)[:, None] * work.drift
    durations = (1.0 - position) * seconds + position * seconds[::-1]
    share = np.array([piece.mean_seconds for piece in work.pieces]) / work.period
    spread = np.sqrt(scenario.dispersion * (1 - share) / (share * scenario.rate_hz * scenario.interval_s)).clip(
        0.0, WIDEST
    )
    slot = (np.arange(rounds) * work.period / scenario.interval_s).astype(np.int64)
    durations = durations * _around_one(rng, spread, (int(slot[-1]) + 1, len(seconds)))[slot]
    durations = durations * _around_one(rng, np.full(len(seconds), work.jitter), durations.shape)
    if scenario.wander:
        durations = durations * _wander(rng, scenario.wander, (int(slot[-1]) + 1, len(seconds)))[slot]
    every = np.array([piece.every for piece in work.pieces])
    executes = np.arange(rounds)[:, None] % every == every - 1
    durations = np.where(executes, durations, 0.0)
    starts = begin + np.concatenate([[0.0], np.cumsum(durations.ravel())[:-1]])
    use = (starts < end) & executes.ravel()
    return _Layout(starts[use], np.tile(np.arange(len(seconds)), rounds)[use])


def _around_one(rng: np.random.Generator, spread: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Draw positive factors with mean 1 and relative standard deviation `spread`, per column."""
    if not spread.any():
        return np.ones(shape)
    k = 1.0 / np.maximum(spread, 1e-3) ** 2
    factors: FloatArray = rng.gamma(np.broadcast_to(k, shape)) / k
    return factors


def _wander(rng: np.random.Generator, spread: float, shape: tuple[int, int]) -> FloatArray:
    """Draw factors, per column, whose logarithms wander around 0 from row to row (autoregressive)."""
    logs = rng.normal(0.0, spread, shape)
    for i in range(1, len(logs)):
        logs[i] = STAYS * logs[i - 1] + np.sqrt(1 - STAYS**2) * logs[i]
    factors: FloatArray = np.exp(logs)
    return factors


def _calls(work: Work, piece: Piece, executions: IntArray, out: Recorder, rng: np.random.Generator) -> None:
    """Count the calls made by that many executions (n,) of a piece."""
    above = work.stack
    if piece.function is not None:
        out.calls(above[-1], piece.function, executions)
        above = (*above, piece.function)
    for leaf in piece.leaves:
        if leaf.below and leaf.calls > 0:
            path = (*above, *leaf.below)
            each = min(leaf.calls, FASTEST_HZ * piece.seconds)
            out.calls(path[-2], path[-1], rng.poisson(executions * each))


def _leaves(
    scenario: Scenario, work: Work, piece: Piece, ticks: FloatArray, out: Recorder, rng: np.random.Generator
) -> None:
    """Spread the ticks of a piece over its leaves, whose shares scatter from interval to interval and drift."""
    if not len(ticks):
        return
    share = np.array([leaf.share for leaf in piece.leaves])
    row = out.interval_of(ticks)
    n = int(row.max()) + 1
    shares = np.tile(share, (n, 1))
    if work.drift:
        position = np.linspace(0.0, 1.0, n)[:, None] * work.drift
        shares = (1.0 - position) * shares + position * shares[:, ::-1]
    if scenario.wander:
        shares = shares * _wander(rng, scenario.wander, shares.shape)
        shares /= shares.sum(axis=1, keepdims=True)
    if scenario.dispersion:
        expected = scenario.rate_hz * scenario.interval_s * piece.mean_seconds / work.period
        drawn = rng.standard_gamma(shares * expected / scenario.dispersion)
        some = drawn.sum(axis=1) > 0
        shares[some] = drawn[some] / drawn[some].sum(axis=1, keepdims=True)
    limits = np.cumsum(shares, axis=1)[:, :-1]
    which = (rng.random(len(ticks))[:, None] > limits[row]).sum(axis=1)
    above = work.stack if piece.function is None else (*work.stack, piece.function)
    for number, leaf in enumerate(piece.leaves):
        out.ticks((*above, *leaf.below), ticks[which == number])


def _entries(scenario: Scenario, out: Recorder) -> None:
    """Count the calls that begin each episode: the functions of its stack that were not running already."""
    before: tuple[str, ...] = ()
    begin = 0.0
    for s, episode in enumerate(scenario.episodes):
        stack = scenario.works[episode.phase].stack
        shared = 0
        while shared < min(len(stack), len(before)) and stack[shared] == before[shared]:
            shared += 1
        fade = scenario.episodes[s - 1].fade_s if s else 0.0
        once = out.per_interval(np.array([max(begin - fade, 0.0)]))
        for depth in range(shared, len(stack)):
            out.calls(stack[depth - 1] if depth else None, stack[depth], once)
        before = stack
        begin += episode.seconds
