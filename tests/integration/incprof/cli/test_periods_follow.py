"""`incprof periods --follow` in a process of its own, at the end of a pipe or of a file that grows.

Nothing waits for a time: the test writes, reads the line that follows from it, and goes on.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

SECONDS = 600  # after which a test gives up


@contextmanager
def following(source, *words, cwd=None):
    """The program, which reads from a pipe where the source is `-`."""
    command = [sys.executable, "-m", "incprof", "periods", "--follow", str(source), *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd
    ) as program:
        try:
            yield Program(program)
        finally:
            program.kill()


class Program:
    """What goes in and comes out."""

    def __init__(self, process):
        self.process = process

    def write(self, *events):
        self.process.stdin.write("".join(f"{event}\n" for event in events).encode())
        self.process.stdin.flush()

    def line(self):
        return self.process.stdout.readline().decode().rstrip("\n")

    def end(self):
        """Close the pipe; return the rest, and the exit status."""
        out, err = self.process.communicate(timeout=SECONDS)
        assert err == b""
        return out.decode().splitlines(), self.process.returncode


def test_each_change_is_printed_before_more_is_written(tmp_path):
    with following("-", "--events", cwd=tmp_path) as program:
        program.write("start", *["sweep", "halo"] * 2)
        assert program.line() == "        4  begins   loop 1, period 2, from 1: sweep, halo"
        program.write(*["sweep", "halo"] * 50, "dump")
        assert program.line() == "      105  ends     loop 1, 52.0 iterations, 1 to 104"
        program.write(*["sweep", "halo"] * 52)
        assert program.line().endswith("begins   loop 1, period 2, from 106: sweep, halo")
        program.write("dump")
        assert program.line().startswith(
            "      210  changes  loop 1, 52.0 iterations, 106 to 209; now loop 2, period 105"
        )
        rest, status = program.end()
    assert status == 0
    assert rest[0] == "-, 211 events of 4 kinds, window 1024"
    assert [line.split()[:3] for line in rest[5:7]] == [["2", "105", "1"], ["1", "2", "2"]]


def test_a_line_that_is_not_whole_yet_is_no_event():
    with following("-", "--events") as program:
        program.write(*"aba")
        program.process.stdin.write(b"bar")
        program.process.stdin.flush()
        program.process.stdin.write(b"n\nx\ny\nx\ny\n")
        program.process.stdin.flush()
        assert program.line() == "        7  begins   loop 1, period 2, from 4: x, y"
        assert program.end()[0][0] == "-, 8 events of 5 kinds, window 1024"


def test_an_interrupt_is_an_end_like_any_other():
    values = np.tile(np.random.default_rng(0).integers(0, 99, 20), 60).tolist()
    with following("-", "--json") as program:
        program.write(*values)
        program.line()
        program.process.send_signal(signal.SIGINT)
        (*_, last), status = program.end()
    answer = json.loads(last)
    assert (status, answer["series"]["samples"]) == (0, len(values))
    assert answer["patterns"][0]["length"] == 20


@pytest.mark.parametrize("kind", ["file", "fifo"])
def test_a_file_that_grows(tmp_path, kind):
    path = tmp_path / "events.txt"
    path.write_text("") if kind == "file" else os.mkfifo(path)
    with following("events.txt", "--events", "--idle", "600", cwd=tmp_path) as program:
        with path.open("a") as out:
            out.write("a\nb\na\nb\n")
            out.flush()
            assert program.line() == "        3  begins   loop 1, period 2, from 0: a, b"
            out.write("stop\n")
            out.flush()
            assert program.line() == "        4  ends     loop 1, 2.0 iterations, 0 to 3"
        if kind == "file":
            program.process.send_signal(signal.SIGINT)
        rest, status = program.end()
    assert status == 0
    assert rest[0] == "events.txt, 5 events of 3 kinds, window 1024"


def test_the_end_of_the_reader_is_the_end():
    with following("-", "--events") as program:
        program.write(*"abab")
        program.line()
        program.process.stdout.close()
        program.write("c")
        program.process.stdin.close()
        assert program.process.wait(SECONDS) == 128 + signal.SIGPIPE
        assert program.process.stderr.read() == b""


def resident(program):
    """KiB of memory that a program has."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream():
    """After so many different events that all tables are full, a million more take no more."""
    with following("-", "--events") as program:
        sizes = []
        for part in range(4):
            for start in range(0, 250_000, 5000):
                program.write(*(f"event {part} {number}" for number in range(start, start + 5000)))
            program.write("x", "y", "x", "y", "z")
            assert "begins" in program.line()
            assert "ends" in program.line()
            sizes.append(resident(program))
        assert sizes[-1] - sizes[0] < 4096
        assert program.end()[1] == 0
