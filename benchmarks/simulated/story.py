"""What simulated ranks do: who is where in the program, in which phase, and how much of it is waiting for others.

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
# Seconds that a visit lasts: so many, and up to as many again.
ROUND = ((1, 18.0), (2, 40.0), (3, 24.0))
ROUNDS_PER_CHECKPOINT, CHECKPOINT_S, SETUP_SHARE = 4, 8.0, 0.02
# An interval belongs to the phase that has so much of it, and to none (-1) where no phase has.
PURE = 0.9
# What waits in MPI even where all are equally fast; it scatters from interval to interval.
LEAST_WAIT, WAIT_SCATTER = 0.03, 0.02


@dataclass(frozen=True)
class Leaf:
    """What may be on the CPU. path: functions from main on. share: of the phase's work. calls_hz: of the last one.

    waits: the last function is one of MPI, in which the rank waits for others.
    """

    path: str
    share: float
    calls_hz: float = 0.0
    waits: bool = False


# For each phase: what works, and in which the rank waits.
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
    """What is simulated. None: as many as fit the number of ranks.

    imbalance: relative standard deviation of the load over ranks. stragglers: ranks with `slowdown` times the load in
    one phase. late: ranks that start up to `late_s` after the others. offset_s: clocks of nodes, with `per_node` ranks
    each, are wrong by up to so much; drift_ppm: and go wrong by up to so much. late, io_servers, masters: how many.
    truncated, missing, foreign: ranks whose file is cut off, not there, or not a recording.
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
    """What all ranks do. r ranks, v visits of phases, p phases.

    ends: (v,) seconds of true time. phase: (v,) of the solver. role: of each rank, "" for the solver's. waits: (r, p)
    share of the phase that the rank waits. starts_s, offset_s, drift_ppm: (r,). stragglers: rank, phase and factor.
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
        """How many whole intervals a rank records: fewer where it starts late."""
        options, clock = self.options, 1.0 + self.drift_ppm[rank] * 1e-6
        local = (options.intervals * options.interval_s - self.starts_s[rank]) * clock
        return min(int(local / options.interval_s + 0.5), options.intervals)

    def true_time(self, rank: int, local_s: FloatArray) -> FloatArray:
        """True times of times since the rank's start by its own clock, same shape."""
        found: FloatArray = self.starts_s[rank] + local_s / (1.0 + self.drift_ppm[rank] * 1e-6)
        return found

    def phase_at(self, rank: int, true_s: FloatArray) -> IntArray:
        """The phase that a rank is in at true times, same shape."""
        visit = np.minimum(np.searchsorted(self.ends, true_s, side="right"), len(self.ends) - 1)
        phase: IntArray = self.phase[visit]
        if self.role[rank] == SERVER:
            return np.where(phase == CHECKPOINT, WRITES, RECEIVES)
        return np.full_like(phase, LEADS) if self.role[rank] == MASTER else phase

    def labels(self, rank: int) -> IntArray:
        """The phase of each interval of a rank, shape (n,); -1 where it shares the interval with another one."""
        n, parts = self.intervals(rank), 20
        local = (np.arange(n * parts) + 0.5) * (self.options.interval_s / parts)
        phase = self.phase_at(rank, self.true_time(rank, local)).reshape(n, parts)
        count = (phase[:, :, None] == np.arange(len(PHASES))).sum(axis=1)
        return np.where(count.max(axis=1) >= PURE * parts, count.argmax(axis=1), -1)


def tell(options: Options) -> Story:
    """Draw what happens. The same options give the same story."""
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
    """Ends and phases of the visits. A run that is too short for three rounds has shorter ones."""
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
    """The role of each rank: the last ones of nodes are servers, the first ranks masters."""
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
    """Some ranks, each slow in one phase of a round: as many phases as there are have one before another has two."""
    count = min(4, 1 + options.ranks // 64) if options.stragglers is None else options.stragglers
    ranks = rng.choice(solvers, min(count, len(solvers)), replace=False)
    first = int(rng.integers(len(ROUND)))
    return tuple(
        (int(rank), ROUND[(first + i) % len(ROUND)][0], options.slowdown) for i, rank in enumerate(sorted(ranks))
    )
