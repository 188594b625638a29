import importlib.util
import io
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from incprof.analysis.heartbeats.summaries import BeatRun
from incprof.cli.main import main
from incprof.systems.heartbeats.heartbeats_plot import COLOURS, PALE, figure, steps, write_plot
from tests.unit.beatmaker import beat
from tests.unit.ekgfiles import EkgFile, beats, simple_run

RUN = BeatRun("app", 1, 1, 1, 5, 1.0, 0.0, 5.0, True, {})


def picture(form, found):
    out = io.BytesIO()
    write_plot(RUN, found, out, form)
    return out.getvalue()


def lines(axes, alpha):
    """The points of the lines with this alpha."""
    return [line.get_xydata() for line in axes.lines if line.get_alpha() == alpha]


def test_the_panels_show_counts_and_durations():
    found = figure(RUN, [beat(1, "a", [2, 3, 0, 0, 5], [0.1, 0.2, 0, 0, 0.3])])
    upper, lower = found.axes
    assert upper.get_shared_x_axes().joined(upper, lower)
    ((first, *rest),) = [[line] for line in lines(upper, 1.0)]
    assert rest == []
    assert first[~np.isnan(first[:, 1])].tolist() == [[0, 2], [1, 2], [1, 2], [1, 3], [2, 3], [2, 3], [4, 5], [5, 5]]
    (line,) = lines(lower, 1.0)
    assert np.nanmax(line[:, 1]) == pytest.approx(0.3)
    assert lower.get_xlim() == (0, 5)


def test_a_beat_in_progress_is_a_paler_line():
    found = figure(RUN, [beat(1, "a", [1, 0, 0, 1, 1], [0.1, 0, 0, 2.5, 0.1], opens=[1, 1, 1, 0, 0])])
    upper, lower = found.axes
    for axes, height in ((upper, 1), (lower, 2.5)):
        (line,) = lines(axes, PALE)
        there = line[~np.isnan(line[:, 1])]
        assert (there[:, 0].min(), there[:, 0].max()) == (1, 3)
        assert set(there[:, 1]) == {height}
    texts = [text.get_text() for text in found.legends[0].get_texts()]
    assert texts == ["1  a", "paler: in progress"]


def test_more_heartbeats_than_colours_are_left_out_and_counted():
    found = figure(RUN, [beat(i, f"n{i}", [1] * 5, 0.001 * i) for i in range(1, 41)])
    assert len(found.axes[0].lines) == len(COLOURS)
    assert "32 more heartbeats with less time not drawn" in found.get_suptitle()
    assert [text.get_text() for text in found.legends[0].get_texts()] == [f"{i}  n{i}" for i in range(33, 41)]


def test_many_intervals_are_few_points_and_keep_their_extremes():
    means = np.full(50_000, 0.1)
    means[777] = 0.9
    found = figure(RUN, [beat(1, "a", [1] * 50_000, means)])
    lower = found.axes[1]
    assert len(lower.lines[0].get_xydata()) <= 1500
    assert lower.collections[0].get_paths()[0].vertices[:, 1].max() == pytest.approx(0.9)


def test_far_apart_values_have_a_logarithmic_axis_and_near_ones_begin_at_0():
    far = figure(RUN, [beat(1, "a", [1] * 5, 1e-6), beat(2, "b", [9] * 5, 0.1)])
    assert [axes.get_yscale() for axes in far.axes] == ["linear", "log"]
    assert [axes.get_ylim()[0] for axes in figure(RUN, [beat(1, "a", [1] * 5)]).axes] == [0, 0]


@pytest.mark.parametrize("form", ["svg", pytest.param("png", marks=pytest.mark.slow)])
def test_same_bytes_again_whatever_the_user_has_set(form, tmp_path, monkeypatch):
    import matplotlib

    found = [beat(1, "a$x$_{", [2, 0, 3], opens=[0, 1, 0]), beat(2, None, [1, 1, 1], 0.5)]
    first = picture(form, found)
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 20, "svg.hashsalt": "x"}):
        assert picture(form, found) == first
    assert picture(form, found) == first


@pytest.mark.slow
def test_same_bytes_in_another_process(tmp_path):
    run = simple_run(tmp_path / "run")
    for number in "12":
        args = ["heartbeats", str(run), "--plot", str(tmp_path / f"{number}.svg")]
        subprocess.run([sys.executable, "-m", "incprof", *args], check=True, capture_output=True)
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


@pytest.mark.parametrize("name", ["$x$", "_hidden", "日本語", "a\nb\x1b[31m", "\\frac{", "x" * 500])
def test_any_name(name):
    ET.fromstring(picture("svg", [beat(1, name, [1, 2])]))


@pytest.mark.parametrize(
    "found",
    [[], [beat(1)], [beat(1, None, [0, 0], pulses=[1, 2])], [replace(beat(1, None, [0, 0], opens=[1, 1]), open_s=1.5)]],
)
def test_little_to_draw(found):
    assert picture("png", found).startswith(b"\x89PNG")


def test_steps_join_what_touches():
    x, y = steps(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 6.0]), np.array([7.0, 8.0, 9.0]))
    assert x.tolist() == [0, 1, 1, 1, 2, 2, 5, 6, 6]
    np.testing.assert_equal(y, [7, 7, 7, 8, 8, np.nan, 9, 9, np.nan])


def test_command(tmp_path, capsys):
    run = simple_run(tmp_path / "run")
    target = tmp_path / "p.png"
    assert main(["heartbeats", str(run), "--plot", str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert "assemble:body" in capsys.readouterr().out  # the table is printed all the same
    before = target.read_bytes()
    assert main(["heartbeats", str(run), "--plot", str(target)]) == 2
    assert "--force" in capsys.readouterr().err
    assert target.read_bytes() == before
    assert main(["heartbeats", str(run), "--plot", str(target), "--force"]) == 0


@pytest.mark.parametrize("name", ["p.eps", "p", "-", "no/such/p.svg"])
def test_other_names_are_refused(tmp_path, capsys, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    simple_run(tmp_path / "run")
    assert main(["heartbeats", "run", "--plot", name]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_matplotlib_there_is_one_line(tmp_path, capsys, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else found(name, *a))
    assert main(["heartbeats", str(simple_run(tmp_path / "run")), "--plot", str(tmp_path / "p.svg")]) == 1
    assert capsys.readouterr().err == "incprof: --plot needs matplotlib: pip install 'incprof[plot]'\n"
    assert not (tmp_path / "p.svg").exists()


def test_no_plotting_without_need(tmp_path):
    run = simple_run(tmp_path / "run")
    code = "import sys; from incprof.cli.main import main; main(sys.argv[1:]); assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, "heartbeats", str(run)], check=True, capture_output=True)


def test_a_part_of_the_run_has_its_own_axis(tmp_path, capsys):
    file = EkgFile(0)
    for _ in range(10):
        file.interval(beats(0, 1, [10**8]))
    file.end().save(tmp_path / "run" / "rank-00000.ekg")
    assert main(["heartbeats", str(tmp_path / "run"), "--time", "4:8", "--plot", str(tmp_path / "p.svg")]) == 0
