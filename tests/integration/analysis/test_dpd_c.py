"""The detectors as programs in C use them: the paper's interface, threads, no allocation, every vector unit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.paths import INTEGRATION, ROOT

NATIVE = ROOT / "analysis" / "native"
FIXTURES = INTEGRATION / "dpd_fixtures"
SANITIZERS = {
    "thread": "-O1 -fsanitize=thread",
    "memory": "-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined",
}


def build(place: Path, fixture: str, *flags: str) -> Path:
    """A program of a fixture and the detectors' sources."""
    program = place / Path(fixture).stem
    sources = [*sorted(NATIVE.glob("dpd*.c")), FIXTURES / fixture]
    words = ["gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", *flags, f"-I{NATIVE / 'include'}"]
    done = subprocess.run(
        [*words, *map(str, sources), "-o", str(program), "-lpthread", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


def output(*words: str | Path) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def sanitized(kind: str, place: Path) -> list[str]:
    """The flags, or skip where the compiler has none of that kind."""
    flags = SANITIZERS[kind].split()
    empty = place / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    built = subprocess.run(["gcc", *flags, empty, "-o", place / "empty"], capture_output=True, check=False)
    if built.returncode != 0 or subprocess.run([place / "empty"], check=False).returncode != 0:
        pytest.skip(f"no {flags[1]} here")
    return flags


@pytest.mark.slow
def test_the_interface_of_the_paper(tmp_path: Path) -> None:
    lines = output(build(tmp_path, "paper.c")).splitlines()
    assert lines.pop(15) == "thread 500"
    table = [tuple(map(int, line.split())) for line in lines[:25]]
    assert [period for _, period, _ in table] == [0] * 11 + [4] * 12 + [0, 0]
    assert [i + 1 for i, (_, _, start) in enumerate(table) if start] == [13, 17, 21]
    assert lines[25:] == ["default 99 0", "larger 110", "smaller 19 0", "ignored 18"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SANITIZERS)
def test_threads(kind: str, tmp_path: Path) -> None:
    """Each has its own detectors: nothing is shared, and all find what each finds alone."""
    lines = output(build(tmp_path, "threads.c", *sanitized(kind, tmp_path))).splitlines()
    assert len(lines) == 4
    for line in lines:
        same, loops, starts, value_starts = map(int, line.split())
        assert same
        assert loops == 10
        assert starts >= 10 * 48
        assert value_starts > 10 * 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", SANITIZERS)
def test_the_paper_s_detectors_in_threads(kind: str, tmp_path: Path) -> None:
    """They are made at a thread's first call, and released at its end."""
    assert "thread 500" in output(build(tmp_path, "paper.c", *sanitized(kind, tmp_path)))


@pytest.mark.slow
def test_nothing_is_allocated(tmp_path: Path) -> None:
    assert output(build(tmp_path, "still.c")) == "90 40 0\n"


@pytest.mark.slow
def test_all_vector_units_agree(tmp_path: Path) -> None:
    names = [line.split()[0] for line in output(build(tmp_path, "kernels.c")).splitlines()]
    assert names[-1] == "baseline"
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("compiler", ["gcc -std=c90 -pedantic", "gcc -std=c11 -pedantic", "g++ -std=c++11 -pedantic"])
def test_headers_alone(compiler: str, tmp_path: Path) -> None:
    words = compiler.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    source = tmp_path / ("alone.cpp" if words[0] == "g++" else "alone.c")
    source.write_text("#include <dpd.h>\n#include <dpd_values.h>\nint main(void) { return DPD_LEVELS == 0; }\n")
    output(*words, "-Wall", "-Wextra", "-Werror", "-I", NATIVE / "include", "-c", source, "-o", tmp_path / "alone.o")
