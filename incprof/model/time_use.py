"""Classify time: work, waiting for other ranks or threads, input and output. n intervals, s samples.

The classification uses the library functions that the program called, and the OpenMP libraries that a thread was in.
"""

from __future__ import annotations

import os
import re
from typing import Literal, get_args

import numpy as np

from incprof.model.arrays import BoolArray, FloatArray, IntArray
from incprof.model.names import region_of
from incprof.model.profile import LIBRARY, PROFILER, UNKNOWN, IntervalProfile

Spent = Literal["work", "mpi", "openmp", "io", "waiting"]
SPENT: tuple[Spent, ...] = get_args(Spent)
WORK, MPI, OPENMP, IO, WAITING = range(len(SPENT))

# OpenMP run-time libraries, whose barriers spin.
RUNTIME = re.compile(r"lib(gomp|i?omp5?)\b.*\.so")

# Purpose of library functions; MPI_File_ comes before the rest of MPI.
CALLED: tuple[tuple[int, re.Pattern[str]], ...] = (
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


def spent_on(profile: IntervalProfile) -> IntArray:
    """Return the class of each sample, (s,): indices of SPENT, -1 in the profiler."""
    samples = profile.samples
    of_function = np.array(
        [*(called_for(f.mangled) if f.imported else WORK for f in profile.functions), WORK], dtype=np.int64
    )
    found = of_function[np.maximum(profile.paths.function, -1)][samples.node]
    found[in_runtime(profile)] = OPENMP
    # A thread that runs parallel regions, without a function of the program on its stack, waits for the next region.
    workers = np.unique(samples.thread[_in_regions(profile)[samples.node]])
    without = np.isin(samples.kind, (LIBRARY, UNKNOWN)) & (samples.node == 0)
    found[without & np.isin(samples.thread, workers)] = OPENMP
    return np.where(samples.kind == PROFILER, -1, found)


def _in_regions(profile: IntervalProfile) -> BoolArray:
    """Mark the path nodes in or below a parallel region, (p,)."""
    region = [region_of(function.mangled) is not None for function in profile.functions]
    inside = [False]
    for parent, function in zip(profile.paths.parent.tolist()[1:], profile.paths.function.tolist()[1:], strict=True):
        inside.append(inside[parent] or (function >= 0 and region[function]))
    return np.array(inside, dtype=np.bool_)


def spent_s(profile: IntervalProfile) -> FloatArray:
    """Return CPU seconds of each interval by class, (n, len(SPENT)); without samples, all of it is work."""
    out = np.zeros((profile.n_intervals, len(SPENT)))
    if not len(profile.samples.time_s):
        out[:, WORK] = np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel()
        return out
    kind = spent_on(profile)
    use = kind >= 0
    seconds = profile.samples.weight[use] / profile.metadata.rate_hz
    np.add.at(out, (profile.interval_of_samples()[use], kind[use]), seconds)
    return out
