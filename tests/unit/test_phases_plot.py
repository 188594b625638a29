"""The picture of a run's phases."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from incprof.analysis.describe import summarise
from incprof.analysis.foremost import self_series
from incprof.analysis.phases import find_phases
from incprof.analysis.timebins import time_bins
from incprof.cli import main
from incprof.report.phases_plot import figure
from tests.unit.profiles import rows, two_phase_run


def drawn(profile):
    result = find_phases(profile)
    bins = time_bins(profile, result.labels)
    series = self_series(profile, result.labels, bins)
    names = [profile.functions[int(i)].name for i in series.functions]
    picture = figure(summarise(profile, 1), result, names, bins, series)
    picture.canvas.draw()
    return picture


def test_the_stack_is_the_self_time_and_the_ribbon_the_labels():
    pytest.importorskip("matplotlib")
    upper, lower = drawn(rows(*["a=80 b=20"] * 10, *["c=50"] * 10)).axes
    top = np.array([path.get_extents().ymax for area in upper.collections for path in area.get_paths()])
    assert top.max() == pytest.approx(1.0), "an interval of a second with a hundred ticks is one CPU"
    assert [text.get_text() for text in upper.get_legend().get_texts()][:1] == ["all others"]
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in lower.patches]
    assert spans == [(0.0, 10.0), (10.0, 20.0)]
    assert [text.get_text() for text in lower.texts] == ["0", "1"]
    assert [text.get_text()[:4] for text in lower.get_legend().get_texts()] == ["0  a", "1  c"]


def test_names_are_no_formulas():
    pytest.importorskip("matplotlib")
    drawn(rows(*["$a^{=80 _b$=20"] * 5, *["<c&>=50"] * 5))


def test_the_same_run_gives_the_same_bytes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run = two_phase_run(tmp_path / "run")
    for name in ("one.svg", "two.svg", "three.png"):
        assert main(["phases", str(run), "--plot", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert ET.fromstring((tmp_path / "one.svg").read_text()).tag.endswith("svg")
    assert (tmp_path / "three.png").read_bytes().startswith(b"\x89PNG")
    assert "2 phases" in capsys.readouterr().out


def test_nothing_is_replaced_unless_that_is_wanted(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run, picture = str(two_phase_run(tmp_path / "run")), tmp_path / "one.svg"
    picture.write_text("mine")
    assert main(["phases", run, "--plot", str(picture)]) == 2
    assert picture.read_text() == "mine"
    assert main(["phases", run, "--plot", str(picture), "--force"]) == 0
    assert picture.read_text() != "mine"
    assert main(["phases", run, "--plot", str(tmp_path / "one.pdf")]) == 2
    assert "expected a name that ends in .svg or .png" in capsys.readouterr().err
