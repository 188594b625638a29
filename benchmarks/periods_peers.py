"""Seconds and checksums of all distances of a set of series, by one of the packages that do it. Run by periods.py.

python periods_peers.py PACKAGE SERIES.npy     # prints: seconds, and writes the matrix beside the series
"""

import sys
import time
import warnings

import numpy as np


def matrix(package, series):
    """Returns a function that gives the condensed matrix of sum |a - b| where the package has it, else of its own."""
    upper = np.triu_indices(len(series), 1)
    if package == "dtaidistance":
        from dtaidistance import dtw

        # C, with OpenMP where the package was built with it.
        return lambda: dtw.distance_matrix_fast(series, compact=True, inner_dist="euclidean")
    if package == "tslearn":
        from tslearn.metrics import cdist_dtw

        return lambda: cdist_dtw(series, n_jobs=2)[upper]
    from aeon.distances import dtw_pairwise_distance

    return lambda: dtw_pairwise_distance(series[:, None, :], n_jobs=2)[upper]


def main(package, path):
    """Once to compile, then the best of three."""
    warnings.simplefilter("ignore")
    run = matrix(package, np.load(path))
    run()
    best = None
    for _ in range(3):
        started = time.perf_counter()
        result = run()
        took = time.perf_counter() - started
        best = took if best is None else min(best, took)
    np.save(f"{path}.{package}.npy", np.asarray(result))
    print(best)


if __name__ == "__main__":
    main(*sys.argv[1:])
