"""The runs of k-means behind the paper's method, kept beside the recorded run: the next answer imports no library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from incprof.analysis.phases.kmeans_runs import KMeansRuns
from incprof.jsonstore import JsonStore
from incprof.study.options import Method

STORE, VERSION = "kmeans.json", 1
# An answer takes one run of k-means, and up to twelve of intervals that are drawn again.
MOST_RUNS = 64


@contextmanager
def kmeans_runs(directory: str, method: Method) -> Iterator[KMeansRuns | None]:
    """Open the runs of k-means in a directory of a recording, and keep what was computed; None for other methods."""
    if method != "paper":
        yield None
        return
    store = JsonStore(directory, STORE, VERSION)
    runs = KMeansRuns(_runs_in(store))
    yield runs
    # Others may have kept theirs by now.
    known = _runs_in(store)
    if any(known.get(key) != value for key, value in runs.used.items()):
        kept = {key: value for key, value in known.items() if key not in runs.used} | runs.used
        store.save({"runs": dict(list(kept.items())[-MOST_RUNS:])})


def _runs_in(store: JsonStore) -> dict[str, object]:
    """Return the runs that are kept; none where the file is missing or damaged."""
    return store.load(lambda kept: dict(kept["runs"])) or {}
