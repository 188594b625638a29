"""What is too short for a phase: when it was, and what it did."""

from incprof.analysis.phase_result import PhaseResult
from incprof.study import Study
from tests.unit.streamwriter import Sample, StreamWriter


def result_of(directory, *intervals: tuple[str, ...]) -> PhaseResult:
    """The phases of a run; each interval has 16 ticks on every path that is given for it."""
    writer = StreamWriter(["main", "solve", "next", "report", "set_up"])
    for number, paths in enumerate(intervals):
        arcs = {("solve", "main"): 1} if not number else {}
        writer.interval([Sample(path) for path in paths for _ in range(16)], arcs=arcs)
    writer.end()
    return Study(writer.save(directory)).phases(confidence=False)


def test_what_comes_at_both_ends_is_not_all_between(tmp_path):
    end, phases = ("main;set_up",), (("main;solve",),) * 60 + (("main;next",),) * 60
    result = result_of(tmp_path / "run", end, *phases, end)
    (short,) = result.short
    assert (short.function.name, short.spans[0][0], short.spans[-1][1]) == ("set_up", 0, len(result.labels))
    assert (result.labels[[0, -1]] == -1).all()


def test_it_is_named_by_what_has_most_of_it_however_little_of_the_run(tmp_path):
    last = ("main;solve", "main;report", "main;report", "main;report")
    result = result_of(tmp_path / "run", *(("main;solve",) * 4,) * 99, last)
    assert [(short.function.name, short.share) for short in result.short] == [("report", 1.0)]


def test_a_moment_outside_of_the_program_has_no_name_of_it(tmp_path):
    """The first interval enters main, which usually does this and that, and nothing there yet."""
    result = result_of(tmp_path / "run", ("",), *(("main;solve",),) * 30, *(("main;next",),) * 30)
    assert [(short.function, short.share, short.spans) for short in result.short] == [(None, 1.0, ((0, 1),))]
