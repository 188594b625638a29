"""Random C programs with heartbeats compile as before, do the same, and have each beat as often as they count it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import appekg
from appekg._flags import compile_flags, link_flags
from incprof.source.c.inserted_text import strip_c
from incprof.source.c.paired_calls import call_insertions, calls_refusal
from incprof.source.c.parse import parse_c
from incprof.source.c.scope import scope_insertions
from incprof.source.model import Announcement, Beat, SourceFile, Style, insert
from tests.integration.appekg_use import environment, installation, run
from tests.integration.c_programs import c_program

WARNINGS = "-Wall -Wextra -Wdeclaration-after-statement".split()
FUNCTIONS = 25


def places(file: SourceFile) -> list[Beat]:
    """All beats that the program counts for itself, each with the number that it gives them."""
    found = []
    for position, function in enumerate(file.functions):
        if match := re.fullmatch(r"f(\d+)", function.name):
            found.append(Beat(int(match[1]), position))
        for at, loop in enumerate(function.loops):
            match = re.match(r"\w+ /\* loop (\d+) \*/", file.data[loop.node.start_byte :][:40].decode())
            if match and match[1] != "1":
                found.append(Beat(int(match[1]), position, at))
    return found


def refusal(file: SourceFile, beat: Beat, style: Style) -> str | None:
    function = file.functions[beat.function]
    own = function.refusal if beat.loop is None else function.loops[beat.loop].refusal
    return own or (calls_refusal(file, beat) if style == "calls" else None)


def compile_c(source: Path, *flags: str) -> tuple[Path, Counter[str]]:
    """The program, and how often it was warned of what."""
    program, found = source.with_suffix(""), installation()
    said = run("gcc", *flags, *WARNINGS, source, "-o", program, *compile_flags(found), *link_flags(found))
    return program, Counter(re.findall(r"\[-W[^\]]*\]", said))


def counted(directory: Path) -> dict[int, int]:
    """Beats by id, of a run in which each begin has its end."""
    found = appekg.read(directory)
    (process,) = found.processes
    assert process.clean
    assert process.intervals["unmatched"].sum() == process.intervals["dropped"].sum() == 0
    assert found.rows[found.rows["interval"] == found.rows["interval"].max()]["open"].sum() == 0
    return {number: int(found.rows[found.rows["id"] == number]["count"].sum()) for number in found.beats}


@pytest.mark.slow
@pytest.mark.parametrize("style", ["calls", "scope"])
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a program takes compilers for hours
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 1 << 32), level=st.sampled_from(["-O0", "-O2"]), crlf=st.booleans())
def test_every_way_out_ends_its_beats(
    tmp_path_factory: pytest.TempPathFactory, style: Style, seed: int, level: str, crlf: bool
) -> None:
    place = tmp_path_factory.mktemp("program")
    data = c_program(Random(seed), FUNCTIONS).encode()
    data = data.replace(b"\n", b"\r\n") if crlf else data
    file = parse_c("program.c", data, cpp=False)
    wanted = places(file)
    beats = [beat for beat in wanted if refusal(file, beat, style) is None]
    assert len(beats) > 0.7 * len(wanted)
    announce = [Announcement(beat.id, f"beat {beat.id}") for beat in beats]
    made = insert(data, (call_insertions if style == "calls" else scope_insertions)(file, beats, announce))
    assert strip_c(made) == data

    (place / "before.c").write_bytes(data)
    (place / "after.c").write_bytes(made)
    flags = [level, "-std=gnu89" if style == "calls" else "-std=gnu99"]
    before, warned = compile_c(place / "before.c", *flags)
    after, warned_then = compile_c(place / "after.c", *flags)
    if style == "calls":
        assert not warned_then - warned
    status, said = outcome(before, place)
    assert outcome(after, place, EKG_DIR=place / "ekg") == (status, said)
    counts = {int(number): int(count) for number, count in re.findall(r"seen (\d+) (\d+)", said)}
    found = counted(place / "ekg")
    assert {beat.id: found.get(beat.id, 0) for beat in beats} == {beat.id: counts[beat.id] for beat in beats}


def outcome(program: Path, place: Path, **variables: object) -> tuple[int, str]:
    """Return the exit status and all output."""
    said = run("sh", "-c", f"{program}; echo status $?", cwd=place, env=environment(**variables))
    return int(said.rsplit("status ", 1)[1]), said
