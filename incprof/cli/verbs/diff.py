"""Compare two recorded runs: which phases, steps and functions became slower, beyond noise.

    incprof diff gmon-old gmon-new
    incprof diff old1 old2 old3 --against new1 new2 new3      # several runs of each measure the scatter
    incprof diff old1 old2 --against new1 new2 --fail-on 'phase>10%'      # exit 3 if a phase is slower by more

Phases are matched by what they do, not by their number.
`incprof help diff` explains the output, and has a recipe for CI.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.cli.systems import amounts_of
from incprof.command.helping import expert_flags
from incprof.command.options import (
    LIBS,
    add_phase_arguments,
    check_phase_arguments,
    phase_options,
    ranks_of,
    selected_libs,
)
from incprof.command.output import check_gate, check_target
from incprof.command.output import write_text as write_file
from incprof.command.terminal import STDERR, text_width, wants_colour
from incprof.errors import NoDataError, PartialDataError, UsageError

if TYPE_CHECKING:
    from incprof.study import Study
    from incprof.study.comparison import Sides

NAME = "diff"
MOST_NOISE = 50.0
MOST_RUNS = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("runs", nargs="+", metavar="DIR", help="A, the baseline, and B; with --against: runs of A")
    parser.add_argument("--against", nargs="+", metavar="DIR", help="runs of B, where a side has several")
    parser.add_argument(
        "--fail-on", metavar="COND", action="append", default=[],
        help="exit 3 if this holds, 4 if one run of each is the only evidence: "
        "'phase>10%%', 'solve:phase>0.5s', 'run>5%%', 'waiting>10%%', 'share>5', 'calls>0', "
        "'energy>5%%'; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--noise",
        type=float,
        metavar="PCT",
        help="scatter from run to run, with one run of each (default: 1 to 6, by their share of the CPU)",
    )
    parser.add_argument(
        "--time", choices=("both", "wall", "cpu"), default="both",
        help="time by which phases and the run are compared: wall time confirmed by CPU time (both), or one alone",
    )  # fmt: skip
    parser.add_argument(
        "--counters", metavar="FILE", action="append", default=[],
        help="power sampled during A by incprof sample --system: compares energy too; one file for each run",
    )  # fmt: skip
    parser.add_argument("--counters-b", metavar="FILE", action="append", default=[], help="likewise beside B")
    parser.add_argument("--rank", type=int, metavar="R", help="rank to compare (default: the lowest of each run)")
    parser.add_argument("--exe", metavar="FILE", help="the program, if it is not where it was recorded")
    parser.add_argument("--exe-b", metavar="FILE", help="the program of B, if it differs")
    parser.add_argument(
        "--libs",
        choices=LIBS,
        help="charge time in libraries to their functions (named), the caller, the library, or drop it",
    )
    parser.add_argument(
        "--all", action="store_true", help="show every function, not only those that changed or take some time"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, schema incprof.diff/1")
    form.add_argument("--markdown", action="store_true", help="Markdown, for the summary of a CI job")
    parser.add_argument("--html", metavar="FILE", help="also write a page for a browser; - is stdout")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add_phase_arguments(parser)
    expert_flags(parser, "--counters", "--counters-b", "--exe", "--exe-b", "--libs", "--k", "--level")


def run(args: argparse.Namespace) -> int:
    """Read, compare, print, judge."""
    from incprof.study.comparison import compare_sides, conditions_of

    conditions = conditions_of(args.fail_on)
    _check(args)
    check_counters(args, wanted=any(condition.metric == "energy" for condition in conditions))
    a, b = directories(args)
    sides = compare_sides(
        studies(a, args.exe, args), studies(b, args.exe_b or args.exe, args), conditions,
        noise=None if args.noise is None else args.noise / 100, clock=args.time,
        counters=(*args.counters, *args.counters_b), amounts=amounts_of,
    )  # fmt: skip
    STDERR.warn(sides.warnings)
    write(sides, args)
    from incprof.report.words.diff_words import broken_line, run_gate_lines, undecided_lines, unsure_lines

    sys.stdout.flush()
    STDERR.warn([*unsure_lines(sides.unsure), *undecided_lines(sides.undecided)])
    decided = (condition for condition, _ in (*sides.failed, *sides.unsure, *sides.undecided))
    STDERR.warn(run_gate_lines(sides.comparison.run, conditions, decided))
    check_gate([broken_line(condition, row) for condition, row in sides.failed])
    if sides.undecided:
        return NoDataError.exit_code
    return PartialDataError.exit_code if sides.damaged else 0


def directories(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the run directories of both sides.

    Raises:
        UsageError: the arguments are ambiguous.
    """
    if args.against is None:
        if len(args.runs) != 2:
            raise UsageError(
                f"{len(args.runs)} run{'s' * (len(args.runs) != 1)}: give A and B, or several of each: "
                "incprof diff A1 A2 --against B1 B2"
            )
        return [args.runs[0]], [args.runs[1]]
    if max(len(args.runs), len(args.against)) > MOST_RUNS:
        raise UsageError(f"more than {MOST_RUNS} runs on a side: give fewer")
    return list(args.runs), list(args.against)


