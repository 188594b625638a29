"""The behaviour of simulated ranks: call paths, phases, and time spent waiting for others.

All ranks of the solver go through the same phases at the same time. A phase lasts as long as the slowest rank needs;
the others wait for it inside MPI: a rank with load w of the largest load W waits 1 - w/W of the phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from incprof.model import FloatArray, IntArray

SERVER, MASTER = "io server", "master"
SOLVER_PHASES = ("setup", "assemble", "solve", "transport", "checkpoint")
PHASES = (*SOLVER_PHASES, "server receives", "server writes", "master")
SETUP, CHECKPOINT, RECEIVES, WRITES, LEADS = 0, 4, 5, 6, 7
# Seconds of an episode: this many, and up to as many again.
ROUND = ((1, 18.0), (2, 40.0), (3, 24.0))
ROUNDS_PER_CHECKPOINT, CHECKPOINT_S, SETUP_SHARE = 4, 8.0, 0.02
# An interval belongs to the phase with at least this share of it, and to none (-1) otherwise.
PURE = 0.9
# Share of waiting in MPI even if all ranks are equally fast; it scatters from interval to interval.
LEAST_WAIT, WAIT_SCATTER = 0.03, 0.02


@dataclass(frozen=True)
class Leaf:
    """A call path that may be on the CPU.

    Attributes:
        path: functions from main on.
        share: of the phase's work.
        calls_hz: calls per second of the last function.
        waits: whether the last function is one of MPI, in which the rank waits for others.
    """

    path: str
    share: float
    calls_hz: float = 0.0
    waits: bool = False


# For each phase: the working leaves, and those in which the rank waits.
LEAVES: tuple[tuple[Leaf, ...], ...] = (
    (
        Leaf("main setup read_mesh", 0.7, 2.0),
        Leaf("main setup partition", 0.3, 1.0),
        Leaf("main setup MPI_Bcast", 1.0, waits=True),
    ),
    (
        Leaf("main step assemble element_matrix", 0.65, 90_000.0),
        Leaf("main step assemble scatter_add", 0.30, 90_000.0),
        Leaf("main step assemble exchange_halo", 0.05, 40.0),
        Leaf("main step assemble exchange_halo MPI_Waitall", 1.0, waits=True),
    ),
    (
        Leaf("main step solve spmv", 0.6, 200.0),
        Leaf("main step solve precondition", 0.25, 200.0),
        Leaf("main step solve dot_product", 0.15, 400.0),
        Leaf("main step solve dot_product MPI_Allreduce", 1.0, waits=True),
    ),
    (
        Leaf("main step transport flux", 0.6, 1_000.0),
        Leaf("main step transport limiter", 0.35, 1_000.0),
        Leaf("main step transport exchange_halo", 0.05, 50.0),
        Leaf("main step transport exchange_halo MPI_Waitall", 1.0, waits=True),
    ),
    (Leaf("main checkpoint pack", 1.0, 20.0), Leaf("main checkpoint MPI_File_write_all", 1.0, waits=True)),
    (Leaf("main io_server compress_block", 1.0, 5.0), Leaf("main io_server MPI_Recv", 1.0, waits=True)),
    (
        Leaf("main io_server compress_block", 0.3, 50.0),
        Leaf("main io_server write_block", 0.7, 50.0),
        Leaf("main io_server MPI_Recv", 1.0, waits=True),
    ),
    (Leaf("main master schedule", 1.0, 300.0), Leaf("main master MPI_Probe", 1.0, waits=True)),
)
# How much ranks of other roles wait in their phases.
ROLE_WAITS = {RECEIVES: 0.9, WRITES: 0.1, LEADS: 0.8}


@dataclass(frozen=True)
class Options:
    """Options of a simulation; None: a number that fits the number of ranks.

    Attributes:
        ranks: their number.
        intervals: their number.
        seed: of the random generator.
        interval_s: length of an interval, seconds.
        rate_hz: sampling rate.
        imbalance: relative standard deviation of the load over ranks.
        stragglers: number of ranks with `slowdown` times the load in one phase.
        slowdown: factor of the load of stragglers.
        io_servers: number of such ranks.
        masters: number of such ranks.
        late: number of ranks that start late.
        late_s: largest delay of their start, seconds.
        offset_s: largest clock offset of a node, seconds.
        drift_ppm: largest clock drift of a node.
        per_node: ranks per node.
        truncated: ranks whose file is truncated.
        missing: ranks without a file.
        foreign: ranks whose file is not a recording.
    """

    ranks: int = 64
    intervals: int = 600
    seed: int = 0
    interval_s: float = 1.0
    rate_hz: int = 100
    imbalance: float = 0.03
    stragglers: int | None = None
    slowdown: float = 1.5
    io_servers: int | None = None
    masters: int = 0
    late: int | None = None
    late_s: float = 20.0
    offset_s: float = 2.0
    drift_ppm: float = 50.0
    per_node: int = 32
    truncated: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    foreign: tuple[int, ...] = ()


@dataclass(frozen=True)
class Story:
    """The behaviour of all ranks. r ranks, v episodes of phases, p phases.

    Attributes:
        options: of the simulation.
        ends: (v,) seconds of true time.
        phase: (v,) of the solver.
        role: of each rank, "" for the solver's.
        waits: (r, p) share of the phase that the rank waits.
        starts_s: (r,) start of each rank, seconds.
        offset_s: (r,) clock offset, seconds.
        drift_ppm: (r,) clock drift.
        stragglers: rank, phase and factor.
    """

    options: Options
    ends: FloatArray
    phase: IntArray
    role: tuple[str, ...]
    waits: FloatArray
    starts_s: FloatArray
    offset_s: FloatArray
    drift_ppm: FloatArray
    stragglers: tuple[tuple[int, int, float], ...] = field(default=())

    def intervals(self, rank: int) -> int:
        """Return the number of whole intervals that a rank records: fewer if it starts late."""
        options, clock = self.options, 1.0 + self.drift_ppm[rank] * 1e-6
        local = (options.intervals * options.interval_s - self.starts_s[rank]) * clock
        return min(int(local / options.interval_s + 0.5), options.intervals)

    def true_time(self, rank: int, local_s: FloatArray) -> FloatArray:
        """Convert times since the rank's start by its own clock to true times, same shape."""
        found: FloatArray = self.starts_s[rank] + local_s / (1.0 + self.drift_ppm[rank] * 1e-6)
        return found

    def phase_at(self, rank: int, true_s: FloatArray) -> IntArray:
        """Return the phase of a rank at true times, same shape."""
        visit = np.minimum(np.searchsorted(self.ends, true_s, side="right"), len(self.ends) - 1)
        phase: IntArray = self.phase[visit]
        if self.role[rank] == SERVER:
            return np.where(phase == CHECKPOINT, WRITES, RECEIVES)
        return np.full_like(phase, LEADS) if self.role[rank] == MASTER else phase

    def labels(self, rank: int) -> IntArray:
        """Return the phase of each interval of a rank, shape (n,); -1 where several phases share it."""
        n, parts = self.intervals(rank), 20
        local = (np.arange(n * parts) + 0.5) * (self.options.interval_s / parts)
        phase = self.phase_at(rank, self.true_time(rank, local)).reshape(n, parts)
        count = (phase[:, :, None] == np.arange(len(PHASES))).sum(axis=1)
        return np.where(count.max(axis=1) >= PURE * parts, count.argmax(axis=1), -1)


