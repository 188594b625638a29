"""Record counters of a program, a process or the machine, a row for each interval, for incprof periods.

    incprof sample -o run.csv -- ./app input.txt
    incprof sample -i 1ms -e instructions,ref-cycles -p 4711 --for 60
    incprof sample --system -o node.csv -- incprof record -- ./app
    incprof sample --list

incprof replaces itself by its sampler, which starts the program: exit status, output and signals are the program's own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
from pathlib import Path

from incprof.command.helping import expert_flags
from incprof.errors import IncprofError, UsageError
from incprof.record import launch, settings
from incprof.safe.printable import say

NAME = "sample"
NOT_FOUND = 127
USAGE = "incprof sample [settings] -- COMMAND [ARGUMENT ...], or -p PID, or --system [-- COMMAND ...]"
# Intervals of energy counters and of the kernel's counters match how often they change.
OF_A_PROGRAM_S, OF_A_NODE_S = 0.005, 1.0
POWER = ("auto", "none", "rapl", "hwmon", "battery", "cray", "ipmi")
SHORTEST_S, LONGEST_S = 1e-4, 3600.0
MOST_FILES = 10000


def interval(text: str) -> float:
    """Parse the seconds between rows.

    Raises: ArgumentTypeError where it is too short or too long.
    """
    seconds = settings.time(text)
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a time from 100us to 3600s")
    return seconds


def rate(text: str) -> float:
    """Parse a rate in rows per second, and return the seconds between rows.

    Raises: ArgumentTypeError where it is too high or too low.
    """
    hertz = settings.rate(text)
    if not 1 / LONGEST_S <= hertz <= 1 / SHORTEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a rate up to 10kHz, and at least one row an hour")
    return 1 / hertz


def process(text: str) -> int:
    """Parse the number of a process.

    Raises: ArgumentTypeError for anything but a whole number above 0.
    """
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a process")
    return int(text)


def power(text: str) -> str:
    """Parse kinds of power sensors, separated by commas.

    Raises: ArgumentTypeError for an unknown one.
    """
    for kind in text.split(","):
        if kind not in POWER:
            raise argparse.ArgumentTypeError(f"{kind!r} is not a kind of power: expected one of {', '.join(POWER)}")
    return text


def power_command(text: str) -> str:
    """Parse NAME=COMMAND.

    Raises: ArgumentTypeError for anything else.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}=.+", text, re.DOTALL):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=COMMAND, such as pdu='snmpget ...'")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = USAGE
    often = parser.add_mutually_exclusive_group()
    often.add_argument(
        "-i", "--interval", type=interval, metavar="T", help="time between rows (default: 5ms; --system 1s)"
    )
    often.add_argument(
        "-r", "--rate", type=rate, dest="interval", metavar="HZ", help="rows per second instead, such as 200 or 1kHz"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.csv", help="output file, - for stdout (default: sample-<app>.csv)"
    )
    parser.add_argument("-e", "--events", default="default", metavar="LIST", help="names with commas, rNNN, or all")
    parser.add_argument(
        "--for", type=settings.duration, dest="duration", metavar="T", help="end sampling after this time, such as 2m"
    )
    parser.add_argument(
        "--power", type=power, metavar="KINDS", help=f"{', '.join(POWER)}, with commas (--system auto, else none)"
    )
    parser.add_argument(
        "--power-command",
        type=power_command,
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="a command that prints watts: once, or a line from time to time; may be repeated",
    )
    parser.add_argument("--sysfs", default="/sys", metavar="DIR", help="directory of the sensors (default: /sys)")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--list", action="store_true", help="show what can be sampled here, and why not")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-p", "--pid", type=process, metavar="PID", help="sample a running process and its children")
    what.add_argument("--system", action="store_true", help="sample the whole machine, with its power")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")
    expert_flags(parser, "--power-command", "--sysfs")


def run(args: argparse.Namespace) -> int:
    """Become the sampler. Returns only if that fails."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    events = "node" if args.system and args.events == "default" else args.events
    words = ["--events", events, "--power", args.power or ("auto" if args.system else "none"), "--sysfs", args.sysfs]
    words += [word for command_given in args.power_command for word in ("--power-command", command_given)]
    if args.pid is not None:
        words += ["--pid", str(args.pid)]
    if args.system:
        words += ["--system"]
    if args.list:
        return become([*words, "--list"])
    if (command and args.pid is not None) or not (command or args.system or args.pid is not None):
        raise UsageError(f"sample: {'two things' if command else 'nothing'} to sample: {USAGE}")
    program = (command[0] if "/" in command[0] else shutil.which(command[0])) if command else ""
    if program is None:
        say(f"{command[0]}: command not found")
        return NOT_FOUND
    seconds = args.interval or (OF_A_NODE_S if args.system else OF_A_PROGRAM_S)
    words += ["--interval", f"{seconds:.9f}", "--output", target(args.output, args, command)]
    if args.duration is not None:
        words += ["--for", f"{args.duration:.9f}"]
    if args.force:
        words += ["--force"]
    return become([*words, "--program", program, "--", *command] if command else words)


def target(path: str | None, args: argparse.Namespace, command: list[str]) -> str:
    """Return the file to write: the given one, or a new one named after the sampled target.

    Raises:
        UsageError: its format is not supported, or it would mix with the program's output.
    """
    if path == "-" and command:
        raise UsageError("sample: -o - would mix with the program's output: give a file, or a named pipe")
    if path is not None:
        if Path(path).suffix in (".npy", ".parquet", ".pq"):
            raise UsageError(f"{path}: sample writes CSV only: give a name that ends in .csv")
        return path
    of_program = command and not args.system
    stem = f"sample-{Path(command[0]).name if of_program else args.pid or 'system'}"
    for number in range(MOST_FILES):
        name = f"{stem}.{number}.csv" if number else f"{stem}.csv"
        if not os.path.lexists(name):
            return name
    raise UsageError(f"{stem}: too many files of that name: give another one with -o")


def become(words: list[str]) -> int:
    """Replace this process by the sampler, whose exit status it takes."""
    sampler = launch.find_sampler(os.environ)
    try:
        launch.replace_process(str(sampler), [launch.SAMPLER, *words], os.environ)
    except OSError as error:
        raise IncprofError(f"{sampler}: cannot be run: {error.strerror}") from None
