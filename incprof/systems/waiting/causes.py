"""The distinct waits of a process, and the cause of each. m spans, w distinct waits.

A cause is found by the functions on the call path, else by the system call and the kind of its descriptor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from incprof.model import BROKEN, FloatArray, IntArray
from incprof.readers.stream.waits import as_called, called_of
from incprof.systems.waiting.read import BRIEF, Site, Waits

Cause = Literal[
    "lock", "sleep", "io", "network", "mpi", "openmp", "device", "fault", "run-queue", "suspended", "join", "child",
    "other", "unknown",
]  # fmt: skip
CAUSES: tuple[Cause, ...] = get_args(Cause)


class Reason(NamedTuple):
    """The cause of a wait, and what kind of it: a mutex, a pipe."""

    cause: Cause
    kind: str = ""


# Modules whose functions wait for their own kind of thing, whatever they call.
MODULES: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    (
        Reason("device"),
        re.compile(r"lib(cuda|cudart|nvidia|nccl|rccl|cublas|cudnn|amdhip|hip|hsa|rocr|ze_|OpenCL|sycl)[\w.+-]*\.so"),
    ),
    (Reason("mpi"), re.compile(r"lib(mpi|mpich|pmpi|open-pal|open-rte|prrte|ucp|ucs|uct|fabric|psm2)[\w.+-]*\.so")),
    (Reason("openmp"), re.compile(r"lib(gomp|i?omp5?)\b[\w.+-]*\.so")),
)

# Functions, outermost first on a path. MPI_File_ comes before the rest of MPI.
FUNCTIONS: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    (Reason("io", "MPI file"), re.compile(r"P?MPI_File_|p?mpi_file_")),
    (Reason("mpi"), re.compile(r"P?MPIX?_|p?mpix?_\w+_?$|p?shmem_|gasnet_")),
    (Reason("openmp"), re.compile(r"GOMP_|__kmpc_|__kmp_|omp_[a-z]|gomp_")),
    (Reason("device"), re.compile(r"cu(da)?[A-Z]|hip[A-Z]|hsa_|ze[A-Z]|cl[A-Z][a-z]|nccl[A-Z]|rccl[A-Z]")),
)

CONDITION, MUTEX, GLOBAL_LOCK, JOIN = "condition", "mutex", "GIL", "join"
# Functions that tell one lock from another, where the system call is that of a lock.
LOCKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (GLOBAL_LOCK, re.compile(r"take_gil|PyEval_(Acquire|Restore)")),
    ("Python's lock", re.compile(r"_?PyThread_acquire_lock|lock_PyThread_acquire")),
    ("future", re.compile(r"_ZNSt\d+__atomic_futex_unsigned_base|_ZNK?St13__future_base")),
    (CONDITION, re.compile(r"_*(pthread_cond_|cnd_(timed)?wait|_ZNSt\d*_?V?2?\d*condition_variable)")),
    ("barrier", re.compile(r"_*pthread_barrier_wait|_ZNSt\d+barrier")),
    (JOIN, re.compile(r"_*(pthread_((timed|clock)?join|clockjoin)|thrd_join|_ZNSt6thread4join)")),
    ("semaphore", re.compile(r"_*(sem_(timed|clock)?wait|new_sem_wait|semop|semtimedop)")),
    ("read-write lock", re.compile(r"_*pthread_rwlock_")),
    (
        "allocator",
        re.compile(
            r"(_*(libc_|int_)?(malloc|calloc|realloc|free|(posix_)?memalign|aligned_alloc)|_Z(n[wa]|d[la])\w+)$"
        ),
    ),
    (MUTEX, re.compile(r"_*(pthread_mutex_|lll_lock_wait|mtx_(timed)?lock|_ZNSt5mutex|_ZNSt\d+\w*mutex)")),
)

# Modules of Python's interpreter. It waits for a condition or mutex itself only to get its global lock.
INTERPRETERS = re.compile(r"(lib)?python\d")

FILE, DIRECTORY, PIPE, SOCKET, CHARACTERS, BLOCKS, EPOLL, EVENT, TIMER, OTHER = range(1, 11)

# Reasons of calls on a descriptor, by what it is.
OBJECTS: dict[int, Reason] = {
    FILE: Reason("io", "file"),
    DIRECTORY: Reason("io", "directory"),
    BLOCKS: Reason("io", "block device"),
    PIPE: Reason("network", "pipe"),
    SOCKET: Reason("network", "socket"),
    CHARACTERS: Reason("io", "character device"),
    EPOLL: Reason("network", "epoll"),
    EVENT: Reason("lock", "event"),
    TIMER: Reason("sleep", "timer"),
    OTHER: Reason("other", "descriptor"),
}

# What a system call waits for, by its name; None: it depends on the descriptor.
CALLS: dict[str, Reason | None] = {
    **dict.fromkeys("read write readv writev preadv pwritev preadv2 pwritev2 ioctl splice sendfile".split()),
    **dict.fromkeys("pread64 pwrite64 copy_file_range".split(), Reason("io", "file")),
    **dict.fromkeys(
        "fsync fdatasync sync syncfs msync sync_file_range fallocate truncate ftruncate fadvise64 readahead".split(),
        Reason("io", "file"),
    ),
    **dict.fromkeys(
        "open openat openat2 close stat fstat lstat newfstatat statx rename renameat renameat2 unlink unlinkat mkdir "
        "mkdirat rmdir getdents getdents64 lseek access faccessat".split(),
        Reason("io", "metadata"),
    ),
    **dict.fromkeys("io_getevents io_pgetevents io_uring_enter".split(), Reason("io", "asynchronous")),
    **dict.fromkeys("poll ppoll".split()),
    **dict.fromkeys("select pselect6".split(), Reason("network", "select")),
    **dict.fromkeys("epoll_wait epoll_pwait epoll_pwait2".split(), Reason("network", "epoll")),
    **dict.fromkeys(
        "accept accept4 connect recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg".split(), Reason("network", "socket")
    ),
    **dict.fromkeys("msgsnd msgrcv".split(), Reason("network", "message queue")),
    **dict.fromkeys("futex futex_waitv".split(), Reason("lock")),
    **dict.fromkeys("semop semtimedop".split(), Reason("lock", "semaphore")),
    **dict.fromkeys("flock fcntl".split(), Reason("lock", "file lock")),
    **dict.fromkeys("nanosleep clock_nanosleep".split(), Reason("sleep")),
    **dict.fromkeys("wait4 waitid vfork".split(), Reason("child")),
    **dict.fromkeys("rt_sigtimedwait rt_sigsuspend pause".split(), Reason("other", "signal")),
    **dict.fromkeys("mmap munmap mprotect brk madvise mremap".split(), Reason("other", "memory map")),
}

# Without a descriptor they are sleep.
WITHOUT: dict[str, Reason] = {
    "poll": Reason("sleep"),
    "ppoll": Reason("sleep"),
    "select": Reason("sleep"),
    "pselect6": Reason("sleep"),
}

_X86_64 = (
    "0 read 1 write 2 open 3 close 4 stat 5 fstat 6 lstat 7 poll 8 lseek 9 mmap 10 mprotect 11 munmap 12 brk 16 ioctl "
    "17 pread64 18 pwrite64 19 readv 20 writev 21 access 23 select 25 mremap 26 msync 28 madvise 34 pause 35 nanosleep "
    "40 sendfile 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg 58 vfork 61 wait4 65 semop 69 msgsnd "
    "70 msgrcv 72 fcntl 73 flock 74 fsync 75 fdatasync 76 truncate 77 ftruncate 78 getdents 82 rename 83 mkdir "
    "84 rmdir 87 unlink 128 rt_sigtimedwait 130 rt_sigsuspend 162 sync 187 readahead 202 futex 208 io_getevents "
    "217 getdents64 220 semtimedop 221 fadvise64 230 clock_nanosleep 232 epoll_wait 247 waitid 257 openat 258 mkdirat "
    "262 newfstatat 263 unlinkat 264 renameat 269 faccessat 270 pselect6 271 ppoll 275 splice 277 sync_file_range "
    "281 epoll_pwait 285 fallocate 288 accept4 295 preadv 296 pwritev 299 recvmmsg 306 syncfs 307 sendmmsg "
    "316 renameat2 326 copy_file_range 327 preadv2 328 pwritev2 332 statx 333 io_pgetevents 426 io_uring_enter "
    "437 openat2 441 epoll_pwait2 449 futex_waitv"
)
_AARCH64 = (
    "4 io_getevents 22 epoll_pwait 25 fcntl 29 ioctl 32 flock 34 mkdirat 35 unlinkat 38 renameat 45 truncate "
    "46 ftruncate 47 fallocate 48 faccessat 56 openat 57 close 61 getdents64 62 lseek 63 read 64 write 65 readv "
    "66 writev 67 pread64 68 pwrite64 69 preadv 70 pwritev 71 sendfile 72 pselect6 73 ppoll 76 splice 79 newfstatat "
    "80 fstat 81 sync 82 fsync 83 fdatasync 84 sync_file_range 95 waitid 98 futex 101 nanosleep 115 clock_nanosleep "
    "133 rt_sigsuspend 137 rt_sigtimedwait 188 msgrcv 189 msgsnd 192 semtimedop 193 semop 202 accept 203 connect "
    "206 sendto 207 recvfrom 211 sendmsg 212 recvmsg 213 readahead 214 brk 215 munmap 216 mremap 222 mmap "
    "223 fadvise64 226 mprotect 227 msync 233 madvise 242 accept4 243 recvmmsg 260 wait4 267 syncfs 269 sendmmsg "
    "276 renameat2 285 copy_file_range 286 preadv2 287 pwritev2 291 statx 292 io_pgetevents 426 io_uring_enter "
    "437 openat2 441 epoll_pwait2 449 futex_waitv"
)


def _numbered(text: str) -> dict[int, str]:
    words = text.split()
    return dict(zip(map(int, words[::2]), words[1::2], strict=True))


NAMES: Mapping[str, Mapping[int, str]] = {"x86_64": _numbered(_X86_64), "aarch64": _numbered(_AARCH64)}


def reason_of(
    names: Sequence[str], modules: Sequence[str], call: int, kind: int, arch: str, *, is_observed: bool
) -> Reason:
    """Return the reason of a wait.

    Args:
        names: functions of libraries on the call path, innermost first, as their symbols are spelled.
        modules: file names of their modules.
        call: number of the system call; -1: none.
        kind: what its descriptor is, one of OBJECTS; 0: unknown.
        arch: of the numbers.
        is_observed: whether the kernel showed what the thread is blocked in.
    """
    plain = [name.split("@", 1)[0] for name in names]
    for name in reversed(plain):
        for reason, pattern in FUNCTIONS:
            if pattern.match(name) and _is_of_library(reason, name, modules[plain.index(name)]):
                return reason
    for module in reversed(modules):
        for reason, pattern in MODULES:
            if pattern.match(module):
                return reason
    if not is_observed:
        return Reason("other", "not permitted")
    if call < 0:
        return Reason("fault")
    reason = _by_call(plain, NAMES.get(arch, {}).get(call, ""), kind)
    if reason in (Reason("lock", CONDITION), Reason("lock", MUTEX)) and _is_global_lock(reason.kind, plain, modules):
        return Reason("lock", GLOBAL_LOCK)
    return reason


def _is_global_lock(kind: str, names: Sequence[str], modules: Sequence[str]) -> bool:
    """Return whether the caller of the functions that wait for a lock of this kind is Python's interpreter."""
    waits = next(pattern for each, pattern in LOCKS if each == kind)
    last = max(place for place, name in enumerate(names) if waits.match(name))
    callers = modules[last + 1 :]
    return bool(callers) and INTERPRETERS.match(callers[0]) is not None


