"""Inlined functions on call paths: those with a loop of their own, whatever the debug information looks like."""

import shutil
import subprocess
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.analysis.views.stacks import stack_series
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream.inlined import with_inlined
from incprof.symbols import addr2line
from incprof.symbols.addr2line import Frame
from incprof.symbols.control_flow import loops_of_code
from incprof.symbols.elf import open_elf
from incprof.symbols.jumps import functions_called_with, loop_owner
from tests.unit.built import built
from tests.unit.streamwriter import Sample, StreamWriter, module
from tests.variants import mostly_slow

SOURCE = """\
#include <vector>
static volatile int seed = 3;
struct Point { double x, y; };
static inline double square(double x) { return x * x; }
static inline double length(const Point &p) { return square(p.x) + square(p.y); }
[[gnu::always_inline]] static inline double sum_lengths(const std::vector<Point> &points)
{
    double sum = 0;
    for (const Point &p : points)
        sum += length(p) / (1 + sum);
    return sum;
}
[[gnu::noinline]] double shift(std::vector<Point> &points)
{
    for (Point &p : points)
        p.x += seed;
    return points[0].x;
}
int main()
{
    std::vector<Point> points(1000, Point{1.0, 2.0});
    double sum = 0;
    for (int step = 0; step < seed; step++) {
        sum += shift(points);
        sum += sum_lengths(points);
        sum += square(sum);
    }
    return sum > 0 ? 0 : 1;
}
"""

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(scope="module", params=mostly_slow(1, ["-O2", "-O1", "-O3"]))
def program(request, tmp_path_factory):
    """The program; its symbols by address and size, and its build-id."""
    made = built(tmp_path_factory.mktemp("program"), SOURCE, "-g", request.param, file="app.cpp")
    return made.path, made.where, made.build_id


SHIFT = "_Z5shiftRSt6vectorI5PointSaIS0_EE"


def recorded(program, folder, path=None):
    """A run with a sample at each address of main, and one in shift called from each of main's calls of it."""
    binary, where, build_id = program
    writer = StreamWriter([], exe=str(path or binary), modules=[module(0, str(path or binary), build_id, app=True)])
    begin, size = where["main"]
    samples = [Sample(((0, address),)) for address in range(begin, begin + size)]
    calls = called_from(binary, begin, size)
    samples += [Sample(((0, address), (0, where[SHIFT][0] + 4)), weight=20) for address in calls]
    writer.interval(samples)
    writer.end()
    return open_run(writer.save(folder))


def called_from(binary, begin, size):
    """Last bytes of the calls of shift, as objdump has them."""
    words = ["objdump", "-d", "--no-show-raw-insn", f"--start-address={begin}", f"--stop-address={begin + size}"]
    lines = subprocess.run([*words, str(binary)], capture_output=True, text=True, check=True).stdout.splitlines()
    at = [int(lines[i + 1].split(":")[0], 16) - 1 for i, line in enumerate(lines) if "call" in line and SHIFT in line]
    assert at
    return at


def names(profile):
    return {function.name for function in profile.functions}


