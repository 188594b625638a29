"""Compare heartbeats with the phases of a recorded run.

    incprof validate gmon-app ekg-app
    incprof validate gmon-app ekg-app --min-agreement 0.9 --json

The phases of GMON-DIR are found as `incprof phases` finds them. Each moment of the heartbeats in EKG-DIR is given to
the phase whose sites beat then, and the two timelines are compared. The heartbeats may be those of the recorded
process, or of another run of the program, such as its production build. `incprof help validate` explains the figures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.options import add_phase_arguments, add_run_arguments, check_phase_arguments, study_of
from incprof.command.output import check_gate
from incprof.command.terminal import text_width, wants_colour, warn
from incprof.errors import NoDataError, PartialDataError, UsageError

if TYPE_CHECKING:
    from incprof.systems.heartbeats.against_phases import Validation

NAME = "validate"
ALIGNMENTS = ("auto", "clock", "scale", "warp")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser, metavar="GMON-DIR")
    parser.add_argument("beats", metavar="EKG-DIR", help="heartbeats: a run directory, or one .ekg file")
    add_phase_arguments(parser)
    align = parser.add_argument(
        "--align", choices=ALIGNMENTS, default="auto",
        help="align the runs by the clock, evenly, or by time-warping (auto: clock for one process, else warp)",
    )  # fmt: skip
    expert(align)
    parser.add_argument(
        "--min-agreement", type=share, metavar="X", help="exit 3 if the agreement is below X, from 0 to 1"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.validate/1")


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 0 to 1")
    return value


def run(args: argparse.Namespace) -> int:
    """Read both runs, compare them, print the result, and check the agreement.

    Raises:
        GateError: the agreement is below --min-agreement.
    """
    check_phase_arguments(args)
    _check_order(args)
    study = study_of(args)
    from incprof.study.heartbeat_files import load_beats
    from incprof.systems.heartbeats.against_phases import validate

    process_beats = load_beats(args.beats, study.profile)
    warn(process_beats.heartbeats.warnings)
    warn(study.phases(confidence=False).warnings)
    found = validate(study, process_beats, align=args.align)
    from incprof.systems.heartbeats.validate_answer import write_json, write_text

    answer = study.summary, found.result, found.beats, found.agreement, found.overhead, sys.stdout
    if args.json:
        write_json(*answer)
    else:
        write_text(*answer, width=text_width(), colour=wants_colour())
    _check_agreement(found, args.min_agreement)
    return PartialDataError.exit_code if study.partial or process_beats.heartbeats.damaged else 0


def _check_order(args: argparse.Namespace) -> None:
    """Refuse directories in the wrong order, or of the same kind.

    Raises:
        UsageError: the first one holds only heartbeats, or the second one only a recording.
        NoDataError: the second one does not exist.
    """
    first, second = Path(args.directory), Path(args.beats)
    if _holds(first, "*.ekg") and not _holds(first, "*gmon*"):
        raise UsageError(f"{first} holds heartbeats: give the recording first, as in incprof validate GMON-DIR EKG-DIR")
    if not second.exists():
        raise NoDataError(f"{second}: no such directory")
    if _holds(second, "*gmon*") and not _holds(second, "*.ekg"):
        raise UsageError(f"{second} holds a recording: give heartbeats second, as in incprof validate GMON-DIR EKG-DIR")


def _holds(directory: Path, pattern: str) -> bool:
    """Return whether a directory has matching files."""
    return directory.is_dir() and next(directory.glob(pattern), None) is not None


def _check_agreement(found: Validation, least: float | None) -> None:
    """Check the agreement against the required minimum.

    Raises:
        GateError: it is below.
    """
    agreement = found.agreement.agreement
    if least is not None and agreement < least:
        check_gate([f"agreement {agreement:.3f} is below {least:g}"])
