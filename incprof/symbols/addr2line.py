"""Look up functions and source lines of addresses in one binary, in one batch."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, BinaryIO, NamedTuple

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from incprof.errors import NoDataError
from incprof.safe.inputs import open_input, record_input
from incprof.symbols.elf import ElfFile, text_at

# Limits for tools, which damaged debug information may send anywhere; honest information needs far less.
TIMEOUT_S = 120
MEMORY = 16 << 30
_LLVM = ("llvm-symbolizer", "--output-style=GNU", "-f=linkage", "--no-demangle", "-a", "-i", "-e")
_BINUTILS = ("addr2line", "-a", "-f", "-i", "-e")
ADDRESS = re.compile(r"0x[0-9a-f]+")
ANSWER = re.compile(r"(.+):(\d+)(?::\d+)?(?: \(discriminator \d+\))?")


class Frame(NamedTuple):
    """Code of a function, by its mangled name; "" and 0 if the binary does not contain them."""

    function: str
    file: str
    line: int


# The code at an address: the innermost inlined function first, the containing one last; empty if unknown.
Chain = tuple[Frame, ...]


def look_up(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """Return file and line of each link-time address; None if the binary does not contain them.

    An address in inlined code has its line in the recorded function, the one around all inlined ones.
    """
    return [outermost(chain) for chain in chains(binary, addresses)]


def outermost(chain: Chain) -> Place | None:
    """Return the place of a chain's code in the recorded function."""
    return (chain[-1].file, chain[-1].line) if chain and chain[-1].line else None


def chains(binary: str, addresses: Sequence[int]) -> list[Chain]:
    """Return the chain of inlined functions at each link-time address.

    Uses llvm-symbolizer; addr2line if that resolves less, as for sections that it cannot decompress; without both, the
    line table of the compile unit around each address, which yields one place and no name.
    """
    if not addresses:
        return []
    installed = [tool for tool in (_LLVM, _BINUTILS) if shutil.which(tool[0])]
    # LLVM does not read shared debug files (dwz), and returns wrong names of inlined functions.
    shared = bool(shared_file(binary))
    installed.sort(key=lambda tool: shared and tool is _LLVM)
    best: list[Chain] | None = None
    for tool in installed:
        answers = _query(tool, binary, addresses)
        if answers is not None and shared and tool is _LLVM:
            answers = [chain[-1:] for chain in answers]
        if answers is not None and (best is None or known_frames(answers) > known_frames(best)):
            best = answers
        if best is not None and known_frames(best)[0] and not lacks_names(best):
            break
    if installed:  # input that makes these fail would fail below as well
        return best if best is not None else [()] * len(addresses)
    places = from_line_tables(binary, addresses)
    return [(Frame("", *place),) if place else () for place in places]


def known_frames(chains: Sequence[Chain]) -> tuple[int, int]:
    """Return how many frames have lines, and how many have names as well."""
    frames = [frame for chain in chains for frame in chain if frame.line]
    return len(frames), sum(frame.function != "" for frame in frames)


def lacks_names(chains: Sequence[Chain]) -> bool:
    """Return whether the name of an inlined function is missing."""
    return any(not frame.function for chain in chains for frame in chain[:-1])


def _query(tool: Sequence[str], binary: str, addresses: Sequence[int]) -> list[Chain] | None:
    """Run a tool that answers each address on stdin with itself and, innermost first, names and places on two lines.

    Return None if it fails.
    """
    question = "".join(f"{address:#x}\n" for address in addresses)
    try:
        with (
            without_symbols(binary) if tool is _BINUTILS else nullcontext((binary, None)) as (path, copy),
            subprocess.Popen(
                [*tool, path],
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                text=True,
                errors="replace",
                pass_fds=() if copy is None else (copy,),
            ) as process,
        ):
            answer = _answer(process, question)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if answer is None:
        return None
    frames: list[list[Frame]] = []
    lines = iter(answer.split("\n"))
    for line in lines:
        if ADDRESS.fullmatch(line):
            frames.append([])
        elif line and frames:
            frames[-1].append(_frame(line, next(lines, "")))
    return [_if_any_line(chain) for chain in frames] if len(frames) == len(addresses) else None


