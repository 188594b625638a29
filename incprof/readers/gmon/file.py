"""One gmon.out file: header, records, and its flat profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.inputs import AnyPath, read_input
from incprof.model import Function, Module
from incprof.readers.gmon.credit import filled_bins, share_out
from incprof.readers.gmon.records import RecordError, Records, parse
from incprof.readers.stream.images import HEADER, MAGIC
from incprof.readers.symbols.function_space import FunctionSpace
from incprof.readers.symbols.modules import SymbolLoader

DEFAULT_RATE_HZ = 100.0
# Of a program with gigabytes of code.
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class FlatProfile:
    """Flat profile of one file; arrays have shape (f,). self_s: seconds; calls: how often each function was called."""

    functions: tuple[Function, ...]
    self_s: npt.NDArray[np.float64]
    calls: npt.NDArray[np.int64]


def read_gmon(path: str, *, within: AnyPath | None = None) -> Records:
    """Read a gmon.out file. within: the directory of a run that it is a part of.

    Raises: NoDataError when it cannot be read, is no gmon.out of this byte order and word size, or is damaged.
    """
    try:
        data = np.frombuffer(read_input(path, MOST_BYTES, within=within), dtype=np.uint8)
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error
    if not len(data):
        raise NoDataError(f"{path}: empty file: the program ended too early, or the disk was full")
    head = data[: HEADER.size].tobytes()
    if head[:8] == b"gmon\0\0\0\1":
        raise NoDataError(f"{path}: big-endian gmon.out: read it on the machine that wrote it")
    if head[:8] != MAGIC or len(head) < HEADER.size:
        raise NoDataError(f"{path}: not a gmon.out file (wrong magic): give files that a -pg program wrote")
    try:
        return parse(data[HEADER.size :])
    except RecordError as error:
        raise NoDataError(f"{path}: damaged, or from a 32-bit program: {error}") from error


def flat_profile(path: str, exe: str) -> FlatProfile:
    """Self seconds and calls per function of one gmon.out, functions in order of address.

    Raises: NoDataError when the file or the program cannot be used.
    """
    records = read_gmon(path)
    module = Module(0, exe, None, 0, 0, True)
    space = FunctionSpace([module], SymbolLoader("", exe).load)
    symbol, seconds = share_out(filled_bins(records.histograms, DEFAULT_RATE_HZ), space.table(0))
    timed = space.of_symbols(0, symbol)
    callee = space.resolve(np.zeros(len(records.self_pc), dtype=np.int64), records.self_pc)
    callee, count = callee[records.count > 0], records.count[records.count > 0]

    used = np.unique(np.concatenate([timed, callee]))
    self_s = np.bincount(np.searchsorted(used, timed), weights=seconds, minlength=len(used)).astype(np.float64)
    calls = np.zeros(len(used), dtype=np.int64)
    np.add.at(calls, np.searchsorted(used, callee), count)
    return FlatProfile(space.describe(used), self_s, calls)
