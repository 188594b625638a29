"""Lambdas that were inlined: GCC calls all of them `operator()`, and has their places somewhere else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from incprof.symbols import source_lines
from incprof.symbols.addr2line import Chain, chains
from incprof.symbols.elf import open_elf
from incprof.symbols.source_lines import CALL, with_lambdas
from tests.variants import mostly_slow

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

SOURCE = """\
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>
static double nested(std::vector<double> &v)
{
    double sum = 0;
    std::for_each(v.begin(), v.end(), [&](double x) {
        auto add = [&](double y) { sum += y / (sum + x); };
        for (int i = 0; i < 100; i++)
            add(x + i);
    });
    return sum;
}
int main(int count, char **)
{
    std::vector<std::function<double(int)>> all;
    all.push_back([&](int i) { double s = 0; for (int j = 0; j < count * 99; j++) s += 1.0 / (i + j); return s; });
    all.push_back([&](int i) { double s = 1; for (int j = 0; j < count * 77; j++) s = s / 2 + j - i; return s; });
    std::vector<double> values(10, 1.0);
    double result = nested(values);
    for (auto &each : all)
        result += each(count);
    std::printf("%g\\n", result);
}
"""


@pytest.fixture(scope="module", params=mostly_slow(2, ["-gdwarf-5", "-gdwarf-5 -flto", "-gdwarf-4", "-gdwarf-5 -gz"]))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("closures")
    (directory / "lambdas.cpp").write_text(SOURCE)
    command = ["g++", "-O2", *request.param.split(), "lambdas.cpp", "-o", "lambdas"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return directory / "lambdas"


def looked_up(program: Path) -> tuple[list[int], list[Chain]]:
    """All addresses of the program's code, and the chains that a tool has for them."""
    section = open_elf(str(program)).section(".text")
    assert section is not None
    addresses = list(range(section.address, section.address + section.size))
    return addresses, chains(str(program), addresses)


def test_each_has_the_line_that_it_begins_on(program: Path) -> None:
    addresses, before = looked_up(program)
    after = with_lambdas(str(program), addresses, before)
    found = {(new.function, new.line) for a, b in zip(before, after, strict=True)
             for old, new in zip(a, b, strict=True) if old.function == CALL}  # fmt: skip
    names = {name for name, _ in found}
    assert names >= {"main::{lambda line 18}::operator()", "main::{lambda line 19}::operator()"}
    assert names <= {
        "main::{lambda line 18}::operator()",
        "main::{lambda line 19}::operator()",
        "nested::{lambda line 8}::operator()",
        "nested::{lambda line 8}::operator()::{lambda line 9}::operator()",
    }
    lines = {18: {18}, 19: {19}, 8: range(8, 13), 9: {9}}
    for name, line in found:
        assert line in lines[int(name.rpartition("line ")[2].partition("}")[0])], (name, line)


def test_all_else_stays_as_it_is(program: Path) -> None:
    addresses, before = looked_up(program)
    for old, new in zip(before, with_lambdas(str(program), addresses, before), strict=True):
        assert [f for f in old if f.function != CALL] == [
            n for o, n in zip(old, new, strict=True) if o.function != CALL
        ]
        assert [frame[1:] for frame in old] == [frame[1:] for frame in new]


def test_an_address_may_be_looked_up_twice(program: Path) -> None:
    addresses, before = looked_up(program)
    after = with_lambdas(str(program), addresses, before)
    assert with_lambdas(str(program), addresses * 2, before * 2) == after * 2


def test_a_file_without_debug_information_changes_nothing(program: Path, tmp_path: Path) -> None:
    addresses, before = looked_up(program)
    whole = program.read_bytes()
    for name, content in (("none", b""), ("half", whole[: len(whole) // 2]), ("text", b"#!/bin/sh\n")):
        (tmp_path / name).write_bytes(content)
        assert with_lambdas(str(tmp_path / name), addresses, before) == before
    assert with_lambdas(str(tmp_path / "missing"), addresses, before) == before


def test_nothing_is_read_where_there_is_no_lambda(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_lines, "open_input", None)
    addresses, before = looked_up(program)
    others = [at for at, chain in enumerate(before) if all(frame.function != CALL for frame in chain)]
    plain = [before[at] for at in others]
    assert with_lambdas(str(program), [addresses[at] for at in others], plain) == plain
