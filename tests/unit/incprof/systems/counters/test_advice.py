"""Advice: the commands, how frequencies are put back, and the text for known effects."""

import json

import pytest

from incprof.analysis.diff import compare
from incprof.cli.main import main
from incprof.errors import IncprofError
from incprof.study.phase_options import SILENT
from incprof.study.study import Study
from incprof.systems.counters.advice import Setting, by_rule, effects_of
from incprof.systems.counters.advise import Recorded, _from, frequencies, record_all, thread_counts
from incprof.systems.counters.analyse import Bound
from tests.unit.diffruns import Work, recorded, simulate, slower
from tests.unit.incprof.systems.counters.test_counters import run_with_counters
from tests.unit.profiles import two_phase_run

PROGRAM = [
    Work(400, 0.05, {"fill": 1.0}),
    Work(300, 0.1, {"solve": 1.0}),
]


def tree(directory, policies=2):
    """A /sys with processors from 0.8 to 3 GHz."""
    for number in range(policies):
        policy = directory / f"devices/system/cpu/cpufreq/policy{number}"
        policy.mkdir(parents=True)
        values = {"cpuinfo_min_freq": 800_000, "cpuinfo_max_freq": 3_000_000, "scaling_max_freq": 2_800_000 + number}
        for name, value in values.items():
            (policy / name).write_text(f"{value}\n")
    return directory


def now(sysfs):
    return [int(path.read_text()) for path in sorted(sysfs.glob("devices/system/cpu/cpufreq/policy*/scaling_max_freq"))]


def test_thread_counts_are_halved(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "12,2")
    assert thread_counts() == [12, 6, 3, 1]


def test_limits_are_put_back_whatever_happens(tmp_path):
    found = frequencies(str(tree(tmp_path)))
    assert found.steps() == (1_800_000, 800_000)
    with found.limited(1_200_000):
        assert now(tmp_path) == [1_200_000, 1_200_000]
    assert now(tmp_path) == [2_800_000, 2_800_001]
    with pytest.raises(ZeroDivisionError), found.limited(900_000):
        raise ZeroDivisionError
    assert now(tmp_path) == [2_800_000, 2_800_001]


def test_why_frequencies_may_not_be_set(tmp_path):
    assert "has no cpufreq" in frequencies(str(tmp_path))
    (tree(tmp_path) / "devices/system/cpu/cpufreq/policy1/scaling_max_freq").unlink()
    assert "is writable for root only" in frequencies(str(tmp_path))


def test_each_setting_runs_in_turn_with_its_threads_and_limit(tmp_path, monkeypatch):
    sysfs = tree(tmp_path / "sys")
    log, limit = tmp_path / "log", sysfs / "devices/system/cpu/cpufreq/policy0/scaling_max_freq"
    command = ["/bin/sh", "-c", f"echo $OMP_NUM_THREADS $(cat {limit}) >> {log}; echo out"]
    (tmp_path / "out").mkdir()
    settings = [Setting(2), Setting(1), Setting(2, 800_000)]
    found = record_all(
        command, settings, tmp_path / "out", rounds=2, interval="0.1", limits=frequencies(str(sysfs))
    )  # fmt: skip
    assert log.read_text().split("\n")[:-1] == ["2 2800000", "1 2800000", "2 800000"] * 2
    assert [len(each.runs) for each in found] == [2, 2, 2]
    assert now(sysfs) == [2_800_000, 2_800_001]


def test_a_program_that_fails_ends_it(tmp_path):
    sysfs = tree(tmp_path / "sys")
    with pytest.raises(IncprofError, match=r"ended with status 7 under 1 thread, 0.8 GHz at most"):
        record_all(
            ["/bin/sh", "-c", "exit 7"], [Setting(1, 800_000)], tmp_path, rounds=1, interval="0.1",
            limits=frequencies(str(sysfs)),
        )  # fmt: skip
    assert now(sysfs) == [2_800_000, 2_800_001]


