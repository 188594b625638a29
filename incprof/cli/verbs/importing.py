"""Make a run directory of what another tool has recorded.

    perf record -g ./app; incprof import perf.data -o run
    py-spy record --format speedscope -o app.json -- python3 app.py; incprof import app.json -o run
    incprof import --from pprof-series cpu-*.pb.gz -o run
    incprof phases run

The format is detected unless --from names it. `incprof help import` describes the formats, and what each lacks.
"""

from __future__ import annotations

import argparse

from incprof.command.terminal import warn
from incprof.errors import PartialDataError, UsageError
from incprof.record import settings

NAME = "import"
# Those of incprof.readers.foreign.formats, which would take long to import for the help.
FORMATS = (
    "perf-script", "perf.data", "folded-intervals", "pprof-series", "gcov-series", "jfr", "speedscope", "cpuprofile",
    "trace-events", "simpleperf", "firefox", "nsys", "rocprofv3",
    "gmon-dir",
)  # fmt: skip
LEAST_INTERVAL_S, MOST_INTERVAL_S, MOST_HZ = 1e-3, 86400.0, 1e5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="a file, the files of a series, or their directory")
    parser.add_argument("--from", choices=FORMATS, dest="kind", help="the format (default: detected)")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the new run directory; it must not exist")
    parser.add_argument(
        "-i", "--interval", type=settings.time, metavar="T",
        help="length of an interval, or the time between files of a series (default: from the file, else 1s)",
    )  # fmt: skip
    parser.add_argument(
        "-r",
        "--rate",
        type=settings.rate,
        metavar="HZ",
        help="samples per second of CPU time (default: from the profile)",
    )
    parser.add_argument("--exe", metavar="FILE", help="the program, if the profile does not name it")


def run(args: argparse.Namespace) -> int:
    """Import, and describe the result."""
    from incprof.study.run_directories import import_profiles

    if args.interval is not None and not LEAST_INTERVAL_S <= args.interval <= MOST_INTERVAL_S:
        raise UsageError(f"-i {args.interval:g}: an interval lasts from 1ms to 1d")
    if args.rate is not None and not 0 < args.rate <= MOST_HZ:
        raise UsageError(f"--rate {args.rate:g}: more than 0 and at most {MOST_HZ:g} samples a second")
    imported = import_profiles(
        args.inputs, args.output, kind=args.kind, interval_s=args.interval, rate_hz=args.rate, exe=args.exe
    )
    warn([f"{args.output}: {note}" for note in imported.notes])
    processes = f"{imported.processes} process{'es' * (imported.processes != 1)}"
    intervals = f"{imported.intervals} interval{'s' * (imported.intervals != 1)}"
    rate = f"{imported.rate_hz:.4g} samples a second"
    print(f"{args.output}: {imported.app}, from {imported.kind}: {processes}, {intervals}, {rate}")
    print(f"next: incprof phases {args.output}")
    return PartialDataError.exit_code if imported.damaged else 0
