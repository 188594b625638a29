"""The program of simulated ranks, compiled: addresses of its functions, and the call instructions between them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incprof.symbols.elf import open_elf
from incprof.symbols.elf_symbols import read_symbols
from incprof.symbols.modules import MachineCode

HERE = Path(__file__).parent
# Code that an optimising compiler would merge, inline or turn into jumps stays as written. No path of the machine goes
# into the file, so that its build-id is the same everywhere.
FLAGS = ("-g", "-O1", "-pg", "-fno-inline", "-fno-optimize-sibling-calls", "-fno-ipa-icf", "-Wl,--build-id=sha1")


@dataclass(frozen=True)
class Program:
    """The compiled program.

    Attributes:
        exe: its file.
        build_id: 40 hex digits.
        begin: address of each function, by name.
        size: bytes of each function, by name.
        code: its instructions.
    """

    exe: Path
    build_id: str
    begin: dict[str, int]
    size: dict[str, int]
    code: MachineCode

    def sampled(self, function: str, count: int) -> list[int]:
        """Return addresses distributed over the body of a function."""
        inner = np.linspace(0.35, 0.85, count) * self.size[function]
        return [self.begin[function] + int(offset) for offset in inner]

    def call(self, caller: str, callee: str) -> int:
        """Return the last byte of the instruction in one function that calls another, or one of a library."""
        for address in range(self.begin[caller] + 4, self.begin[caller] + self.size[caller]):
            if callee in self.begin:
                found = self.code.call_targets(np.array([address], dtype=np.uint64))[0] == self.begin[callee]
            else:
                found = self.code.imported(address) == callee
            if found:
                return address
        raise ValueError(f"{caller} does not call {callee}")


def build(directory: Path) -> Program:
    """Compile the program, and the library that replaces MPI, in a directory.

    Raises: FileNotFoundError without gcc.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("solver.c", "mpi.c"):
        (directory / name).write_bytes((HERE / name).read_bytes())
    same = f"-ffile-prefix-map={directory.resolve()}=."
    _run(["gcc", "-O1", same, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", "mpi.c", "-o", "libmpi.so.40"], directory)
    _run(["gcc", *FLAGS, same, "solver.c", "./libmpi.so.40", "-o", "solver"], directory)
    elf = open_elf(str(directory / "solver"))
    table = read_symbols(elf)
    names = [table.name(i) for i in range(len(table))]
    begin = {name: int(table.start[i]) for i, name in enumerate(names)}
    size = {name: int(table.end[i] - table.start[i]) for i, name in enumerate(names)}
    return Program(directory / "solver", elf.build_id or "", begin, size, MachineCode(elf))


def snapshot(program: Program, symbols: Path) -> None:
    """Write the part of the program that a recording stores: its symbols and debug information, without its code."""
    symbols.mkdir(parents=True, exist_ok=True)
    _run(["objcopy", "--only-keep-debug", str(program.exe), str(symbols / f"{program.build_id}.elf")], symbols)


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {' '.join(done.stderr.split())[:200]}")