def _is_of_library(reason: Reason, name: str, module: str) -> bool:
    """Return whether a short prefix of a name is that of its library's interface, and not of another's by chance."""
    return reason.cause != "device" or any(own.cause == "device" and p.match(module) for own, p in MODULES)


def _by_call(names: Sequence[str], call: str, kind: int) -> Reason:
    """Return the reason by the system call; a futex is a lock whose kind the functions show, or a join."""
    reason = CALLS.get(call, Reason("other", call))
    if call in WITHOUT and kind == 0:
        return WITHOUT[call]
    if reason is None:
        return OBJECTS.get(kind, Reason("other", call))
    if reason == Reason("lock"):
        kinds = [what for what, pattern in LOCKS if any(pattern.match(name) for name in names)]
        return Reason("join") if kinds[:1] == [JOIN] else Reason("lock", kinds[0] if kinds else "futex")
    return reason


# The distinct waits.


# Spans of a thread follow each other if they are not further apart.
APART_S = 1e-4


@dataclass(frozen=True)
class Kinds:
    """The distinct waits of a process.

    Attributes:
        of_span: (m,) index of the wait at each span's end; -1 where the thread was not blocked.
        before: (m,) the same at its beginning.
        reason: (w,) cause of each.
        site: (w,) indices of the sites; -1: unknown.
        node: (w,) innermost application frame.
        called: (w,) library function that the application called.
        brief: (w,) share of the samples in which the wait ended before its call path had been read.
    """

    of_span: IntArray
    before: IntArray
    reason: tuple[Reason, ...]
    site: IntArray
    node: IntArray
    called: tuple[str, ...]
    brief: FloatArray


