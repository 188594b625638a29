"""What intervals of heartbeats cost to take, to keep and to read."""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bed import Bed
from benchmarks.heartbeats import build, environment
from benchmarks.measure import Result, run


def _record(bed: Bed, threads: int, ids: int, seconds: int, interval: float) -> list[bytes]:
    """The lines that a run of beats_many.c wrote."""
    command = [build(bed, "beats_many.c"), str(threads), str(ids), str(seconds)]
    run(command, bed.scratch, environment(bed, interval=interval))
    return (bed.scratch / "ekg" / "rank-00000.ekg").read_bytes().splitlines(keepends=True)


def interval_thread_cpu(bed: Bed, interval: float, seconds: int) -> list[Result]:
    """CPU time of the interval thread, by its own account, and what an interval takes on disk."""
    shares, sizes = [], []
    for _ in range(min(bed.pairs, 3)):
        lines = _record(bed, 8, 20, seconds, interval)
        infos = [json.loads(line.split(b" ", 1)[1]) for line in lines if line.startswith(b"#interval ")][1:-1]
        spent = sum(info["own_ns"] for info in infos)
        shares.append(spent / (infos[-1]["end_ns"] - infos[0]["start_ns"]))
        blocks = list(_intervals(lines))[1:-1]
        sizes.append(sum(map(len, (line for block in blocks for line in block))) / len(blocks))
    shares.sort()
    median = shares[len(shares) // 2]
    reached = f"{median:.4%} of a core ({shares[0]:.4%}-{shares[-1]:.4%}, {len(shares)} runs)"
    what = f"interval thread, 8 threads x 20 ids, {interval:g} s intervals"
    results = [Result(what, "-", reached, None)]
    if interval == 1:
        size = sorted(sizes)[len(sizes) // 2]
        reached = f"{size * 3600 / 1e6:.1f} MB ({size:.0f} bytes an interval, {size / 160:.1f} a row)"
        results.append(Result("file of an hour of 8 threads x 20 ids at 1 s", "-", reached, None))
    return results


def _intervals(lines: list[bytes]) -> Iterator[list[bytes]]:
    """The lines of each interval, its #interval line last."""
    block: list[bytes] = []
    for line in lines[2:]:
        block.append(line)
        if line.startswith(b"#interval "):
            yield block
            block = []


def _lengthen(lines: list[bytes], intervals: int, path: Path) -> int:
    """Write a file of many intervals of 1 s: those recorded, again and again. Returns the number of rows."""
    first, *recorded = list(_intervals(lines))[:-1]
    others = [([line.split(b",", 1)[1] for line in block[:-1] if line[:1] != b"#"], block[-1]) for block in recorded]
    rows = sum(line[:1] != b"#" for line in first[:-1])
    with path.open("wb") as file:
        file.writelines(lines[:2])
        file.write(_sealed(b"".join(first[:-1]), first[-1], 0))
        for number in range(1, intervals):
            tails, last = others[number % len(others)]
            prefix = b"%d," % number
            file.write(_sealed(prefix + prefix.join(tails), last, number))
            rows += len(tails)
        file.write(b'#end {"end_ns":%d}\n' % (intervals * 10**9))
    return rows


def _sealed(rows: bytes, last: bytes, number: int) -> bytes:
    """Rows and their #interval line, with another number and place in time, and the checksum that goes with it."""
    times = b'"interval":%d,"start_ns":%d,"end_ns":%d,' % (number, number * 10**9, (number + 1) * 10**9)
    line = re.sub(rb'"interval":\d+,"start_ns":\d+,"end_ns":\d+,', times, last)
    body = rows + line[: line.rindex(b',"crc32"')]
    return body + b',"crc32":"%08x"}\n' % zlib.crc32(body)


def reader(bed: Bed, hours: int) -> Result:
    """`incprof heartbeats` on hours of 64 threads with 10 ids each, at 1 s."""
    what = f"incprof heartbeats --json, {hours} h of 64 threads x 10 ids at 1 s"
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 0.5e9 * (hours + 1):
        return Result(what, "-", "not measured: too little memory", None)
    lines = _record(bed, 64, 10, 4, 0.1)
    directory = bed.scratch / "long"
    directory.mkdir(exist_ok=True)
    path = directory / "rank-00000.ekg"
    rows = _lengthen(lines, hours * 3600, path)
    command = [sys.executable, "-m", "incprof", "heartbeats", str(directory), "--json"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    usages = [run(command, bed.scratch, env) for _ in range(3 if hours < 10 else 1)]
    size = path.stat().st_size / 1e6
    path.unlink()
    cpu = sorted(usage.cpu_s for usage in usages)
    median = cpu[len(cpu) // 2]
    peak = max(usage.peak_mb for usage in usages)
    reached = (
        f"{rows / median / 1e6:.2f} million rows per CPU second: {median:.1f} s ({cpu[0]:.1f}-{cpu[-1]:.1f}, "
        f"{len(cpu)} run{'s' * (len(cpu) > 1)}) for {rows} rows, {size:.0f} MB; peak memory {peak:.0f} MB"
    )
    return Result(what, "-", reached, None)
