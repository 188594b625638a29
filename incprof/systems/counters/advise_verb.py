"""Run a program under other thread counts and frequencies, and report which phases hardly depend on them.

    incprof advise -- ./app input.txt
    incprof advise --threads 8,4,2 --runs 5 -- ./app input.txt
    incprof advise --of gmon-app --counters node.csv          # nothing is run: by rules on a recording

The first thread count is the baseline. Advice was measured, or is marked as not measured.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from incprof.command.terminal import STDERR, text_width
from incprof.errors import UsageError
from incprof.record import settings
from incprof.record.launch import NOT_FOUND, find_program

NAME = "advise"
FREQUENCY = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(GHz|MHz|kHz)")
KHZ = {"GHz": 1e6, "MHz": 1e3, "kHz": 1.0}
MOST_RUNS, MOST_THREADS, MOST_TOLERANCE = 50, 4096, 100.0


def threads(text: str) -> list[int]:
    """Parse thread counts.

    Raises: ArgumentTypeError for invalid ones.
    """
    words = text.split(",")
    if not all(word.isdecimal() and len(word) < 6 and 0 < int(word) <= MOST_THREADS for word in words):
        raise argparse.ArgumentTypeError(f"{text!r}: expected thread counts with commas, such as 8,4,1")
    return list(dict.fromkeys(map(int, words)))


def limits(text: str) -> list[int]:
    """Parse frequencies in kHz; empty for `none`.

    Raises: ArgumentTypeError for invalid ones.
    """
    if text == "none":
        return []
    matches = [FREQUENCY.fullmatch(word.strip()) for word in text.split(",")]
    if not all(matches):
        raise argparse.ArgumentTypeError(f"{text!r}: expected frequencies with commas, such as 2.4GHz,800MHz, or none")
    return list(dict.fromkeys(round(float(each[1]) * KHZ[each[2]]) for each in matches if each))


def runs(text: str) -> int:
    """Parse the number of runs of each setting.

    Raises: ArgumentTypeError for none, or too many.
    """
    if not (text.isdecimal() and 1 <= int(text[:4]) <= MOST_RUNS):
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1 to {MOST_RUNS}")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = "incprof advise [settings] -- COMMAND [ARGUMENT ...], or --of DIR [--counters FILE]"
    parser.add_argument(
        "--threads", type=threads, metavar="LIST", help="OMP_NUM_THREADS of the runs (default: 8,4,2,1 of 8)"
    )
    parser.add_argument(
        "--frequencies", type=limits, metavar="LIST",
        help="frequency limits, such as 2GHz,1.2GHz, or none (default: half way down and the lowest, where permitted)",
    )  # fmt: skip
    parser.add_argument("--runs", type=runs, default=3, metavar="N", help="runs of each setting (default: 3)")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=5.0,
        metavar="PCT",
        help="slowdown in percent that is still acceptable (default: 5)",
    )
    parser.add_argument(
        "-i",
        "--interval",
        type=settings.time,
        default=0.1,
        metavar="T",
        help="interval of the recordings (default: 100ms)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="new directory for the recordings (default: advise-<app>)"
    )
    parser.add_argument(
        "--power-command", metavar="NAME=COMMAND", help="command that prints watts, as for incprof sample"
    )
    parser.add_argument(
        "--sysfs", metavar="DIR", default="/sys", help="directory of frequencies and sensors (default: /sys)"
    )
    parser.add_argument("--of", metavar="DIR", help="a recording: run nothing, and advise by rules")
    parser.add_argument(
        "--counters",
        metavar="FILE",
        help="with --of: counters sampled during the run, which show what bounds each phase",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.advice/1")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Run, compare, print the advice."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    _check(args, command)
    if args.of is None and find_program(command[0]) is None:
        return NOT_FOUND
    from incprof.systems.counters.advise import advise, advise_on, thread_counts

    if args.of is not None:
        advice = advise_on(args.of, args.counters, listener=STDERR)
    else:
        output = Path(args.output or f"advise-{os.path.basename(command[0])}")
        sample = ["--sysfs", args.sysfs]
        sample += [] if args.power_command is None else ["--power-command", args.power_command]
        advice = advise(
            command, output, threads=args.threads or thread_counts(), khz=args.frequencies, rounds=args.runs,
            tolerance=args.tolerance / 100, interval=f"{args.interval:g}", sysfs=args.sysfs, sample=sample,
            listener=STDERR,
        )  # fmt: skip
    if args.json:
        from incprof.systems.counters.advice import write_json

        write_json(advice, sys.stdout)
    else:
        from incprof.systems.counters.advice import write_text

        write_text(advice, sys.stdout, width=text_width())
    return 0


def _check(args: argparse.Namespace, command: list[str]) -> None:
    """Reject invalid combinations before anything is run."""
    if args.of is None and not command:
        raise UsageError("advise: no command given: incprof advise [settings] -- COMMAND [ARGUMENT ...]")
    if args.of is not None and command:
        raise UsageError("advise: give either a recording (--of) or a command")
    if args.counters is not None and args.of is None:
        raise UsageError("advise: --counters goes with --of: incprof advise samples its own runs itself")
    if not 0 <= args.tolerance <= MOST_TOLERANCE:
        raise UsageError(f"--tolerance {args.tolerance:g}: expected a percentage from 0 to {MOST_TOLERANCE:g}")
