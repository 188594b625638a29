"""Signature files that were edited, cut or drawn: refused in a line, or used; nothing else happens."""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from incprof.cli.main import main
from incprof.errors import IncprofError
from incprof.systems.mpi.prediction import predict
from incprof.systems.mpi.trace_file import read_signature
from tests.unit.tracefile import write_run
from tests.variants import mostly_slow

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 10**6, 2**63, 10**30, -(10**30), 1e-300, 1e300, -0.5, 1.5, math.nan, math.inf),
    *("", "x", "1", "\u202e\x1b[2J", "a" * 300, [], [0], [None], [[]], {}, {"a": 1}, [1e14] * 3, [0.0] * 3, [-1.0]),
]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A traced run, and its signature."""
    folder = tmp_path_factory.mktemp("damage")
    run = write_run(folder / "run")
    assert main(["signature", str(run), "--jobs", "1", "-o", str(folder / "a.signature")]) == 0
    whole: dict[str, Any] = json.loads((folder / "a.signature").read_text())
    return run, whole


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a JSON value."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in inside for place in places(value, (*path, key)))]


def changed(whole: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The same with something else somewhere, or without something."""
    out = copy.deepcopy(whole)
    for _ in range(chance.choice([1, 1, 2, 5])):
        *way, last = chance.choice(places(out)[1:])
        node = out
        for key in way:
            node = node[key]
        if chance.random() < 0.2:
            del node[last]
        else:
            node[last] = chance.choice(VALUES)
        if not places(out)[1:]:
            break
    return out


def used(path: Path, run: Path) -> str:
    """What becomes of a signature; anything but an answer or one line is an error."""
    try:
        found = predict(read_signature(str(path)), str(run / "rank-00000.mpi"), str(run), whole=True)
    except IncprofError as error:
        return "refused" if len(str(error).splitlines()) == 1 else str(error)
    guess = found.forecast
    assert all(map(math.isfinite, (guess.pet_s, guess.low_s, guess.high_s)))
    assert guess.low_s <= guess.pet_s <= guess.high_s
    return "used"


@pytest.mark.parametrize("seed", mostly_slow(8, range(20)))
def test_edited(known: tuple[Path, dict[str, Any]], tmp_path: Path, seed: int) -> None:
    run, whole = known
    chance, path = random.Random(seed), tmp_path / "b.signature"
    became = set()
    for _ in range(40):
        path.write_text(json.dumps(changed(whole, chance)))
        became.add(used(path, run))
    assert became == {"used", "refused"}


def test_cut_and_changed_bytes(known: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    run, whole = known
    chance, path = random.Random(7), tmp_path / "b.signature"
    data = json.dumps(whole).encode()
    for _ in range(200):
        new = bytearray(data[: chance.choice([len(data), chance.randrange(len(data))])])
        for _ in range(chance.randrange(3) if new else 0):
            new[chance.randrange(len(new))] = chance.randrange(256)
        path.write_bytes(new)
        used(path, run)
