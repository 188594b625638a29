"""Seeds of the harnesses: objects of this machine and generated ones, texts in the form of /proc, random bytes."""

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

from fuzz.go_table import GO_16, GO_18, GO_20, GoFunction, go_table_bytes, with_go_table

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


MAPS = b"".join(
    b"%x-%x %b %08x 08:01 %d    %b\n" % (low, low + 0x3000, mode, offset, low >> 12 & 0xFFF, path)
    for low, mode, offset, path in (
        (0x555500001000, b"r-xp", 0x1000, b"/home/user/my app"),
        (0x7F0000000000, b"r--p", 0, b"/lib/libc.so.6"),
        (0x7F0000010000, b"r-xp", 0x1000, b"/lib/libc.so.6"),
        (0x7F0000020000, b"r-xp", 0, b"/lib/gone!.so (deleted)"),
        (0x7F0000030000, b"rwxp", 0, b""),
        (0x7F0000040000, b"r-xp", 0, b"[vdso]"),
        (0x7F0000050000, b"rwxs", 0x1000, b"/dev/dri/card0"),
    )
)
MACHINE = (
    b"cpu  10 2 3 40 5 6 7 0 0 0\ncpu0 5 1 1 20 2 3 3 0 0 0\ncpu1 5 1 2 20 3 3 4 0 0 0\nintr 7 0\n",
    b"Inter-| Receive\n face |bytes\n    lo: 9 1 0 0 0 0 0 0 9 1\n  eth0:77 6 5 4 3 2 1 0 88 7 6 5 4 3 2 1\n",
    b"0.50 0.30 0.20 2/345 6789\n",
    b"0.00 0.00 0.00 0/1 1\n",
)
STATUS = (
    b"Name:\tincprof\nUmask:\t0022\nState:\tR (running)\nUid:\t0\t1000\t0\t0\nGid:\t5\t5\t5\t5\nGroups:\t4 20 27 \n"
    b"SigBlk:\tfffffffe7ffbfeff\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n"
)
STAT = b"77 (a) b) R\n) R " + b" ".join(b"%d" % number for number in range(50)) + b"\nrchar: 7\nwchar 8\n"


GO_FUNCTIONS = (
    GoFunction("runtime.goexit", 16, [(0, 16)]),
    GoFunction("main.work", 48, [(0, 4), (24, 40), (0, 4)], [(7, 40), (9, 8)]),
    GoFunction("runtime.systemstack.abi0", 16, [(0, 16)]),
    GoFunction("main.(*T).leaf", 32),
)


def system_libraries() -> list[Path]:
    """Return the real files of the libraries that every C++ program uses."""
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
            with target.open("rb") as file:
                code = ELFFile(file).get_section_by_name(".text")["sh_addr"]
            for version in (GO_16, GO_18, GO_20):
                table = go_table_bytes(GO_FUNCTIONS, text=code, version=version)
                if with_go_table(target, table, place / "go"):
                    yield (place / "go").read_bytes()
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
    """Yield pieces of a library's .eh_frame: each common record with its functions, moved to low addresses."""
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
    """Yield three texts of /proc/PID/maps, and an object that they map."""
    moved = MAPS.replace(b"7f", b"6f")
    for image in objects(place):
        yield b"\0".join((MAPS, moved, MAPS[:300], image[:9000]))


def settings(place: Path) -> Iterator[bytes]:
    """Yield values of variables, in the order of harnesses/settings.c."""
    yield b"0.25 1000 0,8-15 3 5 perf 1 debug 1 4 77 0 1 ns.1 out/run ".replace(b" ", b"\0")
    wrong = b"1e9 0.0000001 5- -1 100.1 cpu maybe quiet  -3   " + b"9" * 30 + b"  /" + b"a/" * 200 + b" "
    yield wrong.replace(b" ", b"\0")
    yield "86400\0ж\u202e\0001-2,\0\x1b[2J\0".encode() + bytes(range(1, 256))


def sampler(place: Path) -> Iterator[bytes]:
    """Yield a text of machine counters, a thread's status, a stat, and arguments."""
    words = b"--interval=0.01 --output=x --events=default,r1c2,cpu --pid=7 --for=3 -- true ".replace(b" ", b"\0")
    for machine in MACHINE:
        yield b"\0".join((machine, STATUS, STAT, words))
    yield b"\0\0\0--list\0--events=all\0--system\0"


def unwind(place: Path) -> Iterator[bytes]:
    """Yield deep stacks of frames of 16 or 32 bytes, in the order of harnesses/unwind.c, walked at several places."""
    code, other, registers, pc_register = b"\x60\x00\x01", b"\0\0", 23, 16
    for frame_words in (2, 4):
        rules = b"\1\0\1" + struct.pack("<HBBBB", 8 * frame_words, 0, 1, 0, 0) + b"\1\0\0" * 2
        stack = struct.pack("<HB", 2000, frame_words - 1) + other * (frame_words - 1) + code
        for places in ((0, 1600, 320, 0, 4800, 0), (6400, 4800, 3200, 1600, 640, 0), (0, 64, 0, 64, 128, 32)):
            walks = (
                b"".join(code if i == pc_register else other for i in range(registers)) + struct.pack("<BHB", 1, at, 0)
                for at in places
            )
            yield rules + stack + b"".join(walks)


# By harness; harnesses that are not here start from random bytes.
SEEDS: dict[str, Callable[[Path], Iterator[bytes]]] = {
    "elf": objects,
    "snapshot": objects,
    "cfi": cfi,
    "modules": modules,
    "unwind": unwind,
    "settings": settings,
    "sampler": sampler,
}


def write_seeds(name: str, longest: int, corpus: Path) -> None:
    """Write the seeds of a harness into `corpus`, cut to its longest input."""
    corpus.mkdir(parents=True, exist_ok=True)
    scratch = corpus.parent / f"{corpus.name}.made"
    scratch.mkdir(exist_ok=True)
    seeds = SEEDS[name](scratch) if name in SEEDS else drawn(32, longest)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number:04d}").write_bytes(seed[:longest])
    shutil.rmtree(scratch)


def heavy_frames() -> bytes:
    """Return an .eh_frame in which thousands of functions refer to one record of a quarter of a megabyte."""
    rules = b"\x0e\x08" * (1 << 17)
    common = _record(struct.pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x03\x0c\x07\x08\x90\x01" + rules)
    out = bytearray(common)
    for function in range(4000):
        out += _record(struct.pack("<IIIB", len(out) + 4, 16 * function, 16, 0))
    return bytes(out)


def whole_files(name: str, place: Path) -> list[Path]:
    """Return files that a harness reads unchanged, because they are too large to mutate; one is written to `place`."""
    if name == "cfi":
        place.mkdir(parents=True, exist_ok=True)
        (place / "heavy").write_bytes(heavy_frames())
        return [place / "heavy"]
    return [*system_libraries(), Path(os.path.realpath("/proc/self/exe"))] if name in ("elf", "snapshot") else []
