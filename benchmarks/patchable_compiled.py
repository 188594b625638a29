"""How the programs of patchable.py are compiled, and which functions the compiler finds in them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

HEADER = Path(__file__).parent.parent / "appekg" / "include"
Function = tuple[str, int, str]  # file, line, name

_COMPILE = re.compile(r"(?:^|;)\s*((?:gcc|cc|g\+\+)\s[^;]*\s-c\s[^;]*)$", re.M)
_ABSTRACT = (1, 3)  # DW_INL_inlined, DW_INL_declared_inlined


@dataclass(frozen=True)
class Program:
    """tree: below the scratch folder. make: directories, each with the targets and settings that its files need."""

    tree: str
    make: tuple[tuple[str, str], ...] = ()
    command: str = ""
    sources: str = ""
    binary: str = ""  # where the functions are counted if compiling once more would take too long


PROGRAMS = {
    "zstd": Program("zstd/src", (("programs", "zstd CC=gcc CFLAGS=-O2 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0"),)),
    "sqlite3": Program(
        "sqlite3/tree",
        command="gcc -O2 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -I. -c",
        sources="sqlite3.c shell.c",
    ),
    "hmmer": Program("hmmer/tree", (("easel", "libeasel.a"), ("src", "libhmmer.a hmmbuild hmmsearch"))),
    "lammps": Program(
        "lammps/build",
        command="g++ -O2 -std=c++11 -DLAMMPS_GZIP -DLAMMPS_MEMALIGN=64 -I. -ISTUBS -c",
        sources="*.cpp",
        binary="lammps/build/lmp_serial",
    ),
}


@dataclass(frozen=True)
class Unit:
    """One source file and how it is compiled. path: of the source."""

    folder: Path
    words: tuple[str, ...]
    path: Path

    def with_words(self, *more: str) -> list[str]:
        """The command with other outputs."""
        return [*self.words, *more, f"-I{HEADER}", "-w", str(self.path)]


def units_of(name: str, root: Path) -> list[Unit]:
    """What is compiled for a program."""
    program = PROGRAMS[name]
    if program.command:
        words = shlex.split(program.command)[:-1]
        paths = [path for pattern in program.sources.split() for path in sorted(root.glob(pattern))]
        return [Unit(root, tuple(words), path) for path in paths]
    return [unit for folder, targets in program.make for unit in _dry_run(root / folder, targets)]


def _dry_run(folder: Path, targets: str) -> Iterator[Unit]:
    """The commands that make would run."""
    words = ["make", "-n", "-k", "-B", "-C", str(folder), "--no-print-directory", *targets.split()]
    output = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    for line in output.splitlines():
        match = _COMPILE.search(line)
        found = _unit(folder, shlex.split(match[1])) if match else None
        if found is not None:
            yield found


def _unit(folder: Path, words: list[str]) -> Unit | None:
    source = next((word for word in words if word.endswith((".c", ".cpp"))), None)
    if source is None:
        return None
    if not (folder / source).exists():  # a make within make: of several folders, the one that has been built
        built = [path.parent for path in sorted(folder.glob(f"*/{source}")) if path.with_suffix(".o").exists()]
        folder = built[0] if built else folder
    kept, skip = [], False
    for word in words:
        if not skip and word not in ("-c", source, "-MMD", "-MP", "-MT", "-MF", "-o", "-pg"):
            kept.append(word)
        skip = word in ("-MT", "-MF", "-o")
    return Unit(folder, tuple(kept), (folder / source).resolve())


def compile_unit(unit: Unit) -> str | None:
    """What the compiler says if it fails."""
    # Paths are absolute, so that messages name files that can be found again.
    words = [f"-I{(unit.folder / word[2:]).resolve()}" if word[:2] == "-I" else word for word in unit.words]
    whole = Unit(unit.folder, tuple(words), unit.path).with_words("-fsyntax-only", "-fmax-errors=0")
    done = subprocess.run(whole, cwd=unit.folder, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def compiled_functions(name: str, units: list[Unit], root: Path, scratch: Path) -> set[Function]:
    """All functions of the program's own files that a compiler has made code of, or could inline."""
    binary = PROGRAMS[name].binary
    if binary:
        original = str((scratch / PROGRAMS[name].tree).resolve())
        found = _functions(scratch / binary)
        moved = {(path.replace(original, str(root), 1), line, function) for path, line, function in found}
        return {each for each in moved if _inside(each[0], root)}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        targets = [Path(folder) / f"{i}.o" for i in range(len(units))]
        objects = pool.map(_compile, units, targets)
        return {each for path in objects if path for each in _functions(path) if _inside(each[0], root)}


def _compile(unit: Unit, target: Path) -> Path | None:
    keep = ("-O0", "-g", "-fkeep-inline-functions", "-fkeep-static-functions", "-c", "-o", str(target))
    done = subprocess.run(unit.with_words(*keep), cwd=unit.folder, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"  not compiled before either: {unit.path}: {done.stderr.splitlines()[0]}")
    return target if done.returncode == 0 else None


def _inside(path: str, root: Path) -> bool:
    return path.startswith(str(root) + os.sep)


def _functions(path: Path) -> set[Function]:
    found = set()
    with path.open("rb") as stream:
        try:
            dwarf = ELFFile(stream).get_dwarf_info()
        except ELFError:
            return set()
        for unit in dwarf.iter_CUs():
            files = _files(dwarf, unit)
            for die in _definitions(unit.get_top_DIE().iter_children()):
                made = _function(die, files)
                if made is not None:
                    found.add(made)
    return found


def _definitions(dies: Iterable[Any]) -> Iterator[Any]:
    """Functions outside of functions; members are defined outside of their classes, or there."""
    for die in dies:
        if die.tag == "DW_TAG_subprogram":
            yield die
        elif die.tag in ("DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type"):
            yield from _definitions(die.iter_children())


def _function(die: Any, files: dict[int, str]) -> Function | None:
    own = die.attributes
    if "DW_AT_abstract_origin" in own or "DW_AT_artificial" in own:
        return None
    inline = own.get("DW_AT_inline")
    if not ("DW_AT_low_pc" in own or "DW_AT_ranges" in own or (inline and inline.value in _ABSTRACT)):
        return None
    declared = die.get_DIE_from_attribute("DW_AT_specification").attributes if "DW_AT_specification" in own else {}
    if "DW_AT_artificial" in declared:
        return None
    values = [(own.get(key) or declared.get(key)) for key in ("DW_AT_decl_file", "DW_AT_decl_line", "DW_AT_name")]
    if any(value is None for value in values):
        return None
    name = (
        re.sub(r"<.*", "", values[2].value.decode()) if b"operator" not in values[2].value else values[2].value.decode()
    )
    return files.get(values[0].value, ""), values[1].value, name


def _files(dwarf: Any, unit: Any) -> dict[int, str]:
    """The files of a compilation unit by their number, as absolute paths."""
    program = dwarf.line_program_for_CU(unit)
    folder = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode()
    if program is None:
        return {}
    new = program["version"] >= 5
    folders = [each.decode() for each in program["include_directory"]]
    folders = folders if new else [folder, *folders]
    found = {}
    for number, entry in enumerate(program["file_entry"], start=0 if new else 1):
        path = os.path.join(folder, folders[entry.dir_index], entry.name.decode())
        found[number] = os.path.realpath(path)
    return found