def check_counters(args: argparse.Namespace, *, wanted: bool) -> None:
    """Reject counters that do not match the runs. wanted: a condition uses energy."""
    a, b = directories(args)
    given = len(args.counters), len(args.counters_b)
    if given == (0, 0):
        if wanted:
            raise UsageError(
                "--fail-on: energy needs power sampled during both sides: --counters FILE, --counters-b FILE"
            )
        return
    for option, files, runs, side in (("--counters", given[0], len(a), "A"), ("--counters-b", given[1], len(b), "B")):
        if files != runs:
            raise UsageError(
                f"{option} was given {files} time{'s' * (files != 1)}, and {side} has {runs} run{'s' * (runs != 1)}: "
                "give a file for each"
            )


def studies(paths: list[str], exe: str | None, args: argparse.Namespace) -> list[Study]:
    """Return the runs of a side."""
    from incprof.study import Study

    libs, options, ranks = selected_libs(args.libs), phase_options(args), ranks_of(args.ranks)
    return [
        Study(path, rank=args.rank, exe=exe, libs=libs, options=options, ranks=ranks, listener=STDERR) for path in paths
    ]


def _check(args: argparse.Namespace) -> None:
    """Reject invalid combinations before anything is read."""
    check_phase_arguments(args)
    a, b = directories(args)
    if args.noise is not None:
        if not 0 <= args.noise <= MOST_NOISE:
            raise UsageError(f"--noise {args.noise:g}: expected a percentage from 0 to {MOST_NOISE:g}")
        if len(a) + len(b) > 2:
            raise UsageError("--noise is for one run of each: several runs measure the scatter themselves")
    if args.html == "-" and (args.json or args.markdown):
        raise UsageError("--html - and another form would both go to stdout: give the page a file")
    if args.html is not None:
        check_target(args.html, force=args.force, binary=False)


def write(sides: Sides, args: argparse.Namespace) -> None:
    """Print the answer in the requested forms."""
    if args.html is not None:
        from incprof.report.page.diff_page import page

        text = page(sides.comparison, sides.failed, sides.warnings)
        write_file(args.html, lambda out: out.write(text))
        if args.html == "-":
            return
    if args.json:
        from incprof.report.json.diff_json import write_json

        write_json(sides.comparison, sides.failed, sides.warnings, sys.stdout)
    elif args.markdown:
        from incprof.report.text.diff_text import write_markdown

        write_markdown(sides.comparison, sides.failed, sides.warnings, sys.stdout)
    else:
        from incprof.report.text.diff_text import write_text

        write_text(sides.comparison, sys.stdout, width=text_width(), colour=wants_colour(), every=args.all)
