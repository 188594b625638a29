"""As many ids as there are: whichever they are, in every thread that has some, and at the same price."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.appekg.test_semantics import SLOTS, compare, record
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import counter, counts, press
from tests.integration.hosts import need

PAIRS = 2000  # in beyond() of the fixture


@pytest.fixture(scope="module")
def script(ekg: EkgBuilder) -> Path:
    return ekg.program("script.c", flags="-DEKG_FAKE_CLOCK", output="script")


def beats(thread: int, ids: list[int]) -> list[str]:
    return [f"{edge} {thread} {key}" for key in ids for edge in ("begin", "end")]


def test_ids_that_have_each_others_places(script: Path) -> None:
    """Thousands want one place, and take those of others, which come later."""
    ids = [*(5 + SLOTS * number for number in range(1, 3000)), *range(SLOTS - 2999)]
    found = record(script, [*beats(0, ids), "interval", *beats(0, ids[::-1])])
    assert found.total("count") == 2 * SLOTS
    assert all(found.total("count", id=key) == 2 for key in (5 + SLOTS, 5 + 2999 * SLOTS, 5, 0, SLOTS - 3000))
    assert found.total("dropped") == 0


def test_a_thread_that_takes_over_the_record_of_another(script: Path) -> None:
    """Nothing is left of the ids that were not at their places."""
    first, second = ([start + SLOTS * number for number in range(500)] for start in (3, 4))
    lines = [*beats(1, first), "leave 1", "interval", "interval", *beats(1, second), *beats(1, first[:5])]
    found = compare(script, [*beats(0, [3]), *lines])
    assert found.total("threads") == 2 + 1 + 2
    assert found.total("count") == 1 + 500 + 500 + 5


def test_rates_and_ends_elsewhere_of_ids_that_are_not_at_their_places(script: Path) -> None:
    here, other, third = 9, 9 + SLOTS, 9 + 2 * SLOTS
    lines = [f"begin 0 {key}" for key in (here, other, third)]
    lines += ["advance 7", f"end 1 {third}", f"rate {other} 2", f"end 0 {other}", *beats(0, [other] * 4)]
    compare(script, [*lines, "interval", *beats(1, [third, other, here])])


@pytest.mark.slow
@pytest.mark.parametrize("fill", [100, SLOTS - 300, SLOTS, SLOTS + 1000])
def test_no_id_costs_more_because_there_are_many(ekg: EkgBuilder, tmp_path: Path, fill: int) -> None:
    """In instructions, which no other program adds to; the record is nearly full, full, or beyond."""
    need("valgrind")
    program = ekg.program("ids.c", output="ids")
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=beyond", f"--callgrind-out-file={tmp_path / 'out'}"]
    pressed = press([*command, program, "beyond", str(fill)], tmp_path, interval="60")
    assert pressed.outcome.status == 0, pressed.outcome.stderr
    collected = re.search(r"Collected\s*:\s*(\d+)", pressed.outcome.stderr)
    assert collected is not None
    # Those that are set up for the first time are among them: 200 of 2 000 pairs.
    assert 10 * PAIRS < int(collected[1]) < 1000 * PAIRS
    if fill < SLOTS:
        found = counts(pressed.read())
        assert sum(ended for ended, _ in found.values()) == PAIRS
    else:
        assert counter(pressed.read(), "dropped") == PAIRS + fill - SLOTS


def test_a_program_that_locks_its_memory(ekg: EkgBuilder, tmp_path: Path) -> None:
    """The room for thousands of ids is not there before it is needed."""
    pressed = press([ekg.program("ids.c", output="ids"), "locked"], tmp_path)
    if pressed.outcome.status == 77:
        pytest.skip("memory cannot be locked here")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    assert pressed.outcome.values()["added"] < 512 << 10


def test_names_that_come_after_the_last_beat(script: Path) -> None:
    """A constructor beats before main, where heartbeats are named."""
    early, late = b"early".hex(), b"later".hex()
    lines = [*beats(0, [1, 2]), "interval", f"name 1 {early}", f"name 2 {late}", *beats(0, [2]), "interval", "interval"]
    told = [(beat["id"], beat["name"]) for beat in record(script, lines).beats]
    assert told == [(1, None), (2, None), (2, "later"), (1, "early")]
