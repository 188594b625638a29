"""Time by callers, estimated from counted calls: stock gprof's figures, and nothing lost on the way to call paths."""

import re
import shutil
import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from incprof.analysis.answer import find_phases
from incprof.analysis.call_paths import CallGraph, components_of, with_estimated_paths
from incprof.model import Arcs
from incprof.readers.profile_builder import NO_PATHS
from incprof.study import Study
from tests.recordings.kept import kept
from tests.unit.profiles import make_profile

FUNCTIONS = 9


@st.composite
def graphs(draw):
    """Ticks of functions, and calls between them: cycles, recursion, several callers, functions without a caller."""
    ticks = draw(st.lists(st.integers(0, 400), min_size=FUNCTIONS, max_size=FUNCTIONS))
    pair = st.tuples(st.integers(0, FUNCTIONS - 1), st.integers(0, FUNCTIONS - 1))
    arcs = draw(st.dictionaries(pair, st.integers(1, 50), max_size=20))
    return ticks, arcs


def graph_of(ticks, arcs):
    caller, callee = np.array(list(arcs), dtype=np.int64).reshape(-1, 2).T
    counts = np.array(list(arcs.values()), dtype=np.float64)[:, None]
    return CallGraph(np.array(ticks, dtype=np.float64)[:, None], caller, callee, counts)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program whose functions begin at known addresses, 256 bytes from each other."""
    place = tmp_path_factory.mktemp("graph")
    code = "\n".join(
        f'__attribute__((aligned(256))) void f{i}(void) {{ __asm__(".skip 200, 0x90"); }}' for i in range(9)
    )
    (place / "graph.c").write_text(code + "\nint main(void) { return 0; }\n")
    subprocess.run(["gcc", "-no-pie", "-fno-pie", "-o", "graph", "graph.c"], cwd=place, check=True)
    listing = subprocess.run(["nm", "graph"], cwd=place, capture_output=True, text=True, check=True).stdout
    address = {name: int(at, 16) for at, name in re.findall(r"^([0-9a-f]+) T (f\d)$", listing, re.MULTILINE)}
    return place / "graph", [address[f"f{i}"] for i in range(FUNCTIONS)]


def gprof_totals(program, ticks, arcs):
    """Self and descendants' seconds by function, of a cycle by its members, as stock gprof propagates them."""
    exe, start = program
    low, high = min(start), max(start) + 256
    bins = [0] * ((high - low) // 4)
    for function, count in enumerate(ticks):
        bins[(start[function] - low) // 4 + 2] = count
    data = b"gmon" + struct.pack("<I12x", 1)
    data += struct.pack("<BQQII15sc", 0, low, high, len(bins), 100, b"seconds", b"s") + struct.pack(
        f"<{len(bins)}H", *bins
    )
    for (caller, callee), count in arcs.items():
        data += struct.pack("<BQQI", 1, start[caller] + 16, start[callee] + 4, count)
    exe.with_name("drawn.out").write_bytes(data)
    command = ["gprof", "-b", "-q", "-z", str(exe), str(exe.with_name("drawn.out"))]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cycle_of, totals = {}, {}
    line = re.compile(
        r"^\[\d+\]\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\s+.*?(?:f(\d)(?: <cycle (\d+)>)?|<cycle (\d+) as a whole>) \["
    )
    for own, below, function, cycle, whole in (m.groups() for m in map(line.match, text.splitlines()) if m):
        seconds = float(own) + float(below)
        if whole:
            totals[f"cycle {whole}"] = seconds
        elif cycle:
            cycle_of.setdefault(f"cycle {cycle}", []).append(int(function))
        else:
            totals[(int(function),)] = seconds
    return {tuple(sorted(cycle_of[key])) if isinstance(key, str) else key: value for key, value in totals.items()}


@pytest.mark.skipif(shutil.which("gprof") is None, reason="gprof is not installed")
@settings(deadline=None, max_examples=25)
@given(drawn=graphs())
def test_inclusive_time_is_that_of_stock_gprof(program, drawn):
    ticks, arcs = drawn
    # gprof refuses files without ticks or calls.
    ticks[0] += 1
    arcs = arcs or {(0, 1): 1}
    graph = graph_of(ticks, arcs)
    theirs = gprof_totals(program, ticks, arcs)
    ours = {tuple(members): graph.inclusive[i, 0] / 100 for i, members in enumerate(graph.members)}
    # It has no line for a cycle of all functions.
    assert theirs or len(ours) == 1
    for members, seconds in theirs.items():
        # Each of the two figures that gprof prints is rounded to hundredths.
        assert ours[members] == pytest.approx(seconds, abs=0.0101)


@given(graphs())
def test_what_is_called_comes_before_its_callers(drawn):
    _, arcs = drawn
    found = components_of(FUNCTIONS, [a for a, _ in arcs], [b for _, b in arcs])
    assert sorted(member for members in found for member in members) == list(range(FUNCTIONS))
    place = {member: number for number, members in enumerate(found) for member in members}
    assert all(place[b] <= place[a] for a, b in arcs)
    reach = np.eye(FUNCTIONS, dtype=bool)
    for _ in range(FUNCTIONS):
        for a, b in arcs:
            reach[a] |= reach[b]
    assert all((place[a] == place[b]) == (reach[a, b] and reach[b, a]) for a in range(9) for b in range(9))


def test_deep_graphs_take_no_stack():
    n = 100_000
    assert len(components_of(n, list(range(n - 1)), list(range(1, n)))) == n


@st.composite
def profiles(draw):
    """A profile of some intervals with calls, without call paths."""
    n = draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 60, (n, FUNCTIONS)) * (rng.random((n, FUNCTIONS)) < 0.6) / 100
    names = ["main", *(f"f{i}" for i in range(1, FUNCTIONS))]
    _, arcs = draw(graphs())
    rows = sorted({(int(rng.integers(n)), a, b) for a, b in arcs for _ in range(3)})
    interval, caller, callee = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    count = rng.integers(1, 100, len(rows))
    profile = make_profile(own, names=names)
    return replace(profile, arcs=Arcs(interval, caller, callee, count)), own


@settings(deadline=None, max_examples=60)
@given(profiles())
def test_no_tick_is_lost_and_none_is_made(drawn):
    profile, own = drawn
    found = with_estimated_paths(profile)
    if not len(profile.arcs.caller):
        assert found is profile
        return
    function = found.paths.function[found.samples.node]
    ticks = np.zeros(own.shape)
    np.add.at(ticks, (found.interval_of_samples(), function), found.samples.weight)
    assert (found.samples.weight > 0).all()
    assert np.abs(np.cumsum(ticks, axis=0) - np.cumsum(own * 100, axis=0)).max() <= 1.0
    assert ticks.sum(axis=0).tolist() == pytest.approx((own * 100).sum(axis=0).tolist())
    assert (found.paths.parent[1:] < np.arange(1, len(found.paths.parent))).all()
    # A chain is one of calls that were counted, or goes on in a cycle.
    called = set(zip(profile.arcs.caller.tolist(), profile.arcs.callee.tolist(), strict=True))
    above = found.paths.function[found.paths.parent]
    for node in range(1, len(above)):
        assert above[node] == -1 or (int(above[node]), int(found.paths.function[node])) in called
    again = with_estimated_paths(profile)
    assert all(np.array_equal(getattr(again.samples, key), value) for key, value in vars(found.samples).items())


def test_a_shared_function_belongs_to_its_caller_at_the_time():
    """sweep is called by setup in the first half, and by solve, far less often, in the second."""
    own = np.zeros((20, 4))
    own[:, 3] = 1.0
    profile = make_profile(own, names=["main", "setup", "solve", "sweep"])
    rows = [(0, 0, 1, 1), (10, 0, 2, 1), *((i, 1, 3, 1000) for i in range(10)), (10, 2, 3, 1)]
    profile = replace(profile, arcs=Arcs(*np.array(sorted(rows), dtype=np.int64).T))
    found = with_estimated_paths(profile)
    tree, node = found.tree, found.tree.of_node[found.samples.node]
    callers = tree.function[tree.parent[node]]
    assert callers.tolist() == [1] * 10 + [2] * 10
    assert find_phases(profile).paths_estimated
    assert not find_phases(profile, method="paper").paths_estimated


def without_paths(profile):
    """The same recording as gmon files have it."""
    samples = replace(profile.samples, **{name: column[:0] for name, column in vars(profile.samples).items()})
    return replace(profile, paths=NO_PATHS, samples=samples, inlined=None)


def sites_of(result):
    return [sorted((site.function.name, site.kind) for site in phase.sites) for phase in result.phases]


@pytest.mark.parametrize("name", ["nested-sweeps", "nested-wrapped", "timesteps"])
def test_sites_by_calls_are_those_by_call_paths(name, tmp_path):
    profile = Study(kept(name, tmp_path).run, libs="caller").profile
    recorded, estimated = find_phases(profile), find_phases(without_paths(profile))
    assert (recorded.paths_estimated, estimated.paths_estimated) == (False, True)
    assert estimated.labels.tolist() == recorded.labels.tolist()
    assert sites_of(estimated) == sites_of(recorded)
    names = [{step.function.name for step in phase.steps} for phase in recorded.phases]
    assert [{step.function.name for step in phase.steps} for phase in estimated.phases] == names


def test_graph500_in_small():
    """What generates the edges is called once and has no time of its own: make_one_edge has it all."""
    names = ["main", "generate_kronecker_range", "make_one_edge", "run_bfs", "visit", "validate_bfs_result", "check"]
    own, rows = np.zeros((60, 7)), [(0, 0, 1, 1)]
    rng = np.random.default_rng(0)
    for i in range(60):
        if i < 20:
            own[i, [0, 2]] = rng.multinomial(100, [0.07, 0.93]) / 100
            rows.append((i, 1, 2, 400_000))
        else:
            own[i, [4, 6]] = rng.multinomial(100, [0.7, 0.3]) / 100
            rows += [(i, 0, 3, 4), (i, 3, 4, 90_000), (i, 0, 5, 2), (i, 5, 6, 60_000)]
    profile = replace(make_profile(own, names=names), arcs=Arcs(*np.array(sorted(rows), dtype=np.int64).T))
    calls = csr_array((profile.arcs.count, (profile.arcs.interval, profile.arcs.callee)), shape=own.shape)
    found = find_phases(replace(profile, calls=calls))
    first, second = found.phases
    assert [(site.function.name, site.kind) for site in first.sites] == [("generate_kronecker_range", "loop")]
    assert [(site.function.name, site.kind) for site in second.sites] == [
        ("run_bfs", "body"),
        ("validate_bfs_result", "body"),
    ]
    assert first.sites[0].phase_pct == pytest.approx(93, abs=2)