def test_what_hardly_depends_on_threads_is_advised_and_the_rest_is_not():
    """With one thread instead of two, fill takes as long and solve 1.9 times."""
    a = [recorded(simulate(PROGRAM, seed=seed, scatter=0.02)) for seed in (1, 2, 3)]
    b = [recorded(simulate(slower(PROGRAM, "solve", 1.9), seed=seed, scatter=0.02)) for seed in (4, 5, 6)]
    effects = effects_of(Setting(2), Setting(1), compare(a, b), 0.05)
    fill, solve, run = sorted(effects, key=lambda effect: (effect.phase is None, effect.name))
    assert (fill.name, solve.name, run.phase) == ("fill", "solve", None)
    assert (fill.hardly, fill.advised, solve.hardly, solve.advised, run.advised) == (True, True, False, False, False)
    assert fill.saving.of == "processor time"
    assert fill.saving.low < 0.5 < fill.saving.high
    assert 0 < fill.saving.high - fill.saving.low < 0.1
    assert solve.saving.share == pytest.approx(1 - 1.9 / 2, abs=0.02)


def test_without_certainty_nothing_is_advised():
    one, other = (recorded(simulate(PROGRAM, seed=seed)) for seed in (1, 2))
    for effect in effects_of(Setting(2), Setting(1), compare([one], [other], run_noise=0.2), 0.05):
        assert not effect.hardly
        assert not effect.advised


def test_without_power_a_frequency_has_no_known_saving():
    one, other = (recorded(simulate(PROGRAM, seed=seed)) for seed in (1, 2))
    effects = effects_of(Setting(2), Setting(2, 800_000), compare([one], [other]), 0.05)
    assert [(effect.saving, effect.advised) for effect in effects] == [(None, False)] * 3


def test_rules_on_a_recording_report_that_nothing_was_measured(tmp_path, capsys):
    run, path = run_with_counters(tmp_path)
    assert main(["advise", "--of", str(run), "--counters", str(path)]) == 0
    out = capsys.readouterr().out
    assert "advice: by rule: a lower frequency should cost phase" in out
    assert "bound by memory; not measured" in " ".join(out.split())
    assert main(["advise", "--of", str(run), "--counters", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["effects"]) == ("incprof.advice/1", [])
    assert [(rule["what"], rule["why"], rule["measured"]) for rule in found["rules"]] == [
        ("frequency", "memory", False)
    ]
    # Without counters the bound is unknown.
    assert main(["advise", "--of", str(run)]) == 0
    assert "no advice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--"], "no command given"),
        (["--of", "x", "--", "ls"], "give either a recording"),
        (["--counters", "x", "--", "ls"], "goes with --of"),
        (["--tolerance", "nan", "--", "ls"], "expected a percentage"),
        (["--threads", "0", "--", "ls"], "expected thread counts"),
        (["--frequencies", "2", "--", "ls"], "expected frequencies"),
        (["--runs", "0", "--", "ls"], "expected 1 to 50"),
    ],
)
def test_wrong_arguments(words, said, capsys):
    try:
        status = main(["advise", *words])
    except SystemExit as end:
        status = end.code
    assert status == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("busy", "certain"), [(1.0, True), (1.9, False)])
def test_on_a_node_that_others_use_nothing_is_certain(tmp_path, monkeypatch, busy, certain):
    """A run with one thread that is always busy, on a node of one processor."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    recordings = []
    for threads in (1, 1):
        name = f"t{len(recordings)}"
        (tmp_path / name).mkdir()
        run, path = run_with_counters(tmp_path / name, rows=["time_s,cpu", *(f"{i},{busy}" for i in range(1, 21))])
        recordings.append(Recorded(Setting(threads), [str(run)], [str(path)]))
    found = _from(recordings, 0.5, None, SILENT)
    assert [effect.hardly for effect in found.effects] == [certain] * 3
    assert any("other programs left the runs" in line for line in found.not_measured) != certain


def test_rules_on_what_was_not_used_need_to_know_that_others_did_not_have_it(tmp_path):
    result = Study(str(two_phase_run(tmp_path / "run"))).phases()
    for alone in (True, False):
        waits = by_rule(result, {0: Bound("waiting", 0.9)}, {}, ["frequency"], measured_alone=alone)
        serial = by_rule(result, {}, {0: (1.02, 4.0), 1: (3.5, 4.0)}, ["threads"], measured_alone=alone)
        assert [(rule.phase, rule.what) for rule in (*waits, *serial)] == [(0, "frequency"), (0, "threads")] * alone
    assert by_rule(result, {}, {0: (1.02, 4.0)}, ["frequency"], measured_alone=True) == []
