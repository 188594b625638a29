"""Which harnesses there are: what each is built from, beside its own file in fuzz/harnesses."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = HERE / "kept"

ELF = ("preload/elf_file.c",)
CFI = ("preload/cfi.c", "preload/cfi_program.c", "preload/cfi_record.c")
MEMORY = ("fuzz/harnesses/watched.c",)
BUFFER = ("runtime/buffer.c",)
CLOCK = ("runtime/vdso.c",)
MODULES = ("preload/modules.c", *ELF, *CFI, *BUFFER, *MEMORY)
INCLUDE = ("fuzz/include", "preload/include", "runtime/include", "sampler/include", "analysis/native/include", "analysis/native", ".")

CHECKS = "-fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-recover=all"
# As CMakeLists.txt there builds the kernels.
VECTORS = ("-O3", "-ffinite-math-only", "-fno-signed-zeros", "-ffp-contract=off")


class CannotFuzz(Exception):
    """There is no compiler with libFuzzer here; the text says so in one line."""


@dataclass(frozen=True)
class Harness:
    """A program for libFuzzer: sources below the checkout, and the longest input in bytes."""

    name: str
    sources: tuple[str, ...]
    longest: int
    flags: tuple[str, ...] = ()


def _native(pattern: str) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(ROOT)) for path in (ROOT / "analysis/native").glob(pattern)))


HARNESSES = (
    Harness("elf", (*ELF, *CFI, *MEMORY, *CLOCK), 32768),
    Harness("cfi", (*ELF, *CFI, *MEMORY, *CLOCK), 4096),
    Harness(
        "snapshot",
        (*ELF, *BUFFER, *MEMORY, *CLOCK, *(f"runtime/{name}.c" for name in ("log", "output", "reason", "fixed_text"))),
        32768,
    ),
    Harness("unwind", ("preload/path.c", "preload/unwind.c", "preload/modules.c", *ELF, *CFI[1:], *BUFFER, *MEMORY), 2048),
    Harness("modules", (*ELF, *CFI, *BUFFER, *MEMORY, *CLOCK), 16384),
    Harness(
        "settings",
        ("preload/config.c", *(f"runtime/{n}.c" for n in ("environment", "launch", "fixed_text", "vdso", "reason"))),
        1024,
    ),
    Harness(
        "sampler",
        (
            *(f"sampler/{name}.c" for name in ("events", "request", "text")),
            *(f"runtime/{name}.c" for name in ("environment", "fixed_text", "log", "reason", "tasks")),
            *(*BUFFER, *MEMORY, *CLOCK),
        ),
        4096,
    ),
    Harness("rings", (*(f"preload/{name}.c" for name in ("arcs", "interval", "path", "ring", "table", "unwind")), *MODULES, *CLOCK,
                      "fuzz/harnesses/standins.c"), 4096),
    Harness("events", tuple(name for name in _native("dpd_*.c") if "values" not in name and "paper" not in name), 256),
    Harness("values", (*_native("dpd_values*.c"), "analysis/native/dpd_kernels.c"), 256),
    Harness(
        "kernels",
        tuple(f"analysis/native/{n}.c" for n in ("base_period", "dba", "dtw", "dtw_bounds", "lags", "scan", "trace")),
        1024,
        VECTORS,
    ),
)  # fmt: skip


def named(name: str) -> Harness:
    """Return a harness. KeyError: there is none of that name."""
    return {harness.name: harness for harness in HARNESSES}[name]


def clang() -> str:
    """Return a clang that has libFuzzer. CannotFuzz if there is none."""
    found = shutil.which("clang")
    if found is None:
        raise CannotFuzz("clang is not installed")
    source = b"int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n ? 0 : 0; }\n"
    command = [found, *CHECKS.split(), "-x", "c", "-", "-o", "/dev/null"]
    done = subprocess.run(command, input=source, capture_output=True, check=False)
    if done.returncode != 0:
        version = re.search(r"version (\d+)", subprocess.run([found, "--version"], capture_output=True, text=True).stdout)
        raise CannotFuzz(f"clang has no libFuzzer here: install libclang-rt-{version[1] if version else 'N'}-dev")
    return found


def build(harness: Harness, place: Path) -> Path:
    """Compile a harness into `place`. CannotFuzz without a compiler for it; RuntimeError if it does not compile."""
    target = place / harness.name
    place.mkdir(parents=True, exist_ok=True)
    words = [clang(), "-std=gnu11", "-g", "-O2", "-fno-omit-frame-pointer", *CHECKS.split(), *harness.flags]
    words += [f"-I{ROOT / path}" for path in INCLUDE]
    words += [str(ROOT / "fuzz/harnesses" / f"{harness.name}.c"), *(str(ROOT / source) for source in harness.sources)]
    done = subprocess.run([*words, "-lm", "-o", str(target)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{harness.name} does not compile: {done.stderr}")
    return target
