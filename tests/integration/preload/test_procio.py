"""What a recorded process reads and writes: the kernel's totals, without the collector's own and its children's."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.systems.io.read import READ, READS, WRITES, WRITTEN, Totals, read_io
from tests.integration import strace_log
from tests.integration.collector import Recording, variables
from tests.integration.conftest import Build, Record

BURN = "burn:60"
# More than any child was seen to write that left no stream.
BEGUN_B = 256


@pytest.fixture
def script(build: Build) -> Path:
    return build("io_script.c", flags="-O2 -pthread", pg=False)


def totals_in(directory: Path) -> Totals:
    found = read_io(str(directory / "rank-00000.gmon")).totals
    assert found is not None
    assert (found.refusal, found.damaged) == (None, 0)
    return found


def counted(totals: Totals) -> list[int]:
    """Bytes read and written, calls that read and write."""
    return [int(totals.values[:, column].sum()) for column in (READ, WRITTEN, READS, WRITES)]


def told(recording: Recording) -> list[int]:
    """The same by the program itself, with the call that prints it."""
    values = recording.outcome.values()
    printed = len(recording.outcome.stdout.encode())
    return [values["read_b"], values["written_b"] + printed, values["reads"], values["writes"] + 1]


def of_recorder(recording: Recording) -> int:
    """Return the most bytes that the recorder has written in children: one that is sampled has a stream of its own."""
    return BEGUN_B + sum(path.stat().st_size for path in recording.directory.glob("rank-00000.*.gmon"))


def chosen(program: Path) -> dict[str, str]:
    """Settings that record a program which is not built with -pg."""
    return {"INCPROF_EXE": str(program)}


def test_every_call_is_counted_once(script: Path, record: Record) -> None:
    words = [BURN, "open:file:w", "write:4096:100", "pwrite:100:7", "writev:1001:3", BURN, "seek:0", "read:1000:50"]
    recording = record([script, *words, "pread:77:9", "readv:13:4", "read:1048576:2", "sendfile:5000", BURN],
                       env=chosen(script), interval=0.02)  # fmt: skip
    found = totals_in(recording.directory)
    assert counted(found) == told(recording)
    # In the intervals in which they happened: after the first burn, and on either side of the second.
    first, last = np.flatnonzero(found.values[:, WRITTEN])[0], np.flatnonzero(found.values[:, READ])[-1]
    assert 0 < first < last
    assert not found.children.any()


def test_threads_count_after_their_end_and_children_apart(script: Path, record: Record) -> None:
    words = [BURN, "open:file:w", "child:500:6", "write:10:3", "child:1000:4", BURN]
    found = totals_in((recording := record([script, *words], env=chosen(script))).directory)
    assert counted(found) == told(recording)
    assert 0 <= found.children[WRITTEN] - (6 * 500 + 4 * 1000) <= of_recorder(recording)
    assert found.children[WRITES] >= 10
    recording = record([script, BURN, "open:file:w", "thread:200:11", BURN], env=chosen(script))
    found = totals_in(recording.directory)
    assert counted(found) == told(recording)
    assert not found.with_children
    # With both, they cannot be separated, and the totals say so.
    recording = record([script, BURN, "open:file:w", "thread:200:11", "child:500:6", BURN], env=chosen(script))
    found = totals_in(recording.directory)
    assert found.with_children
    assert 0 <= counted(found)[1] - (told(recording)[1] + 3000) <= of_recorder(recording)


def test_output_that_libc_writes_last_is_counted(script: Path, record: Record) -> None:
    recording = record([script, BURN, "fopen:file:w", "fputs:0:1000", BURN], env=chosen(script))
    found = totals_in(recording.directory)
    assert found.buffered == (15000 % 4096, 1)
    assert counted(found)[1] == told(recording)[1] + 15000
    assert counted(found)[3] == told(recording)[3] + 4


STEPS = st.tuples(
    st.sampled_from(["write", "read", "pwrite", "pread", "writev", "readv", "thread", "fsync", "seek", "burn"]),
    st.sampled_from([1, 7, 100, 4095, 4096, 65536, 1000000]),
    st.integers(1, 9),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=8))
def test_drawn_scripts_are_counted_exactly(script: Path, record: Record, steps: list[tuple[str, int, int]]) -> None:
    words = [f"{name}:{size % 50 if name == 'burn' else size}:{times}" for name, size, times in steps]
    recording = record([script, BURN, "open:file:w", *words], env=chosen(script), interval=0.05)
    assert counted(totals_in(recording.directory)) == told(recording)


def program_words(name: str, place: Path) -> Sequence[str | Path]:
    """Return a command that reads and writes for a while."""
    data = place / "data.csv"
    data.write_text("".join(f"{number % 9973},{number},{number * 7 % 1001}\n" for number in range(120_000)))
    path = shutil.which({"python": sys.executable}.get(name, name))
    if path is None:
        pytest.skip(f"{name} is not installed")
    arguments = {
        "dd": ["if=data.csv", "of=copy", "bs=512"],
        "cp": ["data.csv", "copy"],
        "sort": ["-t,", "-k1n", "-S", "1M", "data.csv", "-o", "sorted"],
        "sqlite3": ["base.db", "create table t(a,b,c);", ".mode csv", ".import data.csv t",
                    "select a, sum(b*c) from t group by a order by 2;"],
        "python": ["-S", "-E", "-c", "import csv\nwith open('data.csv', newline='') as f: rows = list(csv.reader(f))\n"
                   "rows.sort()\nwith open('copy', 'w') as f: csv.writer(f).writerows(rows)"],
    }  # fmt: skip
    return [path, *arguments[name]]


def compare(words: Sequence[str | Path], program: str, place: Path) -> None:
    """Record a command below strace, and compare; cp may be too short for a sample."""
    run = place / "run"
    log = strace_log.traced(words, place, {**variables(run, interval=0.1, rate=250), "INCPROF_EXE": program})
    if not (run / "rank-00000.gmon").exists():
        pytest.skip("too short to be recorded")
    seen = strace_log.of_application(log)
    assert counted(totals_in(run)) == [seen.read_b, seen.written_b, seen.reads, seen.writes]


@pytest.mark.parametrize("name", ["dd", "cp", "sort", "sqlite3", "python"])
def test_totals_are_those_of_strace(name: str, tmp_path: Path) -> None:
    words = program_words(name, tmp_path)
    compare(words, str(Path(words[0]).resolve()), tmp_path)


def test_a_program_with_cpp_streams(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "streams.cpp"
    source.write_text(
        "#include <fstream>\n#include <iostream>\n#include <string>\n"
        'int main() { { std::ofstream out("lines"); for (int i = 0; i < 100000; i++) out << i << " x\\n"; }\n'
        '  std::ifstream in("lines"); std::string line; long sum = 0; while (std::getline(in, line)) sum += line[0];\n'
        '  for (int i = 0; i < 1000; i++) std::cout << sum << "\\n"; }\n'
    )
    program = build(source, pg=False)
    compare([program], str(program), tmp_path)
