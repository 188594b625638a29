"""Programs that a test compiles, and where their functions are."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from incprof.symbols.elf import open_elf
from incprof.symbols.elf_symbols import read_symbols


@dataclass(frozen=True)
class Built:
    """A compiled program.

    Attributes:
        path: Its file.
        where: Address and size of each function, by symbol.
        build_id: Its build-id, in hexadecimal.
    """

    path: Path
    where: dict[str, tuple[int, int]]
    build_id: str | None


def built(folder: Path, source: str, *flags: str, file: str = "app.c") -> Built:
    """Compile a source text in a folder to a program named after its file; skip the test without a compiler."""
    compiler = "g++" if file.endswith("cpp") else "gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / file).write_text(source)
    path = folder / Path(file).stem
    subprocess.run([compiler, *flags, "-Wl,--build-id", file, "-o", path.name], cwd=folder, check=True)
    elf = open_elf(str(path))
    table = read_symbols(elf)
    where = {table.name(i): (int(table.address[i]), int(table.size[i])) for i in range(len(table))}
    return Built(path, where, elf.build_id)