def kinds_of(waits: Waits) -> Kinds:
    """Return the distinct waits of a process, with their causes."""
    blocked = np.flatnonzero(waits.state > 0)
    table = np.stack([waits.site[blocked], waits.call[blocked], waits.object[blocked]], axis=1)
    rows, where = np.unique(table, axis=0, return_inverse=True)
    of_span = np.full(len(waits.state), -1, dtype=np.int64)
    of_span[blocked] = where.ravel()
    reasons, nodes, called = list[Reason](), list[int](), list[str]()
    modules = {number: module.name for number, module in waits.paths.modules.items()}
    for site, call, kind in rows.tolist():
        place = waits.sites[site] if site >= 0 else None
        names, files = _functions_at(waits, place, modules) if place else ([], [])
        is_observed = not waits.refused or call >= 0 or site >= 0
        reasons.append(reason_of(names, files, call, kind, waits.arch, is_observed=is_observed))
        nodes.append(place.node if place else 0)
        called.append(
            as_called(called_of([waits.paths.functions[frame].name for frame in place.frames])) if place else ""
        )
    number = where.ravel()
    samples = waits.samples[blocked].astype(np.float64)
    ended = np.bincount(number, weights=samples * (waits.state[blocked] == BRIEF), minlength=len(rows))
    brief = ended / (np.bincount(number, weights=samples, minlength=len(rows)) + 1.0)
    node = np.array(nodes, dtype=np.int64)
    return Kinds(of_span, _before(waits, of_span), tuple(reasons), rows[:, 0], node, tuple(called), brief)


