"""Print the environment that recording needs, and the flags that programs with heartbeats are built with.

Without a flag, shell lines that set the environment:

    eval "$(incprof env)"; ./app

or, for one command, LD_PRELOAD=$(incprof env --libpath) ./app. Heartbeats:

    gcc $(incprof env --cflags) app.c $(incprof env --libs) -o app
    gfortran $(incprof env --fflags) app.f90 $(incprof env --libs) -o app
"""

from __future__ import annotations

import argparse
import os
import shlex

from appekg import _flags, _fortran_module, _library
from incprof.cli import verb_defaults
from incprof.command.helping import expert_flags
from incprof.errors import IncprofError, UsageError
from incprof.record import launch

NAME = "env"
LINK = "link"  # the meaning of --libs without a mode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--libpath", action="store_true", help="print the path of libincprof.so")
    one.add_argument("--preload", action="store_true", help="print the value for LD_PRELOAD, existing entries included")
    one.add_argument("--pkgconfig", action="store_true", help="print the directory of appekg.pc, for PKG_CONFIG_PATH")
    one.add_argument(
        "--cmake", action="store_true", help="print the directory of appekgConfig.cmake, for CMAKE_PREFIX_PATH"
    )
    flags = parser.add_argument_group("flags of programs with heartbeats, on one line")
    flags.add_argument("--cflags", action="store_true", help="to compile C and C++")
    flags.add_argument("--fflags", action="store_true", help="to compile Fortran; compiles the module where needed")
    flags.add_argument(
        "--libs",
        nargs="?",
        const=LINK,
        metavar="MODE",
        help="to link; with a mode (caller, separate, drop) it is the setting of the recording",
    )
    flags.add_argument("--static", action="store_true", help="with --libs: the static library")
    flags.add_argument("--fc", metavar="COMMAND", help="with --fflags: the Fortran compiler ($FC, gfortran)")
    verb_defaults.add_arguments(parser, leave_out=("libs",))
    expert_flags(parser, "--libpath", "--static", "--fc", "--io", "--memory", "--ranks", "--exe")


def run(args: argparse.Namespace) -> int:
    """Print the requested environment or flags."""
    flags = [name for name in ("cflags", "fflags") if getattr(args, name)]
    if args.libs == LINK:
        flags.append("static" if args.static else "libs")
    check(args, flags)
    if args.libpath:
        print(launch.find_library(os.environ))
    elif args.pkgconfig:
        print(heartbeats().pkgconfig)
    elif args.cmake:
        print(heartbeats().cmake)
    elif flags:
        print(shlex.join(build_flags(flags, args.fc)))
    else:
        print_recording(args)
    return 0


def check(args: argparse.Namespace, flags: list[str]) -> None:
    """Raise UsageError for flags that exclude each other."""
    if args.static and "static" not in flags:
        raise UsageError("--static goes with --libs")
    if args.fc is not None and not args.fflags:
        raise UsageError("--fc goes with --fflags")
    if flags and (args.libpath or args.preload or args.pkgconfig or args.cmake):
        raise UsageError("--libpath, --preload, --pkgconfig and --cmake print one value; build flags go without them")


def print_recording(args: argparse.Namespace) -> None:
    """Print the environment of a recording."""
    variables = launch.recording_variables(vars(args), os.environ)
    if args.preload:
        print(variables["LD_PRELOAD"])
        return
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")


def heartbeats() -> _library.Installation:
    """Return the installation of libappekg."""
    try:
        return _library.find(os.environ)
    except FileNotFoundError as error:
        raise IncprofError(str(error)) from None


def build_flags(names: list[str], compiler: str | None) -> list[str]:
    """Return the requested flags."""
    library = heartbeats()
    words: list[str] = []
    try:
        if "cflags" in names:
            words += _flags.compile_flags(library)
        if "fflags" in names:
            words += _flags.fortran_flags(library, _fortran_module.module_directory(library, compiler, os.environ))
        if "libs" in names:
            words += _flags.link_flags(library)
        if "static" in names:
            words += _flags.static_link_flags(library)
    except (FileNotFoundError, _fortran_module.CompilerError) as error:
        raise IncprofError(str(error)) from None
    return words
