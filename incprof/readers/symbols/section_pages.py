"""A section of a file of which only the pages are read that are looked at: libraries hold 100 MB of code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incprof.elf.file import LARGEST, ElfFile, Section
from incprof.errors import NoDataError

PAGE = 1 << 14


class SectionPages:
    """The bytes of a section. One that cannot be read, or not to its end, has none."""

    def __init__(self, elf: ElfFile, section: Section):
        self._elf, self._section = elf, section
        size = section.size if _is_whole(elf, section) else 0
        # What is never written to takes no memory.
        self._bytes = np.zeros(size, dtype=np.uint8)
        self._read = np.zeros(-(-size // PAGE), dtype=np.bool_)

    def around(self, places: npt.NDArray[np.int64], reach: int) -> npt.NDArray[np.uint8]:
        """The section's bytes, which are right up to `reach` bytes before and behind each of these places in it."""
        if len(self._bytes) and len(places):
            ends = np.concatenate([places - reach, places + reach])
            pages = np.unique(np.clip(ends, 0, len(self._bytes) - 1) // PAGE)
            missing = pages[~self._read[pages]]
            for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1) if len(missing) else ():
                self._fill(int(run[0]), int(run[-1]))
        return self._bytes

    def _fill(self, first: int, last: int) -> None:
        begin, end = first * PAGE, min((last + 1) * PAGE, len(self._bytes))
        try:
            data = self._elf.read(self._section.offset + begin, end - begin)
        except NoDataError:  # it became shorter
            self._bytes = self._bytes[:0]
            return
        self._bytes[begin:end] = np.frombuffer(data, dtype=np.uint8)
        self._read[first : last + 1] = True


def _is_whole(elf: ElfFile, section: Section) -> bool:
    """Whether the file holds the section up to its last byte."""
    try:
        return 0 < section.size <= LARGEST and len(elf.read(section.offset + section.size - 1, 1)) == 1
    except NoDataError:
        return False
