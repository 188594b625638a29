"""Remove reproducible files from a run directory. Samples are never removed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.readers.run import modules_of, open_all
from incprof.safe.inputs import inside
from incprof.symbols.symbol_files import copy_of, same_elsewhere

# Answers, and intermediate results. Sites that were placed in the source are kept.
ANSWERS = ("answers.json", "ranks.json", "kmeans.json")
# Symbols of a module: they can be read again while its file exists.
LOOKED_UP = (".json", ".jumps.json")


@dataclass(frozen=True)
class Cleaned:
    """The removed files.

    Attributes:
        files: their number.
        size: bytes.
        copies: how many of them were copies of symbols.
        failed: paths that could not be removed.
    """

    files: int
    size: int
    copies: int
    failed: tuple[str, ...]


def clean(directory: str, *, dry_run: bool = False) -> Cleaned:
    """Remove answers, and the symbols of modules whose files are unchanged where they were recorded.

    Args:
        directory: of a recorded run.
        dry_run: remove nothing, and return what would be removed.

    Raises:
        NoDataError: the directory holds no recorded run.
    """
    sizes, failed = list[tuple[Path, int]](), list[str]()
    for path in dict.fromkeys(_found(directory)):
        with contextlib.suppress(FileNotFoundError, ValueError):
            size = path.lstat().st_size
            try:
                if not dry_run:
                    path.unlink()
                sizes.append((path, size))
            except FileNotFoundError:
                raise
            except OSError:
                failed.append(str(path))
    copies = sum(path.suffix == ".elf" for path, _ in sizes)
    return Cleaned(len(sizes), sum(size for _, size in sizes), copies, tuple(failed))


def _found(directory: str) -> Iterator[Path]:
    """Yield reproducible files."""
    run = open_all(directory, exe="")
    yield from (path for name in ANSWERS if _is_file(path := Path(directory) / name))
    if not inside(Path(directory) / "symbols", directory):
        return
    modules: dict[str, Module] = {}
    for process in run.processes:
        with contextlib.suppress(NoDataError):  # its modules stay
            modules.update({module.build_id: module for module in modules_of(process) if module.build_id})
    for module in modules.values():
        copy = copy_of(module, directory)
        if same_elsewhere(module, directory):
            paths = (copy, *(copy.with_suffix(suffix) for suffix in LOOKED_UP))
            yield from filter(_is_file, paths)


def _is_file(path: Path) -> bool:
    """Return whether a path is a file, and no symbolic link."""
    return os.path.isfile(path) and not os.path.islink(path)
