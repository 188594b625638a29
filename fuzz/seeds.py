"""What the harnesses start from: objects of this machine and ones made for it, texts of its /proc, drawn bytes."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from elftools.dwarf.callframe import CIE, FDE
from elftools.elf.elffile import ELFFile

LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2")
PLACES = ("/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
# Functions of one library's whose frames become a seed: their common record first.
FRAMES_OF_EACH = 24
CODE_BYTES = 0x10000  # as in harnesses/cfi.c
MOST_RECORDS = 3000  # bytes

PROGRAM = r"""
#include <alloca.h>
#include <string.h>
int work(int n) { char *p = alloca(n); memset(p, n, n); return n > 1 ? work(n - 1) + p[0] : 1; }
int aligned(int n) { double d[4] __attribute__((aligned(64))); memset(d, n, sizeof d); return work(n) + (int)d[1]; }
int main(int argc, char **argv) { return aligned(argc) + argv[0][0]; }
"""
FLAGS = ("-pg -O2", "-O0 -fno-omit-frame-pointer", "-O2 -mfentry -pg -shared -fPIC", "-O2 -s -static-pie -nostdlib")


def system_libraries() -> list[Path]:
    """Return the real files of the libraries that every C++ program here has."""
    found = {(Path(place) / name).resolve() for name in LIBRARIES for place in PLACES if (Path(place) / name).exists()}
    return sorted(found)


def objects(place: Path) -> Iterator[bytes]:
    """Yield small ELF objects: a program compiled in several ways, and the vDSO."""
    source = place / "seed.c"
    source.write_text(PROGRAM)
    for number, flags in enumerate(FLAGS):
        target = place / f"seed{number}"
        command = [shutil.which("gcc") or "cc", *flags.split(), str(source), "-o", str(target)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            yield target.read_bytes()
    with open("/proc/self/maps", encoding="utf-8") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            if line.endswith("[vdso]\n"):
                low, high = (int(end, 16) for end in line.split()[0].split("-"))
                memory.seek(low)
                yield memory.read(high - low)


def _record(body: bytes) -> bytes:
    padded = body + bytes(-len(body) % 4)
    return struct.pack("<I", len(padded)) + padded


def frames(library: Path) -> Iterator[bytes]:
    """Yield pieces of a library's .eh_frame: each common record with functions of its own, moved to low addresses."""
    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".eh_frame")
        raw = section.data() if section is not None else b""
        file.seek(0)
        dwarf = ELFFile(file).get_dwarf_info()
        by_common: dict[int, list[FDE]] = {}
        for entry in dwarf.EH_CFI_entries() if dwarf.has_EH_CFI() else []:
            if isinstance(entry, FDE):
                by_common.setdefault(entry.cie.offset, []).append(entry)
    for members in by_common.values():
        common: CIE = members[0].cie
        out = raw[common.offset : common.offset + common["length"] + 4]
        code = 0
        for member in members[:: max(1, len(members) // FRAMES_OF_EACH)]:
            body = raw[member.offset + 16 : member.offset + 4 + member["length"]]
            size = min(member["address_range"], 0x300)
            if len(out) + len(body) + 16 > MOST_RECORDS or code + size > CODE_BYTES:
                break
            out += _record(struct.pack("<IiI", len(out) + 4, code, size) + body)
            code += size
        yield out


def cfi(place: Path) -> Iterator[bytes]:
    """Yield .eh_frame sections."""
    for library in system_libraries():
        yield from frames(library)


def drawn(count: int, longest: int) -> Iterator[bytes]:
    """Yield random bytes of several lengths, the same ones every time."""
    chance = random.Random(7)
    for number in range(count):
        yield chance.randbytes(1 + longest * number // count)


def modules(place: Path) -> Iterator[bytes]:
    """Yield two or three texts of /proc/PID/maps, and an object behind them."""
    maps = Path("/proc/self/maps").read_bytes()
    lines = maps.splitlines(keepends=True)
    few = b"".join(line for line in lines if b"x" in line.split()[1])[:4000]
    moved = few.replace(b"7f", b"6f")
    for image in objects(place):
        yield b"\0".join((few, moved, maps[:3000], image[:9000]))


def settings(place: Path) -> Iterator[bytes]:
    """Yield values of variables."""
    yield b"\0".join((b"0.25", b"1000", b"0,8-15", b"3", b"5", b"perf", b"1", b"debug", b"1", b"4", b"77", b"0", b"1", b"ns.1",
                      b"out/run", b""))  # fmt: skip
    yield b"\0".join((b"1e9", b"0.0000001", b"5-", b"-1", b"100.1", b"cpu", b"maybe", b"quiet", b"", b"-3", b"", b"", b"9" * 30, b"",
                      b"/" + b"a/" * 200, b""))  # fmt: skip
    yield "86400\0ж\u202e\0001-2,\0\x1b[2J\0".encode() + bytes(range(1, 256))


def sampler(place: Path) -> Iterator[bytes]:
    """Yield a text of the machine's, one of a thread's status, one of a stat, and arguments."""
    network = Path("/proc/net/dev").read_bytes()[:1000]
    processors = Path("/proc/stat").read_bytes()[:1000]
    status, stat = Path("/proc/self/status").read_bytes(), Path("/proc/self/stat").read_bytes()
    words = (b"--interval=0.01", b"--output=x", b"--events=default,r1c2,cpu", b"--pid=7", b"--for=3", b"--", b"true")
    for machine in (network, processors, Path("/proc/loadavg").read_bytes(), b"0.0 0.0 0.0 0/1 2\n"):
        yield b"\0".join((machine, status, stat.replace(b")", b") R ) \n", 1), *words, b""))
    yield b"\0".join((b"", b"", b"", b"--list", b"--events=all", b"--system", b""))


# By harness; harnesses that are not here start from random bytes.
SEEDS: dict[str, Callable[[Path], Iterator[bytes]]] = {
    "elf": objects,
    "snapshot": objects,
    "cfi": cfi,
    "modules": modules,
    "settings": settings,
    "sampler": sampler,
}


def write_seeds(name: str, longest: int, corpus: Path) -> None:
    """Write what a harness starts from into `corpus`, cut to its longest input."""
    corpus.mkdir(parents=True, exist_ok=True)
    scratch = corpus.parent / f"{corpus.name}.made"
    scratch.mkdir(exist_ok=True)
    seeds = SEEDS.get(name, lambda _: drawn(32, longest))
    for number, seed in enumerate(seeds(scratch)):
        (corpus / f"seed-{number:04d}").write_bytes(seed[:longest])
    shutil.rmtree(scratch)


def heavy_frames() -> bytes:
    """Return an .eh_frame in which thousands of functions refer to one record of some megabytes."""
    rules = b"\x0e\x08" * (2 << 20)
    common = _record(struct.pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x03\x0c\x07\x08\x90\x01" + rules)
    out = bytearray(common)
    for function in range(4000):
        out += _record(struct.pack("<IIIB", len(out) + 4, 16 * function, 16, 0))
    return bytes(out)


def whole_files(name: str, place: Path) -> list[Path]:
    """Return files that a harness is given as they are, too large to be changed. What is made for it goes to `place`."""
    if name == "cfi":
        place.mkdir(parents=True, exist_ok=True)
        (place / "heavy").write_bytes(heavy_frames())
        return [place / "heavy"]
    return [*system_libraries(), Path(os.path.realpath("/proc/self/exe"))] if name in ("elf", "snapshot") else []
