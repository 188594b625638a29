"""Cache of the k-means runs of the paper's method beside the recorded run: later answers import no library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from incprof.analysis.phases.paper_method import KMeansRuns
from incprof.safe.jsonstore import JsonStore
from incprof.study.options import Method

STORE, VERSION = "kmeans.json", 1
# An answer takes one run of k-means, and up to twelve of resampled intervals.
MOST_RUNS = 64


@contextmanager
def kmeans_runs(directory: str, method: Method) -> Iterator[KMeansRuns | None]:
    """Open the cached k-means runs of a recording, and store what was computed; None for other methods."""
    if method != "paper":
        yield None
        return
    store = JsonStore(directory, STORE, VERSION)
    runs = KMeansRuns(_runs_in(store))
    yield runs
    # Another process may have stored its runs meanwhile.
    known = _runs_in(store)
    if any(known.get(key) != value for key, value in runs.used.items()):
        kept = {key: value for key, value in known.items() if key not in runs.used} | runs.used
        store.save({"runs": dict(list(kept.items())[-MOST_RUNS:])})


def _runs_in(store: JsonStore) -> dict[str, object]:
    """Return the cached runs; empty where the file is missing or damaged."""
    return store.load(lambda kept: dict(kept["runs"])) or {}