@pytest.mark.parametrize("tool", ["llvm-symbolizer", "addr2line"])
def test_what_loops_has_a_name_and_accessors_have_none(program, tmp_path, tool, monkeypatch):
    which = shutil.which
    if which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    monkeypatch.setattr("shutil.which", lambda name: which(name) if name in (tool, "objdump") else None)
    run = recorded(program, tmp_path / "run")
    plain, profile = read_profile(run), read_profile(run, inlined=True)
    assert {name.split("(")[0] for name in names(profile) - names(plain)} == {"sum_lengths"}
    new = next(f for f in profile.functions if f.name.startswith("sum_lengths"))
    assert (new.file, new.address) == (str(program[0].with_name("app.cpp")), 0)
    assert 6 <= new.line <= 12
    assert profile.self_s.sum() == pytest.approx(plain.self_s.sum())
    assert profile.calls.shape == profile.self_s.shape == (1, len(profile.functions))
    # It is called by main, and no one else is below it.
    chains = profile.tree
    index = profile.functions.index(new)
    (chain,) = np.flatnonzero(chains.function == index)
    assert profile.functions[chains.function[chains.parent[chain]]].name == "main"
    assert not (chains.parent == chain).any()
    assert any(frame.name == new.name for stack in stack_series(profile).stacks for frame in stack)
    # A flame graph and the plot of self time agree on what is its own.
    series, own = stack_series(profile), profile.self_s.sum(axis=0)
    ticks: Counter[str] = Counter()
    for at, weight in zip(series.stack.tolist(), series.weight.tolist(), strict=True):
        ticks[series.stacks[at][-1].name] += weight
    assert ticks[new.name] > 0
    assert {f.name: pytest.approx(float(own[i]) * 100) for i, f in enumerate(profile.functions) if own[i] > 0} == ticks
    # In the same loop as shift: called as often.
    shift = next(i for i, f in enumerate(profile.functions) if f.mangled == SHIFT)
    assert shift in profile.inlined.beside[index]


def test_answers_are_kept_for_where_the_debug_information_is_not(program, tmp_path, monkeypatch):
    moved = tmp_path / "moved"
    shutil.copy(program[0], moved)
    run = recorded(program, tmp_path / "run", moved)
    first = read_profile(run, inlined=True)
    assert first.inlined is not None
    subprocess.run(["strip", "-g", moved], check=True)
    monkeypatch.setattr("incprof.symbols.jumps.loops_of_code", lambda *_: pytest.fail("asked again"))
    again = with_inlined(run, read_profile(run), "caller")
    assert again.functions == first.functions
    assert np.array_equal(again.inlined.function, first.inlined.function)


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_debug_information(program, tmp_path_factory, data):
    """Whatever the bytes: an answer, soon, and the same time and functions on record."""
    folder = tmp_path_factory.mktemp("damaged")
    elf = open_elf(str(program[0]))
    bytes_ = bytearray(program[0].read_bytes())
    sections = [s for s in elf.sections if s.name.startswith(".debug_") and s.size]
    for _ in range(data.draw(st.integers(1, 40))):
        section = data.draw(st.sampled_from(sections))
        bytes_[section.offset + data.draw(st.integers(0, section.size - 1))] = data.draw(st.integers(0, 255))
    (folder / "app").write_bytes(bytes_)
    run = recorded(program, folder / "run", folder / "app")
    plain = read_profile(run)
    profile = read_profile(run, inlined=True)
    assert [f.mangled for f in profile.functions[: len(plain.functions)]] == [f.mangled for f in plain.functions]
    assert profile.self_s.sum() == pytest.approx(plain.self_s.sum())
    assert profile.tree.of_node.shape == plain.paths.parent.shape


