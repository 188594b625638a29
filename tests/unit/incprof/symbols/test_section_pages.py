"""Of the code of a large library, only the requested pages are read."""

import numpy as np
import pytest

from incprof.errors import NoDataError
from incprof.symbols.control_flow import flows
from incprof.symbols.elf import EM_X86_64, SHF_EXECINSTR, ElfFile, Section
from incprof.symbols.modules import PAGE, MachineCode, SectionPages

BEGIN, OFFSET, SIZE = 0x10000, 0x1000, 64 << 20
CALL = b"\xe8\x10\x00\x00\x00"
PLACES = (0, PAGE - 2, 5 * PAGE + 7, SIZE - len(CALL))


class Library(ElfFile):
    """A file with one section of code, which holds calls at some places. held: as much of it is there."""

    def __init__(self, held: int = SIZE):
        self.path, self.machine, self.held, self.asked = "library", EM_X86_64, held, 0
        self.sections = [Section(".text", 1, SHF_EXECINSTR, BEGIN, OFFSET, SIZE, 0, 0)]

    def read(self, offset: int, size: int) -> bytes:
        if offset - OFFSET + size > self.held:
            raise self.damaged("it became shorter")
        self.asked += size
        data, begin = bytearray(size), offset - OFFSET
        for place in PLACES:
            for at, byte in enumerate(CALL, place - begin):
                if 0 <= at < size:
                    data[at] = byte
        return bytes(data)


def targets(library: Library) -> list[int]:
    last = np.array([BEGIN + place + 4 for place in PLACES], dtype=np.uint64)
    return MachineCode(library).call_targets(last).tolist()


def test_calls_are_found_in_the_pages_around_them():
    library = Library()
    assert targets(library) == [BEGIN + place + len(CALL) + 0x10 for place in PLACES]
    assert library.asked <= 2 * PAGE * len(PLACES)


def test_the_same_page_is_read_once():
    library = Library()
    pages = SectionPages(library, library.sections[0])
    for _ in range(3):
        pages.around(np.array([10, 20]), 16)
    assert library.asked <= PAGE + 1


@pytest.mark.parametrize("held", [0, SIZE - 1])
def test_nothing_is_taken_from_a_file_that_lacks_a_part(held):
    assert targets(Library(held)) == [0] * len(PLACES)


def test_nothing_is_taken_from_a_file_that_becomes_shorter():
    library = Library()
    pages = SectionPages(library, library.sections[0])
    library.held = PAGE
    assert len(pages.around(np.array([10 * PAGE]), 16)) == 0


def test_only_the_functions_are_read_whose_jumps_are_looked_for():
    library = Library()
    flows(library, [(BEGIN + number * PAGE, 64) for number in range(20)])
    assert library.asked == 20 * 64


def test_functions_beyond_the_end_of_their_section_are_left_out():
    assert flows(Library(), [(BEGIN + SIZE - 8, 16)]) == {}
    with pytest.raises(NoDataError):
        Library(0).read(OFFSET, 1)
