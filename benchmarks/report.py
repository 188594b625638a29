"""The cost of a run's page: time to write it, its size, and time until a browser has painted it."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.bed import Bed
from benchmarks.measure import Result, run
from tests.unit.streamwriter import Sample, StreamWriter

INTERVALS, FUNCTIONS, SAMPLES = 3600, 500, 360_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAINT = """
import statistics, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    for _ in range(int(sys.argv[3])):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto("file://" + sys.argv[2])
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        print(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000)
        page.close()
    browser.close()
"""


def benchmarks(bed: Bed) -> Iterator[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield the benchmarks by name."""
    yield "report", lambda: report(bed)


def write_run(directory: Path, intervals: int = INTERVALS) -> Path:
    """Write a run of six phases.

    Each has a hundred samples an interval over the paths of all functions, few of them hot.
    """
    rng = np.random.default_rng(0)
    names = ["main", *(f"function_{i:03}" for i in range(1, FUNCTIONS))]
    writer = StreamWriter(names)
    paths = []
    for i in range(1, FUNCTIONS):
        middle = [names[1 + (i * 7 + j) % 40] for j in range(3)]
        paths.append(tuple((0, writer.address(name)) for name in ("main", *middle, names[i])))
    shares = [rng.dirichlet(np.full(len(paths), 0.05)) * 0.8 + 0.2 / len(paths) for _ in range(6)]
    parts = [writer.data]
    for interval in range(intervals):
        taken = rng.choice(len(paths), SAMPLES // INTERVALS, p=shares[interval * 6 // intervals])
        arcs = {("main", names[i]): int(i) for i in rng.integers(1, FUNCTIONS, 60)}
        parts.append(writer.interval([Sample(paths[i]) for i in taken.tolist()], arcs=arcs))
        writer.data = b""  # it would be copied for each interval
    writer.data = b"".join(parts)
    writer.end()
    return writer.save(directory)


def report(bed: Bed) -> list[Result]:
    """Measure the page of a long run: seconds to write it, its size, and its first paint."""
    directory = bed.scratch / "report-run"
    shutil.rmtree(directory, ignore_errors=True)
    write_run(directory)
    page = bed.scratch / "report.html"
    command = [sys.executable, "-m", "incprof", "report", directory, "-o", page, "--force"]
    run(command, bed.scratch)
    usage = [run(command, bed.scratch) for _ in range(min(bed.pairs, 5))]
    times = sorted(used.elapsed_s for used in usage)
    seconds, size = statistics.median(times), page.stat().st_size
    cpu = statistics.median(used.cpu_s for used in usage)
    what = f"page on {INTERVALS:,} intervals x {FUNCTIONS} functions with {SAMPLES:,} samples".replace(",", " ")
    spread = f"{seconds:.2f} s ({times[0]:.2f}-{times[-1]:.2f}, {len(times)} runs), {cpu:.2f} s of CPU time"
    return [
        Result(f"{what}: time to write it", "under 6 s", spread, seconds < 6),
        Result("its size", "under 5 MB", f"{size / 1e6:.2f} MB", size < 5_000_000),
        *_paint(bed, page),
    ]


def _paint(bed: Bed, page: Path) -> list[Result]:
    """Measure the first paint in Chromium, if that is installed."""
    chromium = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if chromium is None:
        return []
    command = [sys.executable, "-c", PAINT, chromium, str(page), str(bed.pairs)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    times = sorted(map(float, out.split()))
    median = statistics.median(times)
    reached = f"{median:.2f} s ({times[0]:.2f}-{times[-1]:.2f}, {len(times)} times)"
    return [Result("its first paint in Chromium, from disk", "under 1 s", reached, median < 1)]
