"""Classify time: work, waiting for other ranks, threads or devices, input and output. n intervals, s samples.

The classification uses the library functions that the program called, and the OpenMP libraries that a thread was in.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from incprof.model.arrays import BoolArray, FloatArray, IntArray
from incprof.model.calltree import CallTree, at_or_below
from incprof.model.names import region_of
from incprof.model.profile import LIBRARY, PROFILER, UNKNOWN, IntervalProfile

Spent = Literal["work", "mpi", "openmp", "io", "waiting", "device"]
SPENT: tuple[Spent, ...] = get_args(Spent)
WORK, MPI, OPENMP, IO, WAITING, DEVICE = range(len(SPENT))

# OpenMP run-time libraries, whose barriers spin.
RUNTIME = re.compile(r"lib(gomp|i?omp5?)\b.*\.so")

# Functions that return when a device is done: of CUDA, HIP and the run-time below it, Level Zero, OpenCL. Copies whose
# names end in Async only start. They count in the executable too, where the run-time is linked statically.
FOR_DEVICE = re.compile(
    r"(cu|cuda|hip)(Ctx|Device|Thread|Stream|Event)Synchronize(_ptsz|_ptds)?$"
    r"|(cu|cuda|hip)Memcpy(?!\w*Async)(\w*)$"
    r"|hsa_(amd_)?signal_wait_\w+$|ze(CommandQueue|CommandList|Event|Fence)(Host)?Synchronize$|cl(Finish|WaitForEvents)$"
)

# Purpose of library functions; MPI_File_ comes before the rest of MPI.
CALLED: tuple[tuple[int, re.Pattern[str]], ...] = (
    (DEVICE, FOR_DEVICE),
    (IO, re.compile(r"P?MPI_File_|p?mpi_file_|H5[A-Z]|h5[a-z]+_|nc_|nf90?_|ncmpi_|adios2?_")),
    (MPI, re.compile(r"P?MPIX?_|p?mpix?_\w+_?$|p?shmem_|gasnet_")),
    (OPENMP, re.compile(r"GOMP_|__kmpc_|omp_")),
    (
        IO,
        re.compile(
            r"_*(p?(read|write)v?(64)?(v2)?|f?(open|close)(at)?(64)?|creat(64)?|fd?atasync|f?sync|syncfs|sync_file_range"
            r"|f(read|write|puts|putc|gets|getc|flush|printf|scanf|seeko?|dopen)(_unlocked|_chk)?|v?[fd]?printf(_chk)?"
            r"|put(s|c|char)|getline|getdelim|sendfile(64)?|copy_file_range|msync|stat(x|64)?|rename|unlink)$"
            r"|_gfortran_st_|_gfortran_transfer_|_ZNS[oi]|_ZSt.*basic_[oi]f?stream|_ZNSt1[0-9]basic_(file|[oi]f)"
        ),
    ),
    (
        WAITING,
        re.compile(
            r"_*(pthread_(cond_(timed|clock)?wait|mutex_(timed|clock)?lock|rwlock_(rd|wr)lock|barrier_wait|join"
            r"|(timed|clock)join_np|spin_lock)|sem_(timed|clock)?wait|(clock_)?nanosleep|u?sleep|sched_yield|pause|p?poll"
            r"|p?select|epoll_p?wait|wait(pid|id|3|4)?|sigwait(info)?|sigtimedwait|recv(from|m?msg)?|send(to|m?msg)?"
            r"|accept4?|connect|futex|mtx_lock|cnd_(timed)?wait|thrd_(join|sleep))$"
            r"|_ZNSt18condition_variable|_ZNSt6thread4join|_ZNSt5mutex4lock|aio_suspend|_gfortran_sleep"
        ),
    ),
)


def called_for(name: str) -> int:
    """Return the purpose of a library function, by its mangled name: an index of SPENT."""
    return next((kind for kind, pattern in CALLED if pattern.match(name)), WORK)


def in_runtime(profile: IntervalProfile) -> BoolArray:
    """Mark the samples in an OpenMP run-time library, (s,), below a function of the program."""
    runtime = [module.id for module in profile.metadata.modules if RUNTIME.match(os.path.basename(module.path))]
    inside: BoolArray = (profile.samples.kind == LIBRARY) & np.isin(profile.samples.library, runtime)
    return inside


def kind_of_time(profile: IntervalProfile) -> IntArray:
    """Return the class of each sample, (s,): indices of SPENT, -1 in the profiler."""
    samples = profile.samples
    of_function = np.array(
        [*(called_for(f.mangled) if f.imported else WORK for f in profile.functions), WORK], dtype=np.int64
    )
    kind = of_function[np.maximum(profile.paths.function, -1)][samples.node]
    kind[_below(profile, [FOR_DEVICE.match(f.mangled) is not None for f in profile.functions])[samples.node]] = DEVICE
    kind[in_runtime(profile)] = OPENMP
    # A thread that runs nothing but parallel regions waits for the next one where no function of the program is on its
    # stack. The thread that starts them does something else there: its stack could not be read, or main has not begun.
    in_region = _in_regions(profile)[samples.node]
    worker = np.isin(samples.thread, samples.thread[in_region])
    worker &= ~np.isin(samples.thread, samples.thread[(samples.node != 0) & ~in_region])
    without = np.isin(samples.kind, (LIBRARY, UNKNOWN)) & (samples.node == 0)
    kind[without & worker] = OPENMP
    return np.where(samples.kind == PROFILER, -1, kind)


def _in_regions(profile: IntervalProfile) -> BoolArray:
    """Mark the path nodes in or below a parallel region, (p,)."""
    return _below(profile, [region_of(function.mangled) is not None for function in profile.functions])


def _below(profile: IntervalProfile, marked: list[bool]) -> BoolArray:
    """Mark the path nodes in or below some functions, (p,)."""
    function = profile.paths.function
    return at_or_below(profile.paths.parent, (function >= 0) & np.array([*marked, False])[np.maximum(function, -1)])


def cpu_seconds_by_kind(profile: IntervalProfile) -> FloatArray:
    """Return CPU seconds of each interval by class, (n, len(SPENT)); without samples, all of it is work.

    Where samples include waits, the CPU time as counted is divided like them.
    """
    out = np.zeros((profile.n_intervals, len(SPENT)))
    if not len(profile.samples.time_s):
        out[:, WORK] = np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel()
        return out
    kind = kind_of_time(profile)
    use = kind >= 0
    seconds = profile.samples.weight[use] / profile.metadata.rate_hz
    np.add.at(out, (profile.interval_of_samples()[use], kind[use]), seconds)
    if profile.metadata.has_waits:
        used_s = np.maximum(profile.counters.cpu_s - profile.counters.own_s, 0.0)
        out *= (used_s / np.maximum(out.sum(axis=1), 1e-9))[:, None]
    return out


# Samples of a profile on its call tree. n intervals, q nodes, f functions, s samples; time is in ticks.


def entries(profile: IntervalProfile, tree: CallTree, uncounted: BoolArray) -> csr_array:
    """Count observed entries of the given functions, (f,), in each interval; sparse (n, f).

    Calls are not counted for functions that were inlined, or built without calls to mcount. But between a sample
    outside such a function and a following one inside it, in the same thread, there is at least one call. If samples
    have no order, intervals are compared instead: one with the function, after one without.
    """
    return entries_and_samples(profile, tree, uncounted)[0]


def entries_and_samples(profile: IntervalProfile, tree: CallTree, uncounted: BoolArray) -> tuple[csr_array, csr_array]:
    """Count entries, and the samples with each of the given functions on the stack: both sparse (n, f)."""
    samples, shape = profile.samples, (profile.n_intervals, len(profile.functions))
    selected = np.append(uncounted, False)
    nodes = np.flatnonzero(selected[np.maximum(tree.function, -1)])
    place = (nodes, tree.function[nodes])
    on_stack = tree.ancestors() @ csr_array((np.ones(len(nodes)), place), shape=(len(tree.parent), shape[1]))
    # An unreadable stack, or a thread that waits for its next parallel region, ends no call.
    lost = tree.of_node[profile.own_node[samples.node]] == 0
    use = np.flatnonzero((samples.kind != PROFILER) & ~lost)
    use = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
    inside = csr_array((on_stack > 0).astype(np.float64)[tree.of_node[samples.node[use]]])
    same = np.diff(samples.thread[use], prepend=-1) == 0
    before = csr_array(inside[np.maximum(np.arange(len(use)) - 1, 0)] * same[:, None])
    row = profile.interval_of_samples()[use]
    gather = csr_array((np.ones(len(use)), (row, np.arange(len(use)))), shape=(shape[0], len(use)))
    if not profile.metadata.ordered:
        samples_inside = csr_array(gather @ inside)
        present = csr_array((samples_inside > 0).astype(np.float64))
        first = csr_array(present[np.maximum(np.arange(shape[0]) - 1, 0)] * (np.arange(shape[0]) > 0)[:, None])
        return csr_array(present - present * first), samples_inside
    return csr_array(gather @ (inside - inside * before)), csr_array(gather @ inside)


def working(profile: IntervalProfile) -> BoolArray:
    """Mark the samples of work, (s,): neither the profiler's, nor those of threads that spin until the others are done.

    How long threads spin depends on the load of the processors, not on the program.
    """
    work: BoolArray = (profile.samples.kind != PROFILER) & ~in_runtime(profile)
    return work


def tree_ticks(profile: IntervalProfile, tree: CallTree) -> csr_array:
    """Return the ticks of work that end in each node of a tree, sparse (n, q).

    Samples without a function of the program on the stack, of library threads that wait for work, are left out as well.
    An interval without work has those of its spinning threads.
    """
    samples, row = profile.samples, profile.interval_of_samples()
    node = tree.of_node[samples.node]
    use = working(profile) & (node > 0)
    has_work = np.bincount(row, weights=use * samples.weight, minlength=profile.n_intervals) > 0
    use |= in_runtime(profile) & (node > 0) & ~has_work[row]
    place = (row[use], node[use])
    shape = (profile.n_intervals, len(tree.parent))
    return csr_array((samples.weight[use].astype(np.float64), place), shape=shape)


# Estimate from samples alone how often code is called. s samples in time order, thread after thread.
#
# Between a sample outside and a following one inside, of the same thread, there is at least one call; calls that
# begin and end between two samples leave no trace. If each sample belonged to another call, code with a share p of
# its caller's samples would be left after a share 1 - p of them. The closer the observed share comes to that, the
# less certain the count is: if the lengths of calls and pauses are independent and exponential, a share 1 -
# exp(-distance / length) is observed.


# At an observed share this far below that, calls and pauses last for several samples, and hardly any call is missed.
SELDOM = 0.5
# Standard errors to either side, for values as random as counts: 95 %.
SURE = 1.96


@dataclass(frozen=True)
class CallEstimate:
    """A number of calls, estimated from samples.

    Attributes:
        low: lower bound.
        high: upper bound; None if there is none.
        likely: estimate; equals `low` if there is no better one.
    """

    low: int
    high: float | None
    likely: float | None = None

    @property
    def calls(self) -> int:
        """The best estimate."""
        return self.low if self.likely is None else round(self.likely)

    @property
    def is_known(self) -> bool:
        """True if the observed calls are about all calls."""
        return self.high is not None

    def is_closer_than(self, other: CallEstimate) -> bool:
        """Return whether the bounds are closer to each other, relative to the calls."""
        if self.high is None or other.high is None:
            return self.high is not None
        return self.high * other.low < other.high * self.low


def estimate_calls(entered: int, inside: int, around: int, *, bounded: bool = True) -> CallEstimate:
    """Estimate calls and their bounds from observed entries.

    Args:
        entered: samples inside that follow one outside.
        inside: samples in the code.
        around: samples in its caller, including those inside.
        bounded: False if calls may follow one another without any other code in between.
    """
    chance = inside * (1.0 - inside / around) if around else 0.0
    part = entered / chance if chance > 0 else 1.0
    if part >= SELDOM or not bounded:
        return CallEstimate(entered, None)
    return CallEstimate(entered, max(-math.log1p(-part) * chance, entered + 1.0) + SURE * math.sqrt(entered))


# By chance, no tick falls into this many periods in less than one of a million runs.
MISSED_TICKS = 14


def missed_seconds(profile: IntervalProfile) -> float | None:
    """Return the CPU seconds of a program that its samples have missed; None if they show more than half of them.

    CPU timers expire at ticks of the kernel's clock only, and a program that sleeps in step with it runs between them.
    """
    used_s = float((profile.counters.cpu_s - profile.counters.own_s).sum())
    sampled_s = max(float(profile.samples.weight.sum()) / profile.metadata.rate_hz, float(profile.self_s.sum()))
    missed_s = used_s - sampled_s
    return missed_s if missed_s > max(used_s / 2, MISSED_TICKS / profile.metadata.rate_hz) else None


def not_sampled(missed_s: float) -> str:
    """Return a line about CPU seconds without samples, and the remedy."""
    return f"{missed_s:.2g} s of CPU time fell between the ticks of CPU timers: record with INCPROF_CLOCK=perf"
