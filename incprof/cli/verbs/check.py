"""Check whether a program can be recorded, before it runs; or, after a run, what counting its calls costs.

    incprof check ./app
    incprof check --hot gmon-app                                    # functions that counting costs
    incprof check --hot gmon-app --source . --patch hot.patch       # leaves them out of -pg, in C and C++
    incprof check --hot gmon-app --cmake hot.cmake                  # their files, for GCC and gfortran

Exit status 0 if the program can be recorded, 1 if not, 4 if the file is no readable ELF file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from incprof.errors import NoDataError, UsageError
from incprof.safe.printable import say
from incprof.symbols.elf.program_file import read_traits, usability

if TYPE_CHECKING:
    from incprof.study.hot import Patch
    from incprof.symbols.elf.program_file import Traits

NAME = "check"
SCHEMA = "incprof.check/1"
# Columns of a name in a message.
ROOM = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("program", nargs="?", help="the executable, or a shared library of it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    hot = parser.add_argument_group("of a recorded program that was built with -pg")
    hot.add_argument(
        "--hot", metavar="DIR", help="run directory: name the functions whose calls are expensive to count"
    )
    hot.add_argument("--rank", type=int, metavar="R", help="rank to analyse (default: the lowest)")
    hot.add_argument("--exe", metavar="FILE", help="the program, if it is not where it was recorded")
    hot.add_argument("--source", metavar="SRC", help="directory that holds the program's source")
    hot.add_argument("--patch", metavar="FILE", help="write a patch there that leaves them out of -pg, in C and C++")
    hot.add_argument(
        "--cmake", metavar="FILE", help="write a CMake file there that leaves out their files, or the rest"
    )
    hot.add_argument("--allow-changed", action="store_true", help="accept files that were changed since the recording")
    hot.add_argument("--force", action="store_true", help="replace the files of --patch and --cmake")


def run(args: argparse.Namespace) -> int:
    """Print the table and the verdict, or the cost of counting."""
    if args.hot is not None:
        return run_hot(args)
    if args.program is None:
        raise UsageError("nothing to check: give a program, or a run directory with --hot")
    for option in ("rank", "exe", "source", "patch", "cmake", "allow_changed", "force"):
        if getattr(args, option):
            raise UsageError(f"--{option.replace('_', '-')} goes with --hot DIR")
    traits = read_traits(args.program)
    usable, verdict = usability(traits)
    if args.json:
        print(json.dumps(traits_json(traits, usable, verdict), indent=1))
    else:
        write_traits(traits, verdict, sys.stdout)
    return 0 if usable else 1


def write_traits(traits: Traits, verdict: str, out: TextIO) -> None:
    """Write the table, and the verdict below it."""
    table = _rows(traits)
    width = max(len(label) for label, _ in table)
    for label, text in [*table, ("verdict", verdict)]:
        out.write(f"{label:{width}}  {text}\n")


def _rows(traits: Traits) -> list[tuple[str, str]]:
    """Return the label and text of each trait."""
    table = [("file", traits.path), ("format", f"ELF, {traits.bits}-bit, {traits.machine}"), ("kind", _kind(traits))]
    if not traits.native:
        return table
    return [
        *table,
        ("linked with -pg", _yes(traits.linked_pg)),
        ("compiled with -pg", _instrumented(traits)),
        ("-pg libraries", ", ".join(traits.profiled_libraries) or "none"),
        ("unwind tables", _yes(traits.unwind)),
        ("symbols", str(traits.symbols) if traits.symbols else "none (stripped)"),
        ("line numbers", _yes(traits.lines)),
        ("build-id", traits.build_id or "none"),
        ("compiler", ", ".join(traits.compilers) or "unknown"),
        *([("GPU", GPU_TEXTS[traits.gpu])] if traits.gpu else []),
    ]


# How a program reaches GPUs.
GPU_TEXTS = {
    "shared": "CUDA, by libcudart: record --gpu uses the libcupti beside it",
    "static": "CUDA, static run-time: record --gpu needs libcupti in the loader's path or CUDA_HOME, or INCPROF_CUPTI",
    "driver": "CUDA's driver: record --gpu needs libcupti in the loader's path or CUDA_HOME, or INCPROF_CUPTI",
    "hip": "HIP: record --gpu needs librocprofiler-sdk (ROCm 6.4 or later) in the loader's path (see incprof doctor)",
    "opencl": "OpenCL: record --gpu needs a loader with layers (ocl-icd 2.3.0 or later; see incprof doctor)",
    "openmp": "OpenMP's target regions: record --gpu needs libcupti for those on CUDA devices, and libomp.so in the "
    "loader's path for those on the host",
    "level_zero": "Level Zero: record --gpu records nothing of it; phases names the time in its waiting functions",
}


def _kind(traits: Traits) -> str:
    """Return the kind of file, in words."""
    if traits.kind == "other":
        return "neither a program nor a library"
    if traits.kind == "library":
        return "shared library"
    linkage = "dynamically linked" if traits.dynamic else "statically linked"
    position = "position-independent" if traits.pie else "at a fixed address"
    return f"program, {linkage}, {position}"


def _instrumented(traits: Traits) -> str:
    """Return how much of the code calls the profiling hook."""
    callers = traits.callers
    if callers is None:
        return _yes(traits.compiled_pg)
    if callers.share is None:
        return f"yes, {callers.calls} calls of {callers.hook} (stripped: share of the functions unknown)"
    share = f"{100 * callers.share:.0f} %"
    return f"yes, {callers.calling} of {callers.functions} functions ({share}) call {callers.hook}"


def _yes(value: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if value else "no"


def traits_json(traits: Traits, usable: bool, verdict: str) -> dict[str, object]:
    """Return the answer as a JSON object."""
    callers = traits.callers
    return {
        "schema": SCHEMA,
        "file": traits.path,
        "usable": usable,
        "verdict": verdict,
        **_fields(traits, "bits machine kind dynamic pie linked_pg compiled_pg"),
        "hook": callers.hook if callers else None,
        "functions": callers.functions if callers else None,
        "functions_calling": callers.calling if callers else None,
        **_fields(traits, "profiled_libraries missing_libraries"),
        "unwind_tables": traits.unwind,
        **_fields(traits, "symbols lines build_id compilers gpu"),
    }


def _fields(one: object, names: str) -> dict[str, object]:
    return {name: getattr(one, name) for name in names.split()}


def run_hot(args: argparse.Namespace) -> int:
    """Print the cost of counting, and write the files that exclude functions from it."""
    from incprof.command.options import exit_status
    from incprof.command.output import check_target
    from incprof.command.terminal import STDERR, text_width
    from incprof.study import Study
    from incprof.study.hot import answer, hot, patch

    if args.program is not None:
        raise UsageError("give a program, or a run directory with --hot, not both")
    if (args.source is None) != (args.patch is None):
        raise UsageError("--source SRC and --patch FILE go together")
    for target in (args.patch, args.cmake):
        if target == "-":
            raise UsageError("the answer goes to stdout: give --patch and --cmake the names of files")
        if target is not None:
            check_target(target, force=args.force, binary=False)
    study = Study(args.hot, rank=args.rank, exe=args.exe, libs="caller", ranks=(), nameless=True, listener=STDERR)
    STDERR.warn(study.recorded.warnings)
    hot_answer = answer(study, hot(study))
    if args.json:
        from incprof.report.hot_answer import as_json

        print(json.dumps(as_json(hot_answer), indent=1))
    else:
        from incprof.report.hot_answer import write_text

        write_text(hot_answer, sys.stdout, width=text_width())
    rows = hot_answer.hot.functions
    if args.patch is not None:
        changes = patch(study, rows, Path(args.source), allow_changed=args.allow_changed)
        write_patch(changes, args)
        rows = tuple(row for row, _ in changes.refused)
    if args.cmake is not None:
        write_cmake(sorted({row.function.file for row in rows if row.function.file is not None}), args.cmake)
    return exit_status(study)


def write_patch(changes: Patch, args: argparse.Namespace) -> None:
    """Write the patch, and name the functions missing from it."""
    from incprof.command.output import write_bytes
    from incprof.report.words.display_names import shorten
    from incprof.report.words.formatting import count

    for row, why in changes.refused:
        say(f"{shorten(row.function.name, ROOM)} is not in the patch: {why}")
    if changes.refused and not changes.functions:
        raise NoDataError(f"{args.patch}: not written: no function takes the attribute")
    write_bytes(args.patch, lambda out: out.write(changes.text))
    say(f"{args.patch}: {count(changes.functions, 'function')}; in {args.source}: patch -p1 < {args.patch}")


def write_cmake(files: list[str], target: str) -> None:
    """Write the CMake file of some source files."""
    from incprof.command.output import write_text
    from incprof.report.words.formatting import count
    from incprof.study.hot import cmake

    if not files:
        say(f"{target}: not written: there is no file to leave out")
        return
    write_text(target, lambda out: out.write(cmake(files, Path(target).name)))
    say(f"{target}: {count(len(files), 'file')}, for GCC and gfortran: include({Path(target).name})")
