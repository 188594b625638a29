"""The library under compilers' sanitizers and Valgrind, while a program does everything at once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import Pressed, counter, counts, exact, plausible, press

THREAD = "-fsanitize=thread -Wno-tsan"
MEMORY = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
LEAKS = ("--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite")
MILLISECONDS = "1500"


def supported(tmp_path: Path, flags: str) -> None:
    """Skip where the compiler has no such sanitizer."""
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = ["gcc", *flags.split(), str(source), "-o", str(tmp_path / "empty")]
    built = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not built or subprocess.run([tmp_path / "empty"], check=False).returncode != 0:
        pytest.skip(f"no {flags.split()[0]} here")


def storm(program: Path, place: Path, *words: str, options: str = "") -> Pressed:
    """Reports go to files: the interval thread has a stderr of its own."""
    log = f"log_path={place / 'report'}:{options}"
    settings = {f"{name}_OPTIONS": log for name in ("TSAN", "ASAN", "UBSAN")}
    pressed = press([program, *words], place, env=settings, interval="0.005")
    reports = "".join(path.read_text() for path in sorted(place.glob("report.*")))
    assert (pressed.outcome.status, pressed.outcome.stderr, reports) == (0, "", "")
    return pressed


def recorded(pressed: Pressed) -> None:
    """The program switches recording off and on, and skips: what is recorded is a part of what happened."""
    beats = pressed.read()
    assert not beats.damaged
    assert [line for line in beats.warnings if ": the rate factor of id " not in line] == []
    plausible(beats)
    found, said = counts(beats), pressed.outcome.values()
    assert 0 < sum(ended for ended, _ in found.values()) <= said["began"]
    assert 0 < sum(pulses for _, pulses in found.values()) <= said["pulses"]
    assert counter(beats, "lost_rows") == 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", [THREAD, MEMORY], ids=["thread", "memory"])
def test_storm(ekg: EkgBuilder, tmp_path: Path, flags: str) -> None:
    supported(tmp_path, flags)
    recorded(storm(ekg.program("robust_storm.c", flags=flags, output="storm"), tmp_path, MILLISECONDS, "6"))


@pytest.mark.slow
def test_storm_with_forks(ekg: EkgBuilder, tmp_path: Path) -> None:
    """For AddressSanitizer: ThreadSanitizer supports no threads in children of threaded processes."""
    supported(tmp_path, MEMORY)
    program = ekg.program("robust_storm.c", flags=MEMORY, output="storm")
    pressed = storm(program, tmp_path, MILLISECONDS, "6", "fork", options="detect_leaks=0")
    assert not pressed.read().damaged
    assert len(pressed.read().processes) > 2


@pytest.mark.slow
def test_tally_under_thread_sanitizer(ekg: EkgBuilder, tmp_path: Path) -> None:
    """Hand-overs and handlers, with counts that are known."""
    supported(tmp_path, THREAD)
    program = ekg.program("robust_tally.c", flags=THREAD, output="tally")
    exact(storm(program, tmp_path, MILLISECONDS, "6"))


@pytest.mark.slow
def test_valgrind(ekg: EkgBuilder, tmp_path: Path) -> None:
    """A library as it is installed: Valgrind refuses threads that libc does not know.

    Its own way of taking turns lets busy threads starve the one that ends the run.
    """
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    program = ekg.program("robust_storm.c", output="storm")
    command = ["valgrind", "-q", "--fair-sched=yes", "--error-exitcode=9", *LEAKS, program, "300", "3"]
    pressed = press(command, tmp_path, interval="0.01")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    recorded(pressed)
