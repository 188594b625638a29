"""Predict how long an MPI program takes here, from its signature: run its beginning, and end it.

    mpirun -n 4 incprof predict app.signature -- ./app input.txt

The program is run until every phase has been seen often enough, and ended with status 0. `incprof help predict` has
the rest.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from incprof import launch
from incprof.commands.becoming import NOT_EXECUTABLE, NOT_FOUND, become, find_program
from incprof.commands.terminal import warn
from incprof.errors import UsageError
from incprof.printable import say
from incprof.tracing import variables

if TYPE_CHECKING:
    from incprof.study.signature import SignatureFile

NAME = "predict"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = "incprof predict SIGNATURE [-o DIR] [--full] [--json] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("signature", metavar="SIGNATURE", help="file that incprof signature -o has written")
    _add_settings(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", help="run directory of the beginning (predict-<app>)")
    parser.add_argument("--full", action="store_true", help="run it to its end, and say how far off the prediction is")
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.predict/1")


def _command(args: argparse.Namespace) -> list[str]:
    """Return the command. What stands between the signature and `--` are settings: argparse takes them for its words.

    Raises:
        UsageError: there is no command, or no such setting.
    """
    words: list[str] = args.command
    if "--" in words:
        at = words.index("--")
        settings = argparse.ArgumentParser(exit_on_error=False, add_help=False, argument_default=argparse.SUPPRESS)
        _add_settings(settings)
        try:
            _, unknown = settings.parse_known_args(words[:at], args)
        except argparse.ArgumentError as error:
            raise UsageError(f"predict: {error}") from None
        if unknown:
            raise UsageError(f"predict: {unknown[0]}: no such setting (see incprof predict --help)")
        words = words[at + 1 :]
    if not words:
        raise UsageError("predict: no command given: incprof predict SIGNATURE -- COMMAND [ARGUMENT ...]")
    return words


def run(args: argparse.Namespace) -> int:
    """Run the program; the representative rank, or what stands before all ranks, says what follows."""
    command = _command(args)
    from incprof.study.signature import read_signature

    signature = read_signature(args.signature)
    program = find_program(command[0])
    if program is None:
        return NOT_FOUND
    output = args.output or f"predict-{signature.app}"
    environment = {**os.environ, **variables(output)}
    if not args.full and signature.until is not None:
        environment["INCPROF_TRACE_UNTIL"] = str(signature.until)
    rank = launch.launcher_rank(os.environ)
    if rank is not None and rank != signature.rank:
        return become(program, command, environment)
    if not args.full and signature.until is None:
        warn(["the program has no call of all ranks together at which it could be ended: it is run to its end"])
    try:
        status, pid = _run(program, command, environment)
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return NOT_EXECUTABLE
    if status != 0:
        say(f"{command[0]} ended with status {status}: nothing is predicted")
        return status
    whole = args.full or signature.until is None
    return _tell(signature, output, pid if rank is not None else None, args, whole=whole)


def _run(program: str, command: list[str], environment: Mapping[str, str]) -> tuple[int, int]:
    """Run the program and wait. Signals for it reach it: those of a terminal by itself, the others are passed on."""
    # Launchers hand descriptors on, by number.
    process = subprocess.Popen(command, executable=program, env=dict(environment), close_fds=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda which, _: process.send_signal(which))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = process.wait()
    return (128 - status if status < 0 else status), process.pid


def _tell(signature: SignatureFile, output: str, pid: int | None, args: argparse.Namespace, *, whole: bool) -> int:
    """Say what follows from the trace."""
    from incprof.report.json.predict import write_json
    from incprof.report.text.predict import write_text
    from incprof.study.signature import predict, trace_of

    directory, path = trace_of(output, signature.rank, pid)
    found = predict(signature, path, directory, whole=whole)
    for doubt in found.doubts:
        say(f"the program does not follow the signature: {doubt}")
    if args.json:
        write_json(found, sys.stdout)
    else:
        write_text(found, sys.stdout)
    return 0
