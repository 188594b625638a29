"""Thresholds: what --set takes and refuses, that each of them is declared with all it needs, and that each decides."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.thresholds import OPTIONS
from incprof.cli.main import main
from incprof.errors import UsageError
from incprof.study import Study, StudyOptions
from tests.paths import ROOT
from tests.unit.streamwriter import Sample, StreamWriter

LISTED = OPTIONS.listed()


@pytest.fixture
def run(tmp_path):
    """Twenty intervals of one function for the most part, then twenty of another."""
    writer = StreamWriter(["main", "fill", "solve"])
    for parts in [(95 - i % 5, 5 + i % 5) for i in range(20)] + [(5 + i % 5, 95 - i % 5) for i in range(20)]:
        samples = [Sample(f"main;{name}", weight=n) for name, n in zip(("fill", "solve"), parts, strict=True) if n]
        called = zip(("fill", "solve"), parts, strict=True)
        writer.interval(samples, arcs={("main", name): 1 for name, n in called if n})
    writer.end()
    return str(writer.save(tmp_path / "run"))


@pytest.mark.parametrize(("room", "one"), LISTED, ids=[f"{room}.{one.name}" for room, one in LISTED])
def test_each_is_declared_with_all_it_needs(room, one):
    assert one.low <= one.default == one.value <= one.high
    assert one.unit
    assert one.evidence
    assert one.without is None or one.low <= one.without <= one.high
    row = f"| `{room}.{one.name}` | {one.default:g} | {one.unit} |"
    assert row in (ROOT / "docs" / "reference" / "thresholds.md").read_text()


def test_each_is_used_somewhere():
    used = set()
    for path in [*(ROOT / "analysis").rglob("*.py"), *(ROOT / "incprof").rglob("*.py")]:
        used.update(re.findall(r"\.(\w+)", path.read_text()))
    assert {one.name for _, one in LISTED} <= used


@given(st.sampled_from(LISTED), st.floats(allow_nan=True, allow_infinity=True))
def test_any_number_is_taken_or_refused_in_one_line(known, value):
    room, one = known
    if isinstance(one.default, int) or not one.low <= value <= one.high:
        with pytest.raises(UsageError, match=rf"^--set {room}.{one.name}=.* expected .*$"):
            OPTIONS.with_settings([f"{room}.{one.name}={value!r}"])
        return
    changed = OPTIONS.with_settings([f"{room}.{one.name}={value!r}"])
    assert one.low <= getattr(getattr(changed, room), one.name) <= one.high
    assert changed.changed() == ({} if value == one.default else {f"{room}.{one.name}": value})


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("phases.beyond", "expected NAME=VALUE"),
        ("phases.penalt=3", "did you mean phases.penalty?"),
        ("colour=3", "incprof help thresholds"),
        ("phases.surely=wide", "expected a number"),
        ("phases.surely=nan", "expected 0 to 10"),
        ("steps.fewest=1.5", "expected a whole number"),
        ("sites.coverage=2", "expected 0 to 1"),
        ("steps.fewest=1" + 400 * "0", "expected 1 to 1e+06"),
        ("steps.fewest=1" + 5000 * "0", "expected a whole number"),
        ("phases.surely=1e999", "expected 0 to 10"),
        ("", "expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_meant_is_refused(run, setting, said, capsys):
    assert main(["phases", run, "--set", setting]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_a_setting_decides_and_is_reported(run, capsys):
    assert Study(run).phases(confidence=False).k > 1
    far = Study(run, options=StudyOptions(settings=("phases.penalty=1000",)))
    assert far.phases(confidence=False).k == 1
    assert far.phases(confidence=False).options == replace(OPTIONS, phases=replace(OPTIONS.phases, penalty=1000.0))
    assert main(["phases", run, "--explain", "--set", "phases.penalty=1000"]) == 0
    out, err = capsys.readouterr()
    assert "phases.penalty=1000 (usually 3)" in " ".join(out.split())
    assert err == "incprof: thresholds differ from their defaults: phases.penalty=1000\n"


def test_json_has_them_all(run, capsys):
    assert main(["phases", run, "--explain", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["explain"]["thresholds"]
    assert told == {f"{room}.{one.name}": one.default for room, one in LISTED}