def test_a_tool_that_never_ends_is_given_up(tmp_path, monkeypatch):
    tool = tmp_path / "llvm-symbolizer"
    tool.write_text("#!/bin/sh\nexec sleep 1000\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(addr2line, "TIMEOUT_S", 0.2)
    monkeypatch.setattr("shutil.which", lambda name: str(tool) if name == tool.name else None)
    before = time.monotonic()
    assert addr2line.chains(str(tool), [1, 2]) == [(), ()]
    assert time.monotonic() - before < 100


def frames(text):
    """Innermost first: "inner:5 outer:9"; a function with a capital letter is the system's."""
    pairs = (word.split(":") for word in text.split())
    return tuple(Frame(n, "/usr/include/x.h" if n[0].isupper() else "a.c", int(line)) for n, line in pairs)


@pytest.mark.parametrize(
    ("source", "target", "owner"),
    [
        ("sum:4 main:9", "sum:5 main:9", "sum"),
        ("main:9", "get:3 main:9", None),
        ("Begin:1 sum:4 main:9", "get:3 sum:5 main:9", "sum"),
        ("Each:7 sum:4 main:9", "f:3 Each:7 sum:4 main:9", "sum"),
        ("sum:4 main:9", "sum:5 main:11", None),
        ("Each:7 main:9", "Each:7 main:9", None),
        ("sum:4 step:7 main:9", "step:6 main:9", "step"),
        ("", "main:9", None),
    ],
)
def test_the_function_of_a_loop(source, target, owner):
    assert loop_owner(frames(source), frames(target)) == ((owner, "a.c") if owner else None)


@pytest.mark.parametrize(
    ("source", "target", "owner"),
    [("sum:5 main:9", "main:1", "sum"), ("main:1", "sum:5 main:9", "sum"), ("main:1", "main:1", None)],
)
def test_an_instruction_without_a_place_does_not_hide_the_function_of_a_loop(source, target, owner):
    """GCC copies a counter before each loop, and gives the copy the first line of the recorded function."""
    assert loop_owner(frames(source), frames(target), frames("main:1")) == ((owner, "a.c") if owner else None)


def test_what_is_called_beside():
    sum_, tiny = ("sum", "a.c"), ("tiny", "a.c")
    steps, inner, cells = (90, 10), (30, 20), (80, 40)
    owners = {steps: None, inner: sum_, cells: None, (60, 50): tiny}
    assert functions_called_with(owners, [(15, 3), (70, 4), (99, 5)], 9) == {sum_: {3}, tiny: {4}}
    # Nothing is known of the cells' loop, which is in another one: it may be tiny.
    assert functions_called_with(owners, [(15, 3)], 9) == {sum_: {3}}
    assert functions_called_with({inner: sum_}, [], 9) == {sum_: {9}}
    assert functions_called_with({steps: None, inner: sum_}, [], 9) == {sum_: None}


def test_jumps_backwards_are_where_the_loops_are(program):
    path, where, _ = program
    elf = open_elf(str(path))
    found = loops_of_code(elf, [where[SHIFT], where["main"], (1, 10)])
    assert found.keys() == {where[SHIFT], where["main"]}
    assert len(found[where[SHIFT]].loops) >= 1
    for (begin, size), code in found.items():
        assert all(begin <= target <= source < begin + size for (source, target), _ in code.loops)


COLD = """\
static int failed;
__attribute__((noinline, cold)) static void complain(int x) { failed += x; }
__attribute__((noinline)) int straight(int x)
{
    int y = x * 3;
    if (__builtin_expect(x == 17, 0)) { complain(x); y += failed; }
    if (__builtin_expect(y == 99, 0)) { complain(y); y ^= failed; }
    return y * failed + x;
}
__attribute__((noinline)) int around(const int *v, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (__builtin_expect(v[i] == 17, 0)) { complain(i); continue; }
        sum += v[i] * sum;
    }
    return sum;
}
__attribute__((noinline)) int states(const char *text)
{
    int state = 0;
    for (; *text; text++)
        switch (*text & 7) {
        case 0: state += 3; break;
        case 1: state *= 3; break;
        case 2: state ^= failed; break;
        case 3: state -= 7; complain(state); break;
        case 4: state |= 9; break;
        case 5: state &= 77; break;
        default: return state;
        }
    return state;
}
int main(int n, char **v) { return straight(n) + around((int *)v, n) + states(v[0]); }
"""


@pytest.mark.parametrize("flags", [["-O2"], ["-O2", "-fno-reorder-blocks-and-partition"], ["-O1"], ["-O3"]])
def test_rare_code_that_jumps_back_is_no_loop(tmp_path, flags):
    made = built(tmp_path, COLD, *flags)
    where = made.where
    found = loops_of_code(open_elf(str(made.path)), [where[name] for name in ("straight", "around", "states")])
    assert found[where["straight"]].loops == []
    assert found[where["around"]].loops
    assert found[where["states"]].loops