def draw_story(options: Options) -> Story:
    """Draw the behaviour. The same options give the same story."""
    rng = np.random.default_rng(options.seed)
    ends, phase = _visits(options, rng)
    role = _roles(options)
    solvers = np.flatnonzero([not each for each in role])
    load = 1.0 + options.imbalance * np.clip(rng.standard_normal((options.ranks, len(PHASES))), -2.5, 2.5)
    stragglers = _stragglers(options, solvers, rng)
    for rank, slow, factor in stragglers:
        load[rank, slow] *= factor
    waits = LEAST_WAIT + (1.0 - LEAST_WAIT) * (1.0 - load / load[solvers].max(axis=0, keepdims=True))
    for other, share in ROLE_WAITS.items():
        waits[:, other] = share
    starts = rng.uniform(0.0, 0.05, options.ranks)
    count = options.ranks // 64 if options.late is None else options.late
    late = rng.choice(options.ranks, min(count, options.ranks), replace=False)
    starts[late] += rng.uniform(0.25, 1.0, len(late)) * options.late_s
    node = np.arange(options.ranks) // options.per_node
    offset = rng.uniform(-1.0, 1.0, int(node[-1]) + 1)[node] * options.offset_s
    drift = rng.uniform(-1.0, 1.0, int(node[-1]) + 1)[node] * options.drift_ppm
    return Story(options, ends, phase, role, waits, starts, offset, drift, stragglers)


def _visits(options: Options, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return ends and phases of the episodes. A run too short for three rounds has shorter ones."""
    total = (options.intervals + 1) * options.interval_s
    scale = min(total / (3.2 * 1.5 * sum(seconds for _, seconds in ROUND)), 1.0)
    seconds, phase, rounds = [max(SETUP_SHARE * total, 3 * options.interval_s)], [SETUP], 0
    while sum(seconds) < total:
        for one, least in ROUND:
            seconds.append(scale * least * (1.0 + rng.random()))
            phase.append(one)
        rounds += 1
        if rounds % ROUNDS_PER_CHECKPOINT == 2:
            seconds.append(max(scale * CHECKPOINT_S * (1.0 + rng.random()), 3 * options.interval_s))
            phase.append(CHECKPOINT)
    return np.cumsum(seconds), np.array(phase, dtype=np.int64)


def _roles(options: Options) -> tuple[str, ...]:
    """Return the role of each rank: the last ones of nodes are servers, the first ranks masters."""
    count = options.io_servers
    if count is None:
        count = max(options.ranks // 64, int(options.ranks >= 8))
    role = [""] * options.ranks
    for i in range(min(count, options.ranks - 1)):
        role[options.ranks - 1 - i * (options.ranks // count)] = SERVER
    for i in range(min(options.masters, options.ranks - 1)):
        role[i] = MASTER
    return tuple(role)


def _stragglers(options: Options, solvers: IntArray, rng: np.random.Generator) -> tuple[tuple[int, int, float], ...]:
    """Draw stragglers, each slow in one phase of a round; phases are used evenly."""
    count = min(4, 1 + options.ranks // 64) if options.stragglers is None else options.stragglers
    ranks = rng.choice(solvers, min(count, len(solvers)), replace=False)
    first = int(rng.integers(len(ROUND)))
    return tuple(
        (int(rank), ROUND[(first + i) % len(ROUND)][0], options.slowdown) for i, rank in enumerate(sorted(ranks))
    )
