"""Beats as ranges of NVTX (EKG_NVTX=1), for a stand-in of a tool that writes down what it is called for."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.appekg.test_sanitizers import THREAD, supported
from tests.integration.appekg_build import EKG_FIXTURES, EkgBuilder
from tests.integration.appekg_scripts import only_file, run_program, run_script
from tests.integration.collector import Outcome, clean_environment

WHEEL = "nvidia-nvtx-cu12==12.9.79"
NAMED = f"name 1 {b'solve'.hex()}"
Ranges = Callable[..., tuple[list[str], Outcome]]


def built(place: Path, *flags: str) -> Path:
    library = place / "libstandin.so"
    source = EKG_FIXTURES / "nvtx_standin.c"
    subprocess.run(["gcc", "-O1", "-Wall", "-shared", "-fPIC", *flags, str(source), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("nvtx"))


@pytest.fixture(scope="session")
def script(ekg: EkgBuilder) -> Path:
    return ekg.program("script.c", flags="-DEKG_FAKE_CLOCK", output="script")


@pytest.fixture
def ranges(script: Path, tool: Path, tmp_path: Path) -> Ranges:
    def run(lines: list[str], *, tool: Path = tool, **env: str) -> tuple[list[str], Outcome]:
        log = tmp_path / "log"
        settings = {"EKG_NVTX": "1", "NVTX_INJECTION64_PATH": str(tool), "NVTX_LOG": str(log), **env}
        outcome, _ = run_script(script, lines, tmp_path, settings)
        return log.read_text().splitlines() if log.exists() else [], outcome

    return run


def test_beats_overlap_as_ranges_and_pulses_are_marks(ranges: Ranges) -> None:
    lines = [NAMED, "begin 0 1", "advance 5", "begin 0 2", "pulse 0 3", "advance 5", "end 0 1", "advance 1", "end 0 2"]
    found, _ = ranges(lines)
    assert found == ["start 1 solve", "start 2 heartbeat 2", "mark 0 heartbeat 3", "end 1 ", "end 2 "]


def test_a_beat_that_another_thread_ends(ranges: Ranges, tmp_path: Path) -> None:
    found, _ = ranges(["begin 1 7", "advance 5", "begin 2 7", "advance 5", "end 0 7", "end 0 7", "end 0 7"])
    assert found == ["start 1 heartbeat 7", "start 2 heartbeat 7", "end 1 ", "end 2 "]
    assert only_file(tmp_path / "run").total("unmatched") == 1


@pytest.mark.parametrize("seed", range(4))
def test_drawn_beats(ranges: Ranges, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    lines, expected, last, ended = list[str](), list[str](), 0, 0
    is_open = list[tuple[int, int, int]]()
    for _ in range(300):
        thread, key = draw.randrange(4), draw.randrange(3)
        if draw.random() < 0.52:
            last += 1
            is_open.append((thread, key, last))
            lines.append(f"begin {thread} {key}")
            expected.append(f"start {last} heartbeat {key}")
        else:
            lines.append(f"end {thread} {key}")
            own = [one for one in is_open if one[:2] == (thread, key)][-1:]
            others = [one for one in is_open if one[1] == key]
            for one in (own or others)[:1]:
                is_open.remove(one)
                expected.append(f"end {one[2]} ")
                ended += 1
        lines.append("advance 3")
    found, _ = ranges(lines)
    assert found == expected
    assert only_file(tmp_path / "run").total("count") == ended


def test_beats_beyond_the_most_that_are_open_have_none(ranges: Ranges) -> None:
    found, _ = ranges(["begin 0 1 4200", "advance 1", "end 0 1 4200", "begin 0 2 70000", "end 0 2 70000", "begin 0 3"])
    started, over = ([line.split()[1] for line in found if line.startswith(word)] for word in ("start", "end"))
    assert len(started) == 2 * 4096 + 1
    assert started[:-1] == sorted(over, key=int)


def test_beats_that_a_switch_forgets_are_ended_with_the_next_one(ranges: Ranges) -> None:
    lines = ["begin 0 1", "advance 1", "begin 1 2", "disable", "end 1 2", "enable", "begin 0 3", "advance 1", "end 0 3"]
    found, _ = ranges([*lines, "end 0 1"])
    assert found[:2] == ["start 1 heartbeat 1", "start 2 heartbeat 2"]
    assert sorted(found[2:4]) == ["end 1 ", "end 2 "]
    assert found[4:] == ["start 3 heartbeat 3", "end 3 "]


def test_skipped_beats_have_none(ranges: Ranges, tmp_path: Path) -> None:
    found, _ = ranges(["rate 1 4", *["begin 0 1", "advance 1", "end 0 1"] * 20])
    assert sum(line.startswith("start") for line in found) == only_file(tmp_path / "run").total("count") < 20


def test_a_forked_child_has_none(ranges: Ranges) -> None:
    lines = ["begin 0 1", "fork", "begin 0 2", "advance 1", "end 0 2", "joined", "advance 1", "end 0 1"]
    found, _ = ranges(lines)
    assert found == ["start 1 heartbeat 1", "end 1 "]


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"EKG_NVTX": "0"}, ""),
        ({"EKG_NVTX": ""}, ""),
        ({"NVTX_INJECTION64_PATH": ""}, "NVTX_INJECTION64_PATH is not set"),
        (
            {"NVTX_INJECTION64_PATH": "/nonexistent.so"},
            "the tool refuses, or cannot be loaded: no ranges: /nonexistent.so",
        ),
        ({"NVTX_REFUSES": "1"}, "the tool refuses"),
    ],
)
def test_without_it_or_a_tool_beats_are_recorded_alone(
    ranges: Ranges, tmp_path: Path, env: dict[str, str], line: str
) -> None:
    found, outcome = ranges(["begin 0 1", "advance 5", "end 0 1"] * 3, **env)
    assert found == []
    assert only_file(tmp_path / "run").total("count") == 3
    lines = outcome.stderr.splitlines()
    assert len(lines) == (line != "")
    assert line in outcome.stderr


@pytest.mark.parametrize("flags", ["", pytest.param(THREAD, marks=pytest.mark.slow)])
def test_threads_at_once(ekg: EkgBuilder, tool: Path, tmp_path: Path, flags: str) -> None:
    if flags:
        supported(tmp_path, flags)
    program = ekg.program("threads.c", flags=flags, output="threads")
    log = tmp_path / "log"
    env = {"EKG_NVTX": "1", "NVTX_INJECTION64_PATH": str(tool), "NVTX_LOG": str(log)}
    outcome = run_program([program, "race", "500"], tmp_path, env)
    assert (outcome.status, outcome.stderr) == (0, "")
    found = only_file(tmp_path / "run")
    lines = log.read_text().split("\n")
    started, over = ([line.split()[1] for line in lines if line.startswith(word)] for word in ("start", "end"))
    assert len(started) == 500
    assert len({*over}) == len(over) == found.total("count")
    assert {*over} <= {*started}


def client(place: Path, *flags: str) -> Path:
    program = place / "client"
    words = ["gcc", "-O1", "-pthread", *flags, str(EKG_FIXTURES / "nvtx_client.c"), "-ldl", "-o", str(program)]
    subprocess.run(words, check=True)
    return program


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Flags for NVIDIA's header."""
    place = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place), WHEEL]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("the wheel with NVIDIA's header cannot be fetched here")
    return ("-DPUBLISHED", f"-I{place}/nvidia/nvtx/include")


