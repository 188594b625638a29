"""Command-line arguments that select heartbeats."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from incprof.record import units

if TYPE_CHECKING:
    from incprof.study.heartbeats.read import Filters

LARGEST_RANGE = 1_000_000


def filters_of(args: argparse.Namespace) -> Filters:
    """Return the filters given on the command line."""
    from incprof.study.heartbeats.read import Filters

    return Filters(args.rank, args.thread, args.id, args.time)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that select heartbeats."""
    parser.add_argument("--rank", type=numbers, metavar="LIST", help="only these ranks: 0 or 0,4-7")
    parser.add_argument("--thread", type=numbers, metavar="LIST", help="only these threads, by number")
    parser.add_argument("--id", type=words, metavar="LIST", help="only these ids or names: 1,3-5 or 'solve:*'")
    parser.add_argument("--time", type=seconds, metavar="A:B", help="only from A to B: 10:20 (seconds), :500ms, 1m:")


def numbers(text: str) -> frozenset[int]:
    """Parse a list of numbers such as 1,3-5."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,18})(?:-([0-9]{1,18}))?\s*", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high < low + LARGEST_RANGE:
            raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 0 or 1,3-5")
        found.update(range(low, high + 1))
    return frozenset(found)


def words(text: str) -> tuple[frozenset[int] | str, ...]:
    """Parse a list of ids and names into sets of numbers, and patterns for names."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise argparse.ArgumentTypeError("expected ids or names such as 1,3-5 or 'solve:*'")
    return tuple(numbers(part) if re.fullmatch(r"[0-9]+(-[0-9]+)?", part) else part for part in parts)


def seconds(text: str) -> tuple[float | None, float | None]:
    """Parse A:B into its ends in seconds, None for an omitted one."""
    match = re.fullmatch(r"([^:]*):([^:]*)", text)
    try:
        low, high = (units.seconds(end) if end else None for end in match.groups()) if match else (None, None)
    except ValueError:
        low = high = None
    if (low is None and high is None) or (low is not None and high is not None and not low < high):
        raise argparse.ArgumentTypeError(f"{text!r}: expected times A:B with A before B, as in 10:20, :500ms or 1m:")
    return low, high