def _functions_at(waits: Waits, place: Site, modules: Mapping[int, str]) -> tuple[list[str], list[str]]:
    """Return the functions in which a thread waits, innermost first, and the files of their modules.

    Libraries of a static program are its own code: there, all functions of the path count.
    """
    if place.frames:
        names = [waits.paths.functions[frame].mangled for frame in place.frames]
        return names, [modules.get(module, "") for module in place.modules]
    path = [function for function in functions_to(waits, place.node) if function != BROKEN]
    names = [waits.paths.functions[function].mangled for function in reversed(path)]
    return names, [""] * len(names)


def _before(waits: Waits, of_span: IntArray) -> IntArray:
    """Return the wait at the end of the span before each of the same thread, (m,); -1 where there is none."""
    order = np.lexsort((waits.begin_s, waits.thread))
    before = np.full(len(order), -1, dtype=np.int64)
    same = np.diff(waits.thread[order]) == 0
    same &= np.abs(waits.begin_s[order][1:] - waits.end_s[order][:-1]) < APART_S
    later = order[1:][same]
    before[later] = of_span[order[:-1][same]]
    return before


def functions_to(waits: Waits, node: int) -> tuple[int, ...]:
    """Return the functions on the path to a node, outermost first, without recursion; BROKEN for unknown frames."""
    function = waits.paths.tree.function
    outer = [BROKEN] if BROKEN in function[waits.paths.path_to(node)[:1]] else []
    return (*outer, *(int(function[each]) for each in waits.paths.without_recursion(node)))
