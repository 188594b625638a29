"""Parts of the collector by themselves: what no program could bring about at will, and what takes a day.

They are a library beside each little program, as in a recorded one; one is built with the sanitizers too.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "parts_fixtures"
SOURCES = [
    *(f"preload/{name}.c" for name in ("arcs", "cfi", "cfi_program", "cfi_record", "elf_file", "interval", "modules")),
    *(f"preload/{name}.c" for name in ("path", "ring", "table", "unwind")),
    *(f"runtime/{name}.c" for name in ("buffer", "vdso")),
]
# What the parts ask of those that are not here.
STANDINS = """
#include <stdbool.h>
#include "switch.h"
#include "thread.h"
__thread struct tls_block incprof_tls;
bool switch_is_on(void) { return true; }
bool switch_is_off(void) { return false; }
void switch_request_drain(void) {}
struct thread *thread_new(void) { return NULL; }
void thread_start(struct thread *t, uint64_t a, uint64_t b, uint64_t c) { (void)t, (void)a, (void)b, (void)c; }
"""

CHECKED = "-fsanitize=address,undefined -fno-sanitize-recover=all"

Parts = Callable[..., str]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Run one of the programs: `parts("paths.c", "7", "100", "50", flags="-fsanitize=address")`."""
    place = tmp_path_factory.mktemp("parts")
    include = [word for room in ("preload", "runtime") for word in ("-I", str(ROOT / room / "include"))]
    (place / "standins.c").write_text(STANDINS)

    def build(name: str, flags: str) -> Path:
        target = place / f"{Path(name).stem}{flags.replace(' ', '')}"
        if not target.exists():
            common = ["gcc", "-std=gnu11", "-g", "-O2", *flags.split(), *include]
            library = place / f"libparts{flags.replace(' ', '')}.so"
            if not library.exists():
                sources = [ROOT / source for source in SOURCES]
                done = subprocess.run(
                    [*common, "-shared", "-fPIC", *sources, place / "standins.c", "-o", library],
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                assert done.returncode == 0, done.stderr
            words = [*common, PROGRAMS / name, library, "-o", target]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if "cannot find" in done.stderr and "san" in done.stderr:
                pytest.skip("no sanitizers here")
            assert done.returncode == 0, done.stderr
        return target

    def run_part(name: str, *words: str, flags: str = "") -> str:
        done = subprocess.run([build(name, flags), *words], capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    return run_part


@pytest.mark.parametrize("depth", [20, 300, 20_000])
@pytest.mark.parametrize("seed", range(4))
def test_a_path_from_memory_is_the_one_that_is_there(parts: Parts, seed: int, depth: int) -> None:
    """Walks that are cut, that go on where one was cut, and that are whole, on a stack that comes and goes."""
    said = parts("paths.c", str(seed), "3000", str(depth))
    assert said == f"wrong 0 whole 1 from memory {int(depth > 200)}\n"


def test_paths_are_bounded_however_many_there_are(parts: Parts) -> None:
    """As many samples as a thread has in an hour; each of the first has 128 frames that no other has."""
    half, end, samples, shortened = map(int, parts("trie.c", "360000").split())
    assert samples == 360_000
    assert 1 << 16 < half <= end <= 1 << 19
    assert shortened > 300_000


@pytest.mark.parametrize("flags", ["", CHECKED], ids=["plain", "checked"])
def test_a_spoilt_ring_costs_samples_and_no_more(parts: Parts, flags: str) -> None:
    assert parts("ring.c", "5", flags=flags) == "2000\n"
