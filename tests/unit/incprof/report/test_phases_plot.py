"""The picture of a run's phases."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.answer import find_phases
from incprof.analysis.answer.describe import summarise
from incprof.analysis.views.tracks import self_series, time_bins
from incprof.cli.main import main
from incprof.report.plots import compact, figure
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
    picture = drawn(rows(*["a=80 b=20"] * 10, *["c=50"] * 10))
    upper, lower = picture.axes
    others, *areas = [patch.get_data().values for patch in upper.patches]
    assert others.max() == pytest.approx(1.0), "an interval of a second with a hundred ticks is one CPU"
    assert [area[0] for area in areas] == pytest.approx([1.0, 0.8, 0.8])
    assert [area[-1] for area in areas] == pytest.approx([0.5, 0.5, 0.0])
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in lower.patches]
    assert spans == [(0.0, 10.0), (10.0, 20.0)]
    assert [text.get_text() for text in lower.texts] == ["0", "1"]
    (legend,) = picture.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "Self time of", "all others", "b", "c", "a", "Phase", "0  a, 50 %", "1  c, 50 %", "", "",
    ]  # fmt: skip
    colours = [patch.get_facecolor() for patch in legend.get_patches()]
    assert len(set(colours[1:5] + colours[6:8])) == 6, "no function looks like a phase"


def test_names_are_no_formulas():
    pytest.importorskip("matplotlib")
    drawn(rows(*["$a^{=80 _b$=20"] * 5, *["<c&>=50"] * 5))


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run = two_phase_run(tmp_path / "run")
    for name in ("one.svg", "two.svg", "three.png", "one.pdf", "two.pdf"):
        assert main(["phases", str(run), "--plot", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert ET.fromstring((tmp_path / "one.svg").read_text()).tag.endswith("svg")
    assert (tmp_path / "three.png").read_bytes().startswith(b"\x89PNG")
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert pdf == (tmp_path / "two.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf, "publishers refuse such fonts"
    assert "2 phases" in capsys.readouterr().out


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_no_news(tmp_path):
    pytest.importorskip("matplotlib")
    run = two_phase_run(tmp_path / "run")
    command = [sys.executable, "-m", "incprof", "phases", run, "--plot", tmp_path / "one.png"]
    home = {"HOME": "/proc", "XDG_CONFIG_HOME": "/proc", "XDG_CACHE_HOME": "/proc"}
    done = subprocess.run(command, env=os.environ | home, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_nothing_is_replaced_unless_that_is_wanted(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run, picture = str(two_phase_run(tmp_path / "run")), tmp_path / "one.svg"
    picture.write_text("mine")
    assert main(["phases", run, "--plot", str(picture)]) == 2
    assert picture.read_text() == "mine"
    assert main(["phases", run, "--plot", str(picture), "--force"]) == 0
    assert picture.read_text() != "mine"
    assert main(["phases", run, "--plot", str(tmp_path / "one.eps")]) == 2
    assert "expected a name that ends in .svg, .png or .pdf" in capsys.readouterr().err


POINTS = st.lists(st.tuples(st.sampled_from("ML"), *[st.floats(-900, 900).map(lambda x: round(x, 6))] * 2), min_size=1)


def corners(path):
    """The points of a path in either form."""
    x = y = 0.0
    for command, text in re.findall(r"([MLHVZz])([^MLHVZz]*)", path):
        numbers = [float(number) for number in text.split()]
        if command in "ML":
            x, y = numbers
        elif command in "HV":
            x, y = (numbers[0], y) if command == "H" else (x, numbers[0])
        if command not in "Zz":
            yield (x, y)


@given(POINTS)
def test_a_picture_in_fewer_bytes_is_the_same_picture(points):
    points = [("M", *points[0][1:]), *points]
    path = " \n".join(f"{command} {x:f} {y:f}" for command, x, y in points) + " \nz"
    found = compact(f'<path id="m" d="{path}" style="fill: #000"/>')
    assert len(found) <= len(path) + 40
    short = re.search(r' d="([^"]*)"', found)[1]
    kept = list(corners(short))
    # Points that repeat the one before are left out, nothing else.
    exact = [(round(x, 2), round(y, 2)) for _, x, y in points]
    assert [p for p, _ in groupby(kept)] == [p for p, _ in groupby(exact)]
    assert short.count("M") == sum(command == "M" for command, *_ in points)


def test_letters_stay_where_they_are():
    glyph = '<path d="M 1 2 Q 3 4 5 6 z"/>\n   <use transform="translate(61.283 -0.000001)"/>'
    assert compact(glyph) == '<path d="M 1 2 Q 3 4 5 6 z"/>\n<use transform="translate(61.28 0)"/>'
