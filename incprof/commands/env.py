"""Print the environment that recording needs.

Without a flag, shell lines that set it:

    eval "$(incprof env)"; ./app

or, for one command, LD_PRELOAD=$(incprof env --libpath) ./app
"""

from __future__ import annotations

import argparse
import os
import shlex

from incprof import config, launch

NAME = "env"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--libpath", action="store_true", help="print the path of libincprof.so")
    what.add_argument(
        "--preload", action="store_true", help="print the value for LD_PRELOAD, existing entries included"
    )
    config.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was asked for."""
    if args.libpath:
        print(launch.find_library(os.environ))
        return 0
    variables = launch.recording_variables(vars(args), os.environ)
    if args.preload:
        print(variables["LD_PRELOAD"])
        return 0
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0
