"""Functions and libraries of samples whose input names only files or addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.timeline import Frame
from incprof.symbols.addr2line import Chain, chains
from incprof.symbols.elf import PT_LOAD, ElfFile, open_elf
from incprof.symbols.elf_symbols import PLT_NAME
from incprof.symbols.function_space import is_shared_code
from incprof.symbols.source_lines import with_lambdas
from incprof.symbols.symbol_files import cached_symbols

# py-spy's format: `step (run.py:12)`.
PYTHONS = re.compile(r"\.pyw?$|^<")
WITH_PLACE = re.compile(r"(.*) \(([^()]+):(\d{1,9})\)")
# Names of frames that are not functions.
# A method's class in Go: `(*Mesh).Sweep`.
RECEIVER = re.compile(r"\(\*([^()]+)\)")
MARKERS = ("[no application frame]", "[...]", "[path cut off]", "[other]", "(root)", "all")


def qualified(name: str) -> str:
    """Return a name with `::` between its parts, the separator used here: a dot would begin a linker's clone mark.

    Of a package path, as in Go, only the last part stays.
    """
    package, _, base = name.rpartition("/") if "(" not in name.partition("/")[0] else ("", "", name)
    parts = RECEIVER.sub(r"\1", base if package else name).replace("<locals>.", "").split(".")
    return "::".join(part for part in parts if part) or name


def frame_of(name: str, file: str = "", line: int = 0, begins: int = 0) -> Frame | None:
    """Return a frame of the program; None if it is not a function. Its name may end in its place."""
    if name in MARKERS:
        return None
    if not file and (match := WITH_PLACE.fullmatch(name)):
        name, file, line = match[1], match[2], int(match[3])
    if PYTHONS.search(file):
        name = qualified(name)
    line, begins = (value if 0 < value < 10**9 else 0 for value in (line, begins))
    shared = is_shared_code(file)
    return Frame("[python]" if shared else "", name, file, line, file, begins, shared)


# Code shared by programs of any kind, as the collector classifies libraries.


# Names after `lib`; those that end in * are prefixes. A test compares this with preload/objects/shared_code.c.
LIBRARIES = """
c m mvec pthread dl rt util resolv nsl nss_* crypt anl thread_db BrokenLocale
gcc_s stdc++ c++ c++abi gfortran quadmath gomp omp iomp5 atomic asan tsan ubsan lsan unwind gnat gnarl
gphobos gdruntime phobos2* druntime*
objc ifcore* ifport* imf svml intlc irc irc_s flang* pgmath nvc nvf nvomp nvcpumath* tbb* cilkrts
mpi* mpich* fmpich* open-rte open-pal prrte pmix pmi* hwloc event* ucp ucs uct ucm ucc fabric ibverbs rdmacm psm* munge
numa nccl rccl
blas* cblas openblas* scipy_openblas* blis* atlas flexiblas* mkl_* lapack* scalapack* armpl* essl* satlas tatlas fftw*
hdf5* netcdf* pnetcdf* sz aec adios2*
ffi jvm jli incprof* appekg
jemalloc tcmalloc* mimalloc* cuda* cupti cublas* cufft* nvidia-* amdhip64 hsa-runtime64 rocprofiler*
OpenCL
""".split()
WHOLE = frozenset(name for name in LIBRARIES if not name.endswith("*"))
BEGINNINGS = tuple(name[:-1] for name in LIBRARIES if name.endswith("*"))
OTHERS = ("[", "ld-", "ld.so", "mca_")
STEM = re.compile(r"[^.]*?(?=-\d|\.|$)")


@cache
def is_shared(path: str) -> bool:
    """Return whether a module is shared code, not a program's own."""
    name = path.rpartition("/")[2]
    if name.startswith(OTHERS):
        return True
    if not name.startswith("lib"):
        return False
    stem = STEM.match(name[3:])
    return stem is not None and (stem[0] in WHOLE or stem[0].startswith(BEGINNINGS))


# Look up functions and lines of addresses that an input has no names for, in the files that the process ran.


PAGE = 4096


@dataclass(frozen=True)
class Mapped:
    """A mapped file: address `start` holds the byte at `offset`."""

    path: str
    start: int
    offset: int


def frames_at(mapped: Mapped, addresses: Sequence[int], program: str) -> list[list[Frame]]:
    """Return the frames at each address, outermost first; an unnamed frame if the file or its symbol is missing."""
    offsets = [address - mapped.start + mapped.offset for address in addresses]
    return _frames(mapped.path, program, len(offsets), lambda elf: [_linked(elf, offset) for offset in offsets])


def frames_in_image(path: str, distances: Sequence[int], program: str) -> list[list[Frame]]:
    """Return the same for addresses given as distances from where the file's first byte was loaded."""

    def linked(elf: ElfFile) -> list[int]:
        first = min((segment.address for segment in elf.segments if segment.type == PT_LOAD), default=0)
        return [first // PAGE * PAGE + distance for distance in distances]

    return _frames(path, program, len(distances), linked)


def _frames(
    path: str, program: str, count: int, link: Callable[[ElfFile], list[int]]
) -> list[list[Frame]]:  # fmt: skip
    """Return the frames at places in a file. link: returns their link-time addresses, `count` of them."""
    module, shared = "" if path == program else path, is_shared(path)
    unknown = [Frame(module, "", shared=shared)]
    try:
        elf = open_elf(path)
        table, linked = cached_symbols(elf), link(elf)
    except NoDataError:
        return [unknown] * count
    index = table.find(np.array(linked, dtype=np.uint64)).tolist()
    # Lines of shared code are not looked up, because nothing uses them.
    looked_up = [] if shared else linked
    places: list[Chain] = with_lambdas(path, looked_up, chains(path, looked_up)) or [()] * len(linked)
    frames_at_places = []
    for symbol, chain in zip(index, places, strict=True):
        name = table.name(symbol) if symbol >= 0 else ""
        if name == PLT_NAME.decode():
            frames_at_places.append(list[Frame]())
            continue
        outer = chain[-1] if chain else None
        frames = [Frame(module, name, outer.file if outer else "", outer.line if outer else 0, shared=shared)]
        inner = [Frame(module, each.function, each.file, each.line) for each in reversed(chain[:-1]) if each.function]
        frames_at_places.append(frames + inner if name else unknown)
    return frames_at_places


def _linked(elf: ElfFile, offset: int) -> int:
    """Return the link-time address of a byte of a file; 0 if it is not code."""
    for section in elf.sections:
        if section.executable and section.offset <= offset < section.offset + section.size:
            return section.address + offset - section.offset
    return 0
