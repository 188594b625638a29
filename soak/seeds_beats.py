"""Undamaged heartbeat files, and files of loops."""

from __future__ import annotations

import json
from pathlib import Path

from soak.seeds_runs import made
from soak.subject import Tree
from tests.unit.ekgfiles import EkgFile, beats, simple_run
from tests.unit.test_loopfile import RECORDS, TEXT


def varied(directory: Path) -> None:
    """Everything that a heartbeat file may hold."""
    file = EkgFile(0, metadata={"pair_ns": 40.5, "skipped_ns": 3.0, "host": "node1", "argv": ["app", "-x"]})
    file.beat(1, "assemble:body").beat(2**32 - 1).thread(0, 4711).thread(7, 4712)
    file.interval(
        beats(0, 1, [5, 7, 10**8], pulses=3, nested_ns=4, running=(10**9, 3)), dropped=3, unmatched=1, clock="tsc"
    )
    file.interval()
    file.beat(1, "renamed", 10)
    file.interval(beats(7, 2**32 - 1, [2**40]), beats(0, 1, [1]), length_ns=123, lost_intervals=2, enabled=False)
    file.save(directory / "rank-00000.ekg")


def beat_runs() -> list[Tree]:
    """Run directories in ekg/."""
    one = made(lambda directory: simple_run(directory, intervals=3), "ekg/")
    two = made(lambda directory: simple_run(directory, ranks=2, intervals=20), "ekg/")
    return [one, made(varied, "ekg/"), two]


def loop_runs() -> list[Tree]:
    """Loops of parallel regions, in sa/ and in one/."""
    more = "".join(json.dumps(record) + "\n" for record in [*RECORDS, *RECORDS[1:]]).encode()
    return [{"sa/rank-00000.sa": text, "one/rank-00000.sa": TEXT} for text in (TEXT, more)]
