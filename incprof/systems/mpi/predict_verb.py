"""Predict how long an MPI program takes here, from its signature: run its beginning, and end it.

    mpirun -n 4 incprof predict app.signature -- ./app input.txt

The program is run until every phase has been seen often enough, and ended with status 0. The exit status is 3
where the run does not follow its signature. `incprof help predict` has the rest.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from incprof.command.terminal import warn
from incprof.errors import GateError, UsageError
from incprof.record import launch
from incprof.record.mpi_wrappers import traced_environment
from incprof.safe.printable import say

if TYPE_CHECKING:
    from incprof.systems.mpi.analyse.extrapolation import Prediction
    from incprof.systems.mpi.trace_types import SignatureFile

NAME = "predict"
# Time for a rank that starts later, on a busy node, to report why nothing is run.
REPORTED_S = 30.0
# Greatest length of a value in the environment; the kernel's limit is 128 KiB.
MOST_TEXT = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = "incprof predict SIGNATURE [-o DIR] [--full] [--json] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("signature", metavar="SIGNATURE", help="file that incprof signature -o has written")
    _add_settings(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", help="run directory of the beginning (predict-<app>)")
    parser.add_argument("--full", action="store_true", help="run it to its end, and report the error of the prediction")
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.predict/1")
    parser.add_argument(
        "--accept",
        metavar="WHAT",
        action="append",
        default=[],
        help="differences to accept: arguments, input or binary",
    )


def _command(args: argparse.Namespace) -> list[str]:
    """Return the command. Words between the signature and `--` are settings, which argparse counts as the command.

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
    """Run the program; the representative rank, or the process before all ranks, reports the prediction."""
    command = _command(args)
    from incprof.systems.mpi.trace_file import read_signature

    signature = read_signature(args.signature)
    program = launch.find_program(command[0])
    if program is None:
        return launch.NOT_FOUND
    output = args.output or f"predict-{signature.app}"
    environment = {**os.environ, **traced_environment(output)}
    accepted = _accepted(args.accept)
    rank = launch.launcher_rank(os.environ)
    wrong = list(_refusals(signature, program, command, accepted))
    if wrong:
        if rank in (None, 0):
            say(f"the program does not follow the signature: {wrong[0]}")
        else:
            # Launchers end all ranks when the first one fails: the one that reports the reason must be first.
            time.sleep(REPORTED_S)
        return GateError.exit_code
    until = None if args.full else _until(signature)
    if until is not None:
        environment["INCPROF_TRACE_UNTIL"] = until
    if rank is not None and rank != signature.rank:
        return launch.become(program, command, environment)
    if until is None and not args.full:
        warn(["the signature has no point before the program's end at which all ranks can stop: running it to its end"])
    since_ns = time.time_ns()
    try:
        status, pid = _run(program, command, environment)
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return launch.NOT_EXECUTABLE
    if status != 0:
        say(f"{command[0]} ended with status {status}: no prediction")
        return status
    from incprof.systems.mpi.prediction import predict, trace_of

    directory, path = trace_of(output, signature, pid if rank is not None else None, since_ns)
    prediction = predict(signature, path, directory, whole=until is None, accepted=accepted)
    return _write(prediction, as_json=args.json)


def _accepted(words: list[str]) -> frozenset[str]:
    """Return the accepted differences from the signature. Raises: UsageError: one is unknown."""
    from incprof.systems.mpi.process_events import DIFFERENCES

    accepted = frozenset(word for one in words for word in one.split(","))
    for word in sorted(accepted - set(DIFFERENCES)):
        raise UsageError(f"--accept {word}: one of {', '.join(DIFFERENCES)}")
    return accepted


def _refusals(signature: SignatureFile, program: str, command: list[str], accepted: frozenset[str]) -> Iterator[str]:
    """Yield differences from the signature before the run. One started by a launcher is compared after it."""
    from incprof.systems.mpi.process_events import differences, other_ranks, program_here

    yield from other_ranks(signature.ranks, launch.launcher_size(os.environ))
    if os.path.basename(program) == signature.app:
        program_now = program_here(program, command[1:])
        for what, line in differences(signature.program, program_now):
            if what not in accepted:
                yield f"{line}; --accept {what} predicts all the same"


def _until(signature: SignatureFile) -> str | None:
    """Return where the library ends the program (trace/include/session.h); None: at its own end."""
    if signature.until is not None:
        return f"{signature.until}@{signature.ranks}"
    if signature.until_calls is None:
        return None
    ends = ",".join(f"{function}={calls}*{ranks}" for function, calls, ranks in signature.until_calls)
    return f"{ends}@{signature.ranks}" if len(ends) < MOST_TEXT else None


def _run(program: str, command: list[str], environment: Mapping[str, str]) -> tuple[int, int]:
    """Run the program and wait. Signals for it reach it: those of a terminal by itself, the others are passed on."""
    # Launchers pass on descriptors, by number.
    process = subprocess.Popen(command, executable=program, env=dict(environment), close_fds=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda which, _: process.send_signal(which))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = process.wait()
    return (128 - status if status < 0 else status), process.pid


def _write(prediction: Prediction, *, as_json: bool) -> int:
    """Write the prediction from the trace; return the exit status."""
    from incprof.systems.mpi.prediction_answer import write_json, write_text

    if prediction.differences:
        more = (
            f"; {len(prediction.differences) - 1} more in --json"
            if len(prediction.differences) > 1 and not as_json
            else ""
        )
        say(f"the program does not follow the signature: {prediction.differences[0]}{more}")
    if as_json:
        write_json(prediction, sys.stdout)
    elif any(prediction.measured) or not prediction.differences:
        write_text(prediction, sys.stdout)
    return GateError.exit_code if prediction.differences else 0
