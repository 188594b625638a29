"""What ran of a function, line by line, with code that was inlined into it; and calls by the line that calls."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from incprof.readers.run import choose_process, open_run, read_profile
from incprof.readers.stream.function_code import CodeReader, FunctionCode, Level, read_call_sites
from incprof.symbols import addr2line
from incprof.symbols.addr2line import Frame
from tests.unit.built import built
from tests.unit.streamwriter import LIBRARY, OWN_TIME, Sample, StreamWriter, arc, image, module

SOURCE = """\
static volatile double sink;
static inline __attribute__((always_inline)) void inner(int n)
{
    for (int i = 0; i < n; i++)
        sink += i;
}
static inline __attribute__((always_inline)) void middle(int n)
{
    sink += 1;
    inner(n);
}
__attribute__((noinline)) void leaf(void) { sink += 2; }
__attribute__((noinline)) void solve(int n)
{
    for (int i = 0; i < n; i++) {
        middle(n);
        leaf();
    }
}
int main(int argc, char **argv)
{
    (void)argv;
    solve(argc);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program; its functions' addresses and sizes, its build-id, and the chain of each address of solve."""
    made = built(tmp_path_factory.mktemp("program"), SOURCE, "-g", "-O1")
    addresses = range(made.where["solve"][0], sum(made.where["solve"]))
    chains = dict(zip(addresses, addr2line.chains(str(made.path), addresses), strict=True))
    return made.path, made.where, made.build_id, chains


def lines(chain):
    return [(frame.function, frame.line) for frame in chain]


def at(chains, *wanted):
    """The first address with that chain."""
    return next(address for address, chain in chains.items() if lines(chain) == list(wanted))


@pytest.mark.parametrize("tools", [{"addr2line"}, {"llvm-symbolizer"}])
def test_the_whole_chain_innermost_first(program, tools, monkeypatch):
    path, _, _, expected = program
    which = shutil.which
    if not all(map(which, tools)):
        pytest.skip(f"{', '.join(tools)} is not installed")
    monkeypatch.setattr("incprof.symbols.addr2line.shutil.which", lambda name: which(name) if name in tools else None)
    found = addr2line.chains(str(path), list(expected))
    kinds = {tuple(lines(chain)) for chain in found}
    assert (("inner", 5), ("middle", 10), ("solve", 16)) in kinds
    assert (("middle", 9), ("solve", 16)) in kinds
    assert all(chain[-1].function == "solve" for chain in found if chain)
    assert all(frame.file == str(path.with_name("app.c")) for chain in found for frame in chain)


@pytest.mark.parametrize("offset", [1 << 62, (1 << 64) - 1])
def test_a_section_table_out_of_this_world(program, tmp_path, monkeypatch, offset):
    path, where, _, _ = program
    damaged = tmp_path / "app"
    content = bytearray(path.read_bytes())
    content[0x28:0x30] = offset.to_bytes(8, "little")
    damaged.write_bytes(content)
    which = shutil.which
    if not which("addr2line"):
        pytest.skip("addr2line is not installed")
    monkeypatch.setattr("incprof.symbols.addr2line.shutil.which", lambda name: which(name) if "add" in name else None)
    assert addr2line.chains(str(damaged), [where["solve"][0]]) == [()]


def test_without_tools_there_are_places_without_names(program, monkeypatch):
    path, where, _, _ = program
    monkeypatch.setattr("incprof.symbols.addr2line.shutil.which", lambda name: None)
    (chain,) = addr2line.chains(str(path), [where["solve"][0]])
    assert [frame.function for frame in chain] == [""]
    assert chain[0].line in (14, 15)


@pytest.fixture
def recorded(program, tmp_path):
    """Two intervals: 6 ticks in inner, 3 in middle, 1 in solve's own loop; then 4 in inner. 70 and 5 calls of leaf."""
    path, where, build_id, chains = program
    deep = at(chains, ("inner", 5), ("middle", 10), ("solve", 16))
    middle = at(chains, ("middle", 9), ("solve", 16))
    call = next(a for a, chain in chains.items() if lines(chain) == [("solve", 17)])
    writer = StreamWriter([], exe=str(path), modules=[module(0, str(path), build_id, app=True)])
    for ticks, count in (((6, 3, 1), 70), ((4, 0, 0), 5)):
        arcs = arc(call + 1, where["leaf"][0], count) + arc(0, where["main"][0], 1)
        writer.data += image(OWN_TIME, arcs, interval=writer._count)
        places = zip((deep, middle, call), ticks, (0, 0, LIBRARY), strict=True)
        writer.interval([Sample(((0, a),), kind, weight=w) for a, w, kind in places if w])
    run = open_run(writer.save(tmp_path / "run"))
    profile = read_profile(run)
    index = [f.name for f in profile.functions].index("solve")
    return run, profile, index


def code_of(recorded, labels, **options):
    run, profile, index = recorded
    return CodeReader(run, choose_process(run), profile, np.array(labels), **options).look_up([index])[index]


def test_seconds_by_line_and_phase(recorded, program):
    source = str(program[0].with_name("app.c"))
    code = code_of(recorded, [0, 1])
    here, elsewhere = Level(code, source).seconds([0])
    assert here == {16: pytest.approx(0.09), 17: pytest.approx(0.01)}
    assert elsewhere == {16: pytest.approx(0.04), 17: 0}
    inner, frame = Level(code, source).inner([0], 0.9)
    assert (inner.function, inner.depth, frame.line) == ("middle", 1, 10)
    assert inner.seconds([0])[0] == {9: pytest.approx(0.03), 10: pytest.approx(0.06)}
    assert inner.inner([0], 0.9) is None
    deepest, frame = inner.inner([0], 0.6)
    assert (deepest.function, frame) == ("inner", Frame("inner", source, 5))
    assert deepest.inner([0], 0.5) is None


def test_intervals_without_a_phase_do_not_count(recorded, program):
    code = code_of(recorded, [-1, 0])
    here, elsewhere = Level(code, str(program[0].with_name("app.c"))).seconds([0])
    assert (here[16], sum(here.values()), sum(elsewhere.values())) == (pytest.approx(0.04), pytest.approx(0.04), 0)
    assert code.calls.tolist() == [[5]]


def test_calls_by_line(recorded, program):
    code = code_of(recorded, [0, 1])
    calls = Level(code, str(program[0].with_name("app.c"))).calls()
    assert {key: count.tolist() for key, count in calls.items()} == {(17, program[1]["leaf"][0], False): [70, 5]}


def test_what_was_looked_up_travels_with_the_run(recorded, monkeypatch):
    first = code_of(recorded, [0, 0])
    monkeypatch.setattr("incprof.symbols.source_lines.chains", lambda *_: pytest.fail("asked again"))
    again = code_of(recorded, [0, 0])
    assert (again.chains, again.call_chains) == (first.chains, first.call_chains)


def test_a_directory_of_gmon_files_has_no_call_sites(recorded, tmp_path):
    run, _, _ = recorded
    process = choose_process(run)
    sites = read_call_sites(run, replace(process, path=str(tmp_path), series=True), np.array([0, 1]))
    assert (len(sites.module), sites.calls.shape) == (0, (0, 2))


def test_nothing_known_gives_no_lines():
    code = FunctionCode(((), ()), np.ones((2, 1)), np.ones((2, 1)), ((),), np.array([7]), np.array([[3]]))
    level = Level(code, "/a.c")
    assert (level.seconds([0]), level.calls(), level.inner([0], 0.5)) == (({}, {}), {}, None)