@pytest.mark.slow
def test_a_tool_sees_beats_as_it_sees_the_ranges_of_nvidias_header(
    script: Path, tmp_path: Path, published: tuple[str, ...]
) -> None:
    tool = built(tmp_path, *published)
    logs = [tmp_path / name for name in ("of_client", "of_beats")]
    env = {**clean_environment(), "NVTX_INJECTION64_PATH": str(tool)}
    subprocess.run([str(client(tmp_path, *published)), "some"], env={**env, "NVTX_LOG": str(logs[0])}, check=True)
    lines = [NAMED, "begin 0 1", "advance 5", "begin 0 2", "pulse 0 3", "advance 5", "end 0 1", "advance 1", "end 0 2"]
    run_script(script, lines, tmp_path, {**env, "NVTX_LOG": str(logs[1]), "EKG_NVTX": "1"})
    of_client, of_beats = (log.read_text() for log in logs)
    assert of_client == of_beats


def beats_of(program: Path, library: Path, place: Path, *words: str) -> dict[str | None, tuple[int, int]]:
    """Return counts and pulses by name of a client whose tool is the library."""
    outcome = run_program([program, *words], place, {"NVTX_INJECTION64_PATH": str(library)})
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")
    found = only_file(place / "run")
    names = {beat["id"]: beat["name"] for beat in found.beats}
    count, pulses = Counter[int](), Counter[int]()
    for row in found.rows:
        count[row.id] += row.count
        pulses[row.id] += row.pulses
    assert len({names.get(key) for key in count}) == len(count)
    assert found.total("dropped") == found.total("unmatched") == 0
    return {names.get(key): (count[key], pulses[key]) for key in sorted(count)}


def check_client(ekg: EkgBuilder, place: Path, *flags: str) -> None:
    program, library = client(place, *flags), ekg.library()
    assert beats_of(program, library, place / "some", "some") == {
        "solve": (1, 0), "heartbeat 2": (1, 0), "heartbeat 3": (0, 1)
    }  # fmt: skip
    assert beats_of(program, library, place / "all", "all") == {
        "step": (10, 0), "aten::add": (10, 0), "library: reduce": (10, 10), "with attributes": (20, 10),
        "range": (10, 0), "library: with attributes": (10, 0), "deep": (280, 0),
    }  # fmt: skip
    assert beats_of(program, library, place / "threads", "threads") == {"common": (1, 0)}


def test_ranges_of_a_program_become_heartbeats(ekg: EkgBuilder, tmp_path: Path) -> None:
    check_client(ekg, tmp_path)


@pytest.mark.slow
def test_ranges_of_a_program_with_nvidias_header_do(
    ekg: EkgBuilder, tmp_path: Path, published: tuple[str, ...]
) -> None:
    check_client(ekg, tmp_path, *published)


def test_ids_are_those_of_the_names_and_too_many_names_share_one(ekg: EkgBuilder, tmp_path: Path) -> None:
    program, library = client(tmp_path), ekg.library()
    many = beats_of(program, library, tmp_path / "many", "many")
    assert len(many) == 4097
    assert many[None] == (5000 - 4096, 0)
    ids = list[dict[str, int]]()
    for words in ("some", "all"):
        beats_of(program, library, tmp_path / words, words)
        ids.append({beat["name"]: beat["id"] for beat in only_file(tmp_path / words / "run").beats})
    beats_of(program, library, tmp_path / "again", "some")
    assert ids[0] == {beat["name"]: beat["id"] for beat in only_file(tmp_path / "again" / "run").beats}


def test_beats_as_ranges_do_not_become_beats(ekg: EkgBuilder, tmp_path: Path) -> None:
    program = ekg.program("host.c", shared=True, output="host")
    env = {"EKG_NVTX": "1", "NVTX_INJECTION64_PATH": str(ekg.library())}
    outcome = run_program([program, "one"], tmp_path, env)
    assert "the tool refuses" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
