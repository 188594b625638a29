"""The arguments of the verbs that place sites in the source."""

from __future__ import annotations

import argparse

from incprof.commands._phases import add_phase_arguments


def add_site_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say which sites are meant."""
    add_phase_arguments(parser)
    parser.add_argument(
        "--site", action="append", default=[], metavar="FUNC[:KIND]", help="this function instead; KIND is body or loop"
    )
    parser.add_argument("--allow-changed", action="store_true", help="take files that were changed since the recording")
