"""Parts of the collector by themselves: what no program could bring about at will, and what takes a day.

They are a library beside each little program, as in a recorded one; one is built with the sanitizers too.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.paths import INTEGRATION, ROOT

PROGRAMS = INTEGRATION / "parts_fixtures"
PRELOAD = ROOT / "preload"
INCLUDE = [*(path for path in sorted(PRELOAD.iterdir()) if path.is_dir()), ROOT / "runtime" / "include"]


def of_preload(names: str) -> list[Path]:
    return [found for name in names.split() for found in PRELOAD.glob(f"*/{name}.c")]


SOURCES = [
    *of_preload("arcs cfi cfi_program cfi_record cfi_table elf_file go_table interval interval_take maps_line"),
    *of_preload("module_json module_open modules object_file own_maps path python_codes python_frames"),
    *of_preload("peek python_functions python_layout ring shared_code start_code table unwind"),
    *of_preload("fp_search return_search" if platform.machine() == "x86_64" else ""),
    *(ROOT / "runtime" / f"{name}.c" for name in ("buffer", "build_id", "fixed_text", "vdso", "vfork")),
]
SOURCES_OF_THREADS = of_preload("mcount switch thread thread_life")
# What the parts ask of those that are not here.
STANDINS = """
#include "jit_names.h"
#include "worker.h"
void jit_names_file(char name[JIT_NAMES_FILE]) { name[0] = 0; }
void worker_notify(uint32_t request) { (void)request; }
#include "extensions.h"
void extensions_take(const struct sample *event, uint32_t node) { (void)event, (void)node; }
"""

# With records of threads as they are: what those ask for.
STANDINS_OF_THREADS = """
#include "jit_names.h"
#include "hooks.h"
void jit_names_file(char name[JIT_NAMES_FILE]) { name[0] = 0; }
#include "sampler.h"
#include "switch.h"
#include "ticker.h"
#include "worker.h"
void worker_notify(uint32_t request) { (void)request; }
#include "extensions.h"
void extensions_take(const struct sample *event, uint32_t node) { (void)event, (void)node; }
void ticker_start_thread(struct thread *thread) { (void)thread; }
void ticker_forget_thread(struct thread *thread) { (void)thread; }
void ticker_close_event(struct thread *thread) { (void)thread; }
void sampler_end_thread(struct thread *thread) { (void)thread; }
__attribute__((constructor)) static void start(void) { switch_set(SWITCH_ON); }
void count_call(uint64_t from, uint64_t self) { incprof_count_slow(from, self); }
"""

CHECKED = "-fsanitize=address,undefined -fno-sanitize-recover=all"
RACES = "-fsanitize=thread"

Parts = Callable[..., str]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Run one of the programs: `parts("paths.c", "7", "100", "50", flags="-fsanitize=address")`."""
    place = tmp_path_factory.mktemp("parts")
    include = [f"-I{folder}" for folder in INCLUDE]
    (place / "standins.c").write_text(STANDINS)
    (place / "threads.c").write_text(STANDINS_OF_THREADS)

    def build(name: str, flags: str) -> Path:
        of_threads = name == "concurrent.c"
        kind = "threads" if of_threads else "standins"
        target = place / f"{Path(name).stem}{flags.replace(' ', '')}"
        if not target.exists():
            memory = ["-I", str(PROGRAMS / "intercepted")] if flags == RACES else []
            common = ["gcc", "-std=gnu11", "-g", "-O1", *flags.split(), *memory, *include]
            library = place / f"lib{kind}{flags.replace(' ', '')}.so"
            if not library.exists():
                sources = SOURCES + SOURCES_OF_THREADS * of_threads
                done = subprocess.run(
                    [*common, "-shared", "-fPIC", *sources, place / f"{kind}.c", "-o", library],
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
        done = subprocess.run([build(name, flags), *words], capture_output=True, text=True, check=False, timeout=600)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    return run_part


@pytest.mark.parametrize("depth", [300, *(pytest.param(one, marks=pytest.mark.slow) for one in (20, 20_000))])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_a_path_from_memory_is_the_one_that_is_there(parts: Parts, seed: int, depth: int) -> None:
    """Walks that are cut, that go on where one was cut, and that are whole, on a stack that comes and goes."""
    said = parts("paths.c", str(seed), "1500" if seed else "30", str(depth))
    assert said == f"wrong 0 whole 1 from memory {int(depth > 200)}\n"


@pytest.mark.parametrize(("inner", "outer"), [(5, 7), (200, 200), (5, 40_000), (40_000, 5), (40_000, 40_000)])
def test_frames_of_python_are_given_after_a_bounded_search(parts: Parts, inner: int, outer: int) -> None:
    """The frame at the end of a call identifies the C frame that runs it: of a deep one it lies too far out."""
    said = parts("python_calls.c", str(inner), str(outer)).split()
    found = {name: int(number) for name, number in zip(said[::2], said[1::2], strict=True)}
    assert found.pop("searched") <= 2 * 256  # once to find the thread, and once in it
    assert found == {"before": 0, "inner": inner, "between": 0, "outer": outer, "ended": 1}


@pytest.mark.parametrize("number", [77, 5])
def test_a_thread_is_found_from_outside_by_its_number_or_its_stack(parts: Parts, number: int) -> None:
    """In a container it has another number than outside. By its own, it is found behind a stack without an end."""
    said = parts("python_calls.c", "300", "500", str(number))
    assert said.endswith(" inner 300 between 0 outer 500 ended 1\n")


@pytest.mark.parametrize(("inner", "outer"), [(5, 40_000), (40_000, 5), (90_000, 90_000)])
def test_few_frames_of_python_are_followed_from_outside(parts: Parts, inner: int, outer: int) -> None:
    """The thread is found however deep it is; its path is cut."""
    said = parts("python_calls.c", str(inner), str(outer), "77").split()
    found = {name: int(number) for name, number in zip(said[::2], said[1::2], strict=True)}
    assert (found["before"], found["between"], found["ended"]) == (0, 0, 0)
    assert 1000 < found["inner"] + found["outer"] <= 2048


def test_paths_are_bounded_however_many_there_are(parts: Parts) -> None:
    """As many samples as a thread has in an hour; each of the first has 128 frames that no other has."""
    half, end, samples, shortened = map(int, parts("trie.c", "360000").split())
    assert samples == 360_000
    assert 1 << 16 < half <= end <= 1 << 19
    assert shortened > 300_000


@pytest.mark.parametrize(
    "flags",
    ["", pytest.param(CHECKED, marks=pytest.mark.slow), pytest.param(RACES, marks=pytest.mark.slow)],
    ids=["plain", "memory", "thread"],
)
def test_maps_of_code_are_few_however_often_it_changes(parts: Parts, flags: str) -> None:
    """The current one, the next one, and those being read: three threads, and one that does not end."""
    _, wrong, _, published, _, kept = parts("maps.c", "1500", "3", flags=flags).split()
    assert wrong == "0"
    assert int(published) >= 1500
    assert int(kept) <= 2 + 3 + 1


def test_what_is_gone_is_dropped_where_maps_cannot_be_read(parts: Parts) -> None:
    assert parts("unread.c", "libm.so.6") == "known 1 unreadable 1 left 0 others 1\n"


@pytest.mark.parametrize(
    "flags", [pytest.param("", id="plain"), pytest.param(CHECKED, id="checked", marks=pytest.mark.slow)]
)
def test_a_spoilt_ring_costs_samples_and_no_more(parts: Parts, flags: str) -> None:
    assert parts("ring.c", "5", flags=flags) == "2000\n"


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", CHECKED, RACES], ids=["plain", "memory", "thread"])
def test_threads_that_come_and_go_beside_the_collector(parts: Parts, flags: str) -> None:
    """Calls, rings and records of threads: each call and each sample is taken once, and no access is a race."""
    said = parts("concurrent.c", "6", "8", flags=flags)
    assert said == "wrong 0 exact 1 double 1 left 0\n"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_waits_to_be_written_comes_out_whole_and_in_order(tmp_path: Path, seed: int) -> None:
    names = "buffer credentials fixed_text output spawn tasks vdso writer"
    target = tmp_path / "writer"
    sources = [ROOT / f"runtime/{name}.c" for name in names.split()]
    words = ["gcc", "-std=gnu11", "-g", "-O2", "-pthread", "-I", ROOT / "runtime/include", PROGRAMS / "writer.c"]
    subprocess.run([*words, *sources, "-o", target], check=True)
    done = subprocess.run([target, str(seed)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done
