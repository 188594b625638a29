"""Intervals that hold too few samples: taken together, and the user hears what to do."""

import json
from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.segment_sums import pooled_by, usual_ticks
from incprof.cli.main import main
from incprof.model import pooled
from incprof.study import Study
from tests.unit.streamwriter import UNKNOWN, Sample, StreamWriter
from tests.unit.synthetic import make_profile


def a_run(directory, *, interval_s, every, intervals=600, **more):
    """Half of the run in `solve`, half in `write_out`: a sample in each `every`-th interval, the others hold none."""
    writer = StreamWriter(["main", "solve", "write_out"], interval_s=interval_s, **more)
    for i in range(intervals):
        function, some = "solve" if i < intervals // 2 else "write_out", i % every == 0
        writer.interval([Sample(f"main;{function}")] * some, arcs={("main", function): 1} if some else {})
    writer.end()
    return writer.save(directory)


def test_too_fine_intervals_are_pooled_and_not_taken_for_waiting(tmp_path, capsys):
    run = a_run(tmp_path / "run", interval_s=0.001, every=4)
    study = Study(run)
    assert [phase.off_cpu for phase in study.phases(confidence=False).phases] == [False, False]
    assert [phase.sites[0].function.name for phase in study.phases(confidence=False).phases] == ["solve", "write_out"]
    assert (study.summary.intervals, study.summary.interval_s, study.summary.pooled) == (30, pytest.approx(0.02), 20)
    assert main(["phases", str(run)]) == 0
    out, err = capsys.readouterr()
    assert "30 intervals of 0.02 s (600 recorded, 20 in each)" in out
    assert err == ""
    assert main(["export", str(run), "--format", "csv", "-o", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 150  # what was recorded is exported as it was


def test_too_few_samples_in_all_are_refused_with_advice(tmp_path, capsys):
    run = a_run(tmp_path / "run", interval_s=0.01, every=50)
    assert main(["phases", str(run)]) == 0
    out, err = capsys.readouterr()
    assert "too few samples to tell whether there are more" in out
    assert "few samples (12): record for longer, or with -r 250" in err


def test_time_in_no_function_is_no_sample_of_the_program(tmp_path, capsys):
    writer = StreamWriter(["main", "solve"])
    for _ in range(10):
        writer.interval([Sample("main;solve"), Sample("", UNKNOWN, weight=50)])
    writer.end()
    assert main(["phases", str(writer.save(tmp_path / "run"))]) == 0
    assert "few samples (10): 5 of 5.1 s of CPU time is in no function" in capsys.readouterr().err


def test_what_waits_between_bursts_of_work_is_not_pooled():
    own = np.zeros((60, 1))
    own[::6] = 1.0
    profile = make_profile(own)
    assert pooled_by(profile) == 1
    assert pooled_by(make_profile(own * 0.02)) > 1
    assert pooled_by(make_profile(own * 0.0)) == 1


def test_half_of_the_samples_are_where_there_are_more():
    assert usual_ticks(np.array([0.0, 0, 0, 1, 1, 40, 60])) == 60
    assert usual_ticks(np.array([1.0, 1, 1])) == 1
    assert usual_ticks(np.zeros(3)) == 0


def test_pooling_keeps_every_second_and_every_call(tmp_path):
    profile = Study(a_run(tmp_path / "run", interval_s=1.0, every=3, intervals=50)).profile
    raw = replace(profile, metadata=replace(profile.metadata, pooled=1))
    whole = pooled(raw, 7)
    assert whole.n_intervals == -(-raw.n_intervals // 7)
    assert whole.end_s[-1] == raw.end_s[-1]
    assert whole.start_s[0] == raw.start_s[0]
    assert (whole.start_s[1:] == whole.end_s[:-1]).all()
    assert np.asarray(whole.self_s.sum(axis=0)) == pytest.approx(np.asarray(raw.self_s.sum(axis=0)))
    assert (np.asarray(whole.calls.sum(axis=0)) == np.asarray(raw.calls.sum(axis=0))).all()
    assert whole.arcs.count.sum() == raw.arcs.count.sum()
    assert sorted(zip(whole.arcs.interval, whole.arcs.caller, whole.arcs.callee, strict=True)) == list(
        zip(whole.arcs.interval, whole.arcs.caller, whole.arcs.callee, strict=True)
    )
    assert whole.counters.cpu_s.sum() == pytest.approx(raw.counters.cpu_s.sum())
    assert whole.counters.threads.max() == raw.counters.threads.max()
    assert (whole.interval_of_samples() == raw.interval_of_samples() // 7).all()
    assert pooled(raw, 1) is raw


def test_the_start_of_a_run_is_a_phase_however_short(tmp_path):
    writer = StreamWriter(["main", "set_up", "solve"])
    for i in range(40):
        writer.interval([Sample("main;set_up" if i < 1 else "main;solve", weight=25) for _ in range(4)])
    writer.end()
    result = Study(writer.save(tmp_path / "run")).phases(confidence=False)
    assert [phase.functions[0].function.name for phase in result.phases] == ["set_up", "solve"]
    assert (result.labels.tolist(), result.short) == ([0] + [1] * 39, ())


def test_no_interval_is_pooled_across_a_suspension():
    profile = make_profile(np.ones((6, 1)))
    start_s, end_s = profile.start_s.copy(), profile.end_s.copy()
    start_s[3:] += 5
    end_s[3:] += 5
    counters = replace(profile.counters, suspended_s=np.array([0, 0, 0, 5.0, 0, 0]))
    whole = pooled(replace(profile, start_s=start_s, end_s=end_s, counters=counters), 2)
    width = profile.end_s[0] - profile.start_s[0]
    assert np.allclose(whole.end_s - whole.start_s, np.array([2, 1, 2, 1]) * width)
    assert whole.self_s.sum(axis=1).ravel().tolist() == [2, 1, 2, 1]
    assert whole.counters.suspended_s.tolist() == [0, 0, 5, 0]


def test_intervals_cut_where_phases_change_are_named_beside_the_recorded_ones(tmp_path, capsys):
    writer = StreamWriter(["main", "solve", "write_out"], interval_s=1.0)
    for at in range(9):
        functions = ["solve"] * 50 + ["write_out"] * 50 if at == 4 else ["solve" if at < 4 else "write_out"] * 100
        writer.interval([Sample(f"main;{function}") for function in functions])
    writer.end()
    run = writer.save(tmp_path / "run")
    assert main(["phases", str(run), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["run"]["intervals"], answer["run"]["recorded_intervals"]) == (len(answer["labels"]), 9)
    assert len(answer["labels"]) > 9
    assert main(["phases", str(run)]) == 0
    assert "10 intervals of 1 s (9 recorded, cut where phases change)" in capsys.readouterr().out
    assert main(["diff", str(run), str(run)]) == 0
    assert "10 intervals of 1 s (9 recorded, cut where phases change)" in capsys.readouterr().out
