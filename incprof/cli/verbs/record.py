"""Run a program and record its interval profiles into a run directory.

    incprof record -i 0.5 -o run -- ./app input.txt
    incprof record -p 4711 --duration 60        # a program that runs already, from outside
    incprof record --external -- ./static-app   # and one that no library can be preloaded into

incprof replaces itself by the program: its exit status, output and signals are the program's own.
At its end, a line says where the recording is. `incprof help record` has the settings, as variables and in files too;
`incprof help attach` says what recording from outside needs.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from incprof.cli import verb_defaults
from incprof.command.helping import expert
from incprof.errors import UsageError
from incprof.record import launch, settings
from incprof.safe.printable import say
from incprof.symbols.elf.preflight import command_name, is_loader, main_program, warning_for

NAME = "record"
LEAST_STACK, MOST_STACK = 1024, 65024

USAGE = "incprof record [settings] -- COMMAND [ARGUMENT ...], or -p PID, or --external -- COMMAND ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = USAGE
    verb_defaults.add_arguments(parser)
    parser.add_argument(
        "--all", action="store_true", help="all that can be recorded: --counters, --io, --memory, --gpu"
    )
    outside = parser.add_argument_group("from outside")
    how = outside.add_mutually_exclusive_group()
    how.add_argument("-p", "--pid", metavar="PID", help="record a process that runs already, and its children")
    how.add_argument("--external", action="store_true", help="record from outside: for static programs, musl and Go")
    outside.add_argument(
        "--duration", type=settings.duration, metavar="T", help="end the recording after this time, such as 2m"
    )
    stack = outside.add_argument(
        "--stack", type=stack_bytes, metavar="BYTES", help="bytes of a thread's stack to unwind (default: 16384)"
    )
    expert(stack)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def stack_bytes(text: str) -> int:
    """Parse the bytes of the stack that the kernel copies with each sample, at most 64 KiB.

    Raises: ArgumentTypeError for anything else.
    """
    if not text.isdecimal() or not LEAST_STACK <= int(text) <= MOST_STACK:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of bytes from {LEAST_STACK} to {MOST_STACK}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Become the recorded program, or its recorder. Returns only if that cannot be started."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if args.pid is not None or args.external:
        return from_outside(args, command)
    if args.duration is not None or args.stack is not None:
        raise UsageError(f"record: --duration and --stack are for -p and --external: {USAGE}")
    if not command:
        raise UsageError("record: no command given: incprof record [settings] -- COMMAND [ARGUMENT ...]")
    flags = vars(args) | (settings.switched_on(vars(args)) if args.all else {})
    environment = {**os.environ, **launch.recording_variables(flags, os.environ), **launch.CLOSING_LINE}
    for flag in ("io", "memory", "gpu"):
        is_set = environment.get(f"INCPROF_{flag.upper()}", "0") != "0"
        if is_set and environment.get("INCPROF_FORMAT") == "gmon":
            raise UsageError(f"record: --{flag} needs a stream: leave out --format gmon")
    injected = os.environ.get(launch.INJECTION)
    is_foreign = injected and os.path.basename(injected) != launch.GPU_LIBRARY
    is_gpu, is_first = environment.get("INCPROF_GPU", "0") != "0", not launch.launcher_rank(environment)
    if is_gpu and is_first and is_foreign and environment.get("INCPROF_LOG") != "quiet":
        say(f"record: {launch.INJECTION} is set already, to {injected}: nothing of CUDA is recorded")
    program = launch.find_program(command[0])
    if program is None:
        return launch.NOT_FOUND
    environment.pop(launch.PROGRAM, None)
    main_executable = main_program(program, command[1:])
    # A program that cannot be preloaded into is reported here, once.
    if named := main_executable or main_program(program, command[1:], static=True):
        # A program started through the dynamic loader has the loader's name in the kernel.
        environment[launch.PROGRAM] = os.path.realpath(program) if is_loader(program) else named
    if environment.get("INCPROF_FOLLOW") not in ("0", "false"):
        environment |= launch.job_variables(command_name(command, main_executable), environment)
    warning = warning_for(program, command[1:], environment.get("INCPROF_EXE", ""))
    if warning and environment.get("INCPROF_LOG") != "quiet":
        say(warning)
    environment |= _lack_of_counters(environment)
    return launch.become(program, command, environment)


def _lack_of_counters(environment: Mapping[str, str]) -> dict[str, str]:
    """Report once what each process of a job, and each rank of a launcher, would; return what to set instead."""
    is_on = environment.get("INCPROF_COUNTERS", "0") not in ("0", "no", "off", "false")
    if not is_on:
        return {}
    from incprof.record.machine import lack_of_counters

    lack = lack_of_counters()
    if lack is None:
        return {}
    if environment.get("INCPROF_LOG") != "quiet" and not launch.launcher_rank(environment):
        say(lack)
    return {"INCPROF_LACK_REPORTED": "1"}


def from_outside(args: argparse.Namespace, command: list[str]) -> int:
    """Become incprof-attach, which records a process from outside."""
    if bool(command) == (args.pid is not None):
        raise UsageError(f"record: {'two things' if command else 'nothing'} to record: {USAGE}")
    for flag in ("io", "memory", "gpu", "gpu-trace", "all"):
        if getattr(args, flag):
            raise UsageError(
                f"record: --{flag} needs a library inside the program: leave it out with -p and --external"
            )
    if args.clock == "cpu":
        raise UsageError("record: --clock cpu needs a timer inside the program: -p and --external use perf's clock")
    environment = {**os.environ, **settings.resolve(vars(args), os.environ), **launch.CLOSING_LINE}
    environment.pop(launch.PROGRAM, None)
    words = [launch.ATTACHER]
    if args.duration is not None:
        words += ["--for", f"{args.duration:.9f}"]
    if args.stack is not None:
        words += ["--stack", str(args.stack)]
    if args.pid is not None:
        words += ["--pid", args.pid]
    else:
        program = launch.find_program(command[0])
        if program is None:
            return launch.NOT_FOUND
        if main_executable := main_program(program, command[1:], static=True):
            environment[launch.PROGRAM] = main_executable
        environment |= launch.directory_variable(command_name(command, main_executable), environment)
        words += ["--program", program, "--", *command]
    return launch.become(str(launch.find_attacher(os.environ)), words, environment)
