"""The environment in which an MPI program is traced."""

from __future__ import annotations

import os
from pathlib import Path

from incprof.errors import IncprofError, UsageError
from incprof.record import launch, mpi_wrappers
from incprof.safe.printable import say


def variables(output: str | None) -> dict[str, str]:
    """Return the environment of a traced program.

    Raises: IncprofError if no MPI can be traced here.
    """
    library = launch.find_mpi_library(os.environ)
    environment = {"LD_PRELOAD": launch.preload_value(library, os.environ.get("LD_PRELOAD", ""))}
    if output is not None:
        if not output:
            raise UsageError("-o: a directory is needed")
        environment["INCPROF_TRACE_DIR"] = output
    if not os.environ.get(mpi_wrappers.VARIABLE):
        environment[mpi_wrappers.VARIABLE] = known_mpis(library)
    return environment


def known_mpis(library: Path) -> str:
    """Return which wrappers serve which MPI, in the library's format; print a line for each MPI without any."""
    wrappers = mpi_wrappers.wrappers_for_all(launch.wrapper_sources(library), os.environ)
    value = mpi_wrappers.variable(wrappers)
    for each in wrappers:
        if each.problem:
            say(f"{each.compiler}: {each.problem}")
    if not value:
        raise IncprofError("no MPI that can be traced: put its mpicc into PATH; see incprof doctor")
    return value
