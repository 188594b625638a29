"""One gmon.out file: header and records."""

from __future__ import annotations

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.gmon.records import RecordError, Records, parse
from incprof.readers.stream.images import HEADER, MAGIC
from incprof.safe.inputs import AnyPath, read_input

# Enough for a program with gigabytes of code.
MOST_BYTES = 1 << 30


def read_gmon(path: str, *, within: AnyPath | None = None) -> Records:
    """Read a gmon.out file. within: the directory of the run that it belongs to.

    Raises: NoDataError if it cannot be read, is not a gmon.out of this byte order and word size, or is damaged.
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
