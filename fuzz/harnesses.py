"""The harnesses, and the sources that each is built from besides its own file in fuzz/harnesses."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = HERE / "kept"

INCLUDE = (
    *(f"preload/{path.name}" for path in sorted((ROOT / "preload").iterdir()) if path.is_dir()),
    *("fuzz/include", "runtime/include", "outside/include", "analysis/native/include"),
    *("analysis/native", "."),
)

CHECKS = "-fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-recover=all"
# As CMakeLists.txt there builds the kernels.
VECTORS = ("-O3", "-ffinite-math-only", "-fno-signed-zeros", "-ffp-contract=off")


class CannotFuzz(Exception):
    """No compiler with libFuzzer is available; the text explains that in one line."""


@dataclass(frozen=True)
class Harness:
    """A program for libFuzzer: sources below the checkout, and the longest input in bytes."""

    name: str
    sources: tuple[str, ...]
    longest: int
    flags: tuple[str, ...] = ()


def _of(room: str, names: str) -> tuple[str, ...]:
    """Return files of a folder, by patterns like "elf_file cfi*"; the matches of a pattern are sorted by name."""
    found = (sorted((ROOT / room).rglob(f"{name}.c")) for name in names.split())
    return tuple(str(path.relative_to(ROOT)) for paths in found for path in paths)


ELF = _of(
    "preload", "cfi_program cfi_record cfi_table elf_file go_table object_file peek start_code unwind_sizes"
) + _of("runtime", "build_id fixed_text")
CFI = _of("preload", "cfi")
MEMORY = _of("fuzz/harnesses", "watched")
BUFFER = _of("runtime", "buffer")
CLOCK = _of("runtime", "vdso")
WORDS = _of("runtime", "environment fixed_text reason")
MADE = _of("preload", "jit_dump jit_file jit_lines jit_map jit_names jit_objects python_layout") + _of(
    "runtime", "log output reason"
)
PYTHON = MADE + _of("preload", "python_codes python_frames python_functions")

HARNESSES = (
    Harness("elf", ELF + CFI + BUFFER + MEMORY + CLOCK, 32768),
    Harness("cfi", ELF + CFI + BUFFER + MEMORY + CLOCK, 4096),
    Harness("snapshot", ELF + BUFFER + MEMORY + CLOCK + _of("runtime", "log output reason"), 32768),
    Harness(
        "modules",
        ELF + CFI + BUFFER + MEMORY + CLOCK + MADE + _of("preload", "maps_line module_json shared_code"),
        16384,
    ),
    Harness(
        "unwind",
        (ELF + CFI + BUFFER + MEMORY + PYTHON)
        + _of(
            "preload",
            "fp_search maps_line module_json module_open modules own_maps path return_search ring shared_code "
            "table unwind",
        )
        + _of("fuzz/harnesses", "standins"),
        2048,
    ),
    Harness(
        "rings",
        (
            *PYTHON,
            *_of("preload", "arcs interval interval_take maps_line module_json module_open modules own_maps"),
            *_of("preload", "fp_search path return_search ring shared_code table unwind"),
            *_of("fuzz/harnesses", "standins"),
        )
        + (ELF + CFI + BUFFER + MEMORY + CLOCK),
        4096,
    ),
    Harness(
        "settings",
        (WORDS + CLOCK + BUFFER + MEMORY + _of("preload", "config"))
        + _of("runtime", "ancestors launch process program_name tasks"),
        1024,
    ),
    Harness(
        "sampler",
        (WORDS + CLOCK + BUFFER + MEMORY + _of("runtime", "log tasks"))
        + _of("outside", "command events proc_text request sensor_files"),
        4096,
    ),
    Harness("events", _of("analysis/native", "dpd_[!pv]* dpd_predict"), 256),
    Harness("values", _of("analysis/native", "dpd_kernels dpd_values*"), 256),
    Harness("traces", (), 4096),
    Harness("kernels", _of("analysis/native", "base_period dba dtw dtw_bounds lags scan trace"), 1024, VECTORS),
)


def named(name: str) -> Harness:
    """Return a harness. KeyError: no harness has that name."""
    return {harness.name: harness for harness in HARNESSES}[name]


def clang() -> str:
    """Return a clang with libFuzzer. CannotFuzz if none is installed."""
    found = shutil.which("clang")
    if found is None:
        raise CannotFuzz("clang is not installed")
    source = b"int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n ? 0 : 0; }\n"
    command = [found, *CHECKS.split(), "-x", "c", "-", "-o", "/dev/null"]
    done = subprocess.run(command, input=source, capture_output=True, check=False)
    if done.returncode != 0:
        version = subprocess.run([found, "-dumpversion"], capture_output=True, text=True, check=True).stdout
        raise CannotFuzz(f"clang has no libFuzzer here: install libclang-rt-{version.split('.')[0]}-dev")
    return found


def command(harness: Harness) -> list[str]:
    """Return the words that compile a harness's own file. CannotFuzz without a compiler for it."""
    words = [clang(), "-std=gnu11", "-g", "-O2", "-fno-omit-frame-pointer", *CHECKS.split(), *harness.flags]
    words += [f"-I{ROOT / path}" for path in INCLUDE]
    return [*words, str(ROOT / "fuzz/harnesses" / f"{harness.name}.c")]


def build(harness: Harness, place: Path) -> Path:
    """Compile a harness into `place`. CannotFuzz without a compiler for it; RuntimeError if it does not compile."""
    target = place / harness.name
    place.mkdir(parents=True, exist_ok=True)
    words = [*command(harness), *(str(ROOT / source) for source in harness.sources), "-lm", "-o", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{harness.name} does not compile: {done.stderr}")
    return target
