"""What a traced run's processes do with each other, for pictures and pages."""

from __future__ import annotations

import os

from incprof.analysis.signature.find import Signature
from incprof.analysis.views.communication import Communication, communication
from incprof.errors import NoDataError
from incprof.readers.trace import find_traces
from incprof.report.page.parts import MpiParts
from incprof.study.mpi import summarise
from incprof.study.signature.find import found
from incprof.study.signature.within import within
from incprof.study.study import Study


def drawn(directory: str, signature: Signature) -> Communication:
    """Return what is drawn of a run whose signature is known.

    Raises:
        NoDataError: none of its traces can be read any more.
    """
    return communication(signature, summarise(directory))


def page_mpi(study: Study, trace: str | None) -> tuple[MpiParts | None, list[str]]:
    """Return what a run's page says of its MPI calls, and a line for each trace that could not be read.

    Args:
        study: of the run.
        trace: directory of the traces; None for the run's own, where there need not be any.

    Raises:
        NoDataError: `trace` has none that can be read.
    """
    directory = os.fspath(study.run.directory) if trace is None else trace
    try:
        find_traces(directory)
    except NoDataError:
        if trace is not None:
            raise
        return None, []
    try:
        signature, unread = found(directory, jobs=study.options.jobs, dask=study.options.dask, listener=study.listener)
    except NoDataError as error:
        if trace is not None:
            raise
        return None, [str(error)]
    lies = within(os.fspath(study.run.directory), signature.process)
    return MpiParts(drawn(directory, signature), None if lies is None else tuple(lies)), unread