def _answer(process: subprocess.Popen[str], question: str) -> str | None:
    """Return the output of a tool, within limits; None if it does not end successfully."""
    with suppress(OSError):
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        answer, _ = process.communicate(question, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return answer if process.returncode == 0 else None


def _frame(function: str, answer: str) -> Frame:
    """Parse a name and a `file:line`; `??` and the like count as missing."""
    match = ANSWER.fullmatch(answer)
    name = "" if function == "??" else function
    if not match or match[1] == "??" or int(match[2]) == 0:
        return Frame(name, "", 0)
    return Frame(name, os.path.normpath(match[1]), int(match[2]))


def _if_any_line(chain: list[Frame]) -> Chain:
    """Return the chain, or an empty one if none of it has a line."""
    return tuple(chain) if any(frame.line for frame in chain) else ()


# A copy of a binary with hidden symbols, for addr2line.
#
# With symbols, binutils gives inlined code of C++ and Fortran the name of the recorded function. One symbol that is
# not a function stays: without any, it does not decompress sections.


# Most bytes of a program with debug information.
LARGEST = 4 << 30
# Section types in an ELF header: .symtab, .dynsym, and uninterpreted contents.
SYMTAB, DYNSYM, PLAIN = b"\2\0\0\0", b"\13\0\0\0", b"\1\0\0\0"
# A symbol of a source file, which has no address.
ENTRY, OF_A_FILE = 24, b"\0\0\0\0\4\0\xf1\xff" + bytes(16)


@contextmanager
def without_symbols(binary: str) -> Iterator[tuple[str, int]]:
    """Provide the path of a copy in memory, and its descriptor, which a reading process must inherit.

    Raises: OSError.
    """
    with open_input(binary) as source, os.fdopen(os.memfd_create("debug"), "r+b") as copy:
        if os.fstat(source.fileno()).st_size > LARGEST:
            raise OSError(errno.EFBIG, "too large to be copied", binary)
        shutil.copyfileobj(source, copy, 1 << 20)
        _hide(copy)
        path, shared = f"/proc/self/fd/{copy.fileno()}", shared_file(binary)
        if not shared or shared.startswith("/"):
            yield path, copy.fileno()
            return
        with tempfile.TemporaryDirectory(prefix="incprof-") as directory:
            yield _sibling_path(path, Path(directory), shared, Path(binary).absolute().parent), copy.fileno()


def _hide(copy: BinaryIO) -> None:
    """Leave one symbol in the symbol table, and none in the dynamic one."""
    copy.seek(0)
    head = copy.read(64)
    start, size, count = (int.from_bytes(head[at : at + n], "little") for at, n in ((0x28, 8), (0x3A, 2), (0x3C, 2)))
    for place in range(start, start + count * size, size or 1):
        copy.seek(place)
        section = copy.read(64)
        offset, length = (int.from_bytes(section[at : at + 8], "little") for at in (0x18, 0x20))
        if section[4:8] == DYNSYM:
            _write(copy, place + 4, PLAIN)
        elif section[4:8] == SYMTAB and length >= 2 * ENTRY:
            _write(copy, place + 0x20, (2 * ENTRY).to_bytes(8, "little"))
            _write(copy, place + 0x2C, (2).to_bytes(4, "little"))  # all of them are local
            _write(copy, offset + ENTRY, OF_A_FILE)
    copy.flush()


def _write(copy: BinaryIO, at: int, data: bytes) -> None:
    copy.seek(at)
    copy.write(data)


def shared_file(binary: str) -> str:
    """Return the debug file that a binary shares with others (dwz), resolved from its place; empty if none."""
    try:
        elf = ElfFile(binary)
        section = elf.section(".gnu_debugaltlink") if elf.readable else None
        name = text_at(elf.contents(section), 0) if section is not None else ""
    except NoDataError:
        return ""
    return name


def _sibling_path(copy: str, directory: Path, shared: str, home: Path) -> str:
    """Return a place from which the shared file has the same relative path as from the binary's own directory."""
    ups = Path(shared).parts.count("..")
    place = directory.joinpath(*("d" for _ in range(ups)))
    place.mkdir(parents=True, exist_ok=True)
    link = Path(os.path.normpath(place / shared))
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.normpath(home / shared))
    (place / "binary").symlink_to(copy)
    return str(place / "binary")


# Source lines of addresses from a binary's line tables, for systems without a tool that reads them.


Place = tuple[str, int]

MOST_TIMES = 8
# Errors that pyelftools raises for files that no compiler wrote.
DAMAGED = (
    OSError, ELFError, DWARFError, ValueError, LookupError, AttributeError, TypeError, AssertionError,
    zlib.error, struct.error, ArithmeticError, RecursionError,
)  # fmt: skip


