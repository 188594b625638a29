"""Watch a running job: its phase, its hottest functions and its heartbeats now.

    incprof top gmon-app                    # q or Ctrl-C leaves; ends by itself when the job does
    incprof top gmon-app --plain            # a line for each update, for logs
    incprof top gmon-app --once             # one frame

The run directory is only read. `incprof help top` explains the screen.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.options import LIBS, selected_libs
from incprof.errors import UsageError
from incprof.record.settings import time

if TYPE_CHECKING:
    from incprof.systems.live.watch import Watch

NAME = "top"
NICE = 10
# Without a terminal the user cannot see that no data arrives.
WAIT_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("directory", metavar="DIR", help="run directory; it need not exist yet")
    parser.add_argument("--rank", type=int, metavar="R", help="only this rank (default: all, a row each)")
    parser.add_argument("--exe", metavar="FILE", help="the program, if it is not where it was recorded")
    libs = parser.add_argument(
        "--libs",
        choices=LIBS,
        help="charge time in libraries to their functions (named), the caller, the library, or drop it",
    )
    expert(libs)
    parser.add_argument(
        "--heartbeats", metavar="EKG-DIR", help="heartbeats to show (default: the job's, if beside DIR)"
    )
    parser.add_argument(
        "--every", "-i", "--interval", type=time, default=1.0, metavar="T", help="time between updates (default: 1s)"
    )
    parser.add_argument(
        "--wait",
        type=time,
        metavar="T",
        help="how long to wait for a job that has not begun (default: for ever; 1m without a terminal)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--once", action="store_true", help="print one frame and end")
    form.add_argument("--plain", action="store_true", help="print a line for each update (default without a terminal)")
    form.add_argument("--json", action="store_true", help="print an object for each update, schema incprof.top/1")


def run(args: argparse.Namespace) -> int:
    """Watch until the job has ended."""
    if not 0.05 <= args.every <= 3600:
        raise UsageError(f"--every {args.every:g}: expected seconds from 0.05 to 3600")
    if args.wait is not None and not 0 <= args.wait < math.inf:
        raise UsageError(f"--wait {args.wait:g}: expected seconds from 0 on")
    if args.rank is not None and args.rank < 0:
        raise UsageError(f"--rank {args.rank}: expected a number from 0")
    libs = selected_libs(args.libs)
    # Lower the priority before anything is loaded: the job comes first if the two share a processor.
    with suppress(OSError):
        os.nice(max(NICE - os.nice(0), 0))
    from incprof.command.terminal import STDERR
    from incprof.systems.live.session import Session
    from incprof.systems.live.show import once, plain, screen
    from incprof.systems.live.watch import Watch

    watch = Watch(args.directory, rank=args.rank, libs=libs, exe=args.exe)
    session = Session(watch, heartbeats=args.heartbeats, every_s=args.every, wait_s=wait_s(args), listener=STDERR)
    lines = args.plain or args.json or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb"
    show = once if args.once else plain if lines else screen
    try:
        status = show(session, args)
    except KeyboardInterrupt:
        _leave(watch, 130)
        raise
    except SystemExit as stop:  # a signal
        _leave(watch, stop.code if isinstance(stop.code, int) else 1)
        raise
    _leave(watch, status)
    return status


def wait_s(args: argparse.Namespace) -> float:
    """Return how long to wait for a job that has not begun."""
    if args.wait is not None:
        return float(args.wait)
    return 0.0 if args.once else math.inf if sys.stdout.isatty() else WAIT_S


def _leave(watch: Watch, status: int) -> None:
    """Exit at once if a thread is busy in C code that cannot be interrupted; else return to the caller."""
    if not watch.close():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
