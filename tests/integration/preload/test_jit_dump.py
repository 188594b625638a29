"""What the collector makes of a program's jitdump file, which may hold anything."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from soak.mutate import damaged
from tests.integration.preload.test_collector_parts import CHECKED, INCLUDE, PROGRAMS, ROOT, of_preload

SOURCES = [
    *of_preload("jit_dump jit_file jit_lines"),
    *(ROOT / "runtime" / f"{name}.c" for name in ("buffer", "fixed_text", "vdso")),
]
TIME, TICKS = 1000, 1
Read = Callable[..., list[str]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dump") / "dump"
    include = [f"-I{folder}" for folder in INCLUDE]
    words = ["gcc", "-std=gnu11", "-g", "-O1", *CHECKED.split(), *include, PROGRAMS / "dump.c", *SOURCES, "-o", target]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip("no sanitizers here")
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def read(program: Path, tmp_path: Path) -> Read:
    def read_dumps(*dumps: bytes) -> list[str]:
        paths = [tmp_path / f"jit-{i}.dump" for i in range(len(dumps))]
        for path, dump in zip(paths, dumps, strict=True):
            path.write_bytes(dump)
        done = subprocess.run([program, tmp_path, *paths], capture_output=True, check=False, timeout=600)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode("utf-8", "replace").splitlines()

    return read_dumps


def head(flags: int = 0, size: int = 40) -> bytes:
    return struct.pack("<IIIIIIQQ", 0x4A695444, 1, size, 62, 0, 1, TIME, flags) + bytes(size - 40)


def record(kind: int, body: bytes, time: int = TIME, size: int | None = None) -> bytes:
    return struct.pack("<IIQ", kind, 16 + len(body) if size is None else size, time) + body


def load(name: bytes, start: int = 0x1000, time: int = TIME) -> bytes:
    return record(0, struct.pack("<IIQQQQ", 1, 1, 0, start, 64, 0) + name + b"\0" + bytes(64), time)


def move(start: int, to: int) -> bytes:
    return record(1, struct.pack("<IIQQQQQ", 1, 1, 0, start, to, 64, 0))


def source(start: int, line: int, name: bytes) -> bytes:
    return record(2, struct.pack("<QQQII", start, 1, start, line, 0) + name + b"\0")


GOOD = head() + source(0x1000, 7, b"a.x") + load(b"step") + record(9, b"later") + move(0x1000, 0x2000) + record(3, b"")


def test_functions_with_their_times_and_places(read: Read) -> None:
    end = "read " + str(len(GOOD))
    assert read(GOOD) == ["# since 1000", "# source 1000 7 a.x", "1000 40 step", "# move 1000 2000 40", end]


def test_ticks_of_a_processor_are_no_times(read: Read) -> None:
    assert read(head(TICKS, 48) + load(b"step"))[:2] == ["# since 77", "1000 40 step"]


def test_a_name_stays_on_its_line(read: Read) -> None:
    assert read(head() + load(b"one\n1000 40 two"))[1] == "1000 40 one?1000 40 two"
    assert len(read(head() + load(b"n" * 5000))[1]) == len("1000 40 ") + 1024


@pytest.mark.parametrize("cut", [1, 30, 70, 130])
def test_what_is_not_whole_yet_is_waited_for(read: Read, cut: int) -> None:
    whole = head() + load(b"step") + load(b"next", 0x2000)
    assert not any("damaged" in line for line in read(whole[:-cut]))


@pytest.mark.parametrize("dump", [b"ELF" * 40, head() + record(0, b"", size=3), head() + load(b"a") + bytes(40)])
def test_damage_is_reported_once(read: Read, dump: bytes) -> None:
    assert [line for line in read(dump) if line.startswith("!")] == [
        "! this file is damaged, code generated from now on has no names: /jit-0.dump"
    ]


def test_any_file_is_read(read: Read) -> None:
    dumps = [damaged(seed, GOOD + load(b"more", 0x3000)) for seed in range(300)]
    assert sum(line.startswith("read ") for line in read(*dumps)) == 300
