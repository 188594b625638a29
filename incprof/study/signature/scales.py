"""Signatures of several runs, with what each took to find."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from incprof.analysis.signature.results import DEFAULT, Method, SignatureOptions
from incprof.analysis.signature.scales import Analysis, ScaledRun, analysis_of, by_program
from incprof.readers.trace import find_traces
from incprof.study.listener import SILENT, Listener
from incprof.study.signature.find import found


def scales(
    directories: Sequence[str],
    methods: Sequence[Method],
    options: SignatureOptions = DEFAULT,
    *,
    jobs: int = 0,
    dask: str | None = None,
    listener: Listener = SILENT,
) -> tuple[list[list[ScaledRun]], list[str]]:
    """Analyse runs of a program at several scales by each method.

    Args:
        directories: of the runs.
        methods: of finding phases.
        options: thresholds.
        jobs: processes that read, 0 for one on each processor.
        dask: the address of a scheduler whose workers read instead.
        listener: hears how far it is.

    Returns:
        The runs of each program, by their number of processes; a line for each trace that is missing or not whole.

    Raises:
        NoDataError: a directory has no trace with an event.
        IncprofError: no such scheduler answers.
    """
    runs, problems = list[ScaledRun](), list[str]()
    for directory in directories:
        analyses = list[Analysis]()
        for method in methods:
            begin = time.perf_counter()
            signature, unread = found(directory, method, options, jobs=jobs, dask=dask, listener=listener)
            analyses.append(analysis_of(signature, time.perf_counter() - begin))
        broken = [one.rank for one in signature.processes if not one.clean]
        problems += unread
        problems += [f"{directory}: the trace of rank {broken[0]} is not whole"] if broken else []
        runs.append(
            ScaledRun(
                directory=directory,
                app=signature.process.app,
                ranks=len(signature.processes),
                aet_s=signature.process.found.aet_s,
                events=sum(one.events for one in signature.processes),
                trace_bytes=sum(os.path.getsize(path) for path in find_traces(directory)),
                analyses=tuple(analyses),
            )
        )
    return by_program(runs), problems
