"""ziglang's clang as the compiler of one architecture, against an old glibc, whatever this machine has."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

GLIBC = "2.28"
ARCHITECTURES = ("x86_64", "aarch64")
# Parts of binutils that join the objects of the static library, and strip.
BINUTILS = ("ld", "objcopy", "strip", "ar", "ranlib")


def prefix(arch: str) -> str:
    """What the names of the tools for another architecture than this machine's begin with."""
    return "" if arch == platform.machine() else f"{arch}-linux-gnu-"


def missing(arch: str) -> str:
    """What is to be installed for an architecture; empty if nothing is."""
    lacking = [tool for tool in BINUTILS if shutil.which(prefix(arch) + tool) is None]
    return (
        f"{prefix(arch)}{lacking[0]} (Debian: binutils{'-' + prefix(arch)[:-1] if prefix(arch) else ''})"
        if lacking
        else ""
    )


def environment(arch: str, place: Path) -> dict[str, str]:
    """Variables with which CMake, and a build backend, compile for the architecture. Files go to `place`."""
    import ziglang

    zig, own = Path(ziglang.__file__).parent / "zig", place / f"zig-{arch}"
    own.mkdir(exist_ok=True)
    compiler = own / "cc"
    compiler.write_text(f'#!/bin/sh\nexec {zig} cc -target {arch}-linux-gnu.{GLIBC} "$@"\n')
    compiler.chmod(0o755)
    # No path of this machine in what is compiled, wherever the compiler and its headers lie.
    flags = f"-ffile-prefix-map={place}=. -ffile-prefix-map={zig.parent}=ziglang"
    variables = {
        "CC": str(compiler),
        "CFLAGS": flags,
        "ASMFLAGS": flags,
        # Left out before the build-id is made: the compiler's own parts say where they were compiled.
        "LDFLAGS": "-Wl,-S",
        "ZIG_GLOBAL_CACHE_DIR": str(place / "zig-cache"),
        "CMAKE_GENERATOR": "Unix Makefiles",
    }
    if prefix(arch):
        variables["CMAKE_TOOLCHAIN_FILE"] = str(_toolchain(arch, own))
        variables["_PYTHON_HOST_PLATFORM"] = f"linux-{arch}"  # the name that the wheel is given
    return variables


def _toolchain(arch: str, own: Path) -> Path:
    """A toolchain file for another architecture than this machine's."""
    lines = [f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {arch})\n"]
    for variable, tool in zip(("LINKER", "OBJCOPY", "STRIP", "AR", "RANLIB"), BINUTILS, strict=True):
        lines.append(f"set(CMAKE_{variable} {shutil.which(prefix(arch) + tool)})\n")
    target = own / "toolchain.cmake"
    target.write_text("".join(lines))
    return target


def platform_tag(arch: str) -> str:
    """As wheels are named for it."""
    return f"manylinux_{GLIBC.replace('.', '_')}_{arch}"
