"""Files of settings, and command lines."""

from __future__ import annotations

import random
from collections.abc import Sequence

from soak.mutate import TEXT, Mutator, mutate
from soak.subject import Command, Subject, Tree

FILE = b"""# settings
[record]
interval = 0.5
rate = 200
ranks = [0, "8-15"]
libs = "caller"
clock = "cpu"
dir = "gmon-x"

[phases]
method = "paper"
k = 3
seed = 7
json = true
overhead = 1.5

[instrument]
site = ["solve:loop", "exchange"]

[heartbeats]
rank = "0,4-7"
time = "10:20"
"""
PIECES = (b"[record]\n", b"[phases]\n", b"[[record]]\n", b"[a.b]\n", b"x = 1\n", b"interval = ", b"nan", b"inf",
          b"1e400", b"true", b"[]", b"{}", b"''", b'"""', b"1979-05-27", b"= ", b"[env]\n", b"[no]\n",
          b"exe = \"\\u0000\"\n", b"rate = -0\n", b"ranks = [\"9-1\"]\n", b"0x7fffffffffffffffffff", b"1_000",
          b"[" * 500)  # fmt: skip
COMMANDS: tuple[tuple[float, Command], ...] = (
    (3000, ("read-settings", "incprof.toml")),
    (3, ("config", "show")),
    (3, ("config", "show", "--json")),
    (2, ("env", "-i", "0.5")),
    (1, ("heartbeats", "nothing")),
    (1, ("phases", "nothing")),
)


def insert_piece(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Something of TOML stands somewhere."""
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(PIECES) + data[at:]


MUTATORS: tuple[Mutator, ...] = (*TEXT, *[insert_piece] * len(TEXT))


def mutate_settings(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage to a file of settings."""
    return mutate(dice, data, others, MUTATORS)


def subjects() -> list[Subject]:
    """The file in the working directory, as the user's own has the same form."""
    seeds: list[Tree] = [{"incprof.toml": FILE}]
    return [Subject("settings", 6, seeds, ".*", mutate_settings, COMMANDS)]
