"""Unusual command lines, on undamaged inputs."""

from __future__ import annotations

import argparse
import random
from functools import cache

from incprof.cli.parser import build_parser
from soak.mutate_json import HOSTILE_TEXTS
from soak.subject import Command

# Nothing here writes a file, runs a command, or waits for something.
VERBS: tuple[Command, ...] = (
    ("phases", "run"),
    ("phases", "run", "--json"),
    ("sites", "run", "--source", "src"),
    ("instrument", "run", "--source", "src"),
    ("export", "run", "--format", "csv"),
    ("export", "run", "--format", "folded"),
    ("diff", "run", "run"),
    ("check", "run/rank-00000.gmon"),
    ("heartbeats", "ekg"),
    ("heartbeats", "ekg", "--json"),
    ("validate", "run", "ekg"),
    ("selfanalyze", "sa"),
    ("periods", "run"),
    ("periods", "ekg"),
    ("config", "show"),
    ("env",),
    ("completion", "bash"),
    ("top", "--once", "run"),
)
# All but --debug, which asks for a traceback, and --follow, which waits for ever.
OPTIONS = (
    "--rank", "--pid", "--exe", "--libs", "--method", "--k", "--seed", "--jobs", "--overhead", "--explain", "--json",
    "--csv", "--site", "--format", "--table", "--phase", "--fail-on", "--noise", "--time", "--thread", "--id",
    "--all", "--keep", "--column", "--interval", "--range", "--most", "--compare", "--window", "--theta",
    "--shortest", "--alpha", "--gap", "--ceiling", "--iterations", "--shuffles", "--threads", "--align",
    "--min-agreement", "--style", "--macro-blank", "--heartbeats", "--baseline", "-i", "-r", "--ranks", "--clock",
    "--log", "--every", "--against", "--exact", "--slide", "--longest-window", "--nosuch", "-h",
    "--cflags", "--preload", "--libpath", "--one-rank", "--allow-changed", "--medoid-sample",
    "--events", "--tolerance",
)  # fmt: skip
NUMBERS = ("0", "-1", "1", "2", "1e400", "nan", "-inf", "9" * 400, "0.0", "-0", "1e-320", "0x10", "1_0", "\u0663",
           "3:1", ":", "5:", ":5", "-5:-1", "0,4-7", "7-4", "0-99999999999", ",", "phase>10%", "mean>-1ms",
           "solve:rate<nan%", ">", "1/1", "self:solve", "solve:loop", "1ms", "1e9s", "1:mean", "9:count")  # fmt: skip
VALUES = (*NUMBERS, *(text for text in HOSTILE_TEXTS if "/" not in text and "\0" not in text))


@cache
def options_of(verb: str) -> tuple[str, ...]:
    """Return those of the options that a verb has; all, if it has none of them."""
    (verbs,) = (a for a in build_parser(verb, configured=False)._actions if isinstance(a, argparse._SubParsersAction))
    own = {flag for action in verbs.choices[verb]._actions for flag in action.option_strings}
    return tuple(option for option in OPTIONS if option in own) or OPTIONS


def draw_words(dice: random.Random, words: Command) -> Command:
    """Return a command line in which some words are replaced, added or missing."""
    drawn = list(words)
    for _ in range(dice.choice((1, 1, 2, 3))):
        kind = dice.random()
        if kind < 0.75:
            at = dice.randrange(1, len(drawn) + 1)
            options = options_of(words[0]) if dice.random() < 0.9 else OPTIONS
            drawn[at:at] = [dice.choice(options), *[dice.choice(VALUES)] * (dice.random() < 0.8)]
        elif kind < 0.9:
            drawn[dice.randrange(len(drawn))] = dice.choice(VALUES)
        elif len(drawn) > 1:
            del drawn[dice.randrange(1, len(drawn))]
    # Where one of these is missing, it would watch for ever, or run a program.
    needed = {"top": "--once", "selfanalyze": "sa"}.get(drawn[0], drawn[0])
    return tuple(drawn) if needed in drawn and "--" not in drawn else words
