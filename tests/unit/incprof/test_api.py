"""`import incprof` in a notebook."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import incprof
from incprof.analysis.views.pandas_tables import OF_RESULT, TABLES
from incprof.cli.main import main
from incprof.errors import NoDataError, UsageError
from tests.paths import ROOT
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import PROFILER, Sample, StreamWriter

FLOATS = re.compile(
    r"_s$|_pct$|^per_|^(seconds|share|confidence|inertia|silhouette|calinski_harabasz|noise_ratio|stability)$"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return incprof.open(two_phase_run(tmp_path_factory.mktemp("api") / "run", ranks=(0, 2)))


@pytest.fixture
def empty(tmp_path):
    writer = StreamWriter()
    writer.interval([])
    writer.end()
    return incprof.open(writer.save(tmp_path / "run"))


def test_the_import_brings_nothing_heavy():
    code = "import sys, incprof; print([m for m in ('numpy', 'pandas', 'incprof.api') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        incprof.nothing  # noqa: B018


def test_a_run_is_opened(run, tmp_path):
    assert (run.app, run.ranks) == ("app", (0, 2))
    assert run.profile(2).metadata.rank == 2
    with pytest.raises(NoDataError, match="no such directory"):
        incprof.open(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="rank"):
        run.profile(1)


def test_the_profile_as_a_table(run):
    profile = run.profile()
    rows = profile.to_pandas()
    assert list(rows) == ["interval", "start_s", "end_s", "function", "module", "self_s", "calls"]
    assert rows.self_s.sum() == pytest.approx(profile.self_s.sum())
    assert rows.calls.sum() == profile.calls.sum()
    assert (rows.end_s - rows.start_s).tolist() == pytest.approx([1.0] * len(rows))
    pd.testing.assert_frame_equal(rows, run.to_pandas())


def test_intervals_with_their_phases(run):
    rows, profile = run.to_pandas("intervals"), run.profile()
    assert rows.phase.tolist() == [0] * 10 + [1] * 10
    assert rows.self_s.sum() == pytest.approx(profile.self_s.sum())
    assert rows.calls.tolist() == [0] * 10 + [5] * 10
    assert (rows.lost.sum(), rows.threads.max()) == (0, 1)


def test_samples_with_their_stacks(run):
    rows = run.to_pandas("samples")
    assert rows.cpu_s.sum() == pytest.approx(run.profile().samples.weight.sum() / 100)
    assert rows.time_s.is_monotonic_increasing
    by_stack = rows.groupby("stack", observed=True).cpu_s.sum().round(2).to_dict()
    assert by_stack["main;solve;[libm.so.6]"] == 1.0
    assert by_stack["main"] == 0.4
    assert set(rows[rows.interval == 0].function) == {"solve", "main", "[libm.so.6]"}


def test_a_semicolon_in_a_name_is_no_separator(tmp_path):
    writer = StreamWriter(["main", "operator;", "own"])
    writer.interval([Sample(((0, writer.address("main")), (0, writer.address("operator;")))), Sample("own", PROFILER)])
    writer.end()
    rows = incprof.open(writer.save(tmp_path / "run")).to_pandas("samples")
    assert rows["stack"].tolist() == ["main;operator:"]
    assert rows.function.tolist() == ["operator;"]


def test_phases_as_tables(run):
    result = run.phases()
    phases, sites = result.to_pandas(), result.to_pandas("sites")
    assert phases.phase.tolist() == [0, 1]
    assert phases.site.tolist() == sites.groupby("phase").function.first().tolist() == ["solve", "write_out"]
    assert phases.intervals.sum() == len(result.to_pandas("labels")) == 20
    assert phases.seconds.tolist() == pytest.approx([10, 10])
    functions = result.to_pandas("functions")
    assert np.all(functions.groupby("phase").share.sum() <= 1 + 1e-9)
    assert result.to_pandas("scores").k.tolist() == [score.k for score in result.scores]


@pytest.mark.parametrize("table", TABLES)
def test_types_of_columns_are_documented(run, table):
    rows = run.to_pandas(table)
    for empty in (False, True):
        for name, column in (rows.iloc[:0] if empty else rows).items():
            kind = str(column.dtype)
            if name in ("line", "order", "misfits"):
                assert kind == "Int64", name
            elif table == "samples" and name in ("function", "stack"):
                assert kind == "category"
            elif name in ("function", "module", "site", "kind", "file", "driver"):
                assert kind in ("object", "str"), name
            elif name == "off_cpu":
                assert kind == "bool"
            else:
                assert kind == ("float64" if FLOATS.search(name) else "int64"), name


def test_types_do_not_depend_on_the_data(run):
    result = run.phases()
    bare = [replace(p, confidence=None, sites=(), steps=()) for p in result.phases]
    result = replace(result, phases=tuple(bare))
    for table in OF_RESULT:
        known, found = (frame.dtypes.astype(str) for frame in (run.to_pandas(table), result.to_pandas(table)))
        assert list(found.index) == list(known.index)
        for name in set(found.index) - {"function", "module", "site", "kind", "file", "driver"}:
            assert found[name] == known[name], name


@pytest.mark.parametrize("table", ["profile", "samples"])
def test_tables_without_rows_have_the_same_columns(run, empty, table):
    rows = empty.to_pandas(table)
    assert (len(rows), list(rows)) == (0, list(run.to_pandas(table)))


@pytest.mark.parametrize("table", [table for table in TABLES if table not in ("profile", "samples")])
def test_there_are_no_phases_without_samples(run, empty, table):
    assert len(run.to_pandas(table).columns) > 3
    with pytest.raises(NoDataError, match="no samples in 1 intervals"):
        empty.to_pandas(table)


def test_unknown_tables_are_refused(run):
    with pytest.raises(ValueError, match="no table 'nothing': there are profile, intervals"):
        run.to_pandas("nothing")
    with pytest.raises(ValueError, match="no table 'profile': there are phases"):
        run.phases().to_pandas("profile")


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_documented(run, table):
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    (row,) = re.findall(rf"^\| `{table}` \| [^|]* \| (.*) \|$", page, re.MULTILINE)
    for column in run.to_pandas(table):
        assert f"`{column}`" in row


def test_the_answer_is_that_of_the_command_line(run, capsys):
    assert main(["phases", run.run.directory, "--json"]) == 0
    told, found = json.loads(capsys.readouterr().out), run.phases()
    sure = [phase["confidence"] for phase in told["phases"]]
    assert sure == pytest.approx([phase.confidence for phase in found.phases], abs=1e-3)
    assert [[s["function"] for s in p["sites"]] for p in told["phases"]] == [
        [site.function.name for site in phase.sites] for phase in found.phases
    ]


def test_what_python_shows_of_an_object_is_a_line(run):
    profile = run.profile()
    for shown in (run, profile, run.phases(profile)):
        assert len(repr(shown)) < 300
        assert "\n" not in repr(shown)
    assert "20 intervals" in repr(profile)
    assert "'app', 2 ranks" in repr(run)


def test_a_notebook_shows_phases_and_sites(run):
    result = run.phases()
    first = result.phases[0]
    site = replace(first.sites[0], function=replace(first.sites[0].function, name="<script>alert(1)</script>"))
    result = replace(result, phases=(replace(first, sites=(site,)), *result.phases[1:]))
    shown = result._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.count("<rect") == 2
    assert "<title>phase 0, 0.00 to 10.00 s</title>" in shown
    page = HTMLTable()
    page.feed(shown)
    assert [row[0] for row in page.rows] == ["Phase", "■ 0", "■ 1"]
    assert [row[4:6] for row in page.rows[1:]] == [["<script>alert(1)</script>", site.kind], ["write_out", "body"]]


def test_a_notebook_shows_a_phase_without_sites_and_one_with_several(run):
    result = run.phases()
    first, second = result.phases
    result = replace(result, phases=(replace(first, sites=()), replace(second, sites=second.sites * 2)))
    page = HTMLTable()
    page.feed(result._repr_html_())
    assert [len(row) for row in page.rows] == [8, 8, 8, 4]
    assert page.rows[1][4] == "no site"


class HTMLTable(HTMLParser):
    """The cells of a table as text."""

    def __init__(self):
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside &= tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data