def from_line_tables(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """Return file and line of each link-time address, one compile unit at a time; None if the binary lacks them."""
    no_places: list[Place | None] = [None] * len(addresses)
    try:
        with open_input(binary) as stream:
            elf = ELFFile(stream)
            if not elf.has_dwarf_info() or bloated(elf, os.fstat(stream.fileno()).st_size):
                return no_places
            dwarf = elf.get_dwarf_info()
            units = dwarf.get_aranges()
            if units is None:
                return no_places
            return [_in_unit(dwarf, units.cu_offset_at_addr(address), address) for address in addresses]
    except DAMAGED:
        return no_places


def bloated(elf: ELFFile, size: int) -> bool:
    """Return whether the sections of a file of so many bytes claim to be, or unpack to, far more than is plausible."""
    sections = list(elf.iter_sections())
    # This old format does not contain the size in advance.
    if any(section.name.startswith(".zdebug") for section in sections):
        return True
    read = (each for each in sections if each.header.sh_type != "SHT_NOBITS" or each.name.startswith(".debug"))
    return int(sum(section.data_size for section in read)) > MOST_TIMES * size


def _in_unit(dwarf: Any, offset: int | None, address: int) -> Place | None:
    """Return the line table entry that covers an address in the compile unit at `offset`."""
    if offset is None:
        return None
    unit = dwarf.get_CU_at(offset)
    program = dwarf.line_program_for_CU(unit)
    previous = None
    for entry in program.get_entries() if program else ():
        state = entry.state
        if state is None:
            continue
        if previous and not previous.end_sequence and previous.address <= address < state.address:
            return _file_name(unit, program, previous.file), int(previous.line)
        previous = state
    return None


def _file_name(unit: Any, program: Any, number: int) -> str:
    """Return the path of a file of a line program; numbers start at 1 before DWARF 5."""
    new = program["version"] >= 5
    file = program["file_entry"][number - (not new)]
    directory = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode("utf-8", "replace")
    index = file.dir_index if new else file.dir_index - 1
    if index >= 0:
        directory = os.path.join(directory, program["include_directory"][index].decode("utf-8", "replace"))
    name: str = file.name.decode("utf-8", "replace")
    return os.path.normpath(os.path.join(directory, name))


# Explain missing information in existing debug information, in one line for each module.


SHF_COMPRESSED = 0x800
KINDS = {1: "zlib", 2: "zstd"}
# The first compile units show whether all are split.
MOST_UNITS = 20


def gap(elf: ElfFile, chains: Sequence[Chain]) -> str | None:
    """Return what is missing in the chains at addresses in a file with line numbers; None if nothing seems to be."""
    name = Path(elf.path).name
    try:
        if not any(chains):
            kind = _compression(elf)
            return kind and (
                f"{name}: its debug information is compressed ({kind}), which no tool here can read: no line numbers "
                f"(objcopy --decompress-debug-sections {name}, or install newer binutils)"
            )
        plain = all(len(chain) < 2 for chain in chains)
        if elf.section(".gnu_debugaltlink") and (plain or lacks_names(chains)):
            return f"{name}: its debug information is in another file (dwz), unread: inlined functions have no names"
        if plain and elf.section(".debug_addr"):
            return _split(elf.path, name)
    except NoDataError:
        return None
    return None


def _compression(elf: ElfFile) -> str | None:
    """Return how the line numbers are compressed."""
    if elf.section(".zdebug_line"):
        return "zlib-gnu"
    section = elf.section(".debug_line")
    if section is None or not section.flags & SHF_COMPRESSED:
        return None
    return KINDS.get(int.from_bytes(elf.read(section.offset, 4), "little"), "of an unknown kind")


def _split(path: str, name: str) -> str | None:
    """Return a message on a file whose inlined functions are described in other files (.dwo)."""
    from elftools.elf.elffile import ELFFile  # imported here, because few files need it

    try:
        with open_input(path) as stream:
            elf = ELFFile(stream)
            if bloated(elf, os.fstat(stream.fileno()).st_size):
                return None
            units = elf.get_dwarf_info(follow_links=False).iter_CUs()
            parts = [_part_of(unit) for unit, _ in zip(units, range(MOST_UNITS), strict=False)]
    except DAMAGED:
        return None
    named = [part for part in parts if part]
    if not named:
        return None
    record_input(*named, f"{path}.dwp")
    missing = next((part for part in named if not os.path.exists(part)), None)
    if missing is None:
        why = "no tool here reads all of them"
    elif os.path.exists(f"{path}.dwp"):
        why = "its .dwp file could not be read"
    else:
        why = f"{missing} is not here"
    return f"{name}: its debug information is in .dwo files, and {why}: inlined functions have no names"


def _part_of(unit: Any) -> str | None:
    """Return the path of the file with a compile unit's split-off part; None if it is not split."""
    top = unit.get_top_DIE().attributes
    name = top.get("DW_AT_dwo_name") or top.get("DW_AT_GNU_dwo_name")
    home = top.get("DW_AT_comp_dir")
    texts = [each.value.decode("utf-8", "replace") for each in (home, name) if each]
    return os.path.join(*texts) if name else None
