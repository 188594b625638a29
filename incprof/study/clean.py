"""Remove from a run directory what can be made again. Samples are never touched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import NoDataError
from incprof.inputs import inside
from incprof.model import Module
from incprof.readers.run import modules_of, open_all
from incprof.readers.symbols.source import copy_of, same_elsewhere

# Answers, and what they were made from on the way. Sites that were placed in the source are no answers.
ANSWERS = ("answers.json", "ranks.json", "kmeans.json")
# What was looked up in a module: it can be once more where its file is.
LOOKED_UP = (".json", ".jumps.json")


@dataclass(frozen=True)
class Cleaned:
    """What was removed.

    Attributes:
        files: how many.
        size: their bytes.
        copies: how many of them were copies of symbols.
        failed: paths that could not be removed.
    """

    files: int
    size: int
    copies: int
    failed: tuple[str, ...]


def clean(directory: str, *, dry_run: bool = False) -> Cleaned:
    """Remove answers, and the symbols of modules whose files are where they were recorded, unchanged.

    Args:
        directory: of a recorded run.
        dry_run: remove nothing, and return what would be.

    Raises:
        NoDataError: there is no recorded run.
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
    """Files that can be made again."""
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
    """Whether there is a file, and no link to one."""
    return os.path.isfile(path) and not os.path.islink(path)
