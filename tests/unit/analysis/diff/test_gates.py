import pytest

from incprof.analysis.compare.noise import Change
from incprof.analysis.diff import broken, parse
from incprof.analysis.diff.diff_result import Comparison, Figure, PhaseRow, Row
from incprof.errors import UsageError
from incprof.report.words.diff_words import run_gate_lines


def figure(seconds, share=0.5, calls=None):
    return Figure(seconds, share, calls, (seconds,))


def a_row(kind, name, a, b, verdict, **more):
    figures = figure(a, calls=more.pop("calls_a", None)), figure(b, calls=more.pop("calls_b", None))
    ci = None if verdict in ("new", "gone") else Change(b / a * 0.98, b / a * 1.02, 0.01)
    made = PhaseRow if kind == "phase" else Row
    return made(kind, name, 0, *figures, ci, 0.01, verdict, **more)


def comparison(*rows):
    of = {kind: tuple(r for r in rows if r.kind == kind) for kind in ("run", "phase", "function")}
    run = of["run"][0] if of["run"] else a_row("run", "whole run", 10.0, 10.0, "same")
    return Comparison((), (), run, of["phase"], (0.0, 0.0), of["function"], 0, 0.01)


def failing(text, *rows):
    return [row.name for _, row in broken([parse(text)], comparison(*rows))]


SLOW = a_row("phase", "ns::Mesh::solve(int)", 10.0, 12.0, "slower")
UNSURE = a_row("phase", "fill", 10.0, 15.0, "same")
FAST = a_row("phase", "out", 10.0, 8.0, "faster")
NEW = a_row("phase", "extra", 0.0, 3.0, "new")
GONE = a_row("phase", "old", 3.0, 0.0, "gone")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("phase>10%", ["ns::Mesh::solve(int)", "old"]),  # what is gone cannot be held against a limit
        ("phase>20%", ["old"]),  # as much as that, not more
        ("phase>1.9s", ["ns::Mesh::solve(int)", "extra", "old"]),
        ("phase>2500ms", ["extra", "old"]),
        ("phase<-10%", ["out", "old"]),
        ("phase<-2.5s", ["old"]),
        ("solve:phase>10%", ["ns::Mesh::solve(int)"]),
        ("Mesh::solve:phase>10%", ["ns::Mesh::solve(int)"]),
        ("ns::*:phase>10%", ["ns::Mesh::solve(int)"]),
        ("fill:phase>10%", []),
        ("old:phase>10%", ["old"]),  # named explicitly
        ("extra:phase>10%", []),
    ],
)
def test_phases(text, names):
    assert failing(text, SLOW, UNSURE, FAST, NEW, GONE) == names


def test_what_is_within_noise_never_fails():
    far = a_row("phase", "f", 1.0, 100.0, "same")
    assert failing("phase>0%", far) == []


def test_run_function_and_calls():
    run = a_row("run", "whole run", 10.0, 11.0, "slower")
    assert failing("run>5%", run) == ["whole run"]
    assert failing("run>1s", run) == []
    function = a_row("function", "f", 1.0, 2.0, "slower", calls_a=100.0, calls_b=111.0)
    assert failing("function>50%", function) == ["f"]
    assert failing("calls>10%", function) == ["f"]
    assert failing("calls>11", function) == []
    assert failing("f:calls>10", function) == ["f"]


def test_share_counts_beyond_noise_only():
    rows = [
        PhaseRow("phase", name, 0, figure(1.0, 0.2), figure(1.0, 0.3), None, None, "same", share_error=error)
        for name, error in (("sure", 0.01), ("unsure", 0.08))
    ]
    assert failing("share>5", *rows) == ["sure"]
    assert failing("share>40%", *rows) == ["sure"]
    assert failing("share>10", *rows) == []


@pytest.mark.parametrize(
    "text",
    [
        "", "phase", "phase>", "phase>10", "phase>10 apples", "speed>10%", "phase>-5%", "phase<5%", "x:run>5%",
        "phase=10%", "phase>1e999%", "share>5s", "calls>5ms", "phase>nan%", "\x1b[31m>1%",
    ],
)  # fmt: skip
def test_invalid_gates_are_one_line(text):
    with pytest.raises(UsageError) as error:
        parse(text)
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)


def test_a_name_that_neither_run_has_is_an_error():
    for text in ("nothing:phase>5%", "nothing:calls>5%", "nothing:share>5"):
        with pytest.raises(UsageError, match=r"neither run has a (phase|function) 'nothing'"):
            failing(text, SLOW)


def test_a_gate_on_phases_that_holds_while_the_run_is_slower_is_told():
    """It passed without a word: the time was in phases that are inconclusive."""
    slower = a_row("run", "whole run", 10.0, 18.0, "slower")
    phases, run = parse("phase>10%"), parse("run>10%")
    assert run_gate_lines(slower, [phases], []) == [
        "'phase>10%' does not fail: no phase is certainly slower by more, but the whole run is, +80.0 %: "
        "--fail-on 'run>10%'"
    ]
    assert run_gate_lines(slower, [phases], [phases]) == []
    assert run_gate_lines(slower, [phases, run], []) == []
    assert run_gate_lines(slower, [parse("phase>80%"), parse("solve:phase>10%"), parse("phase>1s")], []) == []
    assert run_gate_lines(a_row("run", "whole run", 10.0, 18.0, "same"), [phases], []) == []
