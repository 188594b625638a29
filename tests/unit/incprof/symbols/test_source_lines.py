"""Source lines: looked up once, kept in the run directory, absent where unknown."""

import json
import shutil

import numpy as np
import pytest

from incprof.readers.run import open_run, read_profile
from incprof.symbols import addr2line
from incprof.symbols.source_lines import VERSION, line_weights, lines_of, locate
from tests.unit.built import built
from tests.unit.streamwriter import LIBRARY, Sample, StreamWriter, module

SOURCE = """\
static volatile double sink;
void solve(int n)
{
    for (int i = 0; i < n; i++)
        sink += i;
}
int main(void)
{
    solve(10);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with line numbers; its functions' addresses and its build-id."""
    made = built(tmp_path_factory.mktemp("program"), SOURCE, "-g", "-O0")
    return made.path, {name: address for name, (address, _) in made.where.items()}, made.build_id


@pytest.fixture
def run(program, tmp_path):
    """A run of it: 3 ticks on line 5, 2 library ticks called from line 4, 1 in main."""
    path, address, build_id = program
    lines = addr2line.look_up(str(path), list(range(address["solve"], address["main"])))
    at = {place[1]: address["solve"] + i for i, place in enumerate(lines) if place}
    writer = StreamWriter([], exe=str(path), modules=[module(0, str(path), build_id, app=True)])
    main = (0, address["main"] + 8)
    writer.interval([Sample((main, (0, at[5])), weight=3), Sample((main, (0, at[4])), LIBRARY, weight=2)])
    writer.interval([Sample((main,)), Sample((main, (0, at[4])), weight=9)])
    return open_run(writer.save(tmp_path / "run"))


def test_functions_get_the_line_at_which_they_begin(run, program):
    profile = read_profile(run)
    found = {f.name: (f.file, f.line) for f in locate(run, profile, profile.functions)}
    source = str(program[0].with_name("app.c"))
    assert found == {"solve": (source, 3), "main": (source, 8)}


def test_answers_travel_with_the_run(run, program, monkeypatch):
    profile = read_profile(run)
    first = locate(run, profile, profile.functions)
    monkeypatch.setattr("incprof.symbols.source_lines.chains", lambda *_: pytest.fail("asked again"))
    assert locate(run, profile, profile.functions) == first


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"version": 3}',
        '{"version": 3, "chains": {"x": 3}}',
        '{"version": 3, "chains": {"1": [["f", "g"]]}}',
    ],
)
def test_damaged_answers_are_computed_again(run, program, damage, tmp_path):
    profile = read_profile(run)
    first = locate(run, profile, profile.functions)
    (store,) = (tmp_path / "run" / "symbols").glob("*.json")
    store.write_text(damage)
    assert locate(run, profile, profile.functions) == first
    assert json.loads(store.read_text())["version"] == VERSION


def test_seconds_by_line(run, program):
    profile = read_profile(run)
    solve = [f.name for f in profile.functions].index("solve")
    source = str(program[0].with_name("app.c"))
    assert line_weights(run, profile, solve) == [
        (source, 4, pytest.approx(0.11)),
        (source, 5, pytest.approx(0.03)),
    ]
    first = np.array([0], dtype=np.int64)
    assert [line for _, line, _ in line_weights(run, profile, solve, intervals=first)] == [5, 4]


def test_unknown_lines(tmp_path):
    writer = StreamWriter(["main"])
    writer.interval([Sample("main")])
    run = open_run(writer.save(tmp_path))
    profile = read_profile(run)
    assert locate(run, profile, profile.functions) == profile.functions
    assert line_weights(run, profile, 0) == []
    assert lines_of(run, profile, "no such module", [1, 2]) == [None, None]


@pytest.mark.parametrize("tools", [{"addr2line"}, {"llvm-symbolizer"}, set()])
def test_every_way_to_ask_agrees(program, tools, monkeypatch):
    path, address, _ = program
    which = shutil.which
    if not all(map(which, tools)):
        pytest.skip(f"{', '.join(tools)} is not installed")
    monkeypatch.setattr("incprof.symbols.addr2line.shutil.which", lambda name: which(name) if name in tools else None)
    source = str(path.with_name("app.c"))
    places = addr2line.look_up(str(path), [address["solve"], address["main"], address["main"] + 5, 1])
    assert places == [(source, 3), (source, 8), (source, 9), None]


INLINED = """\
static inline __attribute__((always_inline)) int twice(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++)
        sum ^= i * x;
    return sum;
}
int solve(int n)
{
    return twice(n) + 1;
}
int main(int argc, char **argv) { (void)argv; return solve(argc); }
"""


@pytest.mark.parametrize("tool", ["addr2line", "llvm-symbolizer"])
def test_inlined_code_is_on_the_line_where_the_function_uses_it(tmp_path, tool, monkeypatch):
    which = shutil.which
    if which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    monkeypatch.setattr("incprof.symbols.addr2line.shutil.which", lambda name: which(name) if name == tool else None)
    made = built(tmp_path, INLINED, "-g", "-O1", "-fno-inline-functions-called-once")
    solve, _ = made.where["solve"]
    lines = {place[1] for place in addr2line.look_up(str(made.path), range(solve, solve + 16)) if place}
    assert lines <= {9, 10, 11}
    assert 10 in lines
